//! Small data sets made by code, in the forms of the public ones, so that every component can be run in any checkout.
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::Fault;

/// Names that stand for nothing.
const NAMES: [&str; 12] = [
    "Alder", "Birch", "Cedar", "Damson", "Elder", "Fennel", "Gorse", "Hazel", "Iris", "Juniper",
    "Kelp", "Larch",
];

/// Writes rows as JSON lines, packed where the name ends in `.gz`.
pub(crate) fn write(path: &Path, rows: &[Value]) -> Result<(), Fault> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut packed = GzEncoder::new(fs::File::create(path)?, Compression::fast());
        packed.write_all(text.as_bytes())?;
        packed.finish()?;
    } else {
        fs::write(path, text)?;
    }
    Ok(())
}

/// Two sets of claims: one with claims that the source does not say, one with claims that it contradicts.
pub(crate) fn claims(dir: &Path) -> Result<(), Fault> {
    for (set, label) in [("wice", "not_supported"), ("foolmetwice", "contradicted")] {
        let mut rows = Vec::new();
        for (nth, name) in NAMES.iter().enumerate() {
            let opened = format!("The {name} Bridge opened in {}.", 1900 + nth);
            let long = format!("It is {} metres long and carries two tracks.", 120 + 7 * nth);
            let wrong = match label {
                "contradicted" => format!("The {name} Bridge opened in {}.", 1950 + nth),
                _ => format!("A painter from Halvern taught violin near {name} Bridge."),
            };
            let right = opened.clone();
            for (label, claim) in [("supported", right), (label, wrong)] {
                rows.push(json!({
                    "id": format!("{set}-{nth}-{label}"), "set": set, "claim": claim,
                    "source": [opened, long], "label": label, "rationale": [[0]],
                    "meta": {"page": name},
                }));
            }
        }
        write(&dir.join(format!("{set}.jsonl.gz")), &rows)?;
    }
    Ok(())
}

/// Questions whose documents agree, and whose documents do not.
pub(crate) fn conflicts(dir: &Path) -> Result<(), Fault> {
    let document = |name: &str, year: usize, kind: &str| {
        json!({"text": format!("The {name} Bridge was opened in {year}."), "type": kind,
            "answer": year.to_string()})
    };
    let row = |(nth, name): (usize, &&str)| {
        let (right, wrong) = (1900 + nth, 1950 + nth);
        let (kind, second) = if nth % 2 == 0 { ("misinfo", wrong) } else { ("correct", right) };
        let wrong_answers = if nth % 2 == 0 { vec![wrong.to_string()] } else { Vec::new() };
        json!({
            "question": format!("In which year was the {name} Bridge opened?"),
            "documents": [document(name, right, "correct"), document(name, second, kind)],
            "gold_answers": [right.to_string()], "wrong_answers": wrong_answers,
        })
    };
    let rows: Vec<Value> = NAMES.iter().enumerate().map(row).collect();
    write(&dir.join("ramdocs.jsonl.gz"), &rows)?;
    let checked = |(nth, name): (usize, &&str)| {
        let said = if nth % 2 == 0 { 1900 } else { 1950 };
        let answer = format!("The {name} Bridge was opened in 1900.");
        json!({
            "claim": format!("The {name} Bridge was opened in {said}."),
            "label": if nth % 2 == 0 { "Supported" } else { "Refuted" },
            "questions": [{"question": "When?", "answers": [{"answer": answer}]}],
        })
    };
    let rows: Vec<Value> = NAMES.iter().enumerate().map(checked).collect();
    write(&dir.join("averitec_dev.jsonl.gz"), &rows)
}

/// A judged collection: for each name a bridge and its engineer, and questions that one or both of them answer.
pub(crate) fn collection(dir: &Path) -> Result<(), Fault> {
    let (mut documents, mut questions) = (Vec::new(), Vec::new());
    let born = |nth: usize| NAMES[(nth + 5) % NAMES.len()];
    for (nth, name) in NAMES.iter().enumerate() {
        let (bridge, engineer) = (format!("b{nth}"), format!("e{nth}"));
        let person = format!("Ada {name}son");
        documents.push(json!({"_id": bridge, "title": format!("{name} Bridge"),
            "text": format!("The {name} Bridge carries a railway. It was designed by {person}.")}));
        documents.push(json!({"_id": engineer, "title": person,
            "text": format!("{person} was an engineer. She was born in Port {}.", born(nth))}));
        questions.push(json!({"query": format!("What does the {name} Bridge carry?"),
            "relevant": [bridge]}));
        questions.push(json!({
            "query": format!("Where was the designer of the {name} Bridge born?"),
            "relevant": [bridge, engineer]}));
    }
    write(&dir.join("corpus.jsonl"), &documents)?;
    write(&dir.join("dev/queries.jsonl"), &questions)
}

/// Questions with passages in a wrong order and their grades.
pub(crate) fn graded(dir: &Path) -> Result<(), Fault> {
    let row = |name: &&str| {
        json!({"query": format!("When was the {name} Bridge opened?"), "passages": [
            {"text": "Bread rises faster in a warm kitchen.", "grade": 0},
            {"text": "A bridge may carry a railway, a road or both.", "grade": 1},
            {"text": format!("The {name} Bridge was opened in May 1931."), "grade": 2},
        ]})
    };
    write(&dir.join("dev/rerank.jsonl"), &NAMES.iter().map(row).collect::<Vec<_>>())
}

/// What each set of pages calls its gold text.
pub(crate) enum Gold {
    Words,
    Shingles,
    Pieces,
}

/// Articles between a menu and a footer, each on a site of its own, with a gold text and a day of publication.
pub(crate) fn pages(dir: &Path, gold: &Gold) -> Result<(), Fault> {
    let row = |(nth, name): (usize, &&str)| {
        let day = format!("20{:02}-03-{:02}", 10 + nth, 1 + nth);
        let text: Vec<String> = (0..6)
            .map(|part| {
                format!(
                    "In the year {} the {name} Bridge was repaired for the {part}th time, because the river had \
                     risen by {} inches and the piers on the northern bank had sunk into the clay.",
                    1900 + 9 * part + nth,
                    3 + part
                )
            })
            .collect();
        let paragraphs: String = text.iter().map(|text| format!("<p>{text}</p>\n")).collect();
        let links: String = NAMES
            .iter()
            .map(|name| format!("<li><a href=\"/{name}\">{name} news</a></li>"))
            .collect();
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><title>The {name} Bridge</title>\
             <meta property=\"article:published_time\" content=\"{day}T08:00:00Z\"></head><body>\
             <nav><ul>{links}</ul></nav><main><article><h1>The {name} Bridge</h1>{paragraphs}</article></main>\
             <footer><ul>{links}</ul><p>All rights reserved.</p></footer></body></html>"
        );
        let whole = format!("The {name} Bridge\n{}", text.join("\n"));
        let mut row = json!({"id": nth, "html": html, "date": day,
            "url": format!("https://{}.example/bridge", name.to_lowercase())});
        match gold {
            Gold::Words => row["main_content"] = whole.into(),
            Gold::Shingles => row["article_body"] = whole.into(),
            Gold::Pieces => {
                row["must_contain"] = json!([text[0], text[5]]);
                row["must_not_contain"] = json!(["All rights reserved."]);
            }
        }
        row
    };
    write(&dir.join("gold.jsonl"), &NAMES.iter().enumerate().map(row).collect::<Vec<_>>())
}
