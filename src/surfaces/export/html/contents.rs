//! What stands in a report, by its headings.
use super::{Body, Entry};

/// What a heading of the report is called, by its anchor; the sections are named by the report.
const HEADINGS: [(&str, &str); 9] = [
    ("introduction", "Introduction"),
    ("findings", "Key findings"),
    ("conflicts", "Where sources disagree"),
    ("table", "Evidence table"),
    ("open", "What we could not establish"),
    ("conclusion", "Conclusion"),
    ("method", "Method"),
    ("sources", "Sources"),
    ("quotes", "Quotes"),
];

fn heading(id: &str) -> Entry {
    let known = HEADINGS.iter().find(|it| it.0 == id);
    Entry {
        id: id.to_owned(),
        title: known.map_or(id, |it| it.1).to_owned(),
    }
}

/// The headings in the order of the template, each under the condition it has there.
pub(super) fn of(it: &Body) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut add = |when: bool, id: &str| {
        if when {
            out.push(heading(id));
        }
    };
    if it.is_report {
        add(!it.short.is_empty(), "introduction");
        add(!it.groups.is_empty(), "findings");
    }
    if it.is_report {
        out.extend(it.parts.iter().map(|it| Entry {
            id: it.id.clone(),
            title: it.title.clone(),
        }));
    }
    let mut add = |when: bool, id: &str| {
        if when {
            out.push(heading(id));
        }
    };
    if it.is_report {
        add(!it.disputes.is_empty(), "conflicts");
        add(!it.rows.is_empty(), "table");
        add(it.has_open(), "open");
        add(!it.short.is_empty(), "conclusion");
        add(true, "method");
    }
    add(!it.cards.is_empty(), "sources");
    add(!it.quotes.is_empty(), "quotes");
    out
}
