//! The draft on the page of a run, while it is written, and no longer once the run has ended.
use ibid_core::record::{Envelope, Event, Phase, Run};
use ibid_server::view::draft::{DraftView, MAX_SENTENCES};
use ibid_server::view::live::{LivePage, RunStateView};
use ibid_server::view::{PageLayout, render};

use super::hostile::HOSTILE;
use crate::events::samples::{enveloped, run_id};
use crate::progress::underway;

/// The run under way, with these pieces of a draft: words, section, whether it begins.
fn writing(pieces: &[(&str, Option<&str>, bool)]) -> Vec<Envelope> {
    let mut events = underway("cohorts");
    for (text, section, begins) in pieces {
        let told = Event::DraftDelta {
            text: (*text).to_owned(),
            section: section.map(str::to_owned),
            begins: *begins,
        };
        let seq = events.len() as u64 + 1;
        events.push(enveloped(seq, told, Phase::Write, None));
    }
    events
}

fn shown(events: &[Envelope], before: Option<u64>) -> String {
    let run = Run::from_events(run_id(), events);
    let now = "2026-11-21T20:20:25Z".parse().unwrap();
    render(&LivePage {
        shell: PageLayout::new("draft"),
        state: RunStateView::new(&run, events, before, None, now),
        past: before.is_some(),
    })
    .unwrap()
}

#[test]
fn the_draft_stands_by_sections_and_what_was_begun_anew_is_gone() {
    let events = writing(&[
        ("An old answer.", None, true),
        ("An old sentence.", Some("Water"), false),
        ("Roofs hold half of the rain.", None, true),
        ("Sedum holds less.", Some("Water"), false),
        ("Summers are cooler.", Some("Heat"), false),
        ("Moss holds more.", Some("Water"), false),
    ]);
    let page = shown(&events, None);
    assert!(page.contains("<h2 id=\"draft\">Provisional answer</h2>"));
    assert!(!page.contains("An old"), "it was begun anew");
    let order = [
        "<p dir=\"auto\">Roofs hold half of the rain.</p>",
        "<h3 dir=\"auto\">Water</h3>",
        "<p dir=\"auto\">Sedum holds less. Moss holds more.</p>",
        "<h3 dir=\"auto\">Heat</h3>",
        "<p dir=\"auto\">Summers are cooler.</p>",
    ];
    let at = order.map(|it| page.find(it).unwrap_or_else(|| panic!("{it}")));
    assert!(at.is_sorted(), "{at:?}");
    assert_eq!(DraftView::from_events(&events).unwrap().last, "Moss holds more.");
    // Neither where nothing is written, nor on a page of earlier events, nor after the end.
    assert!(!shown(&underway("cohorts"), None).contains("not yet checked"));
    assert!(!shown(&events, Some(5)).contains("not yet checked"));
    let mut ended = events;
    let seq = ended.len() as u64 + 1;
    ended.push(enveloped(seq, Event::RunCancelled {}, Phase::Write, None));
    assert!(Run::from_events(run_id(), &ended).status.ended());
    assert!(!shown(&ended, None).contains("not yet checked"));
}

#[test]
fn a_long_draft_is_shown_from_its_end_and_says_so() {
    let words: Vec<String> = (0..=MAX_SENTENCES).map(|n| format!("Sentence {n}.")).collect();
    let pieces: Vec<_> =
        words.iter().enumerate().map(|(n, it)| (it.as_str(), Some("Water"), n == 0)).collect();
    let whole = DraftView::from_events(&writing(&pieces[..MAX_SENTENCES])).unwrap();
    assert!(!whole.cut);
    let draft = DraftView::from_events(&writing(&pieces)).unwrap();
    assert!(draft.cut);
    assert_eq!(draft.parts[0].sentences.len(), MAX_SENTENCES);
    assert_eq!(draft.parts[0].sentences[0], "Sentence 1.");
    assert!(shown(&writing(&pieces), None).contains("Earlier text is not shown."));
    // A paragraph without end is no page without end.
    let long = "roofs ".repeat(100_000);
    assert!(shown(&writing(&[(&long, None, true)]), None).len() < 40_000);
}

#[test]
fn words_of_strangers_in_a_draft_are_words() {
    let plain = shown(&writing(&[("words", Some("words"), true)]), None);
    for words in HOSTILE {
        let page = shown(&writing(&[(words, Some(words), true)]), None);
        assert_eq!(page.matches('<').count(), plain.matches('<').count(), "{words}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{0}'), "{words}");
    }
}
