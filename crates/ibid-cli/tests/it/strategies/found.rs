//! What is given of what was found: evidence without prose, and no citation for what a quote has otherwise.
use std::sync::Arc;

use ibid_core::domain::{Mode, ModelRole, Strategy};
use ibid_core::record::Event;

use super::shelf;
use crate::memory::{Pages, page, question, researched, world};
use crate::thought::{Scripted, run_over, well};

#[tokio::test]
async fn evidence_is_given_without_prose_within_its_bounds_and_no_writer_is_asked() {
    let model = Scripted::new(|step, words| {
        assert_ne!(step, "write", "nobody writes");
        assert_ne!(step, "verify", "nothing was written");
        Ok(well(step, words).to_string())
    });
    let mut asked = question("What is cork?");
    asked.mode = Mode::Evidence;
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
    assert!(sides.contains(&"Pellworth") && sides.contains(&"Quarrelton"), "{sides:?}");
}
