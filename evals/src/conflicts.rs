//! Whether documents of one question that answer it differently are told, on RAMDocs (Wang et al. 2025).
//!
//! Rows `{question, documents: [{text, type, answer}]}` in `ramdocs.jsonl.gz`; the type is `correct`,
//! `misinfo` or `noise`. Each pair of documents of a question is one case. Two golds: that both answer
//! and the answers are other words, and that one is right and the other misinformation.
use std::io::{Read, Write};
use std::path::PathBuf;

use ibid::research::agree::{Answered, Wanted, answered, differ};
use serde_json::Value;

use crate::{Outcome, sets};

/// Measures on `FOLDER` (`../shared/data/conflicts/dev` unless given).
pub(crate) fn run(args: &[String]) -> Outcome {
    let folder = args
        .first()
        .map_or_else(|| sets::shared("conflicts").join("dev"), PathBuf::from);
    let path = folder.join("ramdocs.jsonl.gz");
    let file =
        std::fs::File::open(&path).map_err(|it| format!("reading {}: {it}", path.display()))?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text)?;
    let mut pairs = Vec::new();
    let mut sets = [0_usize; 4];
    for line in text.lines() {
        let row: Value = serde_json::from_str(line)?;
        let mine = pairs_of(&row)?;
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
        ("  asked for a date", Some(Wanted::Date)),
        ("  asked for an amount", Some(Wanted::Amount)),
        ("  asked for a name or place", Some(Wanted::Name)),
        ("  asked for anything else", Some(Wanted::Other)),
    ] {
        let mine: Vec<(bool, bool)> = pairs
            .iter()
            .filter(|it| kind.is_none_or(|kind| it.wanted == kind))
            .map(|it| (it.differ, it.told))
            .collect();
        line(&mut out, name, &mine)?;
    }
    let misled: Vec<(bool, bool)> = pairs.iter().map(|it| (it.misled, it.told)).collect();
    line(&mut out, "one right, one misinformation", &misled)?;
    let [neither, only_told, only_gold, both] = sets;
    let rows = neither + only_told + only_gold + both;
    let cases = |count: usize, gold: bool, told: bool| std::iter::repeat_n((gold, told), count);
    let questions: Vec<(bool, bool)> = cases(both, true, true)
        .chain(cases(only_gold, true, false))
        .chain(cases(only_told, false, true))
        .chain(cases(neither, false, false))
        .collect();
    writeln!(
        out,
        "\nof {rows} questions, those whose documents answer differently:"
    )?;
    line(&mut out, "questions", &questions)?;
    writeln!(
        out,
        "known: exact sets of answers by Llama-3.3-70B, 32.6 % with one prompt, 34.4 % with MADAM-RAG; pairs are not published"
    )?;
    Ok(())
}

struct Pair {
    wanted: Wanted,
    differ: bool,
    misled: bool,
    told: bool,
}

fn pairs_of(row: &Value) -> Result<Vec<Pair>, crate::Fault> {
    let question = row["question"].as_str().unwrap_or_default();
    let wanted = Wanted::by(question)?;
    let documents: Vec<&Value> = row["documents"].as_array().into_iter().flatten().collect();
    let said: Vec<Option<Answered>> = documents
        .iter()
        .map(|it| answered(wanted, question, it["text"].as_str().unwrap_or_default()))
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
                told: matches!((&said[a], &said[b]), (Some(x), Some(y)) if differ(x, y)),
            });
        }
    }
    Ok(pairs)
}

/// One line of the table over (gold, told) cases.
fn line(out: &mut impl Write, name: &str, cases: &[(bool, bool)]) -> std::io::Result<()> {
    let count = |keep: fn(&(bool, bool)) -> bool| cases.iter().filter(|it| keep(it)).count() as f64;
    let gold = count(|it| it.0);
    let told = count(|it| it.1);
    let both = count(|it| it.0 && it.1);
    let all = cases.len() as f64;
    let share = |a: f64, b: f64| if b == 0.0 { 0.0 } else { a / b };
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
