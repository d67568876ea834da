//! The screen: meters, phases, coverage, researchers, what happened, keys. Narrow and low screens get less of it.
use unicode_width::UnicodeWidthStr as _;

use crate::surfaces::cli::console::Paint;
use crate::surfaces::cli::progress::clip;
use crate::surfaces::view::feed::Told;
use crate::surfaces::view::live::{Agent, Meter, Question, State};

/// The last line.
pub(super) enum Foot<'a> {
    /// The keys there are, and what was said last.
    Keys {
        ended: bool,
        said: &'a str,
        leaving: &'static str,
    },
    /// A question of ours.
    Asked(&'static str),
    /// Words that are being typed.
    Typing(&'a str),
}

/// Columns of a meter, from where on there are several beside each other.
const METER: usize = 26;

/// Columns from where on researchers stand beside what is covered.
const SIDE_BY_SIDE: usize = 112;

/// Lines that the table of what is covered has at least and at most, with its frame.
const TABLE: (usize, usize) = (5, 12);

/// Lines from where on there is one for the draft.
const DRAFT: usize = 20;

/// Columns of the state of a question: a mark and the longest of the words.
const STATE: usize = 13;

/// Researchers that are shown.
const AGENTS: usize = 4;

/// Styles, as ANSI codes.
const DIM: &str = "2";
const BOLD: &str = "1";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const MAGENTA: &str = "35";
const CYAN: &str = "36";

/// The style of a state or of a kind of event, by the class that pages have for it.
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

/// A line as it is drawn, with the columns it takes.
#[derive(Default)]
struct Line {
    text: String,
    wide: usize,
}

impl Line {
    fn of(pieces: &[(&str, &str)], paint: Paint) -> Line {
        let mut it = Line::default();
        for (style, text) in pieces {
            it.add(style, text, paint);
        }
        it
    }

    /// Adds `text`; an empty style is none.
    fn add(&mut self, style: &str, text: &str, paint: Paint) {
        self.wide += text.width();
        match style {
            "" => self.text.push_str(text),
            style => self.text.push_str(&paint.on(style, text)),
        }
    }

    /// Fills it with blanks.
    fn filled(mut self, wide: usize) -> Line {
        let rest = wide.saturating_sub(self.wide);
        self.add("", &" ".repeat(rest), Paint(false));
        self
    }
}

/// The lines of the whole screen, none wider and not more than there is room for.
pub(super) fn whole(
    state: &State,
    foot: &Foot<'_>,
    paint: Paint,
    wide: usize,
    high: usize,
) -> Vec<String> {
    let mut out = vec![title(state, wide, paint)];
    out.extend(meters(&state.meters, wide, paint));
    out.push(phases(state, wide, paint));
    if high >= DRAFT {
        out.extend(state.draft.iter().map(|it| draft(&it.last, wide, paint)));
    }
    let top = out.len();
    let beside = wide >= SIDE_BY_SIDE && !state.agents.is_empty();
    let agents = state.agents.len().min(AGENTS);
    // What is left once a feed of some lines and the foot have their place.
    let room = high.saturating_sub(top + 1 + 5);
    let table = (state.questions.len() + 3)
        .clamp(TABLE.0, TABLE.1)
        .min(room);
    let below = match beside || agents == 0 || room < table + 3 {
        true => 0,
        false => (agents + 2).min(room - table),
    };
    if beside {
        let left = wide * 62 / 100;
        let both = covered(state, left, table, paint)
            .into_iter()
            .zip(researchers(&state.agents, wide - left, table, paint));
        out.extend(both.map(|(a, b)| Line {
            text: a.text + &b.text,
            wide: a.wide + b.wide,
        }));
    } else {
        out.extend(covered(state, wide, table, paint));
        out.extend(researchers(&state.agents, wide, below, paint));
    }
    let rest = high.saturating_sub(out.len() + 1);
    out.extend(happened(state, wide, rest, paint));
    // The foot keeps its place on the lowest of screens.
    out.truncate(high.saturating_sub(1));
    out.resize_with(high.saturating_sub(1), Line::default);
    out.push(footing(foot, wide, paint));
    out.into_iter().take(high).map(|it| it.text).collect()
}

fn title(state: &State, wide: usize, paint: Paint) -> Line {
    let head = &state.head;
    let tail = clip(&format!("  {} · {}", clip(&head.id, 12), head.word), wide);
    let asked = clip(&head.question, wide - tail.width());
    let pad = " ".repeat(wide - asked.width() - tail.width());
    let pieces = [
        (BOLD, asked.as_str()),
        ("", &pad),
        (class(head.class), &tail),
    ];
    Line::of(&pieces, paint)
}

/// Figures in as many lines as they take.
fn meters(all: &[Meter], wide: usize, paint: Paint) -> Vec<Line> {
    let each = (wide / METER).max(1);
    let lines = all.chunks(each).map(|some| {
        let mut line = Line::default();
        for it in some {
            meter(it, wide / each, &mut line, paint);
        }
        line
    });
    lines.collect()
}

fn meter(it: &Meter, wide: usize, line: &mut Line, paint: Paint) {
    let from = line.wide;
    let name = clip(it.name, wide);
    line.add(DIM, &name, paint);
    let room = wide.saturating_sub(name.width() + 1);
    let value = match it.more.as_str() {
        "" => format!(" {}", it.value),
        more => format!(" {} {more}", it.value),
    };
    line.add("", &clip(&value, room), paint);
    if let Some(share) = it.share.filter(|_| room >= value.width() + 6) {
        line.add("", " ", paint);
        line.add(CYAN, &bar(share), paint);
    }
    let rest = (from + wide).saturating_sub(line.wide);
    line.add("", &" ".repeat(rest), paint);
}

/// How much is used, in five pieces.
fn bar(share: u32) -> String {
    let full = (share.min(100) as usize).div_ceil(20);
    "▰".repeat(full) + &"▱".repeat(5 - full)
}

fn phases(state: &State, wide: usize, paint: Paint) -> Line {
    let mut stops: Vec<_> = state.way.iter().collect();
    // Rounds long past make room for what is to come.
    while stops.len() > 5 && stops.iter().map(|it| it.name.width() + 5).sum::<usize>() > wide {
        stops.remove(2);
    }
    let mut line = Line::default();
    for it in stops {
        let (style, mark) = match it.when {
            "past" => (GREEN, "✓"),
            "now" => ("1;36", "●"),
            _ => (DIM, "○"),
        };
        let joint = if line.wide == 0 { "" } else { " ─ " };
        let stop = format!("{mark} {}", it.name);
        if line.wide + joint.width() + stop.width() > wide {
            break;
        }
        line.add(DIM, joint, paint);
        line.add(style, &stop, paint);
    }
    line
}

/// The last sentence of the draft.
fn draft(last: &str, wide: usize, paint: Paint) -> Line {
    let head = clip("Draft, not checked: ", wide);
    let words = clip(last, wide - head.width());
    Line::of(&[(DIM, &head), ("", &words)], paint)
}

/// Lines in a frame with a title; none where there is no room for anything in it.
fn framed(
    title: &str,
    inside: impl FnOnce(usize, usize) -> Vec<Line>,
    wide: usize,
    high: usize,
    paint: Paint,
) -> Vec<Line> {
    if high < 3 || wide < 12 {
        return Vec::new();
    }
    let title = clip(title, wide - 6);
    let rule = "─".repeat(wide - 5 - title.width());
    let head = [
        (DIM, "┌─ "),
        (BOLD, &title),
        (DIM, " "),
        (DIM, &rule),
        (DIM, "┐"),
    ];
    let mut out = vec![Line::of(&head, paint)];
    let mut lines = inside(wide - 4, high - 2);
    lines.truncate(high - 2);
    lines.resize_with(high - 2, Line::default);
    for it in lines {
        let mut line = Line::of(&[(DIM, "│ ")], paint);
        let it = it.filled(wide - 4);
        line.wide += it.wide;
        line.text.push_str(&it.text);
        line.add(DIM, " │", paint);
        out.push(line);
    }
    let foot = format!("└{}┘", "─".repeat(wide - 2));
    out.push(Line::of(&[(DIM, &foot)], paint));
    out
}

fn covered(state: &State, wide: usize, high: usize, paint: Paint) -> Vec<Line> {
    let inside = |wide: usize, high: usize| {
        if state.questions.is_empty() {
            let none = clip("The plan is being made.", wide);
            return vec![Line::of(&[(DIM, &none)], paint)];
        }
        let all = state.rounds as usize;
        // The question keeps half of the room: of rounds the oldest go first, and on a narrow screen all else.
        let rounds = all.min(wide.saturating_sub(20) / 2 / 4);
        let figures = wide >= 40;
        let fixed = rounds * 4 + if figures { 9 } else { 0 } + STATE + 2;
        let text = wide.saturating_sub(fixed);
        let columns = STATE.min(wide.saturating_sub(2));
        let mut head = pad("Question", text);
        for nth in all - rounds..all {
            head += &format!("{:>4}", format!("R{}", nth + 1));
        }
        if figures {
            head += "  Sources";
        }
        head += "  State";
        let mut lines = vec![Line::of(&[(DIM, &clip(&head, wide))], paint)];
        let most = high.saturating_sub(1);
        let shown = match state.questions.len() > most {
            true => most.saturating_sub(1),
            false => state.questions.len(),
        };
        let rows = state.questions.iter().take(shown);
        lines.extend(rows.map(|it| row(it, (text, columns), all - rounds, figures, paint)));
        if shown < state.questions.len() {
            let more = format!("… and {} more", state.questions.len() - shown);
            lines.push(Line::of(&[(DIM, &clip(&more, wide))], paint));
        }
        lines
    };
    framed("What is covered", inside, wide, high, paint)
}

fn row(
    it: &Question,
    (text, columns): (usize, usize),
    first: usize,
    figures: bool,
    paint: Paint,
) -> Line {
    let mut line = Line::default();
    line.add("", &pad(&format!("{} {}", it.id, it.text), text), paint);
    for cell in it.cells.iter().skip(first) {
        let style = if cell.n == 0 { DIM } else { CYAN };
        line.add(style, &clip(&format!("{:>4}", cell.n), 4), paint);
    }
    if figures {
        line.add("", &format!("{:>9}", it.sources), paint);
    }
    let mark = match it.class {
        "covered" => "✓",
        "partial" => "◐",
        "conflict" => "!",
        _ => "○",
    };
    line.add("", "  ", paint);
    line.add(
        class(it.class),
        &clip(&format!("{mark} {}", it.word), columns),
        paint,
    );
    line
}

fn researchers(agents: &[Agent], wide: usize, high: usize, paint: Paint) -> Vec<Line> {
    let inside = |wide: usize, _: usize| {
        let lines = agents.iter().map(|it| {
            let head = clip(&format!("{} {:>3} ", clip(&it.name, 16), it.evidence), wide);
            let doing = it.lines.first();
            let doing = doing.map_or_else(String::new, |it| format!("{} {}", it.kind, it.text));
            let doing = clip(&doing, wide - head.width());
            Line::of(&[(BOLD, &head), (DIM, &doing)], paint)
        });
        lines.collect()
    };
    framed("Researchers", inside, wide, high, paint)
}

fn happened(state: &State, wide: usize, high: usize, paint: Paint) -> Vec<Line> {
    let inside = |wide: usize, high: usize| {
        let told = state.feed.iter().flat_map(|it| &it.lines).take(high);
        told.map(|it| told_line(it, wide, paint)).collect()
    };
    framed("What happened", inside, wide, high, paint)
}

fn told_line(it: &Told, wide: usize, paint: Paint) -> Line {
    let head = clip(&format!("{} ", it.at), wide);
    let kind = pad(it.kind, 10.min(wide - head.width()));
    let who = it
        .agent
        .as_deref()
        .map_or_else(String::new, |it| format!("{it}: "));
    let room = wide - head.width() - kind.width();
    let text = clip(&format!("{who}{}", it.text), room);
    Line::of(
        &[(DIM, &head), (class(it.class), &kind), ("", &text)],
        paint,
    )
}

fn footing(foot: &Foot<'_>, wide: usize, paint: Paint) -> Line {
    match foot {
        Foot::Asked(text) => Line::of(&[(YELLOW, &clip(text, wide))], paint),
        Foot::Typing(words) => {
            let head = clip("Look into, too (Enter sends, Esc leaves it): ", wide / 2);
            let room = wide.saturating_sub(head.width() + 1);
            // The end of what is typed is what is being typed.
            let mut tail = *words;
            while tail.width() > room {
                let mut chars = tail.chars();
                chars.next();
                tail = chars.as_str();
            }
            Line::of(
                &[(YELLOW, &head), ("", tail), ("", &clip("▏", wide))],
                paint,
            )
        }
        Foot::Keys {
            ended,
            said,
            leaving,
        } => {
            let keys = match ended {
                true => format!("q leave ({leaving})"),
                false => format!("f finish  s steer  c cancel  q leave ({leaving})"),
            };
            let gap = if said.is_empty() { "" } else { "   " };
            // What was said is worth more than what can be done.
            let said = clip(said, wide.saturating_sub(gap.len()));
            let keys = clip(&keys, wide.saturating_sub(said.width() + gap.len()));
            Line::of(&[(YELLOW, &said), ("", gap), (DIM, &keys)], paint)
        }
    }
}

/// `text` in exactly so many columns.
fn pad(text: &str, columns: usize) -> String {
    let text = clip(text, columns);
    let rest = columns.saturating_sub(text.width());
    text + &" ".repeat(rest)
}
