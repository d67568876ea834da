//! Finds the date of publication of a page, and its source.
//!
//! A date in the page's address comes first: it is the day in the author's time zone, and machine-readable times may be in
//! another. Then machine-readable dates: JSON-LD, meta elements, microdata. Then visible dates: of all dates in `<time>` or in
//! a short visible block, the one whose place is most like that of a dateline, which is below or just above the title and
//! outside comments and lists of other pages.
use std::collections::HashMap;

use super::blocks::FlatBlock;
use super::dom::{Dom, NodeId};
use super::element_hints;
use super::metadata::{MAX_ELEMENT_TEXT, Metadata};
use crate::dates::{self, DateOrder};
use ibid_core::domain::BlockKind;

/// Words; a longer block is a paragraph, and a date in it belongs to its content.
const MAX_WORDS: u32 = 40;
/// Words; a date in a longer block scores less.
const MAX_DATELINE_WORDS: u32 = 12;
/// The score from which a visible date counts.
const MIN_SCORE: i32 = 3;
/// Bytes of the text of an element whose class names a date; a longer text is more than a date.
const MAX_NAMED: usize = 60;
/// Characters at the beginning of a paragraph where a place and a date may be.
const DATELINE_CHARS: usize = 48;
/// Levels from an element up to the block that contains it.
const MAX_LEVELS_UP: usize = 6;

/// The date and its source: `json-ld`, `meta`, `microdata`, `url`, `time`, `text` or `modified`.
pub(super) fn find(
    dom: &Dom,
    flat: &[FlatBlock],
    meta: &Metadata,
    address: &str,
) -> Option<(String, &'static str)> {
    let stated = &meta.dates;
    let own = meta.canonical.as_deref().unwrap_or_default();
    let known = [
        (dates::from_url(address).or_else(|| dates::from_url(own)), "url"),
        (stated.json_ld.clone(), "json-ld"),
        (stated.meta.clone(), "meta"),
    ];
    let mut known = known.into_iter().filter_map(|(it, source)| Some((it?, source)));
    known
        .next()
        .or_else(|| microdata(dom, stated.order).map(|microdata| (microdata, "microdata")))
        .or_else(|| dateline(dom, flat, meta))
        .or_else(|| stated.modified.clone().map(|modified| (modified, "modified")))
}

/// The first date that is marked as that of publication, else the last marked as that of creation.
fn microdata(dom: &Dom, order: DateOrder) -> Option<String> {
    let mut created = None;
    for id in dom.descendants(dom.root()) {
        let marked = dom.attr(id, "itemprop").or_else(|| dom.attr(id, "property"));
        let class = |name: &str| {
            let class = dom.attr(id, "class").unwrap_or_default();
            class.split_ascii_whitespace().any(|word| word == name)
        };
        let marked = marked.map(|it| it.rsplit(':').next().unwrap_or(it));
        let published = marked == Some("datePublished")
            || (matches!(dom.name(id), "abbr" | "time") && class("published"));
        if !published && marked != Some("dateCreated") {
            continue;
        }
        let value = ["content", "datetime", "title"].iter().find_map(|name| dom.attr(id, name));
        let text = || dates::normalise_with_order(&dom.text_within(id, MAX_ELEMENT_TEXT), order);
        let found = value.and_then(|value| dates::normalise_with_order(value, order)).or_else(text);
        if published && found.is_some() {
            return found;
        }
        created = created.or(found);
    }
    created
}

/// A visible date.
struct DateCandidate {
    date: String,
    source: &'static str,
    score: i32,
}

/// The visible date whose place is most like that of a dateline.
fn dateline(dom: &Dom, flat: &[FlatBlock], meta: &Metadata) -> Option<(String, &'static str)> {
    let mut scorer = DatelineScorer {
        dom,
        flat,
        title: title_at(flat, meta),
        block_scores: HashMap::new(),
        stale: HashMap::new(),
    };
    let order = meta.dates.order;
    let mut all = dates_in_blocks(flat, order, &mut scorer);
    all.extend(dates_in_elements(dom, flat, order, &mut scorer));
    // The first of those with the highest score. A date with a low score counts only if it is the only one.
    let best = all.iter().rev().max_by_key(|it| it.score)?;
    let alone = || {
        let rivals = all.iter().filter(|it| it.score == best.score);
        best.score >= 0 && rivals.clone().all(|rival| rival.date == best.date)
    };
    (best.score >= MIN_SCORE || alone()).then(|| (best.date.clone(), best.source))
}

/// The dates in short visible blocks, and at the beginning of a paragraph right below the title.
fn dates_in_blocks(
    flat: &[FlatBlock],
    order: DateOrder,
    scorer: &mut DatelineScorer<'_>,
) -> Vec<DateCandidate> {
    let mut found = Vec::new();
    for (at, block) in flat.iter().enumerate() {
        if block.kind == BlockKind::Code || !block.text.contains(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let below_title =
            scorer.title.is_some_and(|title| (1..=2).contains(&at.saturating_sub(title)));
        let text = if block.words <= MAX_WORDS {
            block.text.as_str()
        } else if below_title {
            head(&block.text)
        } else {
            continue;
        };
        if let Some(date) =
            dates::normalise_with_order(text, order).filter(|text| is_plausible(text))
        {
            let is_long = block.words > MAX_DATELINE_WORDS;
            found.push(DateCandidate {
                date,
                source: "text",
                score: scorer.block_score(at) - i32::from(is_long) * 2,
            });
        }
    }
    found
}

/// The dates in `<time>` and in elements whose class names a date.
fn dates_in_elements(
    dom: &Dom,
    flat: &[FlatBlock],
    order: DateOrder,
    scorer: &mut DatelineScorer<'_>,
) -> Vec<DateCandidate> {
    let mut found = Vec::new();
    let blocks: HashMap<NodeId, usize> =
        flat.iter().enumerate().rev().map(|(at, it)| (it.node, at)).collect();
    for id in dom.descendants(dom.root()) {
        let time = dom.name(id) == "time";
        if !time && !is_named_date(dom, id) {
            continue;
        }
        let datetime = dom.attr(id, "datetime").and_then(dates::normalise);
        let text = || {
            Some(dom.text_within(id, MAX_ELEMENT_TEXT)).filter(|it| time || it.len() < MAX_NAMED)
        };
        let date = datetime.or_else(|| dates::normalise_with_order(&text()?, order));
        let mut up = std::iter::successors(Some(id), |it| dom.parent(*it)).take(MAX_LEVELS_UP);
        let block = up.find_map(|it| blocks.get(&it).copied());
        if let (Some(date), Some(at)) = (date, block) {
            found.push(DateCandidate {
                date,
                source: if time { "time" } else { "text" },
                score: 3 + scorer.block_score(at) - 4 * i32::from(scorer.is_stale(id)),
            });
        }
    }
    found
}

/// Whether an element's class says that it holds a date. It may be inside a heading or a line of many words.
fn is_named_date(dom: &Dom, id: NodeId) -> bool {
    let class = dom.attr(id, "class").unwrap_or_default();
    let named = |text: &str| matches!(text, "date" | "time" | "datum" | "timestamp" | "pubdate");
    class.split(|c: char| !c.is_ascii_alphabetic()).any(named)
}

/// The first [`HEAD`] characters of a text.
fn head(text: &str) -> &str {
    let end = text.char_indices().nth(DATELINE_CHARS);
    end.map_or(text, |pair| &text[..pair.0])
}

/// Whether a page can have been published then: there were few web pages before 1995.
fn is_plausible(date: &str) -> bool {
    date >= "1995"
}

/// Scores how much the place of a date is like that of a dateline. Many dates may be in one block or element, so the score of
/// each is computed once.
struct DatelineScorer<'a> {
    dom: &'a Dom,
    flat: &'a [FlatBlock],
    title: Option<usize>,
    block_scores: HashMap<usize, i32>,
    stale: HashMap<NodeId, bool>,
}

impl DatelineScorer<'_> {
    /// The score of a date in block `at`.
    fn block_score(&mut self, at: usize) -> i32 {
        if let Some(known) = self.block_scores.get(&at) {
            return *known;
        }
        let score = self.score(at);
        self.block_scores.insert(at, score);
        score
    }

    fn score(&mut self, at: usize) -> i32 {
        let block = &self.flat[at];
        let title = self.title;
        // A dateline above the title is right above it, so blocks above count as twice as far.
        let near = title.map_or(99, |title| match at.checked_sub(title) {
            Some(below) => below,
            None => 2 * (title - at),
        });
        let mut score = match near {
            0..=2 => 6,
            3..=6 => 5,
            7..=15 => 3,
            16..=40 => 1,
            _ => 0,
        };
        let lower = block.text.to_lowercase();
        let labelled = LABELS.iter().any(|label| lower.contains(label));
        score += 3 * i32::from(labelled || block.near & element_hints::META != 0);
        let stale = STALE.iter().any(|it| lower.contains(it));
        score -= 4 * i32::from(!labelled && (stale || self.is_stale(block.node)));
        let elsewhere = element_hints::COMMENTS
            | element_hints::RELATED
            | element_hints::SIDEBAR
            | element_hints::FOOTER
            | element_hints::NAV
            | element_hints::ASIDE
            | element_hints::ADVERT;
        // Hints that the title has too mean nothing.
        let shared = title.map_or(0, |title| self.flat[title].hints);
        score -= 6 * i32::from(block.hints & !shared & elsewhere != 0);
        score - 2 * i32::from(block.near & element_hints::CARD != 0)
    }

    /// Whether an element's class says that it holds the date of a change.
    fn is_stale(&mut self, id: NodeId) -> bool {
        let dom = self.dom;
        *self.stale.entry(id).or_insert_with(|| {
            let class = dom.attr(id, "class").unwrap_or_default();
            ["updated", "modified"].iter().any(|it| class.contains(it))
                && !class.contains("published")
        })
    }
}

/// Labels of a date of publication, in the languages of [`dates`].
const LABELS: &[&str] = &[
    "publish",
    "posted",
    "veröffentlicht",
    "publié",
    "publicado",
    "publicad",
    "pubblicato",
    "gepubliceerd",
    "geplaatst",
    "datum",
    "erstellt",
    "erschienen",
    "gepostet",
    "written",
    "dated",
];

/// Labels of a date of change.
const STALE: &[&str] =
    &["updated", "modified", "aktualisiert", "mis à jour", "actualizado", "aggiornato", "geändert"];

/// The block with the page's title: the longest of those whose text is part of the title, headings first.
fn title_at(flat: &[FlatBlock], meta: &Metadata) -> Option<usize> {
    let title = meta.title.as_deref().unwrap_or_default().to_lowercase();
    let heading = |block: &FlatBlock| block.kind == BlockKind::Heading;
    let named = flat.iter().enumerate().rev().filter(|(_, it)| {
        (2..MAX_WORDS).contains(&it.words) && title.contains(&it.text.to_lowercase())
    });
    let named = named.max_by_key(|(_, it)| (heading(it), it.words));
    let first = || flat.iter().position(|block| heading(block) && block.level == 1);
    named.map(|pair| pair.0).or_else(first)
}
