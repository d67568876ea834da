//! Long runs and long reports stay pages of a size that a browser shows at once.
use ibid_core::domain::{
    Block, BlockKind, Citation, Claim, ClaimId, EvidenceId, ItemId, Page, PageDraft, Report,
    Section, SectionLayout, Source, SourceId, SourceKind,
};
use ibid_core::record::{Envelope, Event, Run};
use ibid_report::PagesByHash;
use ibid_report::html::{ReportBody, render_standalone};
use ibid_server::view::evidence::{EvidencePage, SourcesPage};
use ibid_server::view::live::{LivePage, RunHeader, RunStateView};
use ibid_server::view::quote::QuotePage;
use ibid_server::view::report::ReportPage;
use ibid_server::view::timeline::TimelinePage;
use ibid_server::view::{PageLayout, render};

use crate::cli::{ASKED, TestHome};
use crate::export::report_of;

const MAX_RUNS: usize = 1_000_000;

/// The events of a run, with its searches, pages and evidence told again until there are so many.
fn long_story(n: usize) -> Vec<Envelope> {
    let desk = TestHome::new();
    let it = desk.ibid(&["run", ASKED, "--folder", &desk.docs(), "--jsonl"]);
    assert_eq!(it.code, 0, "{}", it.err);
    let mut events: Vec<Envelope> =
        it.lines().into_iter().filter_map(|it| serde_json::from_value(it).ok()).collect();
    let again: Vec<Envelope> = events
        .iter()
        .filter(|it| {
            matches!(
                it.event,
                Event::SearchCompleted { .. }
                    | Event::ReadCompleted { .. }
                    | Event::EvidenceAdded { .. }
                    | Event::EvidenceRejected { .. }
            )
        })
        .cloned()
        .collect();
    assert!(again.len() > 5, "{}", again.len());
    let end = events.pop().unwrap();
    while events.len() + 1 < n {
        events.push(again[events.len() % again.len()].clone());
    }
    events.push(end);
    for (at, it) in events.iter_mut().enumerate() {
        it.seq = at as u64 + 1;
    }
    events
}

#[test]
fn ten_thousand_events_are_a_page_of_less_than_a_megabyte() {
    let events = long_story(10_000);
    assert_eq!(events.len(), 10_000);
    let run = Run::from_events(events[0].run.clone(), &events);
    let now = "2030-01-01T00:00:00Z".parse().unwrap();
    let shell = || PageLayout::new("long");
    let state = RunStateView::new(&run, &events, None, None, now);
    let earlier = state.earlier.clone().unwrap();
    let live = render(&LivePage { shell: shell(), state, past: false }).unwrap();
    assert!(live.matches("<li class=").count() > 200, "the last events are shown");
    let seq: u64 =
        earlier.split("before=").nth(1).unwrap().split('#').next().unwrap().parse().unwrap();
    let past = RunStateView::new(&run, &events, Some(seq), None, now);
    assert_ne!(
        past.earlier.as_deref(),
        Some(earlier.as_str()),
        "each page of the past leads further back"
    );
    for (name, text) in [
        ("live", live),
        ("past", render(&LivePage { shell: shell(), state: past, past: true }).unwrap()),
        ("evidence", render(&EvidencePage::new(shell(), &run, &events, None, 0)).unwrap()),
        (
            "sources",
            render(&SourcesPage::new(shell(), &run, &events, &Default::default())).unwrap(),
        ),
        ("timeline", render(&TimelinePage::new(shell(), &run, &events, None)).unwrap()),
    ] {
        assert!(text.len() <= MAX_RUNS, "{name}: {} bytes", text.len());
    }
}

/// A report in which so many sentences each rest on words of their own.
fn long_report(n: u32) -> (Report, PagesByHash) {
    let (mut report, mut pages) = report_of("A roof that carries plants keeps some of the rain.");
    let sentence = |nth: u32| {
        Block::new(
            BlockKind::Prose,
            format!(
                "Roof {nth} of the survey retained {} % of the rain of its year, as its keeper has written down in the book of the city.",
                nth % 90 + 5
            ),
        )
    };
    let read = Page::new(PageDraft {
        url: "https://survey.example/roofs".to_owned(),
        title: "A survey of many roofs".to_owned(),
        blocks: (1..=n).map(sentence).collect(),
        ..PageDraft::default()
    });
    report.sources.push(Source::from_page(SourceId::new(99), SourceKind::Web, &read, None));
    let number = report.sources.len() as u32;
    let claims = (0..n).map(|nth| {
        let passage = read.passage(nth as usize, nth as usize).unwrap();
        let text = passage.text().expose().to_owned();
        let citation = Citation { n: number, evidence: EvidenceId::new(nth + 100), passage };
        Claim::new(ClaimId::new(nth + 100), text, vec![citation]).unwrap()
    });
    report.sections.push(Section {
        title: "Roof by roof".to_owned(),
        item: Some(ItemId::new(1)),
        layout: SectionLayout::Prose,
        paragraphs: claims.collect::<Vec<_>>().chunks(5).map(<[Claim]>::to_vec).collect(),
    });
    pages.insert(read.hash().clone(), read);
    (report, pages)
}

#[test]
fn five_hundred_citations_are_a_page_of_less_than_a_megabyte() {
    let (report, pages) = long_report(500);
    let run = Run::new(report.run.clone());
    let body = ReportBody::from_report(&report, &pages, Some("/r/r_1/quote/"));
    assert!(body.quotes.len() >= 500, "{}", body.quotes.len());
    let quotes = body.quotes.len();
    let served = render(&ReportPage {
        shell: PageLayout::new("long"),
        head: RunHeader::new(&run, "report"),
        body,
        coins: true,
        rated: None,
        note: String::new(),
        compare: None,
        judged: None,
    })
    .unwrap();
    assert_eq!(served.matches("class=\"pop\"").count(), quotes);
    assert!(served.len() <= MAX_RUNS, "{} bytes", served.len());
    let alone = render_standalone(&report, &pages).unwrap();
    assert!(alone.len() <= MAX_RUNS, "{} bytes", alone.len());
}

#[test]
fn of_a_long_page_the_part_around_the_words_is_shown() {
    let (report, pages) = long_report(9_000);
    let run = Run::new(report.run.clone());
    let all = report.cited_passages().len();
    let at = all - 4_500;
    let found = QuotePage::new(
        PageLayout::new("long"),
        RunHeader::new(&run, "report"),
        &report,
        &pages,
        at,
    )
    .unwrap();
    assert_eq!(found.cut, (true, true));
    assert_eq!(found.pieces.iter().filter(|it| it.first).count(), 1);
    let marked: Vec<&str> =
        found.pieces.iter().map(|it| it.marked.as_str()).filter(|it| !it.is_empty()).collect();
    assert_eq!(marked, [found.words.as_str()]);
    let text = render(&found).unwrap();
    assert!(text.len() <= MAX_RUNS, "{} bytes", text.len());
}
