//! The difference between two reports, as Markdown and as JSON.
use std::fmt::Write as _;

use serde_json::Value;

use super::escape::{markdown, web_url};
use super::phrases::{local_path, pluralize};
use ibid_research::changes::ReportDiff;
use ibid_research::changes::{DiffClaim, DiffSource};

/// The comparison as Markdown.
pub fn to_markdown(it: &ReportDiff) -> String {
    let mut out = format!("# What changed: {}\n\n", markdown(&it.questions.after));
    let _ = writeln!(
        out,
        "From {} ({}) to {} ({}).",
        it.runs.before, it.dates.before, it.runs.after, it.dates.after
    );
    if !it.questions.is_unchanged() {
        let _ = writeln!(out, "\nThe first asked: {}", markdown(&it.questions.before));
    }
    if it.is_empty() {
        let _ = writeln!(
            out,
            "\nNothing: {} and {} are as before.",
            pluralize(it.kept as u64, "claim"),
            pluralize(it.sources_kept as u64, "source")
        );
    }
    write_short_answer(&mut out, it);
    write_claims(&mut out, it);
    write_findings(&mut out, it);
    write_sources(&mut out, it);
    out
}

/// A one-line summary: `2 claims added, 1 removed, 1 changed; 1 new source, 0 lost`.
pub fn summary_line(it: &ReportDiff) -> String {
    if it.is_empty() {
        return format!("nothing new: {} as before", pluralize(it.kept as u64, "claim"));
    }
    let confidence = if it.confidence.is_unchanged() {
        String::new()
    } else {
        format!("; confidence {} → {}", it.confidence.before.as_str(), it.confidence.after.as_str())
    };
    format!(
        "{} added, {} removed, {} changed, {} as before; {}, {} lost{confidence}",
        pluralize(it.added.len() as u64, "claim"),
        it.removed.len(),
        it.changed.len(),
        it.kept,
        pluralize(it.sources_new.len() as u64, "new source"),
        it.sources_lost.len()
    )
}

/// The JSON object of `ibid diff --json`.
pub fn to_json(it: &ReportDiff) -> Value {
    let mut out = serde_json::to_value(it).unwrap_or_default();
    if let Some(object) = out.as_object_mut() {
        object.insert("type".to_owned(), "diff".into());
        object.insert("same".to_owned(), it.is_empty().into());
    }
    out
}

fn write_short_answer(out: &mut String, it: &ReportDiff) {
    if it.short.is_unchanged() && it.confidence.is_unchanged() {
        return;
    }
    out.push_str("\n## Short answer\n\n");
    let or_none = |text: &str| {
        if text.is_empty() { "(none)".to_owned() } else { markdown(text) }
    };
    if it.short.is_unchanged() {
        let _ = writeln!(out, "{}", or_none(&it.short.after));
    } else {
        let _ = writeln!(out, "- Before: {}", or_none(&it.short.before));
        let _ = writeln!(out, "- Now: {}", or_none(&it.short.after));
    }
    if !it.confidence.is_unchanged() {
        let _ = writeln!(
            out,
            "\nConfidence: {} → {}.",
            it.confidence.before.as_str(),
            it.confidence.after.as_str()
        );
    }
}

fn write_claims(out: &mut String, it: &ReportDiff) {
    if !it.changed.is_empty() {
        let _ = writeln!(out, "\n## Changed ({})\n", it.changed.len());
        for change in &it.changed {
            let (before, after) = (&change.before, &change.after);
            let _ = writeln!(out, "- {} → {}", markdown(&before.text), markdown(&after.text));
            write_quotes(out, "before: ", before);
            write_quotes(out, "now: ", after);
        }
    }
    for (title, all) in [("Added", &it.added), ("Removed", &it.removed)] {
        if all.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## {title} ({})\n", all.len());
        for claim in all {
            let _ = writeln!(out, "- {}", markdown(&claim.text));
            write_quotes(out, "", claim);
        }
    }
}

fn write_quotes(out: &mut String, lead: &str, it: &DiffClaim) {
    for quoted in &it.quotes {
        let _ = writeln!(
            out,
            "  - {lead}“{}” — {}",
            markdown(&quoted.quote),
            source_link(&quoted.source)
        );
    }
}

fn write_findings(out: &mut String, it: &ReportDiff) {
    if it.findings.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## Findings with changed confidence ({})\n", it.findings.len());
    for found in &it.findings {
        let _ = writeln!(
            out,
            "- {}: {} → {}",
            markdown(found.text.trim_end_matches('.')),
            found.confidence.before.as_str(),
            found.confidence.after.as_str()
        );
    }
}

fn write_sources(out: &mut String, it: &ReportDiff) {
    for (title, all) in
        [("New sources", &it.sources_new), ("Sources no longer cited", &it.sources_lost)]
    {
        if all.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## {title} ({})\n", all.len());
        for source in all {
            let _ = writeln!(out, "- {}", source_link(source));
        }
    }
}

/// The title of a work, linked if it is a web page.
fn source_link(it: &DiffSource) -> String {
    let title = markdown(&it.title);
    let date = it.date.as_deref().map_or_else(String::new, |it| format!(", {}", markdown(it)));
    match web_url(&it.url) {
        Some(url) => format!("[{title}]({url}){date}"),
        None => format!("{title}{date} ({})", markdown(&local_path(&it.url))),
    }
}
