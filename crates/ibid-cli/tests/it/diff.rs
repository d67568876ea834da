//! One question asked twice: what changed, by crafted reports and by the program.
use std::fs;
use std::path::PathBuf;

use ibid::app::diff_reports;
use ibid_core::domain::{
    Citation, Claim, ClaimId, Confidence, ConfidenceMark, EvidenceId, Finding, Report, Source,
    SourceId, SourceKind,
};
use ibid_core::record::Event;
use ibid_report::changes as shown;
use serde_json::json;

use crate::cli::{ASKED, TestHome};
use crate::events::samples::story;
use crate::memory::page;

/// A report of sentences, each from a page of its own: `(sentence, host, confidence)`.
fn report(id: &str, date: &str, all: &[(&str, &str, Confidence)]) -> Report {
    let sample = story().into_iter().find_map(|it| match it.event {
        Event::ReportReady { report } => Some(*report),
        _ => None,
    });
    let mut sources: Vec<Source> = Vec::new();
    let mut findings = Vec::new();
    for (nth, (text, host, level)) in all.iter().enumerate() {
        let url = format!("https://{host}.example/");
        let page = page(&url, &format!("The {host} page"), Some("2024-05-01"), text);
        let at = sources.iter().position(|it| it.url == url);
        let at = at.unwrap_or_else(|| {
            let id = SourceId::new(sources.len() as u32 + 1);
            sources.push(Source::from_page(id, SourceKind::Web, &page, None));
            sources.len() - 1
        });
        let citation = Citation {
            n: at as u32 + 1,
            evidence: EvidenceId::new(nth as u32 + 1),
            passage: page.passage(0, 0).unwrap(),
        };
        let id = ClaimId::new(nth as u32 + 1);
        findings.push(Finding {
            learning: Default::default(),
            claim: Claim::new(id, (*text).to_owned(), vec![citation]).unwrap(),
            confidence: ConfidenceMark { level: *level, why: Vec::new() },
        });
    }
    Report {
        run: id.parse().unwrap(),
        date: date.to_owned(),
        short: findings.iter().take(1).map(|it| it.claim.clone()).collect(),
        confidence: findings[0].confidence.clone(),
        findings,
        introduction: Vec::new(),
        sections: Vec::new(),
        conclusion: Vec::new(),
        conflicts: Vec::new(),
        sources,
        ..sample.unwrap()
    }
}

const OLD: &str = "r_01JD0000000000000000000000";
const NEW: &str = "r_01JD1111111111111111111111";

fn old() -> Report {
    use Confidence::*;
    let said = [
        ("An extensive green roof weighs 120 kg per square metre when wet.", "weight", Low),
        ("Green roofs retain 56 % of the annual rainfall.", "rain", Moderate),
        ("Moss grows on roofs in cold and shaded places.", "moss", Low),
        ("Sedum mats survive a dry summer without watering.", "sedum", Low),
        ("The oldest turf roofs of Norway are still in use.", "turf", VeryLow),
    ];
    report(OLD, "2026-01-15", &said)
}

fn new() -> Report {
    use Confidence::*;
    let said = [
        ("An extensive green roof weighs 135 kg per square metre when wet.", "weight", Low),
        ("Of the annual rainfall, green roofs retain 56 %.", "rain", High),
        ("Moss grows on roofs in cold and shaded places.", "moss", Low),
        ("Sedum mats do not survive a dry summer without watering.", "drought", Low),
        ("Bees visit flowering roofs from April to October.", "bees", Low),
    ];
    report(NEW, "2026-11-21", &said)
}

#[test]
fn what_changed_is_told_with_old_and_new_words_and_their_quotes() {
    let found = diff_reports(&old(), &new()).unwrap();
    let text = shown::to_markdown(&found);
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("crates/ibid-cli/tests/golden/diff.md");
    if std::env::var_os("IBID_ACCEPT").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap_or_default(), text);
}

#[test]
fn numbers_and_denials_make_a_change_and_other_words_do_not() {
    let found = diff_reports(&old(), &new()).unwrap();
    let changed: Vec<&str> = found.changed.iter().map(|it| it.after.text.as_str()).collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(changed.iter().any(|it| it.contains("135 kg")));
    assert!(changed.iter().any(|it| it.contains("do not survive")));
    assert_eq!(found.kept, 2, "moss, and rain in other words");
    assert_eq!(found.added.len(), 1);
    assert!(found.added[0].text.starts_with("Bees"));
    assert_eq!(found.removed.len(), 1);
    assert!(found.removed[0].text.starts_with("The oldest"));
    assert_eq!(found.removed[0].quotes[0].source.title, "The turf page");
    let moved: Vec<_> = found.findings.iter().map(|it| it.confidence.after).collect();
    assert_eq!(moved, [Confidence::High]);
    let titles = |all: &[ibid::app::changes::DiffSource]| -> Vec<String> {
        all.iter().map(|it| it.title.clone()).collect()
    };
    assert_eq!(titles(&found.sources_new), ["The drought page", "The bees page"]);
    assert_eq!(titles(&found.sources_lost), ["The sedum page", "The turf page"]);
    assert_eq!(found.sources_kept, 3);
    assert!(!found.is_empty());
    assert_eq!(
        shown::summary_line(&found),
        "1 claim added, 1 removed, 2 changed, 2 as before; 2 new sources, 2 lost"
    );
}

#[test]
fn a_report_against_itself_has_not_changed() {
    let found = diff_reports(&old(), &old()).unwrap();
    assert!(found.is_empty());
    assert_eq!((found.kept, found.sources_kept), (5, 5));
    assert!(shown::to_markdown(&found).contains("Nothing: 5 claims and 5 sources are as before."));
    assert_eq!(shown::to_json(&found)["same"], true);
}

#[test]
fn a_question_asked_again_tells_what_changed_since() {
    let desk = TestHome::new();
    let docs = desk.docs();
    let first = desk.ibid(&["run", ASKED, "--folder", &docs, "--json"]).json();
    let first = first["run_id"].as_str().unwrap();
    let same = desk.ibid(&["rerun", first]);
    assert_eq!(same.code, 0, "{}", same.err);
    assert!(same.err.contains(&format!("compared with {first}: nothing new")), "{}", same.err);
    assert!(same.out.contains("56 %"), "the report comes first: {}", same.out);
    let rain = desk.path("docs/rain.md");
    let text = fs::read_to_string(&rain).unwrap();
    fs::write(&rain, text.replace("56 %", "65 %")).unwrap();
    let it = desk.ibid(&["rerun", first, "--json"]);
    assert!(it.err.contains("1 changed"), "{}", it.err);
    let second = it.json()["run_id"].as_str().unwrap().to_owned();
    let diff = desk.ibid(&["diff", first, &second, "--json"]).json();
    assert_eq!((&diff["type"], &diff["same"]), (&json!("diff"), &json!(false)));
    let change = &diff["changed"][0];
    assert!(change["before"]["text"].as_str().unwrap().contains("56 %"), "{diff}");
    assert!(change["after"]["quotes"][0]["quote"].as_str().unwrap().contains("65 %"));
    let text = desk.ibid(&["diff", first, &second]).out;
    assert!(text.contains("## Changed (1)"), "{text}");
    assert_eq!(desk.ibid(&["diff", first, "r_nowhere"]).code, 1);
}

#[test]
fn since_last_looks_only_for_what_was_published_since() {
    let desk = TestHome::new();
    let docs = desk.docs();
    let first = desk.ibid(&["run", ASKED, "--folder", &docs, "--json"]).json();
    let first = first["run_id"].as_str().unwrap();
    let it = desk.ibid(&["rerun", first, "--since-last"]);
    assert_eq!(it.code, 3, "nothing was published since: {}", it.err);
    assert!(it.err.contains("only for what was published since 20"), "{}", it.err);
    desk.write(
        "docs/later.jsonl",
        "{\"id\": \"b-1\", \"title\": \"A green roof in rain\", \"text\": \"A green roof retained 71 % of the annual rainfall in later years.\", \"url\": \"https://b.example/later\", \"date\": \"2099-06-09\"}\n",
    );
    let it = desk.ibid(&["rerun", first, "--since-last", "--json"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let sources = it.json()["sources"].as_array().unwrap().clone();
    let urls: Vec<&str> = sources.iter().map(|it| it["url"].as_str().unwrap()).collect();
    assert_eq!(urls, ["https://b.example/later"]);
}
