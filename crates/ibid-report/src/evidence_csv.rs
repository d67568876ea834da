//! The evidence table as CSV, with a row for each quote.
use super::escape::plain_line;
use super::references::{AuthorName, ReferenceEntry, references};
use ibid_core::domain::{Citation, OutputMode, Report};

const HEAD: [&str; 13] = [
    "finding",
    "claim",
    "confidence",
    "quote",
    "source",
    "title",
    "authors",
    "in",
    "published",
    "doi",
    "pmid",
    "url",
    "page",
];

/// CSV with CR LF, every cell quoted, after a byte-order mark, without which spreadsheets guess the encoding. Source: RFC 4180.
pub fn write(it: &Report) -> String {
    let mut out = String::from("\u{feff}");
    row(&mut out, &HEAD.map(str::to_owned));
    // A report without its list of sources still names the source of each quote.
    let all = references(&Report { unlisted: false, ..it.clone() });
    let mut line =
        |nth: usize, claim: &str, sure: &str, n: usize, quote: &str, page: Option<u32>| {
            let source = n.checked_sub(1).and_then(|at| all.get(at));
            let mut cells = vec![
                nth.to_string(),
                plain_line(claim),
                sure.to_owned(),
                plain_line(quote),
                n.to_string(),
            ];
            cells.extend(source.map_or_else(|| vec![String::new(); 7], reference_cells));
            cells.push(page.map_or_else(String::new, |it| it.to_string()));
            row(&mut out, &cells);
        };
    let quote = |citation: &Citation| {
        let passage = &citation.passage;
        (citation.n as usize, passage.text().expose().to_owned(), passage.printed_page())
    };
    match it.mode {
        OutputMode::Report => {
            let mut told: Vec<&str> = Vec::new();
            for claim in it.claims() {
                let again = told.contains(&claim.text());
                let all = claim.citations();
                if again || all.is_empty() {
                    continue;
                }
                told.push(claim.text());
                let found = it.findings.iter().find(|own| own.claim.text() == claim.text());
                let short = it.short.iter().any(|own| own.text() == claim.text());
                let sure = match found {
                    Some(finding) => finding.confidence.level.as_str(),
                    None if short => it.confidence.level.as_str(),
                    None => "",
                };
                for (n, words, page) in all.iter().map(quote) {
                    line(told.len(), claim.text(), sure, n, &words, page);
                }
            }
        }
        OutputMode::Answer => {
            if let Some(answer) = &it.answer {
                let sure = it.confidence.level.as_str();
                for (n, words, page) in answer.citations.iter().map(quote) {
                    line(1, &answer.text, sure, n, &words, page);
                }
            }
        }
        OutputMode::Evidence => {
            for (nth, excerpt) in (1..).zip(&it.results) {
                let at = it.sources.iter().position(|source| source.id == excerpt.source);
                line(nth, "", "", at.map_or(0, |at| at + 1), &excerpt.content, None);
            }
        }
    }
    out
}

fn reference_cells(it: &ReferenceEntry) -> Vec<String> {
    let authors: Vec<String> = it.authors.iter().map(AuthorName::family_first).collect();
    let or = |text: &Option<String>| text.clone().unwrap_or_default();
    vec![
        it.title.clone(),
        authors.join("; "),
        or(&it.container),
        it.issued.map_or_else(String::new, |it| it.join("-")),
        or(&it.doi),
        or(&it.pmid),
        or(&it.url),
    ]
}

fn row(out: &mut String, cells: &[String]) {
    let each: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    out.push_str(&each.join(","));
    out.push_str("\r\n");
}

/// A quoted cell. A cell that a spreadsheet would evaluate begins with an apostrophe, which marks it as text. Source:
/// <https://owasp.org/www-community/attacks/CSV_Injection>.
fn cell(text: &str) -> String {
    let first = text.trim_start().chars().next();
    let computes =
        matches!(first, Some('=' | '+' | '-' | '@' | '|' | '%' | '＝' | '＋' | '－' | '＠' | '−'));
    let mark = if computes { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}
