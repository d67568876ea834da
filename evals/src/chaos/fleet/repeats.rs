//! Whether calls to the model were repeated, by the journal and by what the model got.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::Value;

use super::super::check::{Breach, Invariant};
use super::super::left::Left;
use super::model_server::Asked;

/// The calls that were answered at a moment: run and key of each.
pub(super) type Answered = (Instant, BTreeSet<(String, String)>);

/// Calls that were sent more often than the journal says, or after they were answered.
pub(super) fn repeats<'a>(
    runs: impl Iterator<Item = (&'a String, &'a Left)>,
    asked: &[Asked],
    answered_calls: &[Answered],
) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut journal: BTreeMap<String, (i64, BTreeSet<(String, String)>)> = BTreeMap::new();
    for (run, left) in runs {
        for step in left.steps.iter().filter(|step| step.door.starts_with("model:")) {
            let entry = journal.entry(prompt_text(&step.asked)).or_default();
            entry.0 += step.sent;
            entry.1.insert((run.clone(), step.key.clone()));
        }
    }
    let mut sent: BTreeMap<&str, Vec<Instant>> = BTreeMap::new();
    for asked in asked {
        sent.entry(&asked.key).or_default().push(asked.at);
    }
    for (prompt, times) in sent {
        let Some((counted, steps)) = journal.get(prompt) else {
            let text = format!("`{prompt:.80}` was sent and is not in the journal");
            breaches.push((Invariant::Agreement, text));
            continue;
        };
        if times.len() as i64 > *counted {
            let text = format!("a call was sent {} times, by the journal {counted}", times.len());
            breaches.push((Invariant::Repeats, text));
        }
        let answered =
            answered_calls.iter().find(|it| steps.iter().all(|step| it.1.contains(step)));
        let is_later = |at: &Instant| answered.is_some_and(|answered| *at > answered.0);
        if times.iter().any(is_later) {
            breaches.push((Invariant::Repeats, "an answered call was sent again".to_owned()));
        }
    }
    breaches
}

/// The messages of a prompt in the journal, as the model got them.
fn prompt_text(asked: &Value) -> String {
    let messages = asked["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = messages.iter().filter_map(|it| it["text"].as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::super::left::Step;
    use super::*;
    use serde_json::json;

    fn left(sent: i64) -> Left {
        let step = Step {
            key: "k".to_owned(),
            door: "model:m".to_owned(),
            asked: json!({"messages": [{"text": "What is cork?"}]}),
            state: "answered".to_owned(),
            answer: None,
            sent,
        };
        Left { steps: vec![step], ..Left::default() }
    }

    #[test]
    fn a_call_that_is_sent_more_often_than_the_journal_says_is_told() {
        let asked = || Asked { key: "What is cork?".to_owned(), at: Instant::now() };
        let run = "r".to_owned();
        let found = |sent, asked: &[Asked], answered: &[Answered]| {
            let left = left(sent);
            let found = repeats(std::iter::once((&run, &left)), asked, answered);
            found.into_iter().map(|(which, _)| which).collect::<Vec<_>>()
        };
        assert_eq!(found(1, &[asked()], &[]), []);
        assert_eq!(found(2, &[asked(), asked()], &[]), []);
        assert_eq!(found(1, &[asked(), asked()], &[]), [Invariant::Repeats]);
        // By the journal both were sent, but the second after the first was answered.
        let first = asked();
        let answered = (Instant::now(), BTreeSet::from([(run.clone(), "k".to_owned())]));
        assert_eq!(found(2, &[first, asked()], &[answered]), [Invariant::Repeats]);
        let other = Asked { key: "What is rye?".to_owned(), at: Instant::now() };
        assert_eq!(found(1, &[asked(), other], &[]), [Invariant::Agreement]);
    }
}
