//! The primary sources that pages name for what they say, and sites that print the same words.
use std::sync::Arc;

use ibid_core::domain::{
    Block, BlockKind, DraftLink, Page, PageDraft, Question, Report, Source, Strategy, Vertical,
};
use ibid_core::ports::Providers;
use ibid_core::record::Event;

use super::{FakeVerticals, two_places};
use crate::memory::{Pages, page, question, researched, world};

const STUDY: &str = "https://institute.example/roofs";
const NEWS: &str = "https://gazette.example/rain";

/// A page of prose in which `text` is linked to `url`.
fn linking(at: &str, sentences: &str, text: &str, url: &str) -> Page {
    Page::new(PageDraft {
        url: at.to_owned(),
        title: "Rain and the town".to_owned(),
        lang: Some("en".to_owned()),
        blocks: vec![Block::new(BlockKind::Prose, sentences)],
        links: vec![DraftLink { block: 0, text: text.to_owned(), url: url.to_owned() }],
        ..PageDraft::default()
    })
}

fn news() -> Page {
    linking(
        NEWS,
        "The town likes its roofs. A green roof holds 63 percent of the annual rain, according to a new study. \
         The mayor was pleased about it.",
        "new study",
        STUDY,
    )
}

fn study() -> Page {
    page(
        STUDY,
        "Water balance of extensive roofs",
        None,
        "The green roof of the institute holds 63 percent of the annual rain that falls on it, measured over four years. \
         The substrate was 10 centimetres deep.",
    )
}

/// Searches outside among `found`; reads these and `others`.
fn outside(found: &[Page], others: &[Page]) -> Providers {
    let mut world = world(Arc::new(Pages::new(Vec::new())));
    world.search = vec![Arc::new(FakeVerticals(Pages::new(found.to_vec()), vec![Vertical::Web]))];
    world.readers = vec![Arc::new(Pages::new([found, others].concat()))];
    world
}

fn asked(strategy: Strategy) -> Question {
    let mut asked = question("How much of the annual rain does a green roof hold?");
    asked.method.strategy = Some(strategy);
    asked
}

fn read(events: &[Event]) -> Vec<Source> {
    let read = events.iter().filter_map(|it| match it {
        Event::ReadCompleted { source, .. } => Some(source.clone()),
        _ => None,
    });
    read.collect()
}

fn first_quote(report: &Report) -> (String, String) {
    let cited = &report.claims().next().unwrap().citations()[0];
    let source = &report.sources[cited.n as usize - 1];
    (source.url.clone(), cited.passage.text().expose().to_owned())
}

#[tokio::test]
async fn the_study_that_a_newspaper_links_is_read_in_the_same_round_and_quoted() {
    for strategy in
        [Strategy::Checklist, Strategy::Planned, Strategy::Supervisor, Strategy::Coverage]
    {
        let (report, events) = researched(&outside(&[news()], &[study()]), &asked(strategy)).await;
        let read = read(&events);
        let of = |url: &str| read.iter().find(|it| it.url == url).unwrap();
        assert_eq!(of(STUDY).cited_by, Some(of(NEWS).id), "{strategy:?}");
        let finished = events.iter().position(|it| it.name() == "wave.finished").unwrap();
        let at = events.iter().position(
            |it| matches!(it, Event::ReadCompleted { source, .. } if source.url == STUDY),
        );
        assert!(at.unwrap() < finished, "{strategy:?}");
        let report = report.unwrap();
        let (url, quote) = first_quote(&report);
        assert_eq!(url, STUDY, "{strategy:?}: {quote}");
        assert!(quote.contains("measured over four years"), "{quote}");
        // The newspaper is no second voice.
        let sources = |it: &Event| match it {
            Event::EvidenceAdded { evidence } => Some(evidence.source),
            _ => None,
        };
        assert!(events.iter().filter_map(sources).any(|it| it == of(NEWS).id));
        let agreed = report.claims().all(|it| it.citations().len() < 2);
        assert!(agreed, "{strategy:?}");
    }
}

#[tokio::test]
async fn a_study_outside_the_wanted_domains_is_not_read() {
    let mut asked = asked(Strategy::Checklist);
    asked.not_domains = vec!["institute.example".to_owned()];
    let (_, events) = researched(&outside(&[news()], &[study()]), &asked).await;
    assert!(!events.iter().any(|it| matches!(it, Event::ReadStarted { url } if url == STUDY)));
    assert!(events.iter().any(|it| matches!(it, Event::ReadStarted { url } if url == NEWS)));
}

#[tokio::test]
async fn a_link_of_a_private_document_and_one_that_nothing_is_said_of_are_not_followed() {
    let private = linking(
        "file:///docs/roofs.md",
        "A green roof holds 63 percent of the annual rain, according to a new study.",
        "new study",
        STUDY,
    );
    let aside = linking(
        "https://gazette.example/aside",
        "A green roof holds 63 percent of the annual rain in our town. The bakery is open.",
        "our town",
        "https://town.example/",
    );
    let mut world = two_places(vec![private], vec![aside], &[Vertical::Web]);
    world.readers.push(Arc::new(Pages::new(vec![study()])));
    let (_, events) = researched(&world, &asked(Strategy::Checklist)).await;
    let read = read(&events);
    assert!(read.iter().any(|it| it.url.starts_with("file:")), "{read:?}");
    assert!(read.iter().all(|it| it.cited_by.is_none()), "{read:?}");
    let begun = events.iter().filter_map(|it| match it {
        Event::ReadStarted { url } => Some(url.as_str()),
        _ => None,
    });
    assert!(begun.into_iter().all(|url| url != STUDY && url != "https://town.example/"));
}

#[tokio::test]
async fn a_press_release_on_three_sites_is_one_voice_and_one_told_anew_is_another() {
    let told = [
        "A green roof holds 63 percent of the annual rain that falls on the town, the institute found.",
        "A green roof holds 63 percent of the annual rain that falls on the town, the institute has found.",
        "The green roof holds 63 percent of the annual rain that falls on the town, the institute found.",
        "Of the annual rain, 63 percent is what a green roof holds, by our own measurements over four years.",
    ];
    let site = |nth: &usize| {
        let about = ["bakers sell rye", "farmers mow hay", "ferries leave early", "hens lay eggs"];
        let around = format!("In this part of the country {} all year. ", about[*nth]).repeat(9);
        let text = format!("{around}{} {around}", told[*nth]);
        page(&format!("https://site{nth}.example/rain"), &format!("News {nth}"), None, &text)
    };
    let why = async |sites: &[usize]| {
        let pages: Vec<Page> = sites.iter().map(site).collect();
        let (report, events) = researched(&outside(&pages, &[]), &asked(Strategy::Checklist)).await;
        assert_eq!(read(&events).len(), sites.len());
        assert!(read(&events).iter().all(|it| it.copy_of.is_none()), "none is a copy as a whole");
        report.unwrap().confidence.why
    };
    let one = why(&[0]).await;
    assert_eq!(why(&[0, 1, 2]).await, one);
    let two = why(&[0, 1, 2, 3]).await;
    assert_ne!(two[0], one[0], "{two:?}");
}
