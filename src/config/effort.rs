//! What an effort stands for.
use crate::domain::{Complexity, Effort};

/// The words people may write, and the effort each means.
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

/// The words people may write for a strategy.
pub const STRATEGIES: &[(&str, &str)] = &[
    ("auto", "auto"),
    ("checklist", "checklist"),
    ("planned", "planned"),
    ("supervisor", "supervisor"),
    ("coverage", "coverage"),
];

/// The settings an effort fills, in the order of the columns of [`PRESETS`].
const FILLED: [&str; 8] = [
    "breadth",
    "depth",
    "max_iterations",
    "concurrency",
    "results_per_query",
    "max_sources",
    "budget.seconds",
    "budget.calls",
];

/// One row an effort. `auto` starts as `standard`; the flow scales it by the question's complexity.
#[rustfmt::skip]
const PRESETS: [(Effort, [&str; 8]); 5] = [
    //                  breadth depth iterations concurrency results sources seconds calls
    (Effort::Quick,    ["3",   "1",  "4",       "16",       "5",    "10",   "120",  "40"]),
    (Effort::Standard, ["4",   "2",  "10",      "16",       "10",   "20",   "600",  "110"]),
    (Effort::Deep,     ["6",   "3",  "12",      "24",       "15",   "30",   "1200", "250"]),
    (Effort::Max,      ["10",  "5",  "12",      "32",       "20",   "50",   "3600", "600"]),
    (Effort::Auto,     ["4",   "2",  "10",      "16",       "10",   "20",   "600",  "110"]),
];

/// The effort that `word` means.
pub fn parse(word: &str) -> Option<Effort> {
    let meant = WORDS.iter().find(|it| it.0 == word)?.1;
    PRESETS.iter().map(|it| it.0).find(|it| name(*it) == meant)
}

/// The word for an effort.
pub fn name(effort: Effort) -> &'static str {
    match effort {
        Effort::Quick => "quick",
        Effort::Standard => "standard",
        Effort::Deep => "deep",
        Effort::Max => "max",
        Effort::Auto => "auto",
    }
}

/// Setting and value for everything the effort fills.
pub fn preset(effort: Effort) -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS
        .iter()
        .filter(move |it| it.0 == effort)
        .flat_map(|it| FILLED.into_iter().zip(it.1))
}

/// The presets as a Markdown table, for the documentation.
pub fn document() -> String {
    let mut out = format!("| effort | `strategy` | `{}` |\n", FILLED.join("` | `"));
    out.push_str(&"| --- ".repeat(FILLED.len() + 2));
    out.push_str("|\n");
    for (effort, values) in PRESETS {
        out.push_str(&format!(
            "| `{}` | {} | {} |\n",
            name(effort),
            strategy(effort),
            values.join(" | ")
        ));
    }
    out
}

/// The strategy of an effort, in words.
fn strategy(effort: Effort) -> String {
    let of = |asked| {
        let (led, alone) = (effort.strategy(asked, true), effort.strategy(asked, false));
        match led == alone {
            true => format!("`{}`", led.word()),
            false => format!("`{}` (`{}` without a model)", led.word(), alone.word()),
        }
    };
    let all = [
        Complexity::Simple,
        Complexity::Moderate,
        Complexity::Complex,
    ]
    .map(of);
    match all[0] == all[2] {
        true => all[0].clone(),
        false => format!("simple {}, moderate {}, complex {}", all[0], all[1], all[2]),
    }
}
