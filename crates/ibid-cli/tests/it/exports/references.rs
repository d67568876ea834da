//! Sources in the forms of reference managers.
use biblatex::Bibliography;
use comrak::nodes::NodeValue;
use comrak::{Arena, parse_document};
use ibid_report::references;
use ibid_report::references::bibliography;
use ibid_report::{ExportOptions, ExportOutput, ReportFormat};
use proptest::prelude::*;

use super::{PLAIN, hostile, made, sample, text};
use crate::export::dialect;

/// The tag of each line; several authors of one work count as one, since who wrote a page says how many there are.
pub(super) fn tags(ris: &str) -> Vec<&str> {
    let lines: Vec<&str> = ris.split("\r\n").filter(|it| !it.is_empty()).collect();
    for line in &lines {
        assert!(line.get(2..6) == Some("  - "), "{line:?}");
        assert!(!line.contains(char::is_control), "{line:?}");
    }
    let mut tags: Vec<&str> = lines.iter().map(|it| &it[..2]).collect();
    tags.dedup_by(|a, b| a == b && *a == "AU");
    tags
}

#[test]
fn no_line_of_ris_can_be_forged() {
    let want = text(ReportFormat::Ris, PLAIN);
    assert_eq!(tags(&want).iter().filter(|it| **it == "ER").count(), 6);
    for words in hostile() {
        assert_eq!(tags(&text(ReportFormat::Ris, words)), tags(&want), "{words:?}");
    }
}

/// Kind and names of the fields of each entry, as a reader of BibTeX sees them.
pub(super) fn entries(bib: &str) -> Vec<(String, Vec<String>)> {
    let read = Bibliography::parse(bib).unwrap_or_else(|it| panic!("{it:?}\n{bib}"));
    read.iter()
        .map(|it| (format!("{:?}", it.entry_type), it.fields.keys().cloned().collect()))
        .collect()
}

#[test]
fn no_entry_or_field_of_bibtex_can_be_forged() {
    let want = entries(&text(ReportFormat::Bib, PLAIN));
    assert_eq!(want.len(), 6);
    for words in hostile() {
        let bib = text(ReportFormat::Bib, words);
        assert_eq!(entries(&bib), want, "{words:?}\n{bib}");
        // Every entry closes where it says, also for readers that count braces alone.
        assert_eq!(bib.matches('{').count(), bib.matches('}').count(), "{words:?}");
        assert_eq!(bib.lines().filter(|it| it.starts_with('@')).count(), 6);
    }
}

#[test]
fn bibtex_says_who_wrote_it() {
    let read = Bibliography::parse(&text(ReportFormat::Bib, "Élan, Zoë")).unwrap();
    let first = read.iter().next().unwrap();
    let names: Vec<String> =
        first.author().unwrap().iter().map(|it| format!("{} {}", it.prefix, it.name)).collect();
    assert_eq!(names, [" Élan", " Quill", "van der Oak"]);
    assert_eq!(first.doi().unwrap(), "10.1000/roofs_1");
}

#[test]
fn csl_has_the_same_fields_whatever_the_words_are() {
    let fields = |words: &str| -> Vec<Vec<String>> {
        let read: serde_json::Value =
            serde_json::from_str(&text(ReportFormat::Csl, words)).unwrap();
        let each = read.as_array().unwrap().iter();
        each.map(|it| it.as_object().unwrap().keys().cloned().collect()).collect()
    };
    for words in hostile() {
        assert_eq!(fields(words), fields(PLAIN), "{words:?}");
    }
}

#[test]
fn each_source_is_of_its_kind_under_its_own_key() {
    let (report, _) = sample(PLAIN);
    let all = references::references(&report);
    let kinds: Vec<String> = all.iter().map(|it| format!("{:?}", it.kind)).collect();
    assert_eq!(kinds, ["Article", "Local", "Preprint", "Chapter", "News", "Web"]);
    let mut keys: Vec<&str> = all.iter().map(|it| it.key.as_str()).collect();
    assert!(keys.contains(&"nunez2023") && keys.contains(&"nunez2023b"), "{keys:?}");
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all.len());
    // A folder of somebody's machine is nobody else's business.
    assert_eq!(all[1].file.as_deref(), Some("über dächer.pdf"));
    assert!(!text(ReportFormat::Ris, PLAIN).contains("/library/"));
}

#[test]
fn every_style_makes_a_list_of_any_words() {
    let styles: Vec<&str> = bibliography::citation_styles().collect();
    assert!(styles.len() > 60, "{}", styles.len());
    for name in ["apa", "vancouver", "nature", "ieee", "mla", "chicago-author-date"] {
        assert!(styles.contains(&name), "{name}");
    }
    let (report, _) = sample(PLAIN);
    let all = references::references(&report);
    for name in styles {
        let list = bibliography::write(&all, name, "en").unwrap();
        assert_eq!(list.split("\n\n").count(), 6, "{name}\n{list}");
        assert!(list.to_lowercase().contains("núñez"), "{name}\n{list}");
    }
}

/// What stands in Markdown besides words and emphasis.
pub(super) fn strange(text: &str) -> Vec<String> {
    let arena = Arena::new();
    let root = parse_document(&arena, text, &dialect());
    let part = |it: &NodeValue| match it {
        NodeValue::Document | NodeValue::Paragraph | NodeValue::Text(_) => None,
        NodeValue::Emph | NodeValue::Strong | NodeValue::SoftBreak => None,
        NodeValue::Link(it) => Some(it.url.clone()),
        other => Some(format!("{other:?}")),
    };
    let found = root.descendants().filter_map(|it| part(&it.data.borrow().value));
    let ours = |it: &String| it.contains("evil") || !it.starts_with("http");
    found.filter(ours).collect()
}

#[test]
fn a_list_of_sources_is_words_and_links_to_the_sources() {
    for words in hostile() {
        let (report, pages) = sample(words);
        for style in ["apa", "vancouver", "nature", "mla", "american-chemical-society"] {
            let options = ExportOptions { style, quotes: true };
            let ExportOutput::Text(list) =
                ReportFormat::Bibliography.render(&report, &pages, options).unwrap()
            else {
                panic!("a list is text");
            };
            assert_eq!(strange(&list), [""; 0], "{style} {words:?}\n{list}");
            assert_eq!(list.trim().split("\n\n").count(), 6, "{style} {words:?}\n{list}");
        }
    }
}

#[test]
fn a_wrong_style_is_told_with_the_names_there_are() {
    let (report, pages) = sample(PLAIN);
    let options = ExportOptions { style: "no\u{1b}such", quotes: true };
    let fault = ReportFormat::Bibliography.render(&report, &pages, options).unwrap_err();
    assert_eq!(fault.kind(), ibid_core::ErrorKind::Usage);
    assert!(fault.to_string().contains("nosuch"), "{fault}");
    assert!(fault.hint().unwrap().contains("apa, "), "{:?}", fault.hint());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_words_at_all_make_references_that_read(
        words in "[a-z\\PC{}\\\\\"'@,;.&%#\r\n=-]{0,40}"
    ) {
        let (report, pages) = sample(&words);
        let ExportOutput::Text(ris) = made(ReportFormat::Ris, &words) else { panic!("text") };
        prop_assert_eq!(tags(&ris).iter().filter(|it| **it == "TY").count(), 6);
        prop_assert_eq!(entries(&text(ReportFormat::Bib, &words)).len(), 6);
        for style in ["apa", "nature"] {
            let options = ExportOptions { style, quotes: true };
            prop_assert!(ReportFormat::Bibliography.render(&report, &pages, options).is_ok());
        }
    }
}
