//! Whether documents of one question that answer it differently are told, on RAMDocs (Wang et al. 2025).
//!
//! Rows `{question, documents: [{text, type, answer}]}` in `ramdocs.jsonl.gz`; the type is `correct`,
//! `misinfo` or `noise`. Each pair of documents of a question is one case. Two golds: that both answer
//! and the answers are other words, and that one is right and the other misinformation. The set's own
//! measure, exact sets, asks for all right answers among those told and for no wrong one.
//!
//! AVeriTeC (Schlichtkrull et al. 2023) has real claims with answers found on the web, in
//! `averitec_dev.jsonl.gz`: macro-F1 of its four labels, from the verdict on the claim by each answer.
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use ibid_core::domain::words::content_stems;
use ibid_research::attribution::{SupportLevel, judge_support};
use ibid_research::text_answer::{AnswerType, TextAnswer, answers_differ, extract_answer};
use serde_json::Value;

use crate::{Fault, Measured, Outcome, generated, sets};

/// Measures on `FOLDER` (`../shared/data/conflicts/dev` unless given).
pub(crate) fn run(args: &[String]) -> Outcome {
    let folder = args.first().map_or_else(|| sets::shared("conflicts").join("dev"), PathBuf::from);
    Ok(Measured::new(measure(&folder)?.0, "pairs and claims"))
}

/// Generated questions and claims, of which each pair and each claim must be told right.
pub(crate) fn small(_: &[String]) -> Outcome {
    let dir = tempfile::tempdir()?;
    generated::conflicts(dir.path())?;
    match measure(dir.path())? {
        (count, 0) => Ok(Measured::new(count, "pairs and claims")),
        (_, wrong) => Err(format!("{wrong} plain pairs are told wrong").into()),
    }
}

/// Prints the tables; how many pairs and claims there are, and how many pairs are told wrong.
fn measure(folder: &Path) -> Result<(usize, usize), Fault> {
    let mut pairs = Vec::new();
    let mut sets = [0_usize; 4];
    let mut exact = 0;
    for row in rows(&folder.join("ramdocs.jsonl.gz"))? {
        let mine = pairs_of(&row)?;
        exact += usize::from(is_exact(&row)?);
        let gold = mine.iter().any(|it| it.differ);
        let told = mine.iter().any(|it| it.told);
        sets[usize::from(gold) * 2 + usize::from(told)] += 1;
        pairs.extend(mine);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<34}{:>6}{:>8} | precision  recall  F1    | always: F1  never: F1",
        "pairs", "all", "gold"
    )?;
    for (name, kind) in [
        ("answers differ", None),
        ("  asked for a date", Some(AnswerType::Date)),
        ("  asked for an amount", Some(AnswerType::Amount)),
        ("  asked for a name or place", Some(AnswerType::Name)),
        ("  asked for anything else", Some(AnswerType::Other)),
    ] {
        let mine: Vec<(bool, bool)> = pairs
            .iter()
            .filter(|pair| kind.is_none_or(|kind| pair.wanted == kind))
            .map(|pair| (pair.differ, pair.told))
            .collect();
        line(&mut out, name, &mine)?;
    }
    let misled: Vec<(bool, bool)> = pairs.iter().map(|pair| (pair.misled, pair.told)).collect();
    line(&mut out, "one right, one misinformation", &misled)?;
    let [neither, only_told, only_gold, both] = sets;
    let all = neither + only_told + only_gold + both;
    let cases = |count: usize, gold: bool, told: bool| std::iter::repeat_n((gold, told), count);
    let questions: Vec<(bool, bool)> = cases(both, true, true)
        .chain(cases(only_gold, true, false))
        .chain(cases(only_told, false, true))
        .chain(cases(neither, false, false))
        .collect();
    writeln!(out, "\nof {all} questions, those whose documents answer differently:")?;
    line(&mut out, "questions", &questions)?;
    writeln!(
        out,
        "exact sets of answers: {exact} of {all} ({:.1} %)",
        100.0 * share(exact as f64, all as f64)
    )?;
    writeln!(
        out,
        "known: exact sets of answers by Llama-3.3-70B, 32.6 % with one prompt, 34.4 % with MADAM-RAG; pairs are not published"
    )?;
    let claims = averitec(&folder.join("averitec_dev.jsonl.gz"), &mut out)?;
    if pairs.is_empty() || claims == 0 {
        return Err(format!("there are no pairs or no claims in {}", folder.display()).into());
    }
    let wrong = pairs.iter().filter(|pair| pair.differ != pair.told).count();
    Ok((pairs.len() + claims, wrong))
}

pub(crate) fn rows(path: &Path) -> Result<Vec<Value>, Fault> {
    let file = std::fs::File::open(path)
        .map_err(|error| format!("reading {}: {error}", path.display()))?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text)?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn texts(row: &Value, name: &str) -> Vec<String> {
    let all = row[name].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether the answers told hold every right answer and no wrong one, as words.
fn is_exact(row: &Value) -> Result<bool, Fault> {
    let question = row["question"].as_str().unwrap_or_default();
    let wanted = AnswerType::from_question(question)?;
    let told: Vec<BTreeSet<String>> = row["documents"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|items| extract_answer(wanted, question, items["text"].as_str()?))
        .map(|it| content_stems(&it.shown).into_iter().collect())
        .collect();
    let has = |answer: &String| {
        let words: BTreeSet<String> = content_stems(answer).into_iter().collect();
        told.iter()
            .any(|text| !text.is_empty() && (text.is_subset(&words) || words.is_subset(text)))
    };
    Ok(texts(row, "gold_answers").iter().all(has) && !texts(row, "wrong_answers").iter().any(has))
}

const LABELS: [&str; 4] =
    ["Supported", "Refuted", "Not Enough Evidence", "Conflicting Evidence/Cherrypicking"];

/// Prints the figures of the claims; how many there are.
fn averitec(path: &Path, out: &mut impl Write) -> Result<usize, Fault> {
    let mut cases: Vec<(usize, usize)> = Vec::new();
    for row in rows(path)? {
        let claim = row["claim"].as_str().unwrap_or_default();
        let answers = row["questions"].as_array().into_iter().flatten();
        let said: Vec<SupportLevel> = answers
            .flat_map(|answer| answer["answers"].as_array().into_iter().flatten())
            .filter_map(|it| it["answer"].as_str())
            .map(|it| judge_support(claim, &[it.to_owned()], None).verdict)
            .collect();
        let told = match (
            said.contains(&SupportLevel::Supported),
            said.contains(&SupportLevel::Contradicted),
        ) {
            (true, true) => 3,
            (true, false) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        if let Some(gold) = LABELS.iter().position(|label| row["label"] == *label) {
            cases.push((gold, told));
        }
    }
    let macro_f1 = |told: fn(usize) -> usize| {
        let f1 = |label: usize| {
            let count = |keep: &dyn Fn(usize, usize) -> bool| {
                cases.iter().filter(|case| keep(case.0, told(case.1))).count() as f64
            };
            let both = count(&|gold, told| gold == label && told == label);
            let either = count(&|gold, _| gold == label) + count(&|_, told| told == label);
            share(2.0 * both, either)
        };
        (0..LABELS.len()).map(f1).sum::<f64>() / LABELS.len() as f64
    };
    writeln!(
        out,
        "\nAVeriTeC, {} claims: macro-F1 of four labels {:.3}; always refuted {:.3}",
        cases.len(),
        macro_f1(|it| it),
        macro_f1(|_| 1)
    )?;
    Ok(cases.len())
}

fn share(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

struct Pair {
    wanted: AnswerType,
    differ: bool,
    misled: bool,
    told: bool,
}

fn pairs_of(row: &Value) -> Result<Vec<Pair>, Fault> {
    let question = row["question"].as_str().unwrap_or_default();
    let wanted = AnswerType::from_question(question)?;
    let documents: Vec<&Value> = row["documents"].as_array().into_iter().flatten().collect();
    let said: Vec<Option<TextAnswer>> = documents
        .iter()
        .map(|document| {
            extract_answer(wanted, question, document["text"].as_str().unwrap_or_default())
        })
        .collect();
    let word = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_lowercase();
    let mut pairs = Vec::new();
    for a in 0..documents.len() {
        for b in a + 1..documents.len() {
            let types = [word(documents[a], "type"), word(documents[b], "type")];
            let is = |name: &str| types.iter().any(|it| it == name);
            pairs.push(Pair {
                wanted,
                differ: !is("noise")
                    && word(documents[a], "answer") != word(documents[b], "answer"),
                misled: is("correct") && is("misinfo"),
                told: matches!((&said[a], &said[b]), (Some(x), Some(y)) if answers_differ(x, y)),
            });
        }
    }
    Ok(pairs)
}

/// One line of the table over (gold, told) cases.
fn line(out: &mut impl Write, name: &str, cases: &[(bool, bool)]) -> std::io::Result<()> {
    let count =
        |keep: fn(&(bool, bool)) -> bool| cases.iter().filter(|case| keep(case)).count() as f64;
    let gold = count(|pair| pair.0);
    let told = count(|pair| pair.1);
    let both = count(|pair| pair.0 && pair.1);
    let all = cases.len() as f64;
    writeln!(
        out,
        "{name:<34}{:>6}{gold:>8} | {:.3}      {:.3}   {:.3} | {:.3}       0.000",
        cases.len(),
        share(both, told),
        share(both, gold),
        share(2.0 * both, gold + told),
        share(2.0 * gold, gold + all)
    )
}
