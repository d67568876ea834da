//! What changed between two reports, as Markdown and as JSON.
use std::fmt::Write as _;

use serde_json::Value;

use super::escape::{markdown, target};
use super::markdown::{counted, local};
use crate::app::Changes;
use crate::app::changes::{Named, Said};

/// The whole comparison as Markdown.
pub fn text(it: &Changes) -> String {
    let mut out = format!("# What changed: {}\n\n", markdown(&it.questions.after));
    let _ = writeln!(
        out,
        "From {} ({}) to {} ({}).",
        it.runs.before, it.dates.before, it.runs.after, it.dates.after
    );
    if !it.questions.none() {
        let _ = writeln!(out, "\nThe first asked: {}", markdown(&it.questions.before));
    }
    if it.none() {
        let _ = writeln!(
            out,
            "\nNothing: {} and {} are as before.",
            counted(it.kept as u64, "claim"),
            counted(it.sources_kept as u64, "source")
        );
    }
    short(&mut out, it);
    claims(&mut out, it);
    findings(&mut out, it);
    sources(&mut out, it);
    out
}

/// One line for who has just asked again: `2 claims added, 1 removed, 1 changed; 1 new source, 0 lost`.
pub fn sum(it: &Changes) -> String {
    if it.none() {
        return format!(
            "nothing new: {} as before",
            counted(it.kept as u64, "claim")
        );
    }
    let confidence = match it.confidence.none() {
        true => String::new(),
        false => format!(
            "; confidence {} → {}",
            it.confidence.before.word(),
            it.confidence.after.word()
        ),
    };
    format!(
        "{} added, {} removed, {} changed, {} as before; {}, {} lost{confidence}",
        counted(it.added.len() as u64, "claim"),
        it.removed.len(),
        it.changed.len(),
        it.kept,
        counted(it.sources_new.len() as u64, "new source"),
        it.sources_lost.len()
    )
}

/// The object of `ibid diff --json`.
pub fn json(it: &Changes) -> Value {
    let mut out = serde_json::to_value(it).unwrap_or_default();
    if let Some(object) = out.as_object_mut() {
        object.insert("type".to_owned(), "diff".into());
        object.insert("same".to_owned(), it.none().into());
    }
    out
}

fn short(out: &mut String, it: &Changes) {
    if it.short.none() && it.confidence.none() {
        return;
    }
    out.push_str("\n## Short answer\n\n");
    let or_none = |text: &str| match text.is_empty() {
        true => "(none)".to_owned(),
        false => markdown(text),
    };
    match it.short.none() {
        true => {
            let _ = writeln!(out, "{}", or_none(&it.short.after));
        }
        false => {
            let _ = writeln!(out, "- Before: {}", or_none(&it.short.before));
            let _ = writeln!(out, "- Now: {}", or_none(&it.short.after));
        }
    }
    if !it.confidence.none() {
        let _ = writeln!(
            out,
            "\nConfidence: {} → {}.",
            it.confidence.before.word(),
            it.confidence.after.word()
        );
    }
}

fn claims(out: &mut String, it: &Changes) {
    if !it.changed.is_empty() {
        let _ = writeln!(out, "\n## Changed ({})\n", it.changed.len());
        for change in &it.changed {
            let (before, after) = (&change.before, &change.after);
            let _ = writeln!(
                out,
                "- {} → {}",
                markdown(&before.text),
                markdown(&after.text)
            );
            quotes(out, "before: ", before);
            quotes(out, "now: ", after);
        }
    }
    for (title, all) in [("Added", &it.added), ("Removed", &it.removed)] {
        if all.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## {title} ({})\n", all.len());
        for said in all {
            let _ = writeln!(out, "- {}", markdown(&said.text));
            quotes(out, "", said);
        }
    }
}

fn quotes(out: &mut String, lead: &str, it: &Said) {
    for quoted in &it.quotes {
        let _ = writeln!(
            out,
            "  - {lead}“{}” — {}",
            markdown(&quoted.quote),
            work(&quoted.source)
        );
    }
}

fn findings(out: &mut String, it: &Changes) {
    if it.findings.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n## Findings surer or less sure ({})\n",
        it.findings.len()
    );
    for found in &it.findings {
        let _ = writeln!(
            out,
            "- {}: {} → {}",
            markdown(found.text.trim_end_matches('.')),
            found.confidence.before.word(),
            found.confidence.after.word()
        );
    }
}

fn sources(out: &mut String, it: &Changes) {
    for (title, all) in [
        ("New sources", &it.sources_new),
        ("Sources no longer cited", &it.sources_lost),
    ] {
        if all.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## {title} ({})\n", all.len());
        for source in all {
            let _ = writeln!(out, "- {}", work(source));
        }
    }
}

/// A work by its title, with a link where it is of the web.
fn work(it: &Named) -> String {
    let title = markdown(&it.title);
    let date = it
        .date
        .as_deref()
        .map_or_else(String::new, |it| format!(", {}", markdown(it)));
    match target(&it.url) {
        Some(url) => format!("[{title}]({url}){date}"),
        None => format!("{title}{date} ({})", markdown(&local(&it.url))),
    }
}
