//! The presets of each effort.
use ibid_core::domain::{Complexity, Effort};

/// The values of the setting `effort`, and the effort that each means.
pub const WORDS: &[(&str, &str)] = &[
    ("quick", "quick"),
    ("standard", "standard"),
    ("deep", "deep"),
    ("max", "max"),
    ("auto", "auto"),
    ("low", "quick"),
    ("medium", "standard"),
    ("high", "deep"),
];

/// The values of the settings `models.ROLE.reasoning`.
pub const REASONING: &[(&str, &str)] =
    &[("auto", "auto"), ("none", "none"), ("low", "low"), ("medium", "medium"), ("high", "high")];

/// The values of the setting `strategy`.
pub const STRATEGIES: &[(&str, &str)] = &[
    ("auto", "auto"),
    ("checklist", "checklist"),
    ("planned", "planned"),
    ("supervisor", "supervisor"),
    ("coverage", "coverage"),
];

/// The settings that an effort sets, in the order of the columns of [`PRESETS`].
const FILLED: [&str; 11] = [
    "breadth",
    "depth",
    "max_iterations",
    "max_refinement_iterations",
    "concurrency",
    "results_per_query",
    "max_sources",
    "drafts",
    "critique_rounds",
    "budget.seconds",
    "budget.calls",
];

/// One row for each effort. `auto` starts as `standard`; the method scales it by the complexity of the question.
#[rustfmt::skip]
const PRESETS: [(Effort, [&str; 11]); 5] = [
    //                  breadth depth iterations refinements concurrency results sources drafts critique seconds calls
    (Effort::Quick,    ["3",   "1",  "4",       "0",        "16",       "5",    "10",   "1",   "0",     "120",  "40"]),
    (Effort::Standard, ["4",   "2",  "10",      "2",        "16",       "10",   "20",   "1",   "0",     "600",  "110"]),
    (Effort::Deep,     ["6",   "3",  "12",      "2",        "24",       "15",   "30",   "1",   "1",     "1200", "250"]),
    (Effort::Max,      ["10",  "5",  "12",      "2",        "32",       "20",   "50",   "3",   "2",     "3600", "600"]),
    (Effort::Auto,     ["4",   "2",  "10",      "2",        "16",       "10",   "20",   "1",   "0",     "600",  "110"]),
];

/// The effort that `word` means.
pub fn parse(word: &str) -> Option<Effort> {
    let meant = WORDS.iter().find(|it| it.0 == word)?.1;
    PRESETS.iter().map(|preset| preset.0).find(|it| name(*it) == meant)
}

/// The name of an effort.
pub fn name(effort: Effort) -> &'static str {
    match effort {
        Effort::Quick => "quick",
        Effort::Standard => "standard",
        Effort::Deep => "deep",
        Effort::Max => "max",
        Effort::Auto => "auto",
    }
}

/// The settings of an effort, with their values.
pub fn preset(effort: Effort) -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS
        .iter()
        .filter(move |preset| preset.0 == effort)
        .flat_map(|preset| FILLED.into_iter().zip(preset.1))
}

/// The presets as a Markdown table, for the documentation.
pub fn markdown_table() -> String {
    let mut out = format!("| effort | `strategy` | `{}` |\n", FILLED.join("` | `"));
    out.push_str(&"| --- ".repeat(FILLED.len() + 2));
    out.push_str("|\n");
    for (effort, values) in PRESETS {
        out.push_str(&format!(
            "| `{}` | {} | {} |\n",
            name(effort),
            strategy_text(effort),
            values.join(" | ")
        ));
    }
    out
}

/// The strategy of an effort, in words.
fn strategy_text(effort: Effort) -> String {
    let text = |asked| {
        let (with_model, alone) = (effort.strategy(asked, true), effort.strategy(asked, false));
        if with_model == alone {
            format!("`{}`", with_model.as_str())
        } else {
            let (with_model, alone) = (with_model.as_str(), alone.as_str());
            format!("`{with_model}` (`{alone}` without a model)")
        }
    };
    let all = [Complexity::Simple, Complexity::Moderate, Complexity::Complex].map(text);
    let [simple, moderate, complex] = &all;
    if simple == complex {
        simple.clone()
    } else {
        format!("simple {simple}, moderate {moderate}, complex {complex}")
    }
}
