//! The cross-encoder that comes with Ibid, in `check`, `doctor` and a run, whole and damaged.
#![cfg(feature = "embed")]
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::cli::TestHome;

const MODEL: &str = "all-MiniLM-L6-v2";
const SOURCE: &str = "Field capacity is the water that a substrate holds against gravity after it has drained for a day. A \
    semi-intensive green roof has 15 to 25 cm of substrate and carries grasses, herbs and small shrubs.";
const CLAIMS: [&str; 3] = [
    "It is not true that field capacity is the water that a substrate holds against gravity after it has drained for a day.",
    "A semi-intensive green roof has 15 to 25 cm of substrate and carries grasses, herbs and large shrubs.",
    "A semi-intensive green roof has 15 to 25 cm of substrate.",
];

/// A place with the model and this adapter.
fn models(desk: &TestHome, adapter: &[u8]) -> PathBuf {
    let dir = desk.path("models").join(MODEL);
    std::fs::create_dir_all(&dir).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(MODEL);
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::fs::copy(from.join(file), dir.join(file)).unwrap();
    }
    std::fs::write(dir.join("adapter.safetensors"), adapter).unwrap();
    desk.path("models")
}

fn whole_adapter() -> Vec<u8> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    std::fs::read(models.join(MODEL).join("adapter.safetensors")).unwrap()
}

fn ran(desk: &TestHome, args: &[&str], variable: (&str, &str)) -> Output {
    desk.command(args).envs([variable]).output().unwrap()
}

/// The verdicts of `check --claims`.
fn verdicts(desk: &TestHome, variable: (&str, &str)) -> Vec<String> {
    let rows = CLAIMS.map(|claim| json!({"id": 1, "claim": claim, "source": SOURCE}).to_string());
    desk.write("claims.jsonl", &rows.join("\n"));
    let claims = desk.path("claims.jsonl").to_string_lossy().into_owned();
    let output = ran(desk, &["check", "--claims", &claims, "--json"], variable);
    let said = String::from_utf8(output.stdout).unwrap();
    let verdict = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        row["verdict"].as_str().unwrap().to_owned()
    };
    said.lines().map(verdict).collect()
}

#[test]
fn what_words_forgive_is_contradicted_and_what_is_true_stays_supported() {
    let desk = TestHome::with_model();
    let read = verdicts(&desk, ("IBID_RERANK_MODEL", ""));
    assert_eq!(read, ["contradicted", "contradicted", "supported"]);
    let by_words = verdicts(&desk, ("IBID_RERANK_MODEL", "none"));
    assert_eq!(by_words, ["supported", "supported", "supported"]);

    desk.write("docs/gravel.txt", SOURCE);
    desk.write(
        "said.md",
        &format!("{} [1]\n\n## Sources\n\n1. [Gravel](docs/gravel.txt)\n", CLAIMS[0]),
    );
    let said = desk.path("said.md").to_string_lossy().into_owned();
    let docs = desk.docs();
    let asked = ["check", &said, "--folder", &docs, "--json"];
    let output = ran(&desk, &asked, ("IBID_RERANK_MODEL", ""));
    let audit: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(audit["claims"][0]["verdict"], "contradicted", "{audit}");
}

#[test]
fn a_damaged_adapter_is_named_by_doctor_and_check_and_the_run_says_that_it_was_not_used() {
    let mut flipped = whole_adapter();
    // The second number of a bias of a head, made large: the file still loads.
    let header = 8 + u64::from_le_bytes(flipped[..8].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&flipped[8..header]).unwrap();
    let at = header + head["support.bias"]["data_offsets"][0].as_u64().unwrap() as usize;
    flipped[at + 5] = 0x7b;
    let cut = whole_adapter()[..100_000].to_vec();
    for (adapter, loads) in [(flipped, true), (cut, false)] {
        let desk = TestHome::with_model();
        let models = models(&desk, &adapter).to_string_lossy().into_owned();
        let place = ("IBID_MODELS_DIR", models.as_str());
        let told = ran(&desk, &["doctor"], place);
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(told.contains("adapter") && told.contains('✗'), "{told}");
        if loads {
            continue;
        }
        desk.write("claims.jsonl", "{\"claim\": \"Cork floats.\", \"source\": \"Cork floats.\"}");
        let claims = desk.path("claims.jsonl").to_string_lossy().into_owned();
        let refused = ran(&desk, &["check", "--claims", &claims], place);
        assert_eq!(refused.status.code(), Some(4), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("adapter.safetensors"));

        let nine: String = (1..10)
            .map(|nth| format!("The roof of house {nth} kept {nth}0 litres of rain in a day. "))
            .collect();
        desk.write("docs/houses.txt", &nine);
        let docs = desk.docs();
        let asked = ["What does a green roof cost?", "--folder", &docs, "--model", "none", "-v"];
        let output = ran(&desk, &asked, place);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let progress = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(progress.contains("adapter.safetensors"), "{progress}");
    }
}

#[cfg(unix)]
#[test]
fn an_adapter_that_is_a_pipe_is_refused_and_not_waited_for() {
    let desk = TestHome::with_model();
    let models = models(&desk, b"");
    let adapter = models.join(MODEL).join("adapter.safetensors");
    std::fs::remove_file(&adapter).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&adapter).status().unwrap();
    assert!(made.success());
    desk.write("claims.jsonl", "{\"claim\": \"Cork floats.\", \"source\": \"Cork floats.\"}");
    let claims = desk.path("claims.jsonl").to_string_lossy().into_owned();
    let place = models.to_string_lossy().into_owned();
    let output = ran(&desk, &["check", "--claims", &claims], ("IBID_MODELS_DIR", &place));
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("regular file"), "{output:?}");
}

#[test]
fn a_sentence_that_answers_nothing_is_only_the_nearest() {
    let desk = TestHome::with_model();
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/library");
    let library = library.to_string_lossy().into_owned();
    let ask = |question: &str, form: &str| {
        desk.ibid(&[question, "--folder", &library, "--model", "none", "-q", form]).out
    };
    let heating = "Will plants on the roof cut my heating bill?";
    let found: Value = serde_json::from_str(&ask(heating, "--json")).unwrap();
    assert_eq!(found["nearest_only"], true, "{found}");
    assert_eq!(found["one_line_answer"], Value::Null, "{found}");
    assert_eq!(found["confidence"]["level"], "very_low", "{found}");
    let said = desk.ibid(&["show", "last"]).out;
    assert!(said.contains("Nearest passage") && !said.contains("Short answer"), "{said}");

    let line = desk.ibid(&["answer", heating, "--folder", &library, "--model", "none", "-q"]);
    assert_eq!((line.code, line.out.as_str()), (3, ""), "{}", line.err);
    assert!(line.err.contains("no sentence that was read answers the question"), "{}", line.err);
    let unknown = "How many beehives stand on the library roof in Halvern?";
    let found: Value = serde_json::from_str(&ask(unknown, "--json")).unwrap();
    assert_ne!(found["nearest_only"], false, "{found}");

    let cost = "How long does the waterproofing membrane under a green roof last?";
    let found: Value = serde_json::from_str(&ask(cost, "--json")).unwrap();
    assert_eq!(found["nearest_only"], false, "{found}");
    assert!(found["one_line_answer"].as_str().unwrap().contains("36 years"), "{found}");
}
