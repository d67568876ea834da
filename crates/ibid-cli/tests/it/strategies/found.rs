//! What is given of what was found: evidence without prose, and no citation for what a quote has otherwise.
use std::sync::Arc;

use ibid_core::domain::{ModelRole, OutputMode, Strategy};
use ibid_core::record::{Envelope, Event, Phase, Run};
use serde_json::json;

use super::{asked, shelf};
use crate::memory::{Pages, page, question, researched, run_id, world};
use crate::thought::{Scripted, run_over, well};

#[tokio::test]
async fn evidence_is_given_without_prose_within_its_bounds_and_no_writer_is_asked() {
    let model = Scripted::new(|step, words| {
        assert_ne!(step, "write", "nobody writes");
        assert_ne!(step, "verify", "nothing was written");
        Ok(well(step, words).to_string())
    });
    let mut asked = question("What is cork?");
    asked.mode = OutputMode::Evidence;
    let (report, events) =
        run_over(shelf(), &model, &[ModelRole::Writer, ModelRole::Verifier], &asked).await;
    let report = report.unwrap();
    assert!(
        events
            .iter()
            .any(|it| matches!(it, Event::StrategyChosen { strategy: Strategy::Coverage, .. }))
    );
    let pages = shelf();
    assert!(report.results.len() >= 3);
    let total: usize = report.results.iter().map(|it| it.content.chars().count()).sum();
    assert!(total <= 15_000);
    assert!(report.results.windows(2).all(|it| it[0].score >= it[1].score));
    for it in &report.results {
        let page = pages.iter().find(|page| page.url == it.url).unwrap();
        for piece in it.content.split("\n…\n") {
            let first = piece.split(". ").next().unwrap();
            assert!(page.text().expose().contains(first), "{first}");
        }
    }
    let view = ibid_report::evidence::to_json(&report, None);
    assert!(view["completeness"].as_f64().is_some_and(|done| done > 0.0), "{view}");
    assert_eq!(view["success"], true);
    assert_eq!(view["topics"].as_array().unwrap().len(), report.coverage.len());
    let first = &view["results"][0];
    for field in ["url", "title", "content", "score"] {
        assert!(!first[field].is_null(), "{field}");
    }
}

#[tokio::test]
async fn evidence_so_far_has_the_same_shape_in_the_words_of_the_pages() {
    let mut asked = asked(Strategy::Coverage);
    asked.mode = OutputMode::Evidence;
    let (_, events) = researched(&world(Arc::new(Pages::new(shelf()))), &asked).await;
    let first_round = events.iter().position(|it| it.name() == "wave.finished").unwrap();
    let envelopes: Vec<Envelope> = (1..)
        .zip(&events[..first_round])
        .map(|(seq, event)| Envelope {
            seq,
            ts: "2026-11-24T10:00:00.000Z".to_owned(),
            run: run_id(),
            event: event.clone(),
            phase: Phase::Research,
            round: None,
            agent: None,
            span: None,
        })
        .collect();
    let run = Run::from_events(run_id(), &envelopes);
    let view = ibid_report::evidence::to_json_so_far(&run, &envelopes);
    assert_eq!(view["success"], true, "{view}");
    assert!(!view["topics"].as_array().unwrap().is_empty(), "{view}");
    let results = view["results"].as_array().unwrap();
    assert!(results.len() >= 3, "{view}");
    for it in results {
        let page = shelf().into_iter().find(|page| it["url"] == page.url.as_str()).unwrap();
        for quote in it["content"].as_str().unwrap().split("\n…\n") {
            assert!(page.text().expose().contains(quote), "{quote}");
        }
    }
    let nothing = ibid_report::evidence::to_json_so_far(&Run::new(run_id()), &[]);
    assert_eq!((&nothing["success"], &nothing["results"]), (&json!(false), &json!([])));
}

#[tokio::test]
async fn a_sentence_is_not_cited_for_a_fact_that_its_twin_has_otherwise() {
    let told = |site: &str, town: &str| {
        let text = format!(
            "The Marrow House, also known as the Old Customs House, was a house in {town}, Norland.\nThe Marrow House was built of brick."
        );
        page(&format!("https://{site}.example/"), "Marrow House", None, &text)
    };
    let pages = vec![told("one", "Pellworth"), told("two", "Quarrelton")];
    let world = world(Arc::new(Pages::new(pages)));
    let (report, _) = researched(&world, &question("Where was the Marrow House?")).await;
    let report = report.unwrap();
    for claim in report.claims() {
        for town in ["Pellworth", "Quarrelton"] {
            if claim.text().contains(town) {
                let all = claim.citations().iter();
                assert!(
                    all.clone().all(|it| it.passage.text().expose().contains(town)),
                    "{claim:?}"
                );
            }
        }
    }
    let sides: Vec<&str> =
        report.conflicts.iter().flat_map(|it| &it.sides).map(|it| it.says.as_str()).collect();
    for town in ["Pellworth", "Quarrelton"] {
        assert!(sides.iter().any(|it| it.starts_with(town)), "{sides:?}");
    }
}
