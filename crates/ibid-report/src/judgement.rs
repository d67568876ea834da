//! Judgements and aggregate metrics, as text and as JSON.
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::escape::single_line;
use super::phrases::pluralize;
use ibid_core::domain::{Judgement, QualityScore, Ratio, RunId};
use ibid_core::record::{AggregateMetrics, MetricTarget};

/// A judgement as text: each part with its weight and its reason.
pub fn to_text(it: &Judgement) -> String {
    let share = Judgement::ANSWER_SHARE;
    let mut out = format!(
        "Composite  {:.2}  ({share:.1} × answer {:.2} + {:.1} × process {:.2})\n",
        it.composite,
        it.answer.score,
        1.0 - share,
        it.process.score
    );
    for (name, quality) in [("Answer", &it.answer), ("Process", &it.process)] {
        let _ = write!(out, "\n{name} quality  {:.2}\n{}", quality.score, quality_lines(quality));
    }
    let _ = writeln!(out, "\n{}", judge_line(it));
    out
}

/// `judged by openai:… · 2 calls · 1234 tokens · $0.0012`.
pub fn judge_line(it: &Judgement) -> String {
    let because = it.unaided_because.as_ref();
    let because = because.map_or_else(String::new, |it| format!(" ({})", single_line(it)));
    let Some(model) = &it.by else {
        return format!("counted by code, without a model{because}");
    };
    let usage = &it.usage;
    let money = match usage.usd {
        Some(usd) => format!("${usd:.4}"),
        None => "price not known".to_owned(),
    };
    format!(
        "judged by {}, limited by the counts of code{because} · {} · {} tokens · {money}",
        single_line(model),
        pluralize(usage.model_calls, "call"),
        usage.tokens_in + usage.tokens_out,
    )
}

fn quality_lines(it: &QualityScore) -> String {
    let mut out = String::new();
    for part in &it.parts {
        let said = match (part.counted, part.said) {
            (Some(counted), Some(said)) => {
                format!(" [counted {counted:.2}, the model says {said:.2}]")
            }
            (None, Some(_)) => " [scored by the model only]".to_owned(),
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "  {:<13} {:.2} × {:.2}  {}{said}",
            part.name,
            part.score,
            part.weight,
            single_line(&part.why)
        );
    }
    out
}

/// The JSON object of `ibid judge --json`.
pub fn to_json(run: &RunId, it: &Judgement) -> Value {
    let mut out = Map::new();
    out.insert("type".to_owned(), "judgement".into());
    out.insert("run_id".to_owned(), json!(run));
    if let Value::Object(fields) = serde_json::to_value(it).unwrap_or_default() {
        out.extend(fields);
    }
    out.into()
}

/// The JSON object of `ibid stats --json`.
pub fn tally_json(it: &AggregateMetrics) -> Value {
    let mut out = Map::new();
    out.insert("type".to_owned(), "stats".into());
    if let Value::Object(fields) = serde_json::to_value(it).unwrap_or_default() {
        out.extend(fields);
    }
    let means = it.mean_scores();
    let mean = |nth: usize| means.map(|means| means[nth]);
    out.insert(
        "judged_means".to_owned(),
        json!({"answer": mean(0), "process": mean(1), "composite": mean(2), "of": it.judged}),
    );
    out.insert("rating_of_5".to_owned(), json!(it.rating()));
    out.insert("median_seconds".to_owned(), json!(it.median_seconds()));
    out.insert("targets".to_owned(), json!(it.targets()));
    out.into()
}

/// The aggregate metrics as text.
pub fn tally_text(it: &AggregateMetrics) -> String {
    let mut out = String::new();
    let statuses: Vec<String> =
        it.statuses.iter().map(|(word, n)| format!("{n} {}", word.replace('_', " "))).collect();
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "{name:<10} {text}");
    };
    row(
        "runs",
        if statuses.is_empty() {
            "none kept".to_owned()
        } else {
            format!("{}: {}", it.runs, statuses.join(", "))
        },
    );
    row(
        "rated",
        match it.rating() {
            None => format!("0 of {} with a report", it.reports),
            Some(of_five) => format!("{} up ({of_five:.1} of 5)", ratio(it.rated_up)),
        },
    );
    row(
        "judged",
        match it.mean_scores() {
            None => format!("0 of {} with a report", it.reports),
            Some([answer, process, composite]) => format!(
                "{} of {} with a report: answer {answer:.2}, process {process:.2}, composite {composite:.2}, ${:.4}",
                it.judged, it.reports, it.judging_usd
            ),
        },
    );
    row("quotes", format!("{} found at their place", ratio(it.quotes)));
    row("facts", format!("{} held as written", ratio(it.facts)));
    let unpriced = match it.unpriced {
        0 => String::new(),
        n => format!(" ({n} of {} without a known price)", it.reports),
    };
    row(
        "spent",
        format!(
            "${:.4}{unpriced}, {} tokens in {}, {} to the outside, over {}",
            it.usd,
            it.tokens,
            pluralize(it.model_calls, "model call"),
            pluralize(it.calls, "call"),
            pluralize(u64::from(it.reports), "report")
        ),
    );
    let _ = writeln!(out, "\nTargets");
    for target in it.targets() {
        let _ = writeln!(out, "{}", target_line(&target));
    }
    out
}

/// A metric and its target.
fn target_line(it: &MetricTarget) -> String {
    let mark = match it.met {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "·",
    };
    let measured = match it.measured {
        None => "nothing measured yet".to_owned(),
        Some(n) if n >= 100.0 => format!("{n:.0} over {}", it.of),
        Some(n) => format!("{n:.2} over {}", it.of),
    };
    format!("  {mark} {:<41} {measured} ({})", it.name, it.wanted)
}

/// `3 of 4`: a count with its total.
fn ratio(it: Ratio) -> String {
    format!("{} of {}", it.passed, it.total)
}
