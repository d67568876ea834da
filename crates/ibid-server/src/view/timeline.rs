//! The timeline of a run: a lane for each researcher or kind of call, and the chain of calls that determined its duration.
use askama::Template;

use super::format::{duration, millis_between, truncate};
use super::live::RunHeader;
use super::shell::PageLayout;
use ibid_core::record::{Envelope, Event, Run};
use ibid_report::escape::single_line;
use ibid_report::html::url_file_name;

/// Maximum number of calls drawn: the longest.
const MAX_BARS: usize = 400;
/// Maximum number of rows of one lane.
const MAX_LANE_ROWS: usize = 24;

/// The horizontal extent of the bars, in pixels.
const LEFT: i64 = 130;
const RIGHT: i64 = 1_120;
/// The height of a bar, in pixels.
const BAR_HEIGHT: i64 = 16;

/// A call with its start and end in milliseconds since the start of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TimedCall {
    kind: &'static str,
    lane: String,
    text: String,
    from: i64,
    to: i64,
}

/// The bar of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineBar {
    /// The CSS class of its kind.
    pub kind: &'static str,
    /// Whether it is on the critical path.
    pub critical: bool,
    /// Pixels from the left.
    pub x: i64,
    /// Pixels from the top.
    pub y: i64,
    /// The width, in pixels.
    pub w: i64,
    /// What it is.
    pub text: String,
}

impl TimelineBar {
    /// The radius of its corners: kinds differ in shape as well as color.
    fn round(&self) -> i64 {
        match self.kind {
            "search" => (self.w / 2).min(BAR_HEIGHT / 2),
            "read" => 3,
            _ => 0,
        }
    }
}

/// A lane of the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineLane {
    /// Its name.
    pub name: String,
    /// The vertical position of its name, in pixels.
    pub y: i64,
}

/// A tick of the time axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineTick {
    /// Pixels from the left.
    pub x: i64,
    /// The time.
    pub text: String,
}

/// A call as a table row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineRow {
    /// When it started.
    pub at: String,
    /// How long it took.
    pub took: String,
    /// The lane.
    pub lane: String,
    /// The kind.
    pub kind: &'static str,
    /// What it is.
    pub text: String,
    /// Whether it is on the critical path.
    pub critical: bool,
}

/// The page.
#[derive(Template)]
#[template(path = "timeline.html")]
pub struct TimelinePage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The header of the run.
    pub head: RunHeader,
    /// The drawn calls.
    pub bars: Vec<TimelineBar>,
    /// The lanes.
    pub lanes: Vec<TimelineLane>,
    /// The ticks of the time axis.
    pub ticks: Vec<TimelineTick>,
    /// The height of the drawing, in pixels.
    pub high: i64,
    /// The drawn calls as a table.
    pub rows: Vec<TimelineRow>,
    /// The total number of calls.
    pub total: usize,
    /// The duration of the run.
    pub whole: String,
    /// The duration of the critical path.
    pub chain: String,
    /// The number of calls on the critical path.
    pub links: usize,
    /// The duration of each phase: name, time.
    pub phases: Vec<(&'static str, String)>,
    /// Links to other windows: label, address.
    pub zoom: Vec<(&'static str, String)>,
}

impl TimelinePage {
    /// The timeline of a run, or of a window of it in milliseconds.
    pub fn new(
        shell: PageLayout,
        run: &Run,
        events: &[Envelope],
        window: Option<(i64, i64)>,
    ) -> TimelinePage {
        let begun = run.started_at.clone().unwrap_or_default();
        let ended = run.updated_at.as_deref().unwrap_or(&begun);
        let whole = millis_between(&begun, ended).unwrap_or_default().max(1);
        let within = window.map(|(from, to)| (from.clamp(0, whole - 1), to.clamp(1, whole)));
        let (from, to) = within.filter(|pair| pair.0 < pair.1).unwrap_or((0, whole));
        let calls = calls(events, &begun);
        let total = calls.len();
        let chain = critical_path(&calls);
        let waited: i64 = chain.iter().map(|at| calls[*at].to - calls[*at].from).sum();
        let mut all: Vec<(TimedCall, bool)> = calls
            .into_iter()
            .enumerate()
            .map(|(at, it)| (it, chain.contains(&at)))
            .filter(|(it, _)| it.to >= from && it.from <= to)
            .collect();
        // Draw the whole critical path and the longest of the other calls.
        all.sort_by_key(|(it, critical)| (!critical, it.from - it.to));
        all.truncate(MAX_BARS);
        all.sort_by_key(|(it, _)| (it.from, it.to));
        let (bars, lanes, high) = layout(&all, from, to);
        TimelinePage {
            head: RunHeader::new(run, "timeline"),
            shell,
            bars,
            lanes,
            ticks: ticks(from, to),
            high,
            rows: all.iter().map(table_row).collect(),
            total,
            whole: duration(whole),
            chain: duration(waited),
            links: chain.len(),
            phases: phases(events),
            zoom: zoom_links(&format!("/r/{}/timeline", run.id), from, to, whole),
        }
    }
}

fn table_row((it, critical): &(TimedCall, bool)) -> TimelineRow {
    TimelineRow {
        at: duration(it.from),
        took: duration(it.to - it.from),
        lane: it.lane.clone(),
        kind: it.kind,
        text: it.text.clone(),
        critical: *critical,
    }
}

/// Minimum window to zoom into, in milliseconds.
const MIN_WINDOW_MS: i64 = 20;

fn zoom_links(page: &str, from: i64, to: i64, whole: i64) -> Vec<(&'static str, String)> {
    let at = |from: i64, to: i64| format!("{page}?from={from}&to={to}");
    let (half, middle) = ((to - from) / 2, (to + from) / 2);
    let mut out = Vec::new();
    if half >= MIN_WINDOW_MS {
        out.push(("first half", at(from, middle)));
        out.push(("second half", at(middle, to)));
    }
    if from > 0 || to < whole {
        if from > 0 {
            out.push(("earlier", at((from - 2 * half).max(0), from)));
        }
        if to < whole {
            out.push(("later", at(to, (to + 2 * half).min(whole))));
        }
        out.push(("whole run", page.to_owned()));
    }
    out
}

/// Every ended call, by start time.
fn calls(events: &[Envelope], begun: &str) -> Vec<TimedCall> {
    let mut out = Vec::new();
    for it in events {
        let (kind, plural, ms, text) = match &it.event {
            Event::SearchCompleted { engine, query, ms, .. } => (
                "search",
                "Searches",
                *ms,
                format!("{}: {}", single_line(engine), truncate(query, 120)),
            ),
            Event::ReadCompleted { source, ms, .. } => {
                ("read", "Pages", *ms, truncate(&source.title, 120))
            }
            Event::ReadFailed { url, .. } => {
                ("read", "Pages", 0, format!("not read: {}", url_file_name(url)))
            }
            Event::LlmCompleted { model, step, ms, .. } => (
                "model",
                "Models",
                ms.unwrap_or(0),
                format!("{} for {}", single_line(model), single_line(step)),
            ),
            _ => continue,
        };
        let to = millis_between(begun, &it.ts).unwrap_or_default();
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        out.push(TimedCall {
            kind,
            lane: it.agent.as_deref().map_or_else(|| plural.to_owned(), single_line),
            text,
            from: to.saturating_sub(ms).max(0),
            to,
        });
    }
    out.sort_by_key(|it| (it.from, it.to));
    out
}

/// The critical path, last call first: the call that ended last, then repeatedly the last call that ended before the previous one
/// started.
fn critical_path(calls: &[TimedCall]) -> Vec<usize> {
    let mut out = Vec::new();
    let last = (0..calls.len()).max_by_key(|at| (calls[*at].to, calls[*at].to - calls[*at].from));
    let mut next = last;
    while let Some(at) = next {
        out.push(at);
        let from = calls[at].from;
        next = (0..at)
            .filter(|index| calls[*index].to <= from)
            .max_by_key(|index| (calls[*index].to, calls[*index].to - calls[*index].from));
    }
    out
}

fn layout(
    all: &[(TimedCall, bool)],
    begin: i64,
    end: i64,
) -> (Vec<TimelineBar>, Vec<TimelineLane>, i64) {
    let mut names: Vec<&str> = Vec::new();
    for (it, _) in all {
        if !names.contains(&it.lane.as_str()) {
            names.push(&it.lane);
        }
    }
    let place = |ms: i64| {
        let ms = ms.clamp(begin, end) - begin;
        LEFT + (RIGHT - LEFT).saturating_mul(ms) / (end - begin).max(1)
    };
    let (mut bars, mut lanes, mut y) = (Vec::new(), Vec::new(), 30);
    for name in names {
        lanes.push(TimelineLane { name: truncate(name, 18), y: y + BAR_HEIGHT - 4 });
        // Put each call into the first free row of its lane.
        let mut rows: Vec<i64> = Vec::new();
        for (it, critical) in all.iter().filter(|pair| pair.0.lane == name) {
            let (from, to) = (place(it.from), place(it.to).max(place(it.from) + 3));
            let row = match rows.iter().position(|end| *end <= from) {
                Some(row) => row,
                None if rows.len() < MAX_LANE_ROWS => {
                    rows.push(0);
                    rows.len() - 1
                }
                None => MAX_LANE_ROWS - 1,
            };
            rows[row] = to + 1;
            bars.push(TimelineBar {
                kind: it.kind,
                critical: *critical,
                x: from,
                y: y + row as i64 * (BAR_HEIGHT + 3),
                w: to - from,
                text: format!("{} ({})", it.text, duration(it.to - it.from)),
            });
        }
        y += rows.len() as i64 * (BAR_HEIGHT + 3) + 14;
    }
    (bars, lanes, y)
}

fn ticks(from: i64, to: i64) -> Vec<TimelineTick> {
    let span = (to - from).max(1);
    let step = [
        5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000,
        300_000, 600_000,
    ]
    .into_iter()
    .find(|it| span / it <= 8)
    .unwrap_or(span / 6 + 1);
    let first = (from + step - 1) / step;
    (first..=to / step)
        .map(|nth| TimelineTick {
            x: LEFT + (RIGHT - LEFT).saturating_mul(nth * step - from) / span,
            text: match nth {
                0 => "0".to_owned(),
                _ if step < 1_000 => format!("{} ms", nth * step),
                _ => duration(nth * step),
            },
        })
        .collect()
}

/// The duration of each phase, in order.
fn phases(events: &[Envelope]) -> Vec<(&'static str, String)> {
    let mut out: Vec<(&'static str, i64)> = Vec::new();
    for pair in events.windows(2) {
        let [one, other] = pair else { continue };
        if other.event.is_post_run() {
            continue;
        }
        let name = super::format::phase_label(other.phase);
        let ms = millis_between(&one.ts, &other.ts).unwrap_or_default();
        match out.iter_mut().find(|pair| pair.0 == name) {
            Some(known) => known.1 += ms,
            None => out.push((name, ms)),
        }
    }
    out.into_iter().map(|(name, ms)| (name, duration(ms))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_call(from: i64, to: i64) -> TimedCall {
        TimedCall { kind: "search", lane: "Searches".to_owned(), text: String::new(), from, to }
    }

    #[test]
    fn the_chain_is_what_had_to_be_waited_for() {
        let all = [
            test_call(0, 10),
            test_call(0, 30),
            test_call(12, 20),
            test_call(31, 40),
            test_call(35, 60),
        ];
        // The last to end began after the second had ended, not after the one before it.
        assert_eq!(critical_path(&all), [4, 1]);
        assert!(critical_path(&[]).is_empty());
    }

    #[test]
    fn calls_at_one_time_stand_below_one_another() {
        let all: Vec<(TimedCall, bool)> = [test_call(0, 50), test_call(10, 60), test_call(61, 90)]
            .into_iter()
            .map(|it| (it, false))
            .collect();
        let (bars, lanes, _) = layout(&all, 0, 100);
        assert_eq!(lanes.len(), 1);
        assert_eq!(bars[0].y, bars[2].y);
        assert!(bars[1].y > bars[0].y);
        assert!(bars.iter().all(|bar| bar.x + bar.w <= RIGHT));
        // Closer, the same calls are longer, and what lies outside ends at the edge.
        let (close, _, _) = layout(&all[..2], 10, 60);
        assert!(close[0].x == LEFT && close[0].w > bars[0].w);
        assert_eq!(
            ticks(300, 700).first().map(|tick| tick.text.clone()),
            Some("300 ms".to_owned())
        );
        let words: Vec<_> =
            zoom_links("/t", 0, 50, 100).into_iter().map(|zoom_link| zoom_link.0).collect();
        assert_eq!(words, ["first half", "second half", "later", "whole run"]);
    }
}
