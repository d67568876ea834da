//! `ibid check FILE`: what a text claims, held against what it cites.
use std::path::Path;

use ibid_core::domain::{Block, BlockKind, Page, PageDraft};
use ibid_core::ports::RoleModel;
use ibid_core::{Error, ErrorKind};
use ibid_research::audit::{
    AuditVerdict, SourceLookup, audit_by_code, audit_by_model, parse_citations,
};
use serde_json::{Value, json};

use super::cli::*;
use super::thought::Scripted;

/// A text with one fault of each kind, over the documents of the desk.
const FAULTY: &str = "\
# Green roofs

A green roof retained 56 % of annual rainfall on average [1]. An extensive green roof weighs 180 kg per
square metre when wet [2]. A green roof needs no visits of a gardener each year [3]. An extensive green
roof costs 110 euros per square metre on average [1]. Its peak flow was 71 % lower [4][1]. The wind takes
nothing off such a roof [5]. Bees like what grows there [6]. Nobody cites a sentence like this one.

## Sources

1. Green roofs and rain — docs/rain.md
2. Green roof weight
3. [What green roofs cost](docs/cost.html)
4. Storm over the green roof. <https://www.a.example/storm/?utm_source=chat>
5. Wind on roofs. https://nowhere.example/wind
7. Never cited. https://never.example/
";

fn library() -> String {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    root.join("examples/library").to_string_lossy().into_owned()
}

fn verdicts(it: &Value) -> Vec<&str> {
    let claims = it["claims"].as_array().unwrap();
    claims.iter().map(|it| it["verdict"].as_str().unwrap()).collect()
}

/// Compares with a golden file, or writes it where that is asked for.
fn golden(name: &str, text: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("crates/ibid-cli/tests/golden")
        .join(name);
    if std::env::var_os("IBID_ACCEPT").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, kept, "{name} has changed; IBID_ACCEPT=1 accepts it");
}

#[test]
fn our_own_report_holds_with_the_folder_and_from_what_the_run_read() {
    let desk = TestHome::with_model();
    let folder = library();
    let report = desk.ibid(&["How much rain does a green roof hold?", "--folder", &folder, "-q"]);
    assert_eq!(report.code, 0, "{}", report.err);
    let file = desk.write("report.md", &report.out);
    let it = desk.ibid(&["check", &file, "--folder", &folder, "--strict", "--json"]);
    let found = it.json();
    assert_eq!(it.code, 0, "{}{}", it.out, it.err);
    assert!(verdicts(&found).len() >= 5, "{}", report.out);
    assert!(verdicts(&found).iter().all(|it| *it == "supported"), "{:?}", verdicts(&found));
    assert_eq!(found["counts"]["sources_not_found"], 0);
    let piped = desk.fed(&["check", "-", "--strict", "--json"], report.out.as_bytes());
    assert_eq!(piped.code, 0, "the pages of the run are in the store: {}", piped.out);
    assert_eq!(verdicts(&piped.json()), verdicts(&found));
}

#[test]
fn planted_faults_are_found() {
    let desk = TestHome::with_model();
    let file = desk.write("faulty.md", FAULTY);
    let it = desk.ibid(&["check", &file, "--folder", &desk.docs(), "--json"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let found = it.json();
    assert_eq!(
        verdicts(&found),
        [
            "supported",    // as it stands
            "contradicted", // the number is another
            "contradicted", // denied
            "unsupported",  // said by another source
            "supported",    // by one of two
            "unreadable",   // not in the folder
            "unreadable",   // not in the list
        ],
        "{found:#}"
    );
    for claim in found["claims"].as_array().unwrap() {
        for it in claim["citations"].as_array().unwrap() {
            let said = it["quote"].is_string() || it["reason"].is_string();
            assert!(said, "{it}");
        }
    }
    let counts = &found["counts"];
    assert_eq!(counts["claims"], 7);
    assert_eq!(counts["sources_cited"], 6);
    assert_eq!(counts["sources_not_found"], 2);
    assert_eq!(counts["numbers_not_listed"], 1);
    assert_eq!(counts["sources_never_cited"], 1);
    assert_eq!(counts["sentences_without_citation"], 1);
    let it = desk.ibid(&["check", &file, "--folder", &desk.docs(), "--strict"]);
    assert_eq!(it.code, 6);
    assert!(it.err.contains("--strict") && it.err.contains("--folder DIR"), "{}", it.err);
    assert!(
        it.out.contains("7 claims · 2 supported · 2 contradicted · 1 not in its source · 2 without a source to read · 2 of 6 sources not found"),
        "{}",
        it.out
    );
}

#[test]
fn quotes_are_the_exact_words_at_their_place() {
    let desk = TestHome::with_model();
    let file = desk.write("faulty.md", FAULTY);
    let found = desk.ibid(&["check", &file, "--folder", &desk.docs(), "--json"]).json();
    let rain = desk.ibid(&["read", &format!("{}/rain.md", desk.docs()), "--json"]).json();
    let text: Vec<char> = rain["text"].as_str().unwrap().chars().collect();
    let it = &found["claims"][0]["citations"][0];
    let at = |name: &str| usize::try_from(it[name].as_u64().unwrap()).unwrap();
    let words: String = text[at("start")..at("end")].iter().collect();
    assert_eq!(it["quote"], words);
}

#[test]
fn the_table_and_the_object_are_as_they_were() {
    let desk = TestHome::with_model();
    desk.write("faulty.md", FAULTY);
    let it = desk.ibid(&["check", "faulty.md", "--folder", "docs", "-v"]);
    golden("check.txt", &it.out);
    for line in it.out.lines() {
        assert!(line.chars().count() <= 200, "{line}");
    }
    let mut found = desk.ibid(&["check", "faulty.md", "--folder", "docs", "--json"]).json();
    // Processors without VNNI round the activations of the model to 7 bits, so scores differ in the second place.
    for claim in found["claims"].as_array_mut().unwrap() {
        for citation in claim["citations"].as_array_mut().unwrap() {
            assert!((0.0..=1.0).contains(&citation["score"].as_f64().unwrap()), "{citation}");
            citation["score"] = "SCORE".into();
        }
    }
    let here = desk.path("").to_string_lossy().into_owned();
    let mut text = serde_json::to_string_pretty(&found).unwrap().replace(&here, "/DIR/");
    // The hash covers the place of the file, which is another each time.
    while let Some(at) = text.find("sha256:") {
        text.replace_range(at..at + 7 + 64, "HASH");
    }
    golden("check.json", &format!("{text}\n"));
}

#[test]
fn the_table_goes_to_a_file_and_its_sum_to_stderr() {
    let desk = TestHome::with_model();
    desk.write("faulty.md", FAULTY);
    let it = desk.ibid(&["check", "faulty.md", "--folder", "docs", "-o", "out.txt"]);
    assert_eq!((it.code, it.out.as_str()), (0, ""));
    assert!(it.err.contains("7 claims · 2 supported"), "{}", it.err);
    let kept = std::fs::read_to_string(desk.path("out.txt")).unwrap();
    assert!(kept.contains("contradicted"));
    let it = desk.ibid(&["check", "faulty.md", "-o", "no/such/out.txt"]);
    assert_eq!(it.code, 4);
    assert!(it.err.contains("no/such/out.txt"), "{}", it.err);
}

#[test]
fn a_text_reads_files_beside_it_and_in_folders_and_no_others() {
    let desk = TestHome::with_model();
    desk.write("secret.md", "The password of the roof is retained by rain.\n");
    desk.write("in/.hidden/key.md", "The password of the roof is retained by rain.\n");
    desk.write("in/near by.md", "A green roof is a roof that carries plants.\n");
    let secret = desk.path("secret.md").to_string_lossy().into_owned();
    let text = format!(
        "The password of the roof is retained [a](../secret.md). The password of the roof is retained [b]({secret}). \
         The password of the roof is retained [c](.hidden/key.md). A green roof carries plants, as roofs do [d](near%20by.md). \
         A green roof carries more plants [e](gone.md). A green roof carries some plants [f](./).\n"
    );
    let file = desk.write("in/text.md", &text);
    let found = desk.ibid(&["check", &file, "--json"]).json();
    let reasons: Vec<&str> = found["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["reason"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(reasons.len(), 6, "{found:#}");
    // One answer, whether there is a file, a folder or nothing: no text learns what is on a machine.
    for nth in [0, 1, 2, 4, 5] {
        assert_eq!(
            reasons[nth], "there is no such file beside the text or in a folder that was named",
            "{reasons:?}"
        );
    }
    assert_eq!(reasons[3], "");
    assert_eq!(found["claims"][3]["verdict"], "supported");
    let dir = desk.path("").to_string_lossy().into_owned();
    let found = desk.ibid(&["check", &file, "--folder", &dir, "--json"]).json();
    assert_eq!(found["sources"][0]["found"], true, "a folder that is named may be read");
}

#[test]
fn bad_input_is_told_with_its_name_and_a_hint() {
    let desk = TestHome::with_model();
    desk.write("empty.md", " \n\n");
    std::fs::write(desk.path("picture.md"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    std::fs::write(desk.path("long.md"), "Roofs [1]. ".repeat(1_000_000)).unwrap();
    for (name, told) in [
        ("missing.md", "No such file"),
        ("docs", "this is a folder"),
        ("empty.md", "it is empty"),
        ("picture.md", "this is not a text file"),
        ("long.md", "longer than 1 MiB"),
    ] {
        let it = desk.ibid(&["check", name]);
        assert_eq!(it.code, 2, "{name}");
        assert!(
            it.err.contains(name) && it.err.contains(told) && it.err.contains("hint:"),
            "{}",
            it.err
        );
        assert!(it.out.is_empty());
        let it = desk.ibid(&["check", name, "--json"]);
        assert_eq!(it.json()["is_error"], true, "{}", it.out);
    }
    for args in [
        &["check"][..],
        &["check", "a.md", "--claims", "b.jsonl"],
        &["check", "--claims", "b.jsonl", "--strict"],
        &["check", "docs/rain.md", "--folder", "nowhere"],
        &["check", "docs/rain.md", "--model", "x=y"],
    ] {
        assert_eq!(desk.ibid(args).code, 2, "{args:?}");
    }
    desk.write("latin.md", "");
    std::fs::write(desk.path("latin.md"), b"Ein Dach h\xe4lt den Regen auf [1].").unwrap();
    // Its words are not known for certain, so no verdict on them would be.
    assert_eq!(desk.ibid(&["check", "latin.md"]).code, 2);
}

#[test]
fn a_text_without_citations_says_so_and_is_not_strictly_sound() {
    let desk = TestHome::with_model();
    desk.write("plain.md", "Roofs are nice and keep the rain out.\n");
    let it = desk.ibid(&["check", "plain.md"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.out.contains("no sentence has a citation"), "{}", it.out);
    assert_eq!(desk.ibid(&["check", "plain.md", "--strict"]).code, 6);
    assert!(!desk.path("home/.local").exists(), "looking makes no store");
}

fn pages() -> Vec<SourceLookup> {
    let draft = PageDraft {
        blocks: vec![Block::new(
            BlockKind::Prose,
            "A green roof retained 56 % of annual rainfall. The shed stands in the rain.",
        )],
        ..PageDraft::default()
    };
    vec![SourceLookup::Pages(vec![Page::new(draft)])]
}

const TOLD: &str = "A planted roof holds back over half of what falls from the sky in a year as rainfall [1]. \
    The shed by the roof was blue [1]. The shed stands in the rain [1].\n\n[1]: https://a.example/\n";

#[tokio::test]
async fn a_model_decides_by_the_best_quotes_alone() {
    let model = Scripted::new(|_, words| {
        let verdict = match words {
            it if it.contains("planted roof") => "entails",
            it if it.contains("blue") => "contradicts",
            _ => "unclear",
        };
        Ok(json!({"reason": "so it is", "verdict": verdict}).to_string())
    });
    let mind = RoleModel { model: model.clone(), window: 8_000 };
    let audit =
        audit_by_model(audit_by_code(parse_citations(TOLD), pages(), None), &mind).await.unwrap();
    let verdicts: Vec<AuditVerdict> = audit.claims.iter().map(|it| it.verdict).collect();
    assert_eq!(
        verdicts,
        [AuditVerdict::Supported, AuditVerdict::Contradicted, AuditVerdict::Partly]
    );
    assert_eq!(audit.usage.model_calls, 3);
    assert_eq!(audit.model.as_deref(), Some("scripted/one"));
    let asked = model.asked.lock().unwrap();
    assert!(asked.iter().all(|it| it.purpose == "verify"));
    assert!(asked[0].messages[0].text.contains("56 %"));
}

#[tokio::test]
async fn where_a_model_fails_the_words_decide() {
    let by_words_alone = audit_by_code(parse_citations(TOLD), pages(), None);
    for (kind, calls) in [(ErrorKind::Setup, 8), (ErrorKind::Malformed, 8)] {
        let model = Scripted::new(move |_, _| Err(Error::new(kind, "asking").with_hint("mend it")));
        let mind = RoleModel { model: model.clone(), window: 8_000 };
        let audit = audit_by_model(audit_by_code(parse_citations(TOLD), pages(), None), &mind)
            .await
            .unwrap();
        assert_eq!(audit.claims, by_words_alone.claims);
        assert!(audit.fault.unwrap().contains("mend it"));
        assert!(model.asked.lock().unwrap().len() <= calls);
    }
    let model = Scripted::new(|_, _| Err(Error::new(ErrorKind::Cancelled, "asking")));
    let mind = RoleModel { model, window: 8_000 };
    assert!(
        audit_by_model(audit_by_code(parse_citations(TOLD), pages(), None), &mind).await.is_err()
    );
}
