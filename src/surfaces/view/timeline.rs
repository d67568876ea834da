//! When what happened: a lane for each researcher or kind of call, and the longest chain of calls that had to wait for one another.
use askama::Template;

use super::Shell;
use super::live::Head;
use super::words::{between, clip, took};
use crate::record::{Envelope, Event, Run};
use crate::surfaces::export::escape::line;
use crate::surfaces::export::html::leaf;

/// Calls drawn at most: the longest ones.
const DRAWN: usize = 400;
/// Rows that the calls of one lane may take.
const DEEP: usize = 24;

const LEFT: i64 = 130;
const RIGHT: i64 = 1_120;
const HIGH: i64 = 16;

/// A call from its beginning to its end, milliseconds since the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    kind: &'static str,
    lane: String,
    text: String,
    from: i64,
    to: i64,
}

/// A call as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// Its kind, as a class.
    pub kind: &'static str,
    /// Whether the run had to wait for it.
    pub critical: bool,
    /// From the left.
    pub x: i64,
    /// From above.
    pub y: i64,
    /// How long.
    pub w: i64,
    /// What it is.
    pub text: String,
}

impl Bar {
    /// How round its corners are: a kind is told by its shape, too.
    fn round(&self) -> i64 {
        match self.kind {
            "search" => (self.w / 2).min(HIGH / 2),
            "read" => 3,
            _ => 0,
        }
    }
}

/// A lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub y: i64,
}

/// A mark of the scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    /// From the left.
    pub x: i64,
    /// The time.
    pub text: String,
}

/// A row of the table that says the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// When it began.
    pub at: String,
    /// How long it took.
    pub took: String,
    /// Who, or which kind.
    pub lane: String,
    /// Which kind.
    pub kind: &'static str,
    /// What it is.
    pub text: String,
    /// Whether the run had to wait for it.
    pub critical: bool,
}

/// The page.
#[derive(Template)]
#[template(path = "timeline.html")]
pub struct TimelinePage {
    /// What surrounds it.
    pub shell: Shell,
    /// The run.
    pub head: Head,
    /// Calls drawn.
    pub bars: Vec<Bar>,
    /// Lanes.
    pub lanes: Vec<Lane>,
    /// The scale.
    pub ticks: Vec<Tick>,
    /// How high the drawing is.
    pub high: i64,
    /// The same as a table.
    pub rows: Vec<Row>,
    /// How many calls there are.
    pub total: usize,
    /// How long the run took.
    pub whole: String,
    /// How much of it the chain of calls takes.
    pub chain: String,
    /// Calls in the chain.
    pub links: usize,
    /// How long phases took: name, time.
    pub phases: Vec<(&'static str, String)>,
    /// Closer or wider: words, address.
    pub zoom: Vec<(&'static str, String)>,
}

impl TimelinePage {
    /// The timeline of a run, or of what happened from one millisecond of it to another.
    pub fn of(
        shell: Shell,
        run: &Run,
        events: &[Envelope],
        window: Option<(i64, i64)>,
    ) -> TimelinePage {
        let begun = run.started_at.clone().unwrap_or_default();
        let ended = run.updated_at.as_deref().unwrap_or(&begun);
        let whole = between(&begun, ended).unwrap_or_default().max(1);
        let within = window.map(|(from, to)| (from.clamp(0, whole - 1), to.clamp(1, whole)));
        let (from, to) = within.filter(|it| it.0 < it.1).unwrap_or((0, whole));
        let calls = calls(events, &begun);
        let total = calls.len();
        let chain = chain(&calls);
        let waited: i64 = chain.iter().map(|at| calls[*at].to - calls[*at].from).sum();
        let mut all: Vec<(Call, bool)> = calls
            .into_iter()
            .enumerate()
            .map(|(at, it)| (it, chain.contains(&at)))
            .filter(|(it, _)| it.to >= from && it.from <= to)
            .collect();
        // The chain is kept whole; of the others the longest are drawn.
        all.sort_by_key(|(it, critical)| (!critical, it.from - it.to));
        all.truncate(DRAWN);
        all.sort_by_key(|(it, _)| (it.from, it.to));
        let (bars, lanes, high) = drawn(&all, from, to);
        TimelinePage {
            head: Head::of(run, "timeline"),
            shell,
            bars,
            lanes,
            ticks: ticks(from, to),
            high,
            rows: all.iter().map(row).collect(),
            total,
            whole: took(whole),
            chain: took(waited),
            links: chain.len(),
            phases: phases(events),
            zoom: zoom(&format!("/r/{}/timeline", run.id), from, to, whole),
        }
    }
}

fn row((it, critical): &(Call, bool)) -> Row {
    Row {
        at: took(it.from),
        took: took(it.to - it.from),
        lane: it.lane.clone(),
        kind: it.kind,
        text: it.text.clone(),
        critical: *critical,
    }
}

/// Shortest stretch that can be looked at closer, milliseconds.
const SHORTEST: i64 = 20;

fn zoom(page: &str, from: i64, to: i64, whole: i64) -> Vec<(&'static str, String)> {
    let at = |from: i64, to: i64| format!("{page}?from={from}&to={to}");
    let (half, middle) = ((to - from) / 2, (to + from) / 2);
    let mut out = Vec::new();
    if half >= SHORTEST {
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

/// Every call that has ended, by when it began.
fn calls(events: &[Envelope], begun: &str) -> Vec<Call> {
    let mut out = Vec::new();
    for it in events {
        let (kind, plural, ms, text) = match &it.event {
            Event::SearchCompleted {
                engine, query, ms, ..
            } => (
                "search",
                "Searches",
                *ms,
                format!("{}: {}", line(engine), clip(query, 120)),
            ),
            Event::ReadCompleted { source, ms, .. } => {
                ("read", "Pages", *ms, clip(&source.title, 120))
            }
            Event::ReadFailed { url, .. } => {
                ("read", "Pages", 0, format!("not read: {}", leaf(url)))
            }
            Event::LlmCompleted {
                model, step, ms, ..
            } => (
                "model",
                "Models",
                ms.unwrap_or(0),
                format!("{} for {}", line(model), line(step)),
            ),
            _ => continue,
        };
        let to = between(begun, &it.ts).unwrap_or_default();
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        out.push(Call {
            kind,
            lane: it.agent.as_deref().map_or_else(|| plural.to_owned(), line),
            text,
            from: to.saturating_sub(ms).max(0),
            to,
        });
    }
    out.sort_by_key(|it| (it.from, it.to));
    out
}

/// The calls, each of which ended before the next began, back from the one that ended last: what came in between could not have
/// begun earlier, as far as times tell.
fn chain(calls: &[Call]) -> Vec<usize> {
    let mut out = Vec::new();
    let last = (0..calls.len()).max_by_key(|at| (calls[*at].to, calls[*at].to - calls[*at].from));
    let mut next = last;
    while let Some(at) = next {
        out.push(at);
        let from = calls[at].from;
        next = (0..at)
            .filter(|it| calls[*it].to <= from)
            .max_by_key(|it| (calls[*it].to, calls[*it].to - calls[*it].from));
    }
    out
}

fn drawn(all: &[(Call, bool)], begin: i64, end: i64) -> (Vec<Bar>, Vec<Lane>, i64) {
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
        lanes.push(Lane {
            name: clip(name, 18),
            y: y + HIGH - 4,
        });
        // Each call in the first row of its lane that is free by then.
        let mut rows: Vec<i64> = Vec::new();
        for (it, critical) in all.iter().filter(|it| it.0.lane == name) {
            let (from, to) = (place(it.from), place(it.to).max(place(it.from) + 3));
            let row = match rows.iter().position(|end| *end <= from) {
                Some(row) => row,
                None if rows.len() < DEEP => {
                    rows.push(0);
                    rows.len() - 1
                }
                None => DEEP - 1,
            };
            rows[row] = to + 1;
            bars.push(Bar {
                kind: it.kind,
                critical: *critical,
                x: from,
                y: y + row as i64 * (HIGH + 3),
                w: to - from,
                text: format!("{} ({})", it.text, took(it.to - it.from)),
            });
        }
        y += rows.len() as i64 * (HIGH + 3) + 14;
    }
    (bars, lanes, y)
}

fn ticks(from: i64, to: i64) -> Vec<Tick> {
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
        .map(|nth| Tick {
            x: LEFT + (RIGHT - LEFT).saturating_mul(nth * step - from) / span,
            text: match nth {
                0 => "0".to_owned(),
                _ if step < 1_000 => format!("{} ms", nth * step),
                _ => took(nth * step),
            },
        })
        .collect()
}

/// How long each phase took, in order.
fn phases(events: &[Envelope]) -> Vec<(&'static str, String)> {
    let mut out: Vec<(&'static str, i64)> = Vec::new();
    for pair in events.windows(2) {
        let [one, other] = pair else { continue };
        if other.event.is_afterword() {
            continue;
        }
        let name = super::words::phase(other.phase);
        let ms = between(&one.ts, &other.ts).unwrap_or_default();
        match out.iter_mut().find(|it| it.0 == name) {
            Some(known) => known.1 += ms,
            None => out.push((name, ms)),
        }
    }
    out.into_iter().map(|(name, ms)| (name, took(ms))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(from: i64, to: i64) -> Call {
        Call {
            kind: "search",
            lane: "Searches".to_owned(),
            text: String::new(),
            from,
            to,
        }
    }

    #[test]
    fn the_chain_is_what_had_to_be_waited_for() {
        let all = [
            call(0, 10),
            call(0, 30),
            call(12, 20),
            call(31, 40),
            call(35, 60),
        ];
        // The last to end began after the second had ended, not after the one before it.
        assert_eq!(chain(&all), [4, 1]);
        assert!(chain(&[]).is_empty());
    }

    #[test]
    fn calls_at_one_time_stand_below_one_another() {
        let all: Vec<(Call, bool)> = [call(0, 50), call(10, 60), call(61, 90)]
            .into_iter()
            .map(|it| (it, false))
            .collect();
        let (bars, lanes, _) = drawn(&all, 0, 100);
        assert_eq!(lanes.len(), 1);
        assert_eq!(bars[0].y, bars[2].y);
        assert!(bars[1].y > bars[0].y);
        assert!(bars.iter().all(|it| it.x + it.w <= RIGHT));
        // Closer, the same calls are longer, and what lies outside ends at the edge.
        let (close, _, _) = drawn(&all[..2], 10, 60);
        assert!(close[0].x == LEFT && close[0].w > bars[0].w);
        assert_eq!(
            ticks(300, 700).first().map(|it| it.text.clone()),
            Some("300 ms".to_owned())
        );
        let words: Vec<_> = zoom("/t", 0, 50, 100).into_iter().map(|it| it.0).collect();
        assert_eq!(words, ["first half", "second half", "later", "whole run"]);
    }
}
