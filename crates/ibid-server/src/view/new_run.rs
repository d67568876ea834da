//! The form for a new run, and the preview of its plan.
use askama::Template;
use serde_json::{Map, Value, json};

use super::format::{money, plural_noun, thousands};
use super::shell::PageLayout;
use ibid_core::domain::CostEstimate;
use ibid_report::escape::single_line;

/// The submitted form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionForm {
    /// The question.
    pub question: String,
    /// `report`, `answer` or `evidence`.
    pub mode: String,
    /// The effort.
    pub effort: String,
    /// Where to search: one of `PLACES`.
    pub place: String,
    /// The model; empty for the configured one.
    pub model: String,
    /// The budget in dollars.
    pub usd: String,
    /// The budget in minutes.
    pub minutes: String,
    /// The names of the selected folders.
    pub folders: Vec<String>,
    /// Whether the plan needs approval.
    pub approve: bool,
    /// Whether to ask clarifying questions.
    pub clarify: bool,
    /// Whether to show only the plan.
    pub preview: bool,
}

/// Where to search: form value, label.
pub(crate) const PLACES: [(&str, &str); 5] = [
    ("", "as configured"),
    ("local", "folders only"),
    ("web", "the web"),
    ("scholar", "scholarly literature"),
    ("both", "web and scholarly literature"),
];

/// The efforts: form value, label.
pub(crate) const EFFORTS: [(&str, &str); 6] = [
    ("", "as configured"),
    ("quick", "quick"),
    ("standard", "standard"),
    ("deep", "deep"),
    ("max", "max"),
    ("auto", "automatic"),
];

impl QuestionForm {
    /// Reads the form from its fields.
    pub(crate) fn from_pairs(pairs: &[(String, String)]) -> QuestionForm {
        let one = |name: &str| {
            let found = pairs.iter().find(|pair| pair.0 == name);
            found.map_or_else(String::new, |pair| pair.1.trim().to_owned())
        };
        QuestionForm {
            question: one("question"),
            mode: one("mode"),
            effort: one("effort"),
            place: one("where"),
            model: one("model"),
            usd: one("usd").trim_start_matches('$').to_owned(),
            minutes: one("minutes"),
            folders: pairs
                .iter()
                .filter(|pair| pair.0 == "folder")
                .map(|pair| pair.1.clone())
                .collect(),
            approve: !one("approve").is_empty(),
            clarify: !one("clarify").is_empty(),
            preview: one("do") == "plan",
        }
    }

    /// The request in the form of the API. `served` are all served folders.
    pub(crate) fn to_request(&self, served: &[String]) -> Value {
        let mut out = Map::new();
        let mut put = |name: &str, value: Value| {
            out.insert(name.to_owned(), value);
        };
        put("question", json!(self.question));
        for (name, text) in [("mode", &self.mode), ("effort", &self.effort), ("model", &self.model)]
        {
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
        // Searching all folders is the default; no selection searches none.
        if !served.is_empty() && self.folders.len() != served.len() {
            put("folders", json!(self.folders));
        }
        let mut budget = Map::new();
        if !self.usd.is_empty() {
            budget.insert("usd".to_owned(), json!(self.usd));
        }
        if !self.minutes.is_empty() {
            let seconds = self.minutes.parse::<f64>().map(|parsed| (parsed * 60.0).round());
            let seconds = seconds.ok().filter(|second| second.is_finite() && *second >= 1.0);
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

/// The plan of a question and its estimated cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanPreview {
    /// The plan in prose.
    pub prose: Vec<String>,
    /// The questions to answer, each with its first query.
    pub items: Vec<(String, String)>,
    /// The limits: name, text.
    pub bounds: Vec<(&'static str, String)>,
}

impl PlanPreview {
    /// Reads the plan from the API's JSON.
    pub fn from_json(plan: &Value) -> PlanPreview {
        let number = |name: &str| plan["estimate"][name].as_u64();
        let items = plan["plan"]["items"].as_array();
        let mut bounds = Vec::new();
        for (name, key) in [
            ("Maximum rounds", "max_rounds"),
            ("Maximum searches", "max_searches"),
            ("Maximum pages", "max_pages"),
            ("Maximum seconds", "max_seconds"),
        ] {
            if let Some(n) = number(key) {
                bounds.push((name, thousands(n)));
            }
        }
        let calls = number("model_calls").unwrap_or(0);
        bounds.push((
            "Maximum cost",
            match (plan["estimate"]["usd"].as_f64(), calls) {
                (_, 0) => "$0: no model is used".to_owned(),
                (Some(usd), n) => format!(
                    "{} for {} model {}, {} tokens",
                    money(usd),
                    thousands(n),
                    plural_noun(n, "call"),
                    thousands(number("tokens").unwrap_or(0))
                ),
                (None, n) => format!(
                    "unknown model price; {} {}, {} tokens",
                    thousands(n),
                    plural_noun(n, "call"),
                    thousands(number("tokens").unwrap_or(0))
                ),
            },
        ));
        PlanPreview {
            prose: plan["prose"]
                .as_str()
                .unwrap_or_default()
                .split("\n\n")
                .map(single_line)
                .collect(),
            items: items
                .into_iter()
                .flatten()
                .map(|item| {
                    (
                        single_line(item["asks"].as_str().unwrap_or_default()),
                        single_line(item["query"].as_str().unwrap_or_default()),
                    )
                })
                .collect(),
            bounds,
        }
    }
}

/// The form and what it offers.
#[derive(Debug, Clone)]
pub struct AskForm {
    /// What is filled in.
    pub form: QuestionForm,
    /// The served folders: name, whether selected, label.
    pub folders: Vec<(String, bool, String)>,
    /// The offered models: value, label.
    pub models: Vec<(String, String)>,
    /// The efforts, each with the most that it may cost: value, label.
    pub efforts: Vec<(&'static str, String)>,
    /// Where to search, each with its engines: value, label.
    pub places: Vec<(&'static str, String)>,
    /// What a run may cost as configured.
    pub price: String,
    /// Why no run can be started.
    pub fault: Option<FormFault>,
}

/// Why a run cannot be started.
#[derive(Debug, Clone)]
pub struct FormFault {
    /// What cannot be started.
    pub title: &'static str,
    /// The error.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

impl AskForm {
    pub(super) fn modes(&self) -> [(&'static str, &'static str); 3] {
        [("report", "report"), ("answer", "one-line answer"), ("evidence", "evidence only")]
    }

    /// Whether an option of those that are folded is set, so that they are unfolded.
    pub(super) fn has_options(&self) -> bool {
        let form = &self.form;
        let texts = [&form.model, &form.minutes];
        let is_report = matches!(form.mode.as_str(), "" | "report");
        !is_report || texts.iter().any(|it| !it.is_empty()) || form.approve || form.clarify
    }
}

/// The label of an effort with the most that it may cost. Without a model, every effort costs nothing.
pub(crate) fn effort_label(label: &str, most: Option<&CostEstimate>) -> String {
    match most.and_then(|it| it.usd) {
        Some(usd) => format!("{label}, at most {}", money(usd)),
        None => label.to_owned(),
    }
}

/// The label of a place with its `engines`, where they are known.
pub(crate) fn place_label(label: &str, engines: Option<&[String]>) -> String {
    match engines {
        Some([]) => format!("{label}: folders only"),
        Some(engines) => format!("{label}: {}", engines.join(", ")),
        None => label.to_owned(),
    }
}

/// What a run may cost at most with the configured `models`.
pub(crate) fn price_sentence(models: &[String], most: Option<&CostEstimate>) -> String {
    let Some(most) = most else {
        return "No model is configured: a run without a model costs $0.".to_owned();
    };
    let models = models.iter().map(|it| single_line(it)).collect::<Vec<_>>().join(", ");
    let calls = format!(
        "{} {}, {} tokens",
        thousands(most.calls),
        plural_noun(most.calls, "call"),
        thousands(most.tokens_in + most.tokens_out)
    );
    match most.usd {
        Some(usd) => {
            format!("As configured, a run costs at most {}: {calls} of {models}.", money(usd))
        }
        None => format!("The price of {models} is unknown: at most {calls} as configured."),
    }
}

/// The page of the form alone: with an error, or with the plan.
#[derive(Template)]
#[template(path = "new_run.html")]
pub struct NewRunPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The form.
    pub ask: AskForm,
    /// The preview of the plan.
    pub plan: Option<PlanPreview>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_is_told_before_a_run_starts() {
        let most = |usd| CostEstimate { calls: 1_200, tokens_in: 9_000, tokens_out: 1_000, usd };
        assert_eq!(effort_label("deep", Some(&most(Some(0.4)))), "deep, at most $0.40");
        assert_eq!(effort_label("deep", Some(&most(None))), "deep");
        assert_eq!(effort_label("deep", None), "deep");
        let models = ["openai:a".to_owned(), "openai:b".to_owned()];
        assert!(price_sentence(&[], None).contains("costs $0"));
        assert_eq!(
            price_sentence(&models, Some(&most(Some(0.4)))),
            "As configured, a run costs at most $0.40: 1,200 calls, 10,000 tokens of openai:a, openai:b."
        );
        assert!(price_sentence(&models, Some(&most(None))).contains("is unknown: at most 1,200"));
    }

    #[test]
    fn a_form_becomes_the_request_that_the_api_takes() {
        let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter().map(|pair| (pair.0.to_owned(), pair.1.to_owned())).collect()
        };
        let form = QuestionForm::from_pairs(&pairs(&[
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
            form.to_request(&["/a".to_owned(), "/b".to_owned()]),
            json!({
                "question": "Why?", "mode": "report", "model": "none", "only_local": true, "folders": ["/a"],
                "budget": {"usd": "0.50", "seconds": 150}, "plan": "require_approval",
            })
        );
        let all = QuestionForm::from_pairs(&pairs(&[
            ("question", "Why?"),
            ("folder", "/a"),
            ("minutes", "soon"),
        ]));
        assert_eq!(
            all.to_request(&["/a".to_owned()]),
            json!({"question": "Why?", "budget": {"seconds": "soon"}})
        );
    }
}
