//! A plan as a person keeps and edits it: the JSON of `ibid plan --json`, read back with every fault named by its field.
use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::domain::{
    Brief, Given, Item, ItemId, Plan, Question, SearchTask, SectionPlan, WritingPlan,
};
use crate::error::{Error, Kind, Result};
use crate::research;

/// Longest file taken in, bytes.
pub const MOST_BYTES: usize = 256 * 1024;
/// Items of a plan, fewest and most.
const ITEMS: (usize, usize) = (1, 7);
/// Longest text of a field, and longest query, characters.
const LONGEST: usize = 2_000;
const LONGEST_QUERY: usize = 300;

/// A plan file: an object, of which nothing else is known yet.
#[derive(Debug, Clone)]
pub struct PlanFile {
    name: String,
    root: Map<String, Value>,
}

impl PlanFile {
    /// The file called `name` with this `text`. Fields that nobody here knows are passed over.
    ///
    /// # Errors
    /// `Usage` for what is no plan.
    pub fn parse(name: &str, text: &str) -> Result<PlanFile> {
        let wrong = |what: &str| {
            Error::new(Kind::Usage, format!("reading plan {name}: {what}"))
                .hint("make one with `ibid plan \"…\" --json > plan.json`, and edit that")
        };
        if text.len() > MOST_BYTES {
            return Err(wrong("it is longer than 256 KiB"));
        }
        let root: Value =
            serde_json::from_str(text).map_err(|it| wrong("it is no JSON").because(it))?;
        let Value::Object(root) = root else {
            return Err(wrong("it is no JSON object"));
        };
        match root.get("type") {
            None | Some(Value::Null) => {}
            Some(it) if it == "plan" => {}
            Some(_) => return Err(wrong("its `type` is not `plan`")),
        }
        Ok(PlanFile {
            name: name.to_owned(),
            root,
        })
    }

    /// The question in it, where there is one.
    ///
    /// # Errors
    /// `Usage` where it is no text.
    pub fn question(&self) -> Result<Option<String>> {
        let brief = self.root.get("brief").and_then(|it| it.get("question"));
        let it = self.root.get("question").or(brief);
        it.map(|it| self.at("question").text(it)).transpose()
    }

    /// The brief and plan in it. What it leaves out is filled in as without a model; of the plan, the items must be there.
    ///
    /// # Errors
    /// `Usage`, naming the field.
    pub fn given(&self, question: &Question) -> Result<Given> {
        // A brief that asks something else than the question is filled in by what it asks.
        let asked = match self.root.get("brief").and_then(|it| it.get("question")) {
            Some(it) => self.at("brief.question").text(it)?,
            None => question.text.clone(),
        };
        let plain = Question {
            given: None,
            text: asked,
            ..question.clone()
        };
        let (own, _) = research::plan(&plain)?;
        let brief = match self.root.get("brief") {
            Some(it) => self.brief(it, own)?,
            None => own,
        };
        let at = self.at("plan");
        let plan = match self.root.get("plan") {
            Some(Value::Object(it)) => self.plan(it, &brief)?,
            Some(_) => return Err(at.wrong("must be an object")),
            None => return Err(at.wrong("is missing")),
        };
        Ok(Given { brief, plan })
    }

    fn brief(&self, value: &Value, own: Brief) -> Result<Brief> {
        let at = self.at("brief");
        let it = at.object(value)?;
        let words = |name: &str, own: Vec<String>| match it.get(name) {
            Some(value) => at.field(name).texts(value),
            None => Ok(own),
        };
        let told = |all: Vec<String>, own: Vec<String>| if all.is_empty() { own } else { all };
        let lang = at.field("lang").optional(it)?.unwrap_or(own.lang);
        if lang.len() != 2 || !lang.bytes().all(|it| it.is_ascii_lowercase()) {
            return Err(at
                .field("lang")
                .wrong("must be a two-letter language code, as in en"));
        }
        Ok(Brief {
            question: at
                .field("question")
                .optional(it)?
                .unwrap_or_else(|| own.question.clone()),
            sharpened: at.field("sharpened").optional(it)?,
            kind: at.field("kind").word(it, own.kind)?,
            subjects: told(words("subjects", own.subjects.clone())?, own.subjects),
            key_terms: told(words("key_terms", own.key_terms.clone())?, own.key_terms),
            scope_in: words("scope_in", own.scope_in)?,
            scope_out: words("scope_out", own.scope_out)?,
            lang,
            clarified: at.field("clarified").word(it, Vec::new())?,
        })
    }

    fn plan(&self, it: &Map<String, Value>, brief: &Brief) -> Result<Plan> {
        let at = self.at("plan");
        let own = research::plan_of(brief)?;
        let items = self.items(it, brief)?;
        let writing = match it.get("writing") {
            Some(value) => self.writing(value, &items, &own.writing)?,
            None => WritingPlan {
                sections: items.iter().map(section_of).collect(),
                ..own.writing
            },
        };
        let complexity = at.field("complexity").word(it, own.complexity)?;
        let plan = Plan::new(items, complexity, writing);
        let mut plan = plan.ok_or_else(|| at.field("items").wrong("is empty"))?;
        plan.search_tasks = self.tasks(it)?;
        Ok(plan)
    }

    /// The search tasks; none where the items are to make them.
    fn tasks(&self, it: &Map<String, Value>) -> Result<Vec<SearchTask>> {
        let tasks: Vec<SearchTask> = self.at("plan.search_tasks").word(it, Vec::new())?;
        for (nth, task) in tasks.iter().enumerate() {
            let at = self.at(&format!("plan.search_tasks[{nth}]"));
            if !(1..=LONGEST_QUERY).contains(&task.query.trim().chars().count()) {
                return Err(at.field("query").wrong("must have 1 to 300 characters"));
            }
            if !(1..=100).contains(&task.num_results) {
                return Err(at.field("num_results").wrong("must be from 1 to 100"));
            }
        }
        Ok(tasks)
    }

    fn items(&self, it: &Map<String, Value>, brief: &Brief) -> Result<Vec<Item>> {
        let at = self.at("plan.items");
        let Some(Value::Array(rows)) = it.get("items") else {
            return Err(at.wrong("must be a list of 1 to 7 items"));
        };
        let (fewest, most) = ITEMS;
        if !(fewest..=most).contains(&rows.len()) {
            let what = format!("has {} items; {fewest} to {most} are allowed", rows.len());
            return Err(at.wrong(&what));
        }
        let mut items: Vec<Item> = Vec::new();
        for (nth, row) in rows.iter().enumerate() {
            let at = at.nth(nth);
            let row = at.object(row)?;
            let asks = match row.get("asks") {
                Some(it) => at.field("asks").text(it)?,
                None => return Err(at.field("asks").wrong("is missing")),
            };
            let id = match row.get("id") {
                Some(_) => at.field("id").word(row, ItemId::new(1))?,
                None => ItemId::new(nth as u32 + 1),
            };
            if items.iter().any(|it| it.id == id) {
                return Err(at.field("id").wrong(&format!("is {id}, as another item's")));
            }
            let query = at.field("query").optional(row)?;
            let length = query.as_ref().map_or(0, |it| it.chars().count());
            if length > LONGEST_QUERY {
                let what = format!("is {length} characters long; at most {LONGEST_QUERY}");
                return Err(at.field("query").wrong(&what));
            }
            let clipped = || asks.chars().take(LONGEST_QUERY).collect();
            let terms = match row.get("terms") {
                Some(it) => at.field("terms").texts(it)?,
                None => brief.subjects.clone(),
            };
            items.push(Item {
                id,
                heading: at
                    .field("heading")
                    .optional(row)?
                    .unwrap_or_else(|| asks.trim_end_matches(['?', '.', ' ']).to_owned()),
                terms,
                query: query.unwrap_or_else(clipped),
                asks,
            });
        }
        Ok(items)
    }

    fn writing(&self, value: &Value, items: &[Item], own: &WritingPlan) -> Result<WritingPlan> {
        let at = self.at("plan.writing");
        let it = at.object(value)?;
        let known: BTreeSet<ItemId> = items.iter().map(|it| it.id).collect();
        let mut sections: Vec<SectionPlan> = Vec::new();
        if let Some(rows) = it.get("sections") {
            let at = at.field("sections");
            for (nth, row) in at.list(rows)?.iter().enumerate() {
                let at = at.nth(nth);
                let row = at.object(row)?;
                let title = match row.get("title") {
                    Some(it) => at.field("title").text(it)?,
                    None => return Err(at.field("title").wrong("is missing")),
                };
                let at_items = at.field("items");
                let mut named = Vec::new();
                for (nth, id) in at_items
                    .list(row.get("items").unwrap_or(&Value::Null))?
                    .iter()
                    .enumerate()
                {
                    let at = at_items.nth(nth);
                    let id: ItemId = serde_json::from_value(id.clone())
                        .map_err(|_| at.wrong("must be the id of an item, as in \"Q1\""))?;
                    if !known.contains(&id) {
                        return Err(at.wrong(&format!("is {id}, and there is no such item")));
                    }
                    named.push(id);
                }
                if named.is_empty() {
                    return Err(at_items.wrong("is empty"));
                }
                sections.push(SectionPlan {
                    title,
                    guidance: at.field("guidance").optional(row)?.unwrap_or_default(),
                    items: named,
                });
            }
        }
        // An item that stands in no section would be researched and not told.
        for it in items {
            if !sections.iter().any(|own| own.items.contains(&it.id)) {
                sections.push(section_of(it));
            }
        }
        let directives = match it.get("additional_directives") {
            Some(it) => at.field("additional_directives").texts(it)?,
            None => own.additional_directives.clone(),
        };
        let or = |it: Option<String>, own: &String| it.unwrap_or_else(|| own.clone());
        Ok(WritingPlan {
            overall_goal: or(at.field("overall_goal").optional(it)?, &own.overall_goal),
            desired_tone: or(at.field("desired_tone").optional(it)?, &own.desired_tone),
            sections,
            additional_directives: directives,
            bibliography: at.field("bibliography").word(it, own.bibliography)?,
        })
    }

    fn at(&self, field: &str) -> Field<'_> {
        Field {
            file: &self.name,
            path: field.to_owned(),
        }
    }
}

fn section_of(item: &Item) -> SectionPlan {
    SectionPlan {
        title: item.heading.clone(),
        guidance: item.asks.clone(),
        items: vec![item.id],
    }
}

/// A place in the file.
struct Field<'a> {
    file: &'a str,
    path: String,
}

impl Field<'_> {
    fn field(&self, name: &str) -> Field<'_> {
        Field {
            file: self.file,
            path: format!("{}.{name}", self.path),
        }
    }

    fn nth(&self, nth: usize) -> Field<'_> {
        Field {
            file: self.file,
            path: format!("{}[{nth}]", self.path),
        }
    }

    fn wrong(&self, what: &str) -> Error {
        let doing = format!("reading plan {}: {} {what}", self.file, self.path);
        Error::new(Kind::Usage, doing).hint(format!(
            "mend {} in the file; `ibid plan \"…\" --json` shows the form",
            self.path
        ))
    }

    fn object<'v>(&self, value: &'v Value) -> Result<&'v Map<String, Value>> {
        value
            .as_object()
            .ok_or_else(|| self.wrong("must be an object"))
    }

    fn list<'v>(&self, value: &'v Value) -> Result<&'v Vec<Value>> {
        value.as_array().ok_or_else(|| self.wrong("must be a list"))
    }

    fn text(&self, value: &Value) -> Result<String> {
        let Some(text) = value.as_str() else {
            return Err(self.wrong("must be a text"));
        };
        let text = text.trim();
        if text.is_empty() {
            return Err(self.wrong("is empty"));
        }
        let length = text.chars().count();
        match length > LONGEST {
            true => Err(self.wrong(&format!("is {length} characters long; at most {LONGEST}"))),
            false => Ok(text.to_owned()),
        }
    }

    fn texts(&self, value: &Value) -> Result<Vec<String>> {
        let rows = self.list(value)?.iter().enumerate();
        rows.map(|(nth, it)| self.nth(nth).text(it)).collect()
    }

    /// The text of this field in `of`; none where it is missing, null or blank.
    fn optional(&self, of: &Map<String, Value>) -> Result<Option<String>> {
        match of.get(self.name()) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(it)) if it.trim().is_empty() => Ok(None),
            Some(it) => self.text(it).map(Some),
        }
    }

    /// The word, or list of objects, of this field in `of`; `own` where it is missing or null.
    fn word<T: DeserializeOwned>(&self, of: &Map<String, Value>, own: T) -> Result<T> {
        match of.get(self.name()) {
            None | Some(Value::Null) => Ok(own),
            Some(it) => serde_json::from_value(it.clone())
                .map_err(|fault| self.wrong("cannot be read").because(fault)),
        }
    }

    fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}
