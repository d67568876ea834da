//! How a report came about, drawn: the question, what a complete answer must say, and the works that each of that rests on.
//!
//! It is made of the record alone, and says nothing that the words beside it do not say: as three columns of boxes, or as a block
//! of Mermaid for readers that draw it themselves.
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::domain::{Claim, Coverage, CoverageRow, ItemId, Report};
use crate::surfaces::export::escape::{self, line};

/// Points and works drawn at most; more would be a thicket.
const POINTS: usize = 8;
const WORKS: usize = 12;

/// What stands for the works that none of the points' sections cites.
const ELSEWHERE: &str = "In the short answer, key findings or elsewhere";

/// Where the columns begin and how wide their boxes are.
const QUESTION: (u32, u32) = (0, 170);
const POINT: (u32, u32) = (226, 250);
const WORK: (u32, u32) = (532, 188);

/// A line of text, the room above and below the lines of a box, and the gap between boxes.
const LINE: u32 = 16;
const PADDING: u32 = 8;
const GAP: u32 = 10;

/// Width that a column of a terminal takes in the drawing; a little more than letters need, as fonts differ.
const COLUMN: u32 = 7;

/// A box with words in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its left edge.
    pub x: u32,
    /// Its upper edge.
    pub y: u32,
    /// How wide it is.
    pub wide: u32,
    /// How high it is.
    pub high: u32,
    /// Its class: `ask`, `covered`, `partial`, `open`, `conflict`, `work`.
    pub class: &'static str,
    /// Its lines.
    pub lines: Vec<String>,
}

impl Node {
    /// Where its words begin.
    pub fn left(&self) -> u32 {
        self.x + 10
    }

    /// The base line of line `nth`, from 0.
    pub fn base(&self, nth: &usize) -> u32 {
        self.y + PADDING + 12 + LINE * (*nth as u32)
    }

    fn middle(&self) -> u32 {
        self.y + self.high / 2
    }

    /// The way from its right edge to the left edge of `to`.
    fn to(&self, to: &Node) -> String {
        let (x, y) = (self.x + self.wide, self.middle());
        let half = x.midpoint(to.x);
        format!(
            "M{x} {y}C{half} {y} {half} {m} {end} {m}",
            m = to.middle(),
            end = to.x
        )
    }
}

/// What is drawn, before it has a shape.
struct Graph {
    /// What was asked.
    question: String,
    /// What a complete answer must say: class, words, and the works behind it, by their place from 0.
    points: Vec<(&'static str, String, Vec<usize>)>,
    /// The works, in the order of their numbers.
    works: Vec<String>,
    /// How many more works there are.
    more: usize,
    /// What it shows, in a sentence.
    says: String,
}

impl Graph {
    /// That of a report; none where there is no more to see than one thing that rests on one work.
    fn of(it: &Report) -> Option<Graph> {
        let rows = it.coverage.get(..it.coverage.len().min(POINTS))?;
        let shown = it.sources.len().min(WORKS);
        if rows.len() < 2 || shown == 0 || it.unlisted {
            return None;
        }
        let mut points: Vec<(&'static str, String, Vec<usize>)> = rows
            .iter()
            .map(|row| {
                let text = format!("{} {}", mark(row.state), line(&row.text));
                let cited = works_of(of_sections(it, |item| item == row.id), shown);
                (class(row.state), text, cited)
            })
            .collect();
        let elsewhere = elsewhere(it, rows, shown);
        let says = format!(
            "Drawn: the question, {} points of a complete answer, and which of {} each rests on. {}The sections and the list of sources say the same.",
            rows.len(),
            super::counted(shown as u64, "source"),
            match elsewhere.len() as u64 {
                0 => String::new(),
                n => format!(
                    "{} cited only elsewhere in the report. ",
                    super::counted(n, "source")
                ),
            },
        );
        if !elsewhere.is_empty() {
            points.push(("work", ELSEWHERE.to_owned(), elsewhere));
        }
        let named = it.sources.iter().take(shown).enumerate();
        Some(Graph {
            question: line(&it.question),
            points,
            works: named
                .map(|(at, source)| format!("[{}] {}", at + 1, super::named(source)))
                .collect(),
            more: it.sources.len() - shown,
            says,
        })
    }
}

/// The same as the source of a Mermaid flow chart, for readers that draw it; none where there is no drawing.
/// Source: <https://mermaid.js.org/syntax/flowchart.html>.
pub fn mermaid(it: &Report) -> Option<String> {
    let it = Graph::of(it)?;
    let label = |text: &str, columns: usize| escape::mermaid(&wrapped(text, columns, 1).concat());
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

/// The drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// How high it is; it is 720 wide.
    pub high: u32,
    /// The boxes.
    pub nodes: Vec<Node>,
    /// The ways between them.
    pub ways: Vec<String>,
    /// What it shows, in a sentence.
    pub says: String,
}

impl Drawing {
    /// The drawing of a report, where there is one.
    pub fn of(it: &Report) -> Option<Drawing> {
        let it = Graph::of(it)?;
        let points = it.points.iter();
        let mut middle = column(
            points
                .map(|(class, text, _)| node(POINT, class, text, 2))
                .collect(),
        );
        let works = it.works.iter().map(|text| node(WORK, "work", text, 1));
        let mut works: Vec<Node> = works.collect();
        if it.more > 0 {
            works.push(node(WORK, "rest", &format!("and {} more", it.more), 1));
        }
        let mut right = column(works);
        let mut ask = node(QUESTION, "ask", &it.question, 6);
        let high = [bottom(&middle), bottom(&right), ask.high + 2]
            .into_iter()
            .max()
            .unwrap_or_default();
        ask.y = (high - ask.high) / 2;
        centre(&mut middle, high);
        centre(&mut right, high);
        let mut ways: Vec<String> = middle.iter().map(|point| ask.to(point)).collect();
        for ((_, _, cited), point) in it.points.iter().zip(&middle) {
            let ends = cited.iter().filter_map(|at| right.get(*at));
            ways.extend(ends.map(|work| point.to(work)));
        }
        let nodes: Vec<Node> = std::iter::once(ask).chain(middle).chain(right).collect();
        Some(Drawing {
            high,
            nodes,
            ways,
            says: it.says,
        })
    }
}

/// The works, of the first `shown`, that these claims cite, each once, in order: by their place from 0.
fn works_of<'r>(claims: impl Iterator<Item = &'r Claim>, shown: usize) -> Vec<usize> {
    let mut cited: Vec<usize> = claims
        .flat_map(Claim::citations)
        .filter_map(|it| (it.n as usize).checked_sub(1))
        .filter(|at| *at < shown)
        .collect();
    cited.sort_unstable();
    cited.dedup();
    cited
}

/// The claims of the sections about the items that are `wanted`.
fn of_sections(it: &Report, wanted: impl Fn(ItemId) -> bool) -> impl Iterator<Item = &Claim> {
    let sections = it.sections.iter().filter(move |it| wanted(it.item));
    sections.flat_map(|it| it.paragraphs.iter().flatten())
}

/// The works that no section about one of `points` cites, but the short answer, a finding or whatever else.
fn elsewhere(it: &Report, points: &[CoverageRow], shown: usize) -> Vec<usize> {
    let drawn = works_of(
        of_sections(it, |item| points.iter().any(|row| row.id == item)),
        shown,
    );
    let mut all = works_of(it.claims(), shown);
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

fn node(place: (u32, u32), class: &'static str, text: &str, most: usize) -> Node {
    let lines = wrapped(text, ((place.1 - 20) / COLUMN) as usize, most);
    Node {
        x: place.0 + 1,
        y: 1,
        wide: place.1 - 2,
        high: LINE * lines.len() as u32 + 2 * PADDING,
        class,
        lines,
    }
}

/// One below the other.
fn column(mut nodes: Vec<Node>) -> Vec<Node> {
    let mut y = 1;
    for it in &mut nodes {
        it.y = y;
        y += it.high + GAP;
    }
    nodes
}

fn bottom(nodes: &[Node]) -> u32 {
    nodes.last().map_or(0, |it| it.y + it.high + 1)
}

fn centre(nodes: &mut [Node], high: u32) {
    let down = (high - bottom(nodes)) / 2;
    for it in nodes {
        it.y += down;
    }
}

/// `text` in at most `most` lines of `columns`, broken between words where that goes; an ellipsis where it goes on.
fn wrapped(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut pieces = text.split(' ').flat_map(|word| cut(word, columns));
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

/// A word in pieces that each fit into `columns`.
fn cut(word: &str, columns: usize) -> Vec<&str> {
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
        assert_eq!(wrapped("one two three", 7, 3), ["one two", "three"]);
        assert_eq!(wrapped("one two three four", 7, 2), ["one two", "three…"]);
        assert_eq!(
            wrapped("incomprehensible", 6, 9),
            ["incomp", "rehens", "ible"]
        );
        assert_eq!(wrapped("水を保つ緑の屋根", 8, 2), ["水を保つ", "緑の屋根"]);
        assert_eq!(wrapped("", 8, 2), [""]);
        assert_eq!(wrapped("水", 1, 1), ["…"], "never without end");
        for columns in 1..12 {
            for it in wrapped("an odd 水水水 text, withverylongwords in it", columns, 4) {
                assert!(it.width() <= columns.max(2), "{it} in {columns}");
            }
        }
    }

    #[test]
    fn boxes_of_a_column_stand_below_each_other_in_its_middle() {
        let text = ["a", "two lines of words that do not fit into one", "c"];
        let mut nodes = column(text.iter().map(|it| node(POINT, "open", it, 2)).collect());
        let own = bottom(&nodes);
        centre(&mut nodes, own + 100);
        assert_eq!(nodes[0].y, 51);
        assert!(nodes.windows(2).all(|it| it[0].y + it[0].high < it[1].y));
        let ask = node(QUESTION, "ask", "what?", 6);
        assert_eq!(
            ask.to(&nodes[0]),
            format!("M169 17C198 17 198 {m} 227 {m}", m = nodes[0].middle())
        );
    }
}
