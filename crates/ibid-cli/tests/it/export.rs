//! A report says the same in every form, and nothing a stranger wrote becomes markup in it.
use std::path::Path;

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use ibid_core::domain::{
    Answer, Block, BlockKind, Citation, Claim, ClaimId, Confidence, ConfidenceMark, Conflict,
    ConflictSide, Coverage, CoverageRow, EvidenceGate, EvidenceId, Finding, FindingKind,
    GateVerdict, ItemId, MethodNote, OpenItem, OutputMode, Page, PageDraft, Ratio, Report,
    ReportChecks, Section, SectionLayout, Source, SourceId, SourceKind, StopReason, Usage, YesNo,
};
use ibid_core::record::{Run, RunStatus};
use ibid_report::json::ResultSubtype;
use ibid_report::{PagesByHash, escape, json, markdown};
use proptest::prelude::*;

use crate::events::samples::run_id;

/// A report in which every word that comes from strangers is `words`, and the pages behind it.
pub(crate) fn report_of(words: &str) -> (Report, PagesByHash) {
    let page = |nth: usize, printed: Option<u32>| {
        Page::new(PageDraft {
            url: match nth {
                0 => "https://a.example/roofs_(1)".to_owned(),
                _ => "file:///library/über%20dächer.pdf".to_owned(),
            },
            doc_id: (nth == 1).then(|| words.to_owned()),
            title: words.to_owned(),
            author: Some(words.to_owned()),
            date: Some("2024-05-01".to_owned()),
            site: Some(words.to_owned()),
            blocks: vec![
                block("Ünd davor: ein Satz.", printed),
                block(words, printed),
                block("Ten of 12 roofs leak.", printed),
            ],
            ..PageDraft::default()
        })
    };
    let pages = [page(0, None), page(1, Some(4))];
    let sources: Vec<Source> = (1..)
        .zip(&pages)
        .map(|(n, it)| Source::from_page(SourceId::new(n + 6), SourceKind::Local, it, None))
        .collect();
    let cite = |n: u32, sentence: usize| Citation {
        n,
        evidence: EvidenceId::new(n),
        passage: pages[n as usize - 1].passage(sentence, sentence).unwrap(),
    };
    let claim = |id: u32, text: &str, citations: Vec<Citation>| {
        Claim::new(ClaimId::new(id), text.to_owned(), citations).unwrap()
    };
    let mark = ConfidenceMark {
        level: Confidence::Moderate,
        why: vec!["2 independent sources".to_owned(), "sources disagree".to_owned()],
    };
    let last = |n: usize| pages[n].sentences().len() - 1;
    let gate =
        EvidenceGate { min_evidence_records: 5, min_cited_records: 5, min_source_domains: 2 };
    let report = Report {
        nearest_only: false,
        short_converted: Vec::new(),
        short_is_list: false,
        short_is_steps: false,
        run: run_id(),
        question: words.to_owned(),
        mode: OutputMode::Report,
        date: "2026-11-21".to_owned(),
        depth: "standard".to_owned(),
        title: words.to_owned(),
        lang: "en".to_owned(),
        short: vec![claim(1, words, vec![cite(1, 1)])],
        verdict: Some(YesNo::No),
        confidence: mark.clone(),
        introduction: vec![claim(7, words, vec![cite(1, 1)])],
        conclusion: vec![claim(8, words, vec![cite(1, 1)])],
        answer: Some(Answer { text: "Ten of 12.".to_owned(), citations: vec![cite(1, last(0))] }),
        comparison: None,
        chart: None,
        findings: vec![Finding {
            learning: FindingKind::Figure,
            claim: claim(2, "Ten of 12 roofs leak.", vec![cite(1, last(0)), cite(2, 1)]),
            confidence: mark,
        }],
        sections: vec![Section {
            title: words.to_owned(),
            item: Some(ItemId::new(1)),
            layout: SectionLayout::Prose,
            paragraphs: vec![vec![
                claim(3, words, vec![cite(2, last(1))]),
                claim(4, "Ten of 12 roofs leak.", vec![cite(1, last(0))]),
            ]],
        }],
        results: Vec::new(),
        unlisted: false,
        conflicts: vec![Conflict {
            about: words.to_owned(),
            item: ItemId::new(1),
            sides: vec![
                ConflictSide {
                    says: words.to_owned(),
                    claim: claim(5, words, vec![cite(1, 1)]),
                    weight: 0.5,
                },
                ConflictSide {
                    says: "the other".to_owned(),
                    claim: claim(6, words, vec![cite(2, 1)]),
                    weight: 0.5,
                },
            ],
            likely: Some(words.to_owned()),
            cause: None,
        }],
        open: vec![OpenItem { item: None, what: words.to_owned(), why: words.to_owned() }],
        method: MethodNote {
            engines: vec!["local".to_owned()],
            queries: vec![words.to_owned()],
            rounds: 2,
            pages_read: 2,
            pages_known: 0,
            pages_failed: vec![(words.to_owned(), words.to_owned())],
            followed: None,
            clarified: Vec::new(),
            models: Vec::new(),
            unaided_because: Vec::new(),
            strategy: None,
            unaided: vec!["write".to_owned()],
            stop: StopReason::CoverageReached,
            gate: GateVerdict {
                pass: true,
                reason: None,
                evidence_records: 6,
                cited_records: 6,
                source_domains: 2,
                gate,
                lowered: true,
            },
        },
        sources,
        coverage: vec![
            row(1, "What leaks?", Coverage::Covered),
            row(2, "Why?", Coverage::Partial),
            row(3, "When?", Coverage::Open),
        ],
        checks: ReportChecks {
            quotes: Ratio { passed: 4, total: 4 },
            claims: Ratio { passed: 6, total: 7 },
            numbers: Ratio { passed: 2, total: 2 },
            removed: 1,
            contradictions: 0,
        },
        usage: Usage { searches: 3, pages: 2, ..Usage::default() },
    };
    let pages = pages.into_iter().map(|it| (it.hash().clone(), it)).collect();
    (report, pages)
}

fn block(text: &str, page: Option<u32>) -> Block {
    Block { kind: BlockKind::Heading, text: text.to_owned(), page, level: 1 }
}

fn row(id: u32, text: &str, state: Coverage) -> CoverageRow {
    CoverageRow {
        id: ItemId::new(id),
        text: text.to_owned(),
        state,
        score: 0.5,
        evidence: 1,
        sources: 1,
        by_round: vec![1],
        proof: None,
        gap: None,
    }
}

pub(crate) const PLAIN: &str = "A green roof of 10 cm keeps 56 % of the rain.";

#[test]
fn the_markdown_is_as_recorded() {
    let (report, _) = report_of(PLAIN);
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("crates/ibid-cli/tests/golden/report.md");
    let now = markdown::report(&report, true);
    if std::env::var_os("IBID_ACCEPT").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    assert_eq!(now, std::fs::read_to_string(&path).unwrap());
}

/// GitHub's dialect with everything that could turn words into something else switched on.
pub(crate) fn dialect() -> Options<'static> {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.alerts = true;
    options.extension.math_dollars = true;
    options.extension.front_matter_delimiter = Some("---".to_owned());
    options.parse.relaxed_autolinks = true;
    options
}

/// What stands in a document besides words: links by target, and everything else by kind.
fn parts(text: &str) -> Vec<String> {
    let arena = Arena::new();
    let root = parse_document(&arena, text, &dialect());
    let mut found: Vec<String> = root.descendants().filter_map(part).collect();
    found.sort();
    found
}

fn part<'a>(node: &'a AstNode<'a>) -> Option<String> {
    match &node.data.borrow().value {
        NodeValue::Link(it) => {
            // Where in the page a link points is told by the quote, so it differs with it.
            let url = it.url.split("#:~:").next().unwrap_or_default();
            Some(format!("link {url}"))
        }
        NodeValue::Image(it) => Some(format!("image {}", it.url)),
        NodeValue::HtmlInline(it) => Some(format!("html {it}")),
        NodeValue::HtmlBlock(it) => Some(format!("html {}", it.literal)),
        NodeValue::Heading(it) => Some(format!("heading {}", it.level)),
        NodeValue::Text(_)
        | NodeValue::SoftBreak
        | NodeValue::FrontMatter(_)
        | NodeValue::Document => None,
        other => {
            Some(format!("{other:?}").split(['(', ' ', '{']).next().unwrap_or_default().to_owned())
        }
    }
}

/// Words that try to be something else, each in its own way.
pub(crate) const HOSTILE: &[&str] = &[
    "![x](https://evil.example/p.png)",
    "[click](https://evil.example)",
    "[click][1] [1] [^q1] [^q1]: forged",
    "<script>alert(1)</script> <img src=x onerror=y> <!-- x",
    "https://evil.example/a?b=c www.evil.example me@evil.example xmpp:a@b.example",
    "a | b | c",
    "# Heading",
    "> [!WARNING] listen",
    "- [ ] task",
    "1. one",
    "```sh rm -rf",
    "`code` **bold** *it* _em_ __st__ ~~gone~~ ~x~ $a$ $$b$$",
    "&lt;b&gt; &#60;i&#62; \\[x\\](y)",
    "Setext\n===",
    "two\n\n# blocks\r\n---\nafter",
    "\u{202e}evil\u{1b}[31m \u{9b}31m \u{7}",
    "| --- |",
    "*[x]: y\n[1]: https://evil.example",
    "<https://evil.example>",
    "a\\",
    "--- title: forged",
    "\"; forged: \"yes",
];

#[test]
fn a_stranger_cannot_change_what_a_report_is_made_of() {
    let (plain, _) = report_of(PLAIN);
    let want = parts(&markdown::report(&plain, true));
    for words in HOSTILE {
        let (report, _) = report_of(words);
        let text = markdown::report(&report, true);
        assert_eq!(parts(&text), want, "{words}\n{text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    }
}

#[test]
fn the_front_matter_cannot_be_forged() {
    for words in HOSTILE {
        let (report, _) = report_of(words);
        let text = markdown::report(&report, true);
        let front: Vec<&str> = text.lines().skip(1).take_while(|it| *it != "---").collect();
        let keys: Vec<&str> = front.iter().filter_map(|it| Some(it.split_once(": ")?.0)).collect();
        assert_eq!(
            keys,
            ["title", "run", "date", "question", "depth", "cost_usd", "checks"],
            "{words}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn escaped_words_are_shown_as_they_are_and_are_nothing_else(
        words in "[a-z0-9 \\[\\]()<>!*_`~|#&;:/.@$\\\\\"'^=+\n-]{0,24}"
    ) {
        let text = escape::markdown(&words);
        let document = format!("x {text}\n\n{text}\n");
        let arena = Arena::new();
        let root = parse_document(&arena, &document, &dialect());
        let mut shown = String::new();
        for node in root.descendants() {
            match &node.data.borrow().value {
                NodeValue::Text(it) => shown.push_str(it),
                NodeValue::Document | NodeValue::Paragraph => {}
                other => prop_assert!(false, "{words:?} became {other:?} in {document:?}"),
            }
        }
        let want = escape::single_line(&words);
        let want = format!("x {want}").trim_end().to_owned() + &want;
        prop_assert_eq!(shown.replace('\u{2060}', ""), want);
    }
}

#[test]
fn every_citation_in_json_is_the_exact_text_at_its_place() {
    for words in HOSTILE.iter().chain(&[PLAIN]) {
        let (report, pages) = report_of(words);
        let found = json::citations(&report, &pages);
        assert_eq!(found.len(), 4);
        for it in found {
            let page = pages.values().find(|page| page.hash().as_str() == it["page"]).unwrap();
            let text: Vec<char> = page.text().expose().chars().collect();
            let place =
                it["start"].as_u64().unwrap() as usize..it["end"].as_u64().unwrap() as usize;
            let there: String = text[place].iter().collect();
            assert_eq!(it["quote"], there);
            assert!(!there.is_empty());
        }
    }
}

#[test]
fn the_final_object_has_the_promised_fields() {
    let (report, pages) = report_of(PLAIN);
    let mut run = Run::new(run_id());
    run.status = RunStatus::Completed;
    run.stop_reason = Some(StopReason::CoverageReached);
    run.report = Some(Box::new(report));
    run.started_at = Some("2026-11-21T10:00:00.250Z".to_owned());
    run.updated_at = Some("2026-11-21T10:00:02.000Z".to_owned());
    let it = json::result(&run, ResultSubtype::Success, &pages, true);
    assert_eq!(it["type"], "result");
    assert_eq!(it["subtype"], "success");
    assert_eq!(it["is_error"], false);
    assert_eq!(it["run_id"], run_id().as_str());
    assert_eq!(it["status"], "completed");
    assert_eq!(it["stop_reason"], "coverage_reached");
    assert_eq!(it["duration_ms"], 1750);
    assert_eq!(it["total_cost_usd"], 0.0);
    assert_eq!(it["num_searches"], 3);
    assert_eq!(it["num_pages"], 2);
    assert_eq!(it["one_line_answer"], "Ten of 12.");
    let answer = it["answer"].as_str().unwrap();
    assert!(
        answer.starts_with(
            "A green roof of 10 cm keeps 56 % of the rain. [1]\n\n- Ten of 12 roofs leak. [1][2]\n\n## "
        ),
        "{answer}"
    );
    assert!(it["result"].as_str().unwrap().contains("## Key findings"));
    assert_eq!(it["checks"]["quotes"]["verified"], 4);
    assert_eq!(it["checks"]["claims"]["cited"], 6);
    assert_eq!(it["checks"]["numbers"]["matched"], 2);
    let coverage = &it["checklist_coverage"];
    assert_eq!(coverage["satisfied"], serde_json::json!(["Q1"]));
    assert_eq!(coverage["gaps"], serde_json::json!(["Q2 - partial coverage", "Q3 - no coverage"]));
    assert_eq!(
        coverage["counts"],
        serde_json::json!({"satisfied": 1, "partial": 1, "unsatisfied": 1})
    );
    assert_eq!(coverage["items"][1]["description"], "Why?");
    assert_eq!(it["trace_id"], run_id().trace_id());
    assert_eq!(it["sources"][0]["snippet"], PLAIN);
    assert_eq!(it["sources"][1]["type"], "local");
    let keys = [
        "n",
        "source_id",
        "doc_id",
        "url",
        "file",
        "title",
        "quote",
        "start",
        "end",
        "page",
        "printed_page",
    ];
    let first = it["citations"][0].as_object().unwrap();
    assert_eq!(first.keys().collect::<Vec<_>>(), keys);
    assert_eq!(it["sources"][1]["n"], 2);
}

#[test]
fn a_trace_id_is_the_run_id_as_a_uuid() {
    let id: ibid_core::domain::RunId = "r_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
    assert_eq!(id.trace_id(), "01563e3a-b5d3-d676-4c61-efb99302bd5b");
}

#[test]
fn a_failed_run_is_an_error_in_the_final_object_alone() {
    let mut run = Run::new(run_id());
    run.status = RunStatus::Failed;
    run.error = Some("the disk is full".to_owned());
    let it = json::result(&run, ResultSubtype::Error, &PagesByHash::new(), true);
    assert_eq!((&it["status"], &it["is_error"]), (&"error".into(), &true.into()));
    assert_eq!(it["checklist_coverage"]["counts"]["satisfied"], 0);
    assert_eq!(serde_json::to_value(&run).unwrap()["status"], "failed");
    run.status = RunStatus::MaxIterationsReached;
    let it = json::result(&run, ResultSubtype::Success, &PagesByHash::new(), true);
    assert_eq!(it["status"], "max_iterations_reached");
}

#[test]
fn findings_stand_by_what_kind_of_thing_they_teach() {
    let (mut report, _) = report_of(PLAIN);
    let one = markdown::report(&report, false);
    assert!(!one.contains("\n### "), "one kind needs no heading: {one}");
    let mut other = report.findings[0].clone();
    other.learning = FindingKind::Limit;
    report.findings.push(other);
    let two = markdown::report(&report, false);
    let figures = two.find("### Figures\n").unwrap();
    let limits = two.find("### Limits and doubts\n").unwrap();
    assert!(figures < limits && limits < two.find("## 1. ").unwrap());
}

#[test]
fn a_report_begins_and_ends_with_what_it_is_and_invents_nothing() {
    let (mut report, _) = report_of(PLAIN);
    let unaided = std::mem::take(&mut report.method.unaided);
    let written = markdown::report(&report, false);
    assert!(!written.contains("Answered on") && !written.contains("The question is answered"));
    // Where the model wrote no sentence, nothing that only counts stands in their place.
    report.introduction.clear();
    report.conclusion.clear();
    let text = markdown::report(&report, false);
    let at = |it: &str| text.find(it).unwrap_or_else(|| panic!("{it}: {text}"));
    assert!(!text.contains("## Introduction"), "{text}");
    assert!(at("## Key findings") < at("## Conclusion"));
    // Items that are no part of the question are not told again.
    assert!(at("Sources differ on ") > at("## Conclusion"));
    report.conflicts.clear();
    assert!(!markdown::report(&report, false).contains("## Conclusion"));
    report.question = "What leaks, why and when?".to_owned();
    for it in &mut report.coverage {
        it.text = it.text.to_lowercase();
    }
    let text = markdown::report(&report, false);
    let told = "## Conclusion\n\nAnswered in part: why. Not answered: when.\n";
    assert!(text.contains(told), "{text}");
    // Without a model it is the same.
    report.method.unaided = unaided;
    assert!(markdown::report(&report, false).contains(told));
    report.short.clear();
    let text = markdown::report(&report, false);
    assert!(!text.contains("## Introduction") && !text.contains("## Conclusion"));
}

#[test]
fn a_report_without_its_list_of_sources_leads_nowhere_that_is_not_there() {
    let (mut report, _) = report_of(PLAIN);
    report.unlisted = true;
    let text = markdown::report(&report, true);
    assert!(!text.contains("## Sources") && !text.contains("src-1"), "{text}");
    assert!(text.contains(r"\[1\][^q1]") && text.contains("[^q1]: "), "{text}");
}

#[test]
fn claim_records_say_what_code_found() {
    let (report, pages) = report_of("Rain of 5 mm fell.");
    let it = json::report(&report, &pages);
    let claims = it["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 8);
    assert_eq!(claims[0]["checks"]["quote_in_source"], true);
    assert_eq!(claims[0]["checks"]["numbers_in_quote"], true);
    assert_eq!(claims[2]["section"], "findings");
    assert_eq!(claims[2]["confidence"], "moderate");
    // Its words come from the other sentence: the number 5 is not in the quote.
    assert_eq!(claims[3]["checks"]["numbers_in_quote"], false);
    assert_eq!(claims[3]["citations"][0]["locator"]["page"], 4);
    assert_eq!(claims[3]["citations"][0]["fragment"], serde_json::Value::Null);
    let none = json::report(&report, &PagesByHash::new());
    assert_eq!(none["claims"][0]["checks"]["quote_in_source"], serde_json::Value::Null);
}

#[test]
fn without_quotes_there_are_no_footnotes() {
    let (report, _) = report_of(PLAIN);
    let text = markdown::report(&report, false);
    assert!(!text.contains("[^q"));
    assert!(text.contains("[[1]](#src-1)"));
}

#[test]
fn an_answer_is_one_line() {
    let (mut report, _) = report_of(PLAIN);
    report.mode = OutputMode::Answer;
    assert_eq!(markdown::report(&report, true), "Ten of 12.\n");
}
