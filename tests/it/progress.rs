//! What a person sees while a run works, from events alone.
use std::path::Path;

use ibid::domain::{
    Complexity, Coverage, CoverageRow, Item, ItemId, Plan, Variation, Vertical, WritingPlan,
};
use ibid::record::{Envelope, Event, Phase};
use ibid::surfaces::cli::console::Paint;
use ibid::surfaces::cli::progress::{MAX_LINES, View, plain, stat};
use unicode_width::UnicodeWidthStr as _;

use crate::events::samples::{enveloped, run_id, story};

fn same_as_file(name: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("IBID_ACCEPT").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    assert_eq!(
        now,
        std::fs::read_to_string(&path).unwrap(),
        "{}",
        path.display()
    );
}

/// A run in its second wave.
fn underway(words: &str) -> Vec<Envelope> {
    let row = |id, text: &str, state, evidence, sources, by_wave: &[u32], gap: Option<&str>| {
        CoverageRow {
            id: ItemId::new(id),
            text: text.to_owned(),
            state,
            score: 0.5,
            evidence,
            sources,
            by_wave: by_wave.to_vec(),
            proof: None,
            gap: gap.map(str::to_owned),
        }
    };
    let rows = vec![
        row(
            1,
            &format!("Effect size in {words}"),
            Coverage::Covered,
            11,
            6,
            &[2, 9],
            None,
        ),
        row(
            2,
            "RCT evidence",
            Coverage::Partial,
            4,
            2,
            &[0, 4],
            Some("no trial > 24 months"),
        ),
        row(
            3,
            "認知機能低下への効果",
            Coverage::Open,
            0,
            0,
            &[0, 0],
            Some(words),
        ),
        row(
            4,
            "Confounding (frailty, indication)",
            Coverage::Conflict,
            2,
            1,
            &[0, 2],
            None,
        ),
    ];
    let items = rows
        .iter()
        .map(|it| Item {
            id: it.id,
            asks: it.text.clone(),
            heading: it.text.clone(),
            terms: vec![],
            query: it.text.clone(),
        })
        .collect();
    let writing = WritingPlan {
        overall_goal: String::new(),
        desired_tone: String::new(),
        sections: vec![],
        additional_directives: vec![],
    };
    let plan = Plan::new(items, Complexity::Moderate, writing).unwrap();
    let mut events: Vec<Envelope> = story().into_iter().take(3).collect();
    let searching = |query: &str| Event::SearchStarted {
        engine: "local".to_owned(),
        query: query.to_owned(),
        vertical: Vertical::Local,
        item: ItemId::new(1),
        variation: Variation::Original,
    };
    for event in [
        Event::PlanProposed { plan },
        searching(words),
        Event::ReadStarted {
            url: "file:///library/a%20paper.pdf".to_owned(),
        },
        Event::CoverageUpdated { rows, ratio: 0.4 },
        Event::BudgetWarning {
            message: "50 of 60 calls used".to_owned(),
        },
    ] {
        let seq = events.len() as u64 + 1;
        events.push(enveloped(seq, event, Phase::Research, Some(2)));
    }
    events
}

fn block(events: &[Envelope], width: usize, paint: bool) -> Vec<String> {
    let mut view = View::new(run_id());
    events.iter().for_each(|it| view.apply(it));
    view.lines(Paint(paint), width, 3, 161)
}

#[test]
fn the_block_is_as_recorded() {
    let events = underway("cohorts");
    let mut now = String::new();
    for width in [100, 72, 40] {
        now += &format!(
            "--- {width} columns\n{}\n",
            block(&events, width, false).join("\n")
        );
    }
    same_as_file("progress.txt", &now);
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_block_higher_than_promised() {
    let long = "長い言葉 ".repeat(80);
    for words in ["cohorts", long.as_str(), ""] {
        for width in 20..140 {
            let lines = block(&underway(words), width, false);
            assert!(lines.len() <= MAX_LINES);
            for line in lines {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn strangers_words_cannot_drive_the_terminal() {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n\u{9b}31m\u{202e}x";
    let mut shown = block(&underway(evil), 100, false).join("");
    for it in underway(evil) {
        shown += &plain(&it, true).unwrap_or_default();
    }
    assert!(
        !shown.chars().any(|it| it.is_control() || it == '\u{202e}'),
        "{shown:?}"
    );
}

#[test]
fn the_plain_lines_are_as_recorded() {
    let lines = |verbose: bool| -> String {
        let all = story();
        let lines = all.iter().filter_map(|it| plain(it, verbose));
        lines.map(|it| it + "\n").collect()
    };
    let now = format!("--- plain\n{}--- verbose\n{}", lines(false), lines(true));
    same_as_file("progress-plain.txt", &now);
}

#[test]
fn the_last_line_counts_and_never_gives_a_percentage() {
    let mut view = View::new(run_id());
    story().iter().for_each(|it| view.apply(it));
    let line = stat(view.run(), 372, Some("report.md"), Paint(false));
    assert_eq!(
        line,
        "✓ 40 words · 1 source · 5/5 quotes verified · 5/5 claims cited · 06:12 → report.md"
    );
    assert!(!line.contains('%'));
}
