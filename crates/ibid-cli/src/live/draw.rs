//! Draws the screen: meters, phases, coverage, researchers, recent events, keys. Small screens show less.
use unicode_width::UnicodeWidthStr as _;

use crate::console::Palette;
use crate::progress::clip;
use ibid_server::view::feed::FeedLine;
use ibid_server::view::live::{QuestionRow, RunStateView};
use ibid_server::view::meter::RunMeter;
use ibid_server::view::researchers::ResearcherView;

/// The last line.
pub(super) enum FooterLine<'a> {
    /// The keys, and the last message.
    Keys { ended: bool, message: &'a str, leaving: &'static str },
    /// A question to the user.
    Question(&'static str),
    /// The text being typed.
    Typing(&'a str),
}

/// Columns of a meter; wider screens show several side by side.
const METER_COLUMNS: usize = 26;

/// Screens of at least this many columns show researchers beside the coverage.
const SIDE_BY_SIDE: usize = 112;

/// Minimum and maximum lines of the coverage table, with its frame.
const TABLE: (usize, usize) = (5, 12);

/// Screens of at least this many lines show a line of the draft.
const MIN_DRAFT_LINES: usize = 20;

/// Columns of the state of a question: a mark and the longest word.
const STATE_COLUMNS: usize = 13;

/// Maximum number of researchers shown.
const MAX_RESEARCHERS: usize = 4;

// Styles, as ANSI codes.
const DIM: &str = "2";
const BOLD: &str = "1";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const MAGENTA: &str = "35";
const CYAN: &str = "36";

/// The style of a state or event, by its CSS class in the viewer.
fn class(class: &str) -> &'static str {
    match class {
        "covered" | "done" | "good" | "found" => GREEN,
        "partial" | "waits" | "warm" | "pending" => YELLOW,
        "conflict" => MAGENTA,
        "bad" | "failed" | "stopped" => RED,
        "working" | "ask" | "read" | "model" => CYAN,
        _ => DIM,
    }
}

/// A line with colour codes, and its width in columns.
#[derive(Default)]
struct StyledLine {
    text: String,
    wide: usize,
}

impl StyledLine {
    fn from_pieces(pieces: &[(&str, &str)], paint: Palette) -> StyledLine {
        let mut it = StyledLine::default();
        for (style, text) in pieces {
            it.add(style, text, paint);
        }
        it
    }

    /// Appends `text`; an empty style means plain text.
    fn add(&mut self, style: &str, text: &str, paint: Palette) {
        self.wide += text.width();
        match style {
            "" => self.text.push_str(text),
            style => self.text.push_str(&paint.style(style, text)),
        }
    }

    /// Fills the line with spaces.
    fn pad_to(mut self, wide: usize) -> StyledLine {
        let rest = wide.saturating_sub(self.wide);
        self.add("", &" ".repeat(rest), Palette(false));
        self
    }
}

/// The lines of the screen: at most `high`, each at most `wide` columns.
pub(super) fn screen_lines(
    state: &RunStateView,
    foot: &FooterLine<'_>,
    paint: Palette,
    wide: usize,
    high: usize,
) -> Vec<String> {
    let mut out = vec![title(state, wide, paint)];
    out.extend(meters(&state.meters, wide, paint));
    out.push(phases(state, wide, paint));
    if high >= MIN_DRAFT_LINES {
        out.extend(state.draft.iter().map(|it| draft(&it.last, wide, paint)));
    }
    let top = out.len();
    let beside = wide >= SIDE_BY_SIDE && !state.agents.is_empty();
    let agents = state.agents.len().min(MAX_RESEARCHERS);
    // The feed and the footer need six lines.
    let room = high.saturating_sub(top + 1 + 5);
    let table = (state.questions.len() + 3).clamp(TABLE.0, TABLE.1).min(room);
    let below =
        if beside || agents == 0 || room < table + 3 { 0 } else { (agents + 2).min(room - table) };
    if beside {
        let left = wide * 62 / 100;
        let both = coverage(state, left, table, paint).into_iter().zip(researchers(
            &state.agents,
            wide - left,
            table,
            paint,
        ));
        out.extend(both.map(|(a, b)| StyledLine { text: a.text + &b.text, wide: a.wide + b.wide }));
    } else {
        out.extend(coverage(state, wide, table, paint));
        out.extend(researchers(&state.agents, wide, below, paint));
    }
    let rest = high.saturating_sub(out.len() + 1);
    out.extend(recent_events(state, wide, rest, paint));
    // The footer always has the last line.
    out.truncate(high.saturating_sub(1));
    out.resize_with(high.saturating_sub(1), StyledLine::default);
    out.push(footer(foot, wide, paint));
    out.into_iter().take(high).map(|it| it.text).collect()
}

fn title(state: &RunStateView, wide: usize, paint: Palette) -> StyledLine {
    let head = &state.head;
    let tail = clip(&format!("  {} · {}", clip(&head.id, 12), head.word), wide);
    let question = clip(&head.question, wide - tail.width());
    let pad = " ".repeat(wide - question.width() - tail.width());
    let pieces = [(BOLD, question.as_str()), ("", &pad), (class(head.class), &tail)];
    StyledLine::from_pieces(&pieces, paint)
}

/// The meters, in as many lines as they need.
fn meters(all: &[RunMeter], wide: usize, paint: Palette) -> Vec<StyledLine> {
    let each = (wide / METER_COLUMNS).max(1);
    let lines = all.chunks(each).map(|some| {
        let mut line = StyledLine::default();
        for one in some {
            meter(one, wide / each, &mut line, paint);
        }
        line
    });
    lines.collect()
}

fn meter(meter: &RunMeter, wide: usize, line: &mut StyledLine, paint: Palette) {
    let from = line.wide;
    let name = clip(meter.name, wide);
    line.add(DIM, &name, paint);
    let room = wide.saturating_sub(name.width() + 1);
    let value = match meter.more.as_str() {
        "" => format!(" {}", meter.value),
        more => format!(" {} {more}", meter.value),
    };
    line.add("", &clip(&value, room), paint);
    if let Some(share) = meter.share.filter(|_| room >= value.width() + 6) {
        line.add("", " ", paint);
        line.add(CYAN, &bar(share), paint);
    }
    let rest = (from + wide).saturating_sub(line.wide);
    line.add("", &" ".repeat(rest), paint);
}

/// A bar of five pieces for a share in percent.
fn bar(share: u32) -> String {
    let full = (share.min(100) as usize).div_ceil(20);
    "▰".repeat(full) + &"▱".repeat(5 - full)
}

fn phases(state: &RunStateView, wide: usize, paint: Palette) -> StyledLine {
    let mut stops: Vec<_> = state.way.iter().collect();
    // Drop the oldest rounds if the line is too long.
    while stops.len() > 5 && stops.iter().map(|stop| stop.name.width() + 5).sum::<usize>() > wide {
        stops.remove(2);
    }
    let mut line = StyledLine::default();
    for stop in stops {
        let (style, mark) = match stop.when {
            "past" => (GREEN, "✓"),
            "now" => ("1;36", "●"),
            _ => (DIM, "○"),
        };
        let joint = if line.wide == 0 { "" } else { " ─ " };
        let text = format!("{mark} {}", stop.name);
        if line.wide + joint.width() + text.width() > wide {
            break;
        }
        line.add(DIM, joint, paint);
        line.add(style, &text, paint);
    }
    line
}

/// The last sentence of the draft.
fn draft(last: &str, wide: usize, paint: Palette) -> StyledLine {
    let head = clip("Draft, not yet checked: ", wide);
    let words = clip(last, wide - head.width());
    StyledLine::from_pieces(&[(DIM, &head), ("", &words)], paint)
}

/// Lines in a frame with a title, or nothing if there is no room for content.
fn framed(
    title: &str,
    inside: impl FnOnce(usize, usize) -> Vec<StyledLine>,
    wide: usize,
    high: usize,
    paint: Palette,
) -> Vec<StyledLine> {
    if high < 3 || wide < 12 {
        return Vec::new();
    }
    let title = clip(title, wide - 6);
    let rule = "─".repeat(wide - 5 - title.width());
    let head = [(DIM, "┌─ "), (BOLD, &title), (DIM, " "), (DIM, &rule), (DIM, "┐")];
    let mut out = vec![StyledLine::from_pieces(&head, paint)];
    let mut lines = inside(wide - 4, high - 2);
    lines.truncate(high - 2);
    lines.resize_with(high - 2, StyledLine::default);
    for content in lines {
        let mut line = StyledLine::from_pieces(&[(DIM, "│ ")], paint);
        let content = content.pad_to(wide - 4);
        line.wide += content.wide;
        line.text.push_str(&content.text);
        line.add(DIM, " │", paint);
        out.push(line);
    }
    let foot = format!("└{}┘", "─".repeat(wide - 2));
    out.push(StyledLine::from_pieces(&[(DIM, &foot)], paint));
    out
}

fn coverage(state: &RunStateView, wide: usize, high: usize, paint: Palette) -> Vec<StyledLine> {
    let inside = |wide: usize, high: usize| {
        if state.questions.is_empty() {
            let none = clip("No plan yet.", wide);
            return vec![StyledLine::from_pieces(&[(DIM, &none)], paint)];
        }
        let all = state.rounds as usize;
        // The question keeps half of the width. The oldest rounds are dropped first; narrow screens drop the numbers too.
        let rounds = all.min(wide.saturating_sub(20) / 2 / 4);
        let figures = wide >= 40;
        let fixed = rounds * 4 + if figures { 9 } else { 0 } + STATE_COLUMNS + 2;
        let text = wide.saturating_sub(fixed);
        let columns = STATE_COLUMNS.min(wide.saturating_sub(2));
        let mut head = pad("Item", text);
        for nth in all - rounds..all {
            head += &format!("{:>4}", format!("R{}", nth + 1));
        }
        if figures {
            head += "  Sources";
        }
        head += "  State";
        let mut lines = vec![StyledLine::from_pieces(&[(DIM, &clip(&head, wide))], paint)];
        let most = high.saturating_sub(1);
        let shown = if state.questions.len() > most {
            most.saturating_sub(1)
        } else {
            state.questions.len()
        };
        let rows = state.questions.iter().take(shown);
        lines.extend(
            rows.map(|question| row(question, (text, columns), all - rounds, figures, paint)),
        );
        if shown < state.questions.len() {
            let more = format!("… and {} more", state.questions.len() - shown);
            lines.push(StyledLine::from_pieces(&[(DIM, &clip(&more, wide))], paint));
        }
        lines
    };
    framed("Coverage", inside, wide, high, paint)
}

fn row(
    question: &QuestionRow,
    (text, columns): (usize, usize),
    first: usize,
    figures: bool,
    paint: Palette,
) -> StyledLine {
    let mut line = StyledLine::default();
    line.add("", &pad(&format!("{} {}", question.id, question.text), text), paint);
    for cell in question.cells.iter().skip(first) {
        let style = if cell.n == 0 { DIM } else { CYAN };
        line.add(style, &clip(&format!("{:>4}", cell.n), 4), paint);
    }
    if figures {
        line.add("", &format!("{:>9}", question.sources), paint);
    }
    let mark = match question.class {
        "covered" => "✓",
        "partial" => "◐",
        "conflict" => "!",
        _ => "○",
    };
    line.add("", "  ", paint);
    line.add(class(question.class), &clip(&format!("{mark} {}", question.word), columns), paint);
    line
}

fn researchers(
    agents: &[ResearcherView],
    wide: usize,
    high: usize,
    paint: Palette,
) -> Vec<StyledLine> {
    let inside = |wide: usize, _: usize| {
        let lines = agents.iter().map(|agent| {
            let head = clip(&format!("{} {:>3} ", clip(&agent.name, 16), agent.evidence), wide);
            let doing = agent.lines.first();
            let doing =
                doing.map_or_else(String::new, |line| format!("{} {}", line.kind, line.text));
            let doing = clip(&doing, wide - head.width());
            StyledLine::from_pieces(&[(BOLD, &head), (DIM, &doing)], paint)
        });
        lines.collect()
    };
    framed("Researchers", inside, wide, high, paint)
}

fn recent_events(
    state: &RunStateView,
    wide: usize,
    high: usize,
    paint: Palette,
) -> Vec<StyledLine> {
    let inside = |wide: usize, high: usize| {
        let lines = state.feed.iter().flat_map(|group| &group.lines).take(high);
        lines.map(|line| feed_line(line, wide, paint)).collect()
    };
    framed("Events", inside, wide, high, paint)
}

fn feed_line(line: &FeedLine, wide: usize, paint: Palette) -> StyledLine {
    let head = clip(&format!("{} ", line.at), wide);
    let kind = pad(&line.kind, 10.min(wide - head.width()));
    let who = line.agent.as_deref().map_or_else(String::new, |agent| format!("{agent}: "));
    let room = wide - head.width() - kind.width();
    let text = clip(&format!("{who}{}", line.text), room);
    StyledLine::from_pieces(&[(DIM, &head), (class(line.class), &kind), ("", &text)], paint)
}

fn footer(foot: &FooterLine<'_>, wide: usize, paint: Palette) -> StyledLine {
    match foot {
        FooterLine::Question(text) => {
            StyledLine::from_pieces(&[(YELLOW, &clip(text, wide))], paint)
        }
        FooterLine::Typing(words) => {
            let head = clip("Look into (Enter to send, Esc to cancel): ", wide / 2);
            let room = wide.saturating_sub(head.width() + 1);
            // Show the end of a long text.
            let mut tail = *words;
            while tail.width() > room {
                let mut chars = tail.chars();
                chars.next();
                tail = chars.as_str();
            }
            StyledLine::from_pieces(&[(YELLOW, &head), ("", tail), ("", &clip("▏", wide))], paint)
        }
        FooterLine::Keys { ended, message, leaving } => {
            let keys = if *ended {
                format!("q leave ({leaving})")
            } else {
                format!("f finish  s steer  c cancel  q leave ({leaving})")
            };
            let gap = if message.is_empty() { "" } else { "   " };
            // The message takes precedence over the keys.
            let message = clip(message, wide.saturating_sub(gap.len()));
            let keys = clip(&keys, wide.saturating_sub(message.width() + gap.len()));
            StyledLine::from_pieces(&[(YELLOW, &message), ("", gap), (DIM, &keys)], paint)
        }
    }
}

/// `text`, clipped or filled to exactly `columns`.
fn pad(text: &str, columns: usize) -> String {
    let text = clip(text, columns);
    let rest = columns.saturating_sub(text.width());
    text + &" ".repeat(rest)
}
