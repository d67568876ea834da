//! Critics of a draft: what they object to is patched where that does no harm, and all of it is in the trace.
use ibid_core::domain::{Critic, ModelRole, Objection, Page, PatchOutcome, Question};
use ibid_core::record::Event;
use serde_json::{Value, json};

use super::{Scripted, id_of, run, run_over, shelf, well, words_of};
use crate::memory::{page, question};

fn asked(rounds: u32) -> Question {
    let mut asked = question("What is cork?");
    asked.method.critique_rounds = rounds;
    asked
}

/// The label of the sentence of the draft that says so.
fn label_of(words: &str, says: &str) -> String {
    let line = words.lines().find(|it| it.starts_with('S') && it.contains(says));
    let line = line.unwrap_or_else(|| panic!("{says} is not shown in:\n{words}"));
    line.split(' ').next().unwrap().to_owned()
}

/// A draft of the sentences whose evidence and section a prompt shows.
fn draft(words: &str) -> Value {
    let told = |text: &str, says: &str| {
        id_of(words, says).map(|id| json!({"text": text, "evidence": [id]}))
    };
    let of_cork = [
        told("Cork is a light material from the bark of the cork oak.", "bark of the cork oak"),
        told("Cork floats because its cells are closed and filled with air.", "filled with air"),
    ];
    let of_harvest = [told("It is stripped from living trees every nine years.", "nine years")];
    let section = |title: &str, told: &[Option<Value>]| {
        let sentences: Vec<&Value> = told.iter().flatten().collect();
        (!sentences.is_empty()).then(|| json!({"heading": title, "sentences": sentences}))
    };
    let sections = [section("What cork is", &of_cork), section("Harvest", &of_harvest)];
    json!({"sections": sections.iter().flatten().collect::<Vec<_>>()})
}

/// The critic that a prompt is for.
fn critic_of(words: &str) -> Critic {
    let kinds = words.split("Look for").nth(1).unwrap();
    match () {
        () if kinds.contains("- missing") => Critic::Coverage,
        () if kinds.contains("- one_sided") => Critic::Contradiction,
        () => Critic::Reader,
    }
}

fn objection(kind: &str, sentence: &str, evidence: &str, section: &str) -> Value {
    json!({"kind": kind, "sentence": sentence, "evidence": evidence, "section": section,
        "why": "A reader would miss it."})
}

fn objections(events: &[Event]) -> Vec<Objection> {
    let rounds = events.iter().filter_map(|event| match event {
        Event::DraftCriticized { objections, .. } => Some(objections.clone()),
        _ => None,
    });
    rounds.flatten().collect()
}

/// The shelf with more pages than there are key findings, each on a use of cork.
fn full_shelf() -> Vec<Page> {
    const USES: [&str; 9] = [
        "soles of shoes",
        "quiet floors",
        "life rafts",
        "cricket balls",
        "insulated walls",
        "bulletin boards",
        "wine bottles",
        "fishing floats",
        "engine gaskets",
    ];
    let uses = USES.iter().enumerate().map(|(n, of)| {
        let address = format!("https://use{n}.example/");
        page(&address, "Cork in use", Some("2020-01-01"), &format!("Cork is a material for {of}."))
    });
    shelf().into_iter().chain(uses).collect()
}

#[tokio::test]
async fn objections_of_a_model_are_patched_and_no_word_of_a_sentence_changes() {
    let model = Scripted::new(|step, words| {
        Ok(match step {
            "weigh" if words.contains("Cork is a material for") => {
                let (_, text) = words.split_once("[1] ").unwrap();
                let claim = text.lines().next().unwrap();
                json!({"evidence": [
                    {"item": "Q1", "sentences": [1], "claim": claim, "stance": "for"}]})
                .to_string()
            }
            "write" => draft(words).to_string(),
            "critique" => {
                let spare = words.split("Evidence that no sentence tells").nth(1).unwrap();
                let id = id_of(spare, "Cork is a material for").unwrap();
                let rows = match critic_of(words) {
                    Critic::Coverage => vec![objection("missing", "", &id, "What cork is")],
                    Critic::Contradiction => vec![],
                    Critic::Reader => {
                        vec![objection("off_topic", &label_of(words, "Cork floats"), "", "")]
                    }
                };
                json!({"objections": rows}).to_string()
            }
            _ => well(step, words).to_string(),
        })
    });
    let mut asked = asked(1);
    asked.method.max_sources = 20;
    let (report, events) = run_over(full_shelf(), &model, &ModelRole::ALL, &asked).await;
    let report = report.unwrap();
    let said = words_of(&report);
    assert!(!said.iter().any(|it| it.contains("filled with air")), "{said:?}");
    // What no critic objects to is word for word as it was checked; the short answer tells the first, and no section repeats it.
    let light = "Cork is a light material from the bark of the cork oak.";
    assert!(report.short.iter().any(|it| it.text() == light) && !said.contains(&light));
    assert!(said.contains(&"It is stripped from living trees every nine years."));
    let told = objections(&events);
    let of = |critic: Critic| {
        let found = told.iter().find(|it| it.critic == critic && it.by.is_some());
        found.unwrap_or_else(|| panic!("{critic:?} is not in {told:?}")).clone()
    };
    let missing = of(Critic::Coverage);
    assert_eq!(missing.outcome, PatchOutcome::Added);
    assert_eq!(missing.by.as_deref(), Some("scripted/one"));
    assert_eq!(missing.section.as_deref(), Some("What cork is"));
    // The quote is added as it stands on its page, with a citation of its own.
    let added = report.sections.iter().flat_map(|it| it.paragraphs.iter().flatten());
    let added = added.clone().find(|it| it.text() == missing.sentence).unwrap();
    assert_eq!(added.citations()[0].passage.text().expose(), missing.sentence);
    assert_eq!(of(Critic::Reader).outcome, PatchOutcome::Removed);
    assert!(report.method.unaided.is_empty(), "{:?}", report.method.unaided);
}

#[tokio::test]
async fn the_last_sentence_of_a_section_is_not_removed_and_unknown_labels_are_no_objections() {
    let model = Scripted::new(|step, words| {
        Ok(match step {
            "write" => draft(words).to_string(),
            "critique" => {
                let rows = match critic_of(words) {
                    Critic::Reader => vec![
                        objection("repeats", "S77", "", ""),
                        objection("off_topic", &label_of(words, "nine years"), "", ""),
                    ],
                    Critic::Coverage => vec![objection("missing", "", "E99", "Harvest")],
                    Critic::Contradiction => vec![],
                };
                json!({"objections": rows}).to_string()
            }
            _ => well(step, words).to_string(),
        })
    });
    let (report, events) = run(&model, &ModelRole::ALL, &asked(1)).await;
    let said = report.unwrap();
    assert!(words_of(&said).iter().any(|it| it.contains("nine years")));
    let told = objections(&events);
    let by_model: Vec<&Objection> = told.iter().filter(|it| it.by.is_some()).collect();
    assert_eq!(by_model.len(), 1, "{told:?}");
    assert!(matches!(by_model[0].outcome, PatchOutcome::Rejected { .. }), "{told:?}");
    // The critic that named unknown evidence twice counts as a step without its model.
    assert!(said.method.unaided.contains(&"critique".to_owned()), "{:?}", said.method.unaided);
}

#[tokio::test]
async fn without_critique_rounds_no_model_criticizes() {
    let model = Scripted::new(|step, words| Ok(well(step, words).to_string()));
    let (report, _) = run(&model, &ModelRole::ALL, &asked(0)).await;
    assert!(report.unwrap().method.unaided.is_empty());
    assert!(!model.steps().contains(&"critique".to_owned()));
}

#[tokio::test]
async fn several_drafts_are_merged_by_what_holds() {
    // Each draft leaves out the piece of evidence that it is shown first.
    let model = Scripted::new(|step, words| {
        Ok(match step {
            "write" => {
                let planned = words.split("Sections, each").nth(1).unwrap();
                let titles = ["What cork is", "Harvest"];
                let title = titles.iter().find(|it| planned.contains(*it)).unwrap();
                let lines = words.lines().filter(|it| it.starts_with('E') && it.contains(": "));
                let told = lines.skip(1).filter_map(|line| {
                    let (id, text) = line.split_once(": ")?;
                    Some(json!({"text": text.rsplit_once(" (")?.0, "evidence": [id]}))
                });
                let told: Vec<Value> = told.collect();
                json!({"sections": [{"heading": title, "sentences": told}]}).to_string()
            }
            _ => well(step, words).to_string(),
        })
    });
    let written = async |drafts: u32| {
        let mut asked = asked(0);
        asked.method.drafts = drafts;
        let (report, _) = run(&model, &ModelRole::ALL, &asked).await;
        words_of(&report.unwrap()).len()
    };
    let alone = written(1).await;
    let calls = model.steps().iter().filter(|it| *it == "write").count();
    let merged = written(3).await;
    assert!(merged > alone, "{merged} sentences of three drafts, {alone} of one");
    let asked = model.asked.lock().unwrap();
    let drafted: Vec<f32> =
        asked.iter().filter(|it| it.purpose == "write").filter_map(|it| it.temperature).collect();
    assert_eq!(drafted.len(), 4 * calls);
    assert_eq!(drafted.iter().filter(|it| **it > 0.0).count(), 2 * calls, "{drafted:?}");
}

#[tokio::test]
async fn a_model_that_finds_something_for_whatever_it_is_asked_does_not_lead() {
    let pages = || {
        let of = |n: usize, text: &str| {
            page(&format!("https://s{n}.example/"), "Cork", Some("2022-03-01"), text)
        };
        vec![
            of(
                1,
                "The harvest of cork costs 3 euros a tree on average.\nThe cork museum of the village opens at noon.",
            ),
            of(
                2,
                "A survey found that the harvest costs 4 euros a tree.\nThe cork museum was closed for a year.",
            ),
            of(
                3,
                "Costs of the cork harvest rose by 8 % in 2021.\nThe choir of the cork village sings on Sundays.",
            ),
        ]
    };
    // For each item, also for the one that no page answers, it takes the last sentence of the page, as small models do.
    let model = Scripted::new(|step, words| {
        Ok(match step {
            "weigh" => {
                let stray = [
                    "The cork museum of the village opens at noon.",
                    "The cork museum was closed for a year.",
                    "The choir of the cork village sings on Sundays.",
                ];
                let text = stray.iter().find(|it| words.contains(*it)).unwrap();
                let shown = words.lines().filter_map(|it| it.strip_prefix("- ")?.split_once(": "));
                let items = shown.map(|pair| pair.0).filter(|it| it.starts_with('Q'));
                let rows: Vec<Value> = items
                    .map(|it| json!({"item": it, "sentences": [2], "claim": text, "stance": "for"}))
                    .collect();
                json!({"evidence": rows}).to_string()
            }
            "write" => {
                let lines = words.lines().filter(|it| it.starts_with('E') && it.contains(": "));
                let told: Vec<Value> = lines
                    .filter_map(|line| {
                        let (id, text) = line.split_once(": ")?;
                        let text = text.rsplit_once(" (")?.0;
                        Some(json!({"text": text, "evidence": [id]}))
                    })
                    .collect();
                json!({"sections": [{"heading": "Harvest", "sentences": told}]}).to_string()
            }
            "answer_report" => {
                json!({"answer": "The cork museum of the village opens at noon.", "evidence": ["E1"]}).to_string()
            }
            _ => well(step, words).to_string(),
        })
    });
    let asked = question("What does the harvest of cork cost per tree?");
    let (report, _) = run_over(pages(), &model, &ModelRole::ALL, &asked).await;
    let report = report.unwrap();
    let short = report.short.iter().map(|it| it.text()).collect::<Vec<_>>().join(" ");
    assert!(short.contains("euros a tree"), "{short}");
    let text = ibid_report::markdown::report(&report, false);
    for stray in ["museum", "choir"] {
        assert!(!text.contains(stray), "{text}");
    }
    assert!(report.method.unaided.contains(&"weigh".to_owned()));
    assert!(!model.steps().contains(&"answer_report".to_owned()), "{:?}", model.steps());
}
