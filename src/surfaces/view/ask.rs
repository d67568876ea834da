//! Asking: the form, and what would be done with a question.
use askama::Template;
use serde_json::{Map, Value, json};

use super::Shell;
use super::words::{money, noun, thousands};
use crate::surfaces::export::escape::line;

/// The form as it was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form {
    /// The words.
    pub question: String,
    /// Report, answer or evidence.
    pub mode: String,
    /// How much work.
    pub effort: String,
    /// Where to search, one of those the form offers.
    pub place: String,
    /// The model; empty for the one that is set.
    pub model: String,
    /// Most dollars.
    pub usd: String,
    /// Most minutes.
    pub minutes: String,
    /// The folders, by path; none where none is named.
    pub folders: Vec<String>,
    /// Whether the plan waits.
    pub approve: bool,
    /// Whether to ask back.
    pub clarify: bool,
    /// Whether the plan alone is wanted.
    pub preview: bool,
}

/// Where can be searched: the form's word, a person's.
const PLACES: [(&str, &str); 5] = [
    ("", "where the settings say"),
    ("local", "folders alone"),
    ("web", "the web"),
    ("scholar", "the scholarly record"),
    ("both", "web and scholarly record"),
];

impl Form {
    /// The form that these pairs fill.
    pub fn of(pairs: &[(String, String)]) -> Form {
        let one = |name: &str| {
            let found = pairs.iter().find(|it| it.0 == name);
            found.map_or_else(String::new, |it| it.1.trim().to_owned())
        };
        Form {
            question: one("question"),
            mode: one("mode"),
            effort: one("effort"),
            place: one("where"),
            model: one("model"),
            usd: one("usd").trim_start_matches('$').to_owned(),
            minutes: one("minutes"),
            folders: pairs
                .iter()
                .filter(|it| it.0 == "folder")
                .map(|it| it.1.clone())
                .collect(),
            approve: !one("approve").is_empty(),
            clarify: !one("clarify").is_empty(),
            preview: one("do") == "plan",
        }
    }

    /// The question as the API takes it. `all` are the folders that are served.
    pub fn request(&self, all: &[String]) -> Value {
        let mut out = Map::new();
        let mut put = |name: &str, value: Value| {
            out.insert(name.to_owned(), value);
        };
        put("question", json!(self.question));
        for (name, text) in [
            ("mode", &self.mode),
            ("effort", &self.effort),
            ("model", &self.model),
        ] {
            if !text.is_empty() {
                put(name, json!(text));
            }
        }
        match self.place.as_str() {
            "local" => put("only_local", json!(true)),
            "web" => put("engines", json!(["web"])),
            "scholar" => put("engines", json!(["scholar"])),
            "both" => put("engines", json!(["web", "scholar"])),
            _ => {}
        }
        // Every folder ticked is what nobody has to say; none ticked searches none.
        if !all.is_empty() && self.folders.len() != all.len() {
            put("folders", json!(self.folders));
        }
        let mut budget = Map::new();
        if !self.usd.is_empty() {
            budget.insert("usd".to_owned(), json!(self.usd));
        }
        if !self.minutes.is_empty() {
            let seconds = self.minutes.parse::<f64>().map(|it| (it * 60.0).round());
            let seconds = seconds.ok().filter(|it| it.is_finite() && *it >= 1.0);
            budget.insert(
                "seconds".to_owned(),
                seconds.map_or_else(|| json!(self.minutes), |it| json!(it as u64)),
            );
        }
        if !budget.is_empty() {
            put("budget", budget.into());
        }
        if self.approve {
            put("plan", json!("require_approval"));
        }
        if self.clarify {
            put("ask", json!(true));
        }
        out.into()
    }
}

/// What would be done with a question, and what it may come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// In words.
    pub prose: Vec<String>,
    /// What must be answered, and the first query for it.
    pub items: Vec<(String, String)>,
    /// Bounds: name, words.
    pub bounds: Vec<(&'static str, String)>,
}

impl Preview {
    /// Of the plan as the API gives it.
    pub fn of(plan: &Value) -> Preview {
        let number = |name: &str| plan["estimate"][name].as_u64();
        let items = plan["plan"]["items"].as_array();
        let mut bounds = Vec::new();
        for (name, key) in [
            ("Rounds at most", "max_rounds"),
            ("Searches at most", "max_searches"),
            ("Pages at most", "max_pages"),
            ("Seconds at most", "max_seconds"),
        ] {
            if let Some(n) = number(key) {
                bounds.push((name, thousands(n)));
            }
        }
        let calls = number("model_calls").unwrap_or(0);
        bounds.push((
            "Price at most",
            match (plan["estimate"]["usd"].as_f64(), calls) {
                (_, 0) => "$0: no model is asked".to_owned(),
                (Some(usd), n) => format!(
                    "{} for {} model {}, {} tokens",
                    money(usd),
                    thousands(n),
                    noun(n, "call"),
                    thousands(number("tokens").unwrap_or(0))
                ),
                (None, n) => format!(
                    "not known: the price of the model is not; {} {}, {} tokens",
                    thousands(n),
                    noun(n, "call"),
                    thousands(number("tokens").unwrap_or(0))
                ),
            },
        ));
        Preview {
            prose: plan["prose"]
                .as_str()
                .unwrap_or_default()
                .split("\n\n")
                .map(line)
                .collect(),
            items: items
                .into_iter()
                .flatten()
                .map(|it| {
                    (
                        line(it["asks"].as_str().unwrap_or_default()),
                        line(it["query"].as_str().unwrap_or_default()),
                    )
                })
                .collect(),
            bounds,
        }
    }
}

/// The page.
#[derive(Template)]
#[template(path = "new.html")]
pub struct New {
    /// What surrounds it.
    pub shell: Shell,
    /// The form as filled in.
    pub form: Form,
    /// Folders served: path, whether ticked, name.
    pub folders: Vec<(String, bool, String)>,
    /// Models offered: word, name.
    pub models: Vec<(String, String)>,
    /// Why it cannot be asked so, and what would help.
    pub fault: Option<(String, Option<String>)>,
    /// What would be done.
    pub plan: Option<Preview>,
}

impl New {
    fn modes(&self) -> [(&'static str, &'static str); 3] {
        [
            ("report", "a report"),
            ("answer", "one line"),
            ("evidence", "evidence without prose"),
        ]
    }

    fn efforts(&self) -> [(&'static str, &'static str); 6] {
        [
            ("", "as set"),
            ("quick", "quick"),
            ("standard", "standard"),
            ("deep", "deep"),
            ("max", "max"),
            ("auto", "by the question"),
        ]
    }

    fn places(&self) -> [(&'static str, &'static str); 5] {
        PLACES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_becomes_the_request_that_the_api_takes() {
        let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter()
                .map(|it| (it.0.to_owned(), it.1.to_owned()))
                .collect()
        };
        let form = Form::of(&pairs(&[
            ("question", " Why? "),
            ("mode", "report"),
            ("effort", ""),
            ("where", "local"),
            ("model", "none"),
            ("usd", "$0.50"),
            ("minutes", "2.5"),
            ("folder", "/a"),
            ("approve", "yes"),
            ("do", "plan"),
        ]));
        assert!(form.preview && form.approve && !form.clarify);
        assert_eq!(
            form.request(&["/a".to_owned(), "/b".to_owned()]),
            json!({
                "question": "Why?", "mode": "report", "model": "none", "only_local": true, "folders": ["/a"],
                "budget": {"usd": "0.50", "seconds": 150}, "plan": "require_approval",
            })
        );
        let all = Form::of(&pairs(&[
            ("question", "Why?"),
            ("folder", "/a"),
            ("minutes", "soon"),
        ]));
        assert_eq!(
            all.request(&["/a".to_owned()]),
            json!({"question": "Why?", "budget": {"seconds": "soon"}})
        );
    }
}
