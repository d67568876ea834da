//! A diagram of the report: the question, the points of a complete answer, and the works that support each.
//!
//! It is made from the record alone and repeats the text beside it: as three columns of boxes, or as Mermaid for renderers that support it.
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::source_text::display_title;
use crate::escape;
use crate::escape::single_line;
use crate::phrases::pluralize;
use ibid_core::domain::{Claim, Coverage, CoverageRow, ItemId, Report};

/// Maximum number of items and works in the diagram; more would be unreadable.
const MAX_ITEMS: usize = 8;
const MAX_WORKS: usize = 12;

/// The label of works that only other parts of the report cite.
const ELSEWHERE: &str = "Cited outside the sections";

/// The left edge and the width of each column.
const QUESTION: (u32, u32) = (0, 170);
const POINT: (u32, u32) = (226, 250);
const WORK: (u32, u32) = (532, 188);

/// The height of a line, the padding of a box, and the gap between boxes.
const LINE_HEIGHT: u32 = 16;
const PADDING: u32 = 8;
const GAP: u32 = 10;

/// The width of one terminal column in the diagram; a little more than letters need, because fonts differ.
const COLUMN_WIDTH: u32 = 7;

/// A box with text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagramNode {
    /// The left edge.
    pub x: u32,
    /// The upper edge.
    pub y: u32,
    /// The width.
    pub wide: u32,
    /// The height.
    pub high: u32,
    /// The CSS class: `ask`, `covered`, `partial`, `open`, `conflict`, `work`.
    pub class: &'static str,
    /// The lines of text.
    pub lines: Vec<String>,
}

impl DiagramNode {
    /// The left edge of the text.
    pub fn left(&self) -> u32 {
        self.x + 10
    }

    /// The base line of line `nth`, from 0.
    pub fn base(&self, nth: &usize) -> u32 {
        self.y + PADDING + 12 + LINE_HEIGHT * (*nth as u32)
    }

    fn center_y(&self) -> u32 {
        self.y + self.high / 2
    }

    /// The SVG path from the right edge of this box to the left edge of `to`.
    fn path_to(&self, to: &DiagramNode) -> String {
        let (x, y) = (self.x + self.wide, self.center_y());
        let half = x.midpoint(to.x);
        format!("M{x} {y}C{half} {y} {half} {m} {end} {m}", m = to.center_y(), end = to.x)
    }
}

/// The content of a diagram, without its layout.
struct DiagramGraph {
    /// The question.
    question: String,
    /// The points of a complete answer: class, text, and the positions of their works from 0.
    points: Vec<(&'static str, String, Vec<usize>)>,
    /// The works, in the order of their numbers.
    works: Vec<String>,
    /// The number of works that are left out.
    more: usize,
    /// A description in one sentence.
    says: String,
}

impl DiagramGraph {
    /// The graph of a report; `None` for a single point on a single work.
    fn from_report(it: &Report) -> Option<DiagramGraph> {
        let rows = it.coverage.get(..it.coverage.len().min(MAX_ITEMS))?;
        let shown = it.sources.len().min(MAX_WORKS);
        if rows.len() < 2 || shown == 0 || it.unlisted {
            return None;
        }
        let mut points: Vec<(&'static str, String, Vec<usize>)> = rows
            .iter()
            .map(|row| {
                let text = format!("{} {}", mark(row.state), single_line(&row.text));
                let cited = cited_works(section_claims(it, |item| item == row.id), shown);
                (class(row.state), text, cited)
            })
            .collect();
        let elsewhere = other_works(it, rows, shown);
        let says = format!(
            "The diagram shows the question, its {} checklist items, and which of {} each one cites. {}The sections and the list of sources contain the same information.",
            rows.len(),
            pluralize(shown as u64, "source"),
            match elsewhere.len() as u64 {
                0 => String::new(),
                n => format!("{} cited only elsewhere in the report. ", pluralize(n, "source")),
            },
        );
        if !elsewhere.is_empty() {
            points.push(("work", ELSEWHERE.to_owned(), elsewhere));
        }
        let named = it.sources.iter().take(shown).enumerate();
        Some(DiagramGraph {
            question: single_line(&it.question),
            points,
            works: named
                .map(|(at, source)| format!("[{}] {}", at + 1, display_title(source)))
                .collect(),
            more: it.sources.len() - shown,
            says,
        })
    }
}

/// The diagram as a Mermaid flow chart; `None` when there is no diagram. Source: <https://mermaid.js.org/syntax/flowchart.html>.
pub fn mermaid(it: &Report) -> Option<String> {
    let it = DiagramGraph::from_report(it)?;
    let label =
        |text: &str, columns: usize| escape::mermaid_label(&wrap_text(text, columns, 1).concat());
    let mut out = format!("flowchart LR\naccDescr: {}\n", it.says);
    let _ = writeln!(out, "q[\"{}\"]", label(&it.question, 160));
    for (n, (_, text, _)) in it.points.iter().enumerate() {
        let _ = writeln!(out, "q --> p{n}[\"{}\"]", label(text, 90));
    }
    for (n, text) in it.works.iter().enumerate() {
        let _ = writeln!(out, "s{n}[\"{}\"]", label(text, 60));
    }
    for (n, (_, _, works)) in it.points.iter().enumerate() {
        for work in works {
            let _ = writeln!(out, "p{n} --> s{work}");
        }
    }
    if it.more > 0 {
        let _ = writeln!(out, "more[\"and {} more\"]", it.more);
    }
    Some(out)
}

/// A diagram with its layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagram {
    /// The height; the width is 720.
    pub high: u32,
    /// The boxes.
    pub nodes: Vec<DiagramNode>,
    /// The paths between the boxes.
    pub ways: Vec<String>,
    /// A description in one sentence.
    pub says: String,
}

impl Diagram {
    /// The diagram of a report, if it has one.
    pub fn from_report(it: &Report) -> Option<Diagram> {
        let it = DiagramGraph::from_report(it)?;
        let points = it.points.iter();
        let mut middle =
            column(points.map(|(class, text, _)| node(POINT, class, text, 2)).collect());
        let works = it.works.iter().map(|text| node(WORK, "work", text, 1));
        let mut works: Vec<DiagramNode> = works.collect();
        if it.more > 0 {
            works.push(node(WORK, "rest", &format!("and {} more", it.more), 1));
        }
        let mut right = column(works);
        let mut ask = node(QUESTION, "ask", &it.question, 6);
        let high =
            [bottom(&middle), bottom(&right), ask.high + 2].into_iter().max().unwrap_or_default();
        ask.y = (high - ask.high) / 2;
        centre(&mut middle, high);
        centre(&mut right, high);
        let mut ways: Vec<String> = middle.iter().map(|point| ask.path_to(point)).collect();
        for ((_, _, cited), point) in it.points.iter().zip(&middle) {
            let ends = cited.iter().filter_map(|at| right.get(*at));
            ways.extend(ends.map(|work| point.path_to(work)));
        }
        let nodes: Vec<DiagramNode> = std::iter::once(ask).chain(middle).chain(right).collect();
        Some(Diagram { high, nodes, ways, says: it.says })
    }
}

/// The works that these claims cite, of the first `shown`, each once, in order, by position from 0.
fn cited_works<'r>(claims: impl Iterator<Item = &'r Claim>, shown: usize) -> Vec<usize> {
    let mut cited: Vec<usize> = claims
        .flat_map(Claim::citations)
        .filter_map(|citation| (citation.n as usize).checked_sub(1))
        .filter(|at| *at < shown)
        .collect();
    cited.sort_unstable();
    cited.dedup();
    cited
}

/// The claims of the sections about the items in `wanted`.
fn section_claims(it: &Report, wanted: impl Fn(ItemId) -> bool) -> impl Iterator<Item = &Claim> {
    let sections = it.sections.iter().filter(move |section| section.item.is_some_and(&wanted));
    sections.flat_map(|section| section.paragraphs.iter().flatten())
}

/// The works that are cited, but by no section about one of `points`.
fn other_works(it: &Report, points: &[CoverageRow], shown: usize) -> Vec<usize> {
    let drawn =
        cited_works(section_claims(it, |item| points.iter().any(|row| row.id == item)), shown);
    let mut all = cited_works(it.claims(), shown);
    all.retain(|at| !drawn.contains(at));
    all
}

fn class(it: Coverage) -> &'static str {
    match it {
        Coverage::Open => "open",
        Coverage::Partial => "partial",
        Coverage::Covered => "covered",
        Coverage::Conflict => "conflict",
    }
}

fn mark(it: Coverage) -> &'static str {
    match it {
        Coverage::Open => "○",
        Coverage::Partial => "◐",
        Coverage::Covered => "✓",
        Coverage::Conflict => "⚠",
    }
}

fn node(place: (u32, u32), class: &'static str, text: &str, most: usize) -> DiagramNode {
    let lines = wrap_text(text, ((place.1 - 20) / COLUMN_WIDTH) as usize, most);
    DiagramNode {
        x: place.0 + 1,
        y: 1,
        wide: place.1 - 2,
        high: LINE_HEIGHT * lines.len() as u32 + 2 * PADDING,
        class,
        lines,
    }
}

/// Stacks boxes in a column.
fn column(mut nodes: Vec<DiagramNode>) -> Vec<DiagramNode> {
    let mut y = 1;
    for it in &mut nodes {
        it.y = y;
        y += it.high + GAP;
    }
    nodes
}

fn bottom(nodes: &[DiagramNode]) -> u32 {
    nodes.last().map_or(0, |node| node.y + node.high + 1)
}

fn centre(nodes: &mut [DiagramNode], high: u32) {
    let down = (high - bottom(nodes)) / 2;
    for it in nodes {
        it.y += down;
    }
}

/// `text` in at most `most` lines of `columns`, broken between words where possible, with an ellipsis if it is cut.
fn wrap_text(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut pieces = text.split(' ').flat_map(|word| split_word(word, columns));
    let mut whole = true;
    for piece in &mut pieces {
        let Some(last) = lines.last_mut() else { break };
        let joint = usize::from(!last.is_empty());
        if last.width() + joint + piece.width() <= columns {
            if joint == 1 {
                last.push(' ');
            }
            last.push_str(piece);
        } else if lines.len() < most {
            lines.push(piece.to_owned());
        } else {
            whole = false;
            break;
        }
    }
    if let (false, Some(last)) = (whole, lines.last_mut()) {
        while last.width() + 1 > columns {
            last.pop();
        }
        last.truncate(last.trim_end().len());
        last.push('…');
    }
    lines
}

/// A word in pieces of at most `columns`.
fn split_word(word: &str, columns: usize) -> Vec<&str> {
    let (mut out, mut from, mut used) = (Vec::new(), 0, 0);
    for (at, c) in word.char_indices() {
        let wide = c.width().unwrap_or(0);
        if used + wide > columns && at > from {
            out.push(&word[from..at]);
            (from, used) = (at, 0);
        }
        used += wide;
    }
    out.push(&word[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_broken_between_and_cut_where_they_do_not_fit() {
        assert_eq!(wrap_text("one two three", 7, 3), ["one two", "three"]);
        assert_eq!(wrap_text("one two three four", 7, 2), ["one two", "three…"]);
        assert_eq!(wrap_text("incomprehensible", 6, 9), ["incomp", "rehens", "ible"]);
        assert_eq!(wrap_text("水を保つ緑の屋根", 8, 2), ["水を保つ", "緑の屋根"]);
        assert_eq!(wrap_text("", 8, 2), [""]);
        assert_eq!(wrap_text("水", 1, 1), ["…"], "never without end");
        for columns in 1..12 {
            for it in wrap_text("an odd 水水水 text, withverylongwords in it", columns, 4) {
                assert!(it.width() <= columns.max(2), "{it} in {columns}");
            }
        }
    }

    #[test]
    fn boxes_of_a_column_stand_below_each_other_in_its_middle() {
        let text = ["a", "two lines of words that do not fit into one", "c"];
        let mut nodes = column(text.iter().map(|text| node(POINT, "open", text, 2)).collect());
        let own = bottom(&nodes);
        centre(&mut nodes, own + 100);
        assert_eq!(nodes[0].y, 51);
        assert!(nodes.windows(2).all(|window| window[0].y + window[0].high < window[1].y));
        let ask = node(QUESTION, "ask", "what?", 6);
        assert_eq!(
            ask.path_to(&nodes[0]),
            format!("M169 17C198 17 198 {m} 227 {m}", m = nodes[0].center_y())
        );
    }
}
