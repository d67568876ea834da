//! Plan files: the JSON of `ibid plan --json`, edited by a user and read back. Every error names the field.
use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use ibid_core::domain::{
    Brief, ChecklistItem, ItemId, Plan, ProvidedPlan, Question, SearchTask, SectionPlan,
    WritingPlan,
};
use ibid_core::{Error, ErrorKind, Result};

/// The largest file, in bytes.
pub const MAX_BYTES: usize = 256 * 1024;
/// The least and the most items of a plan.
const ITEMS: (usize, usize) = (1, 7);
/// Maximum length of the text of a field, in characters.
const MAX_TEXT_CHARS: usize = 2_000;
/// Maximum length of a query in characters.
const MAX_QUERY_CHARS: usize = 300;

/// A plan file, parsed as JSON. Its fields are checked when they are read.
#[derive(Debug, Clone)]
pub struct PlanFile {
    name: String,
    root: Map<String, Value>,
}

impl PlanFile {
    /// Parses the `text` of the file `name`. Unknown fields are ignored.
    ///
    /// # Errors
    /// `Usage` for what is not a plan.
    pub fn parse(name: &str, text: &str) -> Result<PlanFile> {
        let invalid = |what: &str| {
            Error::new(ErrorKind::Usage, format!("reading plan {name}: {what}"))
                .with_hint("create one with `ibid plan \"…\" --json > plan.json`, then edit it")
        };
        if text.len() > MAX_BYTES {
            return Err(invalid("it is longer than 256 KiB"));
        }
        let root: Value = serde_json::from_str(text)
            .map_err(|cause| invalid("it is not JSON").with_source(cause))?;
        let Value::Object(root) = root else {
            return Err(invalid("it is not a JSON object"));
        };
        match root.get("type") {
            None | Some(Value::Null) => {}
            Some(it) if it == "plan" => {}
            Some(_) => return Err(invalid("its `type` is not `plan`")),
        }
        Ok(PlanFile { name: name.to_owned(), root })
    }

    /// The question of the file, if it has one.
    ///
    /// # Errors
    /// `Usage` when it is not a text.
    pub fn question(&self) -> Result<Option<String>> {
        let brief = self.root.get("brief").and_then(|value| value.get("question"));
        let question = self.root.get("question").or(brief);
        question.map(|question| self.root_field("question").text(question)).transpose()
    }

    /// The brief and the plan of the file. Missing fields are filled in by heuristics, as without a model; only the items of the plan are
    /// required.
    ///
    /// # Errors
    /// `Usage`, naming the field.
    pub fn provided_plan(&self, question: &Question) -> Result<ProvidedPlan> {
        // A brief with another question than `question` is filled in from its own.
        let asked = match self.root.get("brief").and_then(|value| value.get("question")) {
            Some(it) => self.root_field("brief.question").text(it)?,
            None => question.text.clone(),
        };
        let plain = Question { given: None, text: asked, ..question.clone() };
        let (own, _) = ibid_research::plan_by_heuristics(&plain)?;
        let brief = match self.root.get("brief") {
            Some(it) => self.brief(it, own)?,
            None => own,
        };
        let at = self.root_field("plan");
        let plan = match self.root.get("plan") {
            Some(Value::Object(it)) => self.plan(it, &brief)?,
            Some(_) => return Err(at.invalid("must be an object")),
            None => return Err(at.invalid("is missing")),
        };
        Ok(ProvidedPlan { brief, plan })
    }

    fn brief(&self, value: &Value, own: Brief) -> Result<Brief> {
        let at = self.root_field("brief");
        let it = at.object(value)?;
        let words = |name: &str, own: Vec<String>| match it.get(name) {
            Some(value) => at.field(name).text_list(value),
            None => Ok(own),
        };
        let or_own = |all: Vec<String>, own: Vec<String>| if all.is_empty() { own } else { all };
        let lang = at.field("lang").optional_text(it)?.unwrap_or(own.lang);
        if lang.len() != 2 || !lang.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return Err(at.field("lang").invalid("must be a two-letter language code, as in en"));
        }
        Ok(Brief {
            question: at
                .field("question")
                .optional_text(it)?
                .unwrap_or_else(|| own.question.clone()),
            sharpened: at.field("sharpened").optional_text(it)?,
            kind: at.field("kind").parse_or(it, own.kind)?,
            subjects: or_own(words("subjects", own.subjects.clone())?, own.subjects),
            key_terms: or_own(words("key_terms", own.key_terms.clone())?, own.key_terms),
            scope_in: words("scope_in", own.scope_in)?,
            scope_out: words("scope_out", own.scope_out)?,
            lang,
            clarified: at.field("clarified").parse_or(it, Vec::new())?,
        })
    }

    fn plan(&self, it: &Map<String, Value>, brief: &Brief) -> Result<Plan> {
        let at = self.root_field("plan");
        let own = ibid_research::plan_from_brief(brief)?;
        let items = self.items(it, brief)?;
        let writing = match it.get("writing") {
            Some(value) => self.writing(value, &items, &own.writing)?,
            None => {
                WritingPlan { sections: items.iter().map(default_section).collect(), ..own.writing }
            }
        };
        let complexity = at.field("complexity").parse_or(it, own.complexity)?;
        let plan = Plan::new(items, complexity, writing);
        let mut plan = plan.ok_or_else(|| at.field("items").invalid("is empty"))?;
        plan.approach = at.field("approach").optional_text(it)?.unwrap_or_default();
        plan.search_tasks = self.tasks(it)?;
        Ok(plan)
    }

    /// The search tasks; none when they are to be made from the items.
    fn tasks(&self, it: &Map<String, Value>) -> Result<Vec<SearchTask>> {
        let tasks: Vec<SearchTask> =
            self.root_field("plan.search_tasks").parse_or(it, Vec::new())?;
        for (nth, task) in tasks.iter().enumerate() {
            let at = self.root_field(&format!("plan.search_tasks[{nth}]"));
            if !(1..=MAX_QUERY_CHARS).contains(&task.query.trim().chars().count()) {
                return Err(at.field("query").invalid("must have 1 to 300 characters"));
            }
            if !(1..=100).contains(&task.num_results) {
                return Err(at.field("num_results").invalid("must be from 1 to 100"));
            }
        }
        Ok(tasks)
    }

    fn items(&self, it: &Map<String, Value>, brief: &Brief) -> Result<Vec<ChecklistItem>> {
        let at = self.root_field("plan.items");
        let Some(Value::Array(rows)) = it.get("items") else {
            return Err(at.invalid("must be a list of 1 to 7 items"));
        };
        let (fewest, most) = ITEMS;
        if !(fewest..=most).contains(&rows.len()) {
            let what = format!("has {} items; {fewest} to {most} are allowed", rows.len());
            return Err(at.invalid(&what));
        }
        let mut items: Vec<ChecklistItem> = Vec::new();
        for (nth, row) in rows.iter().enumerate() {
            let at = at.nth(nth);
            let row = at.object(row)?;
            let asks = match row.get("asks") {
                Some(it) => at.field("asks").text(it)?,
                None => return Err(at.field("asks").invalid("is missing")),
            };
            let id = match row.get("id") {
                Some(_) => at.field("id").parse_or(row, ItemId::new(1))?,
                None => ItemId::new(nth as u32 + 1),
            };
            if items.iter().any(|item| item.id == id) {
                return Err(at.field("id").invalid(&format!("is {id}, as another item's")));
            }
            let query = at.field("query").optional_text(row)?;
            let length = query.as_ref().map_or(0, |query| query.chars().count());
            if length > MAX_QUERY_CHARS {
                let what = format!("is {length} characters long; at most {MAX_QUERY_CHARS}");
                return Err(at.field("query").invalid(&what));
            }
            let clipped = || asks.chars().take(MAX_QUERY_CHARS).collect();
            let terms = match row.get("terms") {
                Some(it) => at.field("terms").text_list(it)?,
                None => brief.subjects.clone(),
            };
            items.push(ChecklistItem {
                id,
                heading: at
                    .field("heading")
                    .optional_text(row)?
                    .unwrap_or_else(|| asks.trim_end_matches(['?', '.', ' ']).to_owned()),
                terms,
                query: query.unwrap_or_else(clipped),
                asks,
            });
        }
        Ok(items)
    }

    fn writing(
        &self,
        value: &Value,
        items: &[ChecklistItem],
        own: &WritingPlan,
    ) -> Result<WritingPlan> {
        let at = self.root_field("plan.writing");
        let it = at.object(value)?;
        let known: BTreeSet<ItemId> = items.iter().map(|item| item.id).collect();
        let mut sections: Vec<SectionPlan> = Vec::new();
        if let Some(rows) = it.get("sections") {
            let at = at.field("sections");
            for (nth, row) in at.list(rows)?.iter().enumerate() {
                sections.push(section(&at.nth(nth), row, &known)?);
            }
        }
        // An item in no section would be researched but not reported.
        for it in items {
            if !sections.iter().any(|own| own.items.contains(&it.id)) {
                sections.push(default_section(it));
            }
        }
        let directives = match it.get("additional_directives") {
            Some(it) => at.field("additional_directives").text_list(it)?,
            None => own.additional_directives.clone(),
        };
        let or = |it: Option<String>, own: &String| it.unwrap_or_else(|| own.clone());
        Ok(WritingPlan {
            overall_goal: or(at.field("overall_goal").optional_text(it)?, &own.overall_goal),
            desired_tone: or(at.field("desired_tone").optional_text(it)?, &own.desired_tone),
            sections,
            additional_directives: directives,
            bibliography: at.field("bibliography").parse_or(it, own.bibliography)?,
        })
    }

    fn root_field(&self, field: &str) -> FieldPath<'_> {
        FieldPath { file: &self.name, path: field.to_owned() }
    }
}

/// A section of the writing plan. Its items must be `known`.
fn section(at: &FieldPath<'_>, value: &Value, known: &BTreeSet<ItemId>) -> Result<SectionPlan> {
    let row = at.object(value)?;
    let title = match row.get("title") {
        Some(it) => at.field("title").text(it)?,
        None => return Err(at.field("title").invalid("is missing")),
    };
    let at_items = at.field("items");
    let ids = at_items.list(row.get("items").unwrap_or(&Value::Null))?;
    let mut items = Vec::new();
    for (nth, id) in ids.iter().enumerate() {
        let at = at_items.nth(nth);
        let id: ItemId = serde_json::from_value(id.clone())
            .map_err(|_| at.invalid("must be the id of an item, as in \"Q1\""))?;
        if !known.contains(&id) {
            return Err(at.invalid(&format!("is {id}, and there is no such item")));
        }
        items.push(id);
    }
    // A section without items is about the whole.
    Ok(SectionPlan {
        title,
        guidance: at.field("guidance").optional_text(row)?.unwrap_or_default(),
        items,
    })
}

/// The section of an item that no section names.
fn default_section(item: &ChecklistItem) -> SectionPlan {
    SectionPlan { title: item.heading.clone(), guidance: item.asks.clone(), items: vec![item.id] }
}

/// A field of the file, for reading it and for error messages.
struct FieldPath<'a> {
    file: &'a str,
    path: String,
}

impl FieldPath<'_> {
    fn field(&self, name: &str) -> FieldPath<'_> {
        FieldPath { file: self.file, path: format!("{}.{name}", self.path) }
    }

    fn nth(&self, nth: usize) -> FieldPath<'_> {
        FieldPath { file: self.file, path: format!("{}[{nth}]", self.path) }
    }

    fn invalid(&self, what: &str) -> Error {
        let doing = format!("reading plan {}: {} {what}", self.file, self.path);
        Error::new(ErrorKind::Usage, doing).with_hint(format!(
            "fix {} in the file; `ibid plan \"…\" --json` shows the format",
            self.path
        ))
    }

    fn object<'v>(&self, value: &'v Value) -> Result<&'v Map<String, Value>> {
        value.as_object().ok_or_else(|| self.invalid("must be an object"))
    }

    fn list<'v>(&self, value: &'v Value) -> Result<&'v Vec<Value>> {
        value.as_array().ok_or_else(|| self.invalid("must be a list"))
    }

    fn text(&self, value: &Value) -> Result<String> {
        let Some(text) = value.as_str() else {
            return Err(self.invalid("must be a text"));
        };
        let text = text.trim();
        if text.is_empty() {
            return Err(self.invalid("is empty"));
        }
        let length = text.chars().count();
        if length > MAX_TEXT_CHARS {
            Err(self.invalid(&format!("is {length} characters long; at most {MAX_TEXT_CHARS}")))
        } else {
            Ok(text.to_owned())
        }
    }

    fn text_list(&self, value: &Value) -> Result<Vec<String>> {
        let rows = self.list(value)?.iter().enumerate();
        rows.map(|(nth, it)| self.nth(nth).text(it)).collect()
    }

    /// The text of this field in `object`; `None` when it is missing, null or blank.
    fn optional_text(&self, object: &Map<String, Value>) -> Result<Option<String>> {
        match object.get(self.name()) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(it)) if it.trim().is_empty() => Ok(None),
            Some(it) => self.text(it).map(Some),
        }
    }

    /// The value of this field in `object`; `default` when it is missing or null.
    fn parse_or<T: DeserializeOwned>(&self, object: &Map<String, Value>, default: T) -> Result<T> {
        match object.get(self.name()) {
            None | Some(Value::Null) => Ok(default),
            Some(it) => serde_json::from_value(it.clone())
                .map_err(|fault| self.invalid("cannot be read").with_source(fault)),
        }
    }

    fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}
