//! The draft is told while it is being written.
use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::domain::ModelRole;
use ibid_core::ports::{Completion, LanguageModel, Prompt, RoleModel, RoleModels, TextSink};
use ibid_core::record::{Event, Phase};
use ibid_core::{Error, ErrorKind, Result};
use serde_json::json;
use tokio::sync::Notify;

use super::{Scripted, holds, run, shelf, well, words_of};
use crate::memory::{Events, Pages, log, question, run_id, world};

/// A writer that goes on only when somebody has heard the first half of what it writes.
struct Slow {
    inner: Arc<Scripted>,
    heard: Arc<Notify>,
}

#[async_trait]
impl LanguageModel for Slow {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn complete(&self, prompt: &Prompt, sink: Option<TextSink<'_>>) -> Result<Completion> {
        let answer = self.inner.complete(prompt, None).await?;
        let Some(sink) = sink else {
            return Ok(answer);
        };
        let half = answer.text.find("}, {").or(answer.text.find("},{")).unwrap() + 1;
        sink(&answer.text[..half]);
        self.heard.notified().await;
        sink(&answer.text[half..]);
        Ok(answer)
    }
}

type Told = (Option<String>, String, bool);

/// What is told of the draft after research, whose rounds end with a skeleton of it.
fn deltas(events: &[Event]) -> Vec<Told> {
    let last = events.iter().rposition(|it| matches!(it, Event::RoundFinished { .. }));
    let events = &events[last.map_or(0, |at| at + 1)..];
    let told = events.iter().filter_map(|it| match it {
        Event::DraftDelta { text, section, begins } => {
            Some((section.clone(), text.clone(), *begins))
        }
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn a_sentence_is_told_before_the_next_one_is_written() {
    let heard = Arc::new(Notify::new());
    let inner = Scripted::new(|step, words| Ok(well(step, words).to_string()));
    let slow = Arc::new(Slow { inner, heard: Arc::clone(&heard) });
    let mut world = world(Arc::new(Pages::new(shelf())));
    world.models = RoleModels::default();
    for role in ModelRole::ALL {
        let model = Arc::clone(&slow) as Arc<dyn LanguageModel>;
        let window = 8_000;
        world.models.insert(role, RoleModel { model, window });
    }
    let events = Arc::new(Events::default());
    let log = log(events.clone());
    let mut live = log.subscribe();
    let (id, asked) = (run_id(), question("What is cork?"));
    let first = async {
        loop {
            let it = live.recv().await.unwrap();
            let writes = it.phase == Phase::Write;
            if let (true, Event::DraftDelta { section: Some(_), text, .. }) = (writes, it.event) {
                heard.notify_one();
                return text;
            }
        }
    };
    let (report, first) = tokio::join!(ibid_research::research(&world, &log, &id, &asked), first);
    let report = report.unwrap();
    holds(&report);
    assert!(words_of(&report).contains(&first.as_str()), "{first}");
    let told: Vec<Event> = events.0.lock().unwrap().iter().map(|it| it.event.clone()).collect();
    let told = deltas(&told);
    // It begins with the short answer; then each sentence once.
    assert!(told[0].2 && told[0].0.is_none(), "{told:?}");
    assert_eq!(told.iter().filter(|it| it.2).count(), 1, "{told:?}");
    let mut once = told.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), told.len(), "{told:?}");
    for it in words_of(&report) {
        assert!(told.iter().any(|told| told.1 == it), "{it} of {told:?}");
    }
}

#[tokio::test]
async fn each_round_tells_what_the_report_could_say_so_far() {
    let model = Scripted::new(|step, words| Ok(well(step, words).to_string()));
    let (report, events) = run(&model, &ModelRole::ALL, &question("What is cork?")).await;
    holds(&report.unwrap());
    let at = |of: fn(&Event) -> bool| events.iter().position(of).unwrap();
    let begun = at(|it| matches!(it, Event::RoundStarted { .. }));
    let ended = at(|it| matches!(it, Event::RoundFinished { .. }));
    let mut told = events[begun..ended].iter().filter_map(|it| match it {
        Event::DraftDelta { text, begins, .. } => Some((text.as_str(), *begins)),
        _ => None,
    });
    let (text, begins) = told.next().expect("a skeleton");
    assert!(begins && text.contains("cork oak"), "{text}");
    assert!(told.all(|(text, begins)| !begins && !text.is_empty()));
}

#[tokio::test]
async fn what_is_written_again_begins_again() {
    // Half of the first answer cannot be used; the second ask is answered as it should be.
    let model = Scripted::new(|step, words| {
        let mut said = well(step, words);
        if step == "write" && !words.contains("could not be used") {
            let bad = json!({"text": "See https://bad.example/ now.", "evidence": ["E1"]});
            let sentences = said["sections"][0]["sentences"].as_array_mut().unwrap();
            sentences.extend([
                bad.clone(),
                bad.clone(),
                bad.clone(),
                bad.clone(),
                bad.clone(),
                bad,
            ]);
        }
        Ok(said.to_string())
    });
    let (report, events) = run(&model, &ModelRole::ALL, &question("What is cork?")).await;
    holds(&report.unwrap());
    let told = deltas(&events);
    let begins = told.iter().filter(|it| it.2).count();
    let asked = model.steps().iter().filter(|it| *it == "write").count();
    assert_eq!(begins, asked, "{told:?}");
    assert!(told.iter().all(|it| !it.1.contains("bad.example")), "{told:?}");
}

#[tokio::test]
async fn a_writer_that_fails_midway_leaves_a_draft_that_begins_again() {
    let model = Scripted::new(|step, words| match step {
        "write" => Err(Error::new(ErrorKind::Setup, "asking scripted/one for write")),
        _ => Ok(well(step, words).to_string()),
    });
    let (report, events) = run(&model, &ModelRole::ALL, &question("What is cork?")).await;
    holds(&report.unwrap());
    let told = deltas(&events);
    assert!(told[0].2 && told.len() > 1, "{told:?}");
}
