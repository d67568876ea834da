//! When a page was published, and by what that is known.
//!
//! A date in the page's address comes first: it is the day as the writer saw it, where times for
//! machines may be in another zone. Then what the page says for machines: JSON-LD, meta elements,
//! microdata. Then what it says for people: of all dates that stand in `<time>` or in a short visible
//! block, the one whose place is most like a dateline's, below or just above the title and outside
//! comments and lists of other pages.
use std::collections::HashMap;

use super::super::dates::{self, Order};
use super::blocks::Flat;
use super::chrome;
use super::dom::{Dom, NodeId};
use super::metadata::{MOST, Metadata};
use crate::domain::BlockKind;

/// A longer block is a paragraph: a date in it is what the text tells of.
const MAX_WORDS: u32 = 40;

/// What a date of the page's own text must be worth.
const ENOUGH: i32 = 3;

/// The date and its source: `json-ld`, `meta`, `microdata`, `url`, `time`, `text` or `modified`.
pub(super) fn find(
    dom: &Dom,
    flat: &[Flat],
    meta: &Metadata,
    address: &str,
) -> Option<(String, &'static str)> {
    let said = &meta.dates;
    let own = meta.canonical.as_deref().unwrap_or_default();
    let known = [
        (
            dates::in_address(address).or_else(|| dates::in_address(own)),
            "url",
        ),
        (said.json_ld.clone(), "json-ld"),
        (said.meta.clone(), "meta"),
    ];
    let mut known = known
        .into_iter()
        .filter_map(|(it, source)| Some((it?, source)));
    known
        .next()
        .or_else(|| microdata(dom, said.order).map(|it| (it, "microdata")))
        .or_else(|| dateline(dom, flat, meta))
        .or_else(|| said.modified.clone().map(|it| (it, "modified")))
}

/// The first element that is marked as the date of publication.
fn microdata(dom: &Dom, order: Order) -> Option<String> {
    let mut created = None;
    for id in dom.descendants(dom.root()) {
        let marked = dom
            .attr(id, "itemprop")
            .or_else(|| dom.attr(id, "property"));
        let class = |name: &str| {
            let class = dom.attr(id, "class").unwrap_or_default();
            class.split_ascii_whitespace().any(|it| it == name)
        };
        let marked = marked.map(|it| it.rsplit(':').next().unwrap_or(it));
        let published = marked == Some("datePublished")
            || (matches!(dom.name(id), "abbr" | "time") && class("published"));
        if !published && marked != Some("dateCreated") {
            continue;
        }
        let said = ["content", "datetime", "title"]
            .iter()
            .find_map(|it| dom.attr(id, it));
        let text = || dates::normalise_in(&dom.text_within(id, MOST), order);
        let found = said
            .and_then(|it| dates::normalise_in(it, order))
            .or_else(text);
        if published && found.is_some() {
            return found;
        }
        created = created.or(found);
    }
    created
}

/// A date that stands somewhere in the page.
struct Dated {
    date: String,
    source: &'static str,
    worth: i32,
}

/// The date that stands most like a dateline.
fn dateline(dom: &Dom, flat: &[Flat], meta: &Metadata) -> Option<(String, &'static str)> {
    let title = title_at(flat, meta);
    let order = meta.dates.order;
    let mut worths = Worths {
        dom,
        flat,
        title,
        of_block: HashMap::new(),
        stale: HashMap::new(),
    };
    let mut all: Vec<Dated> = Vec::new();
    for (at, block) in flat.iter().enumerate() {
        if block.kind == BlockKind::Code || !block.text.contains(|it: char| it.is_ascii_digit()) {
            continue;
        }
        let opens = title.is_some_and(|it| (1..=2).contains(&at.saturating_sub(it)));
        let said = match block.words > MAX_WORDS {
            false => block.text.as_str(),
            true if opens => head(&block.text),
            true => continue,
        };
        if let Some(date) = dates::normalise_in(said, order).filter(|it| of_the_web(it)) {
            let worth = worths.of_block(at) - i32::from(block.words > 12) * 2;
            all.push(Dated {
                date,
                source: "text",
                worth,
            });
        }
    }
    let blocks: HashMap<NodeId, usize> = flat
        .iter()
        .enumerate()
        .rev()
        .map(|(at, it)| (it.node, at))
        .collect();
    for id in dom.descendants(dom.root()) {
        let time = dom.name(id) == "time";
        if !time && !is_named_date(dom, id) {
            continue;
        }
        let said = dom.attr(id, "datetime").and_then(dates::normalise);
        let text = || Some(dom.text_within(id, MOST)).filter(|it| time || it.len() < MAX_NAMED);
        let date = said.or_else(|| dates::normalise_in(&text()?, order));
        let mut around = std::iter::successors(Some(id), |it| dom.parent(*it)).take(6);
        let stood = around.find_map(|it| blocks.get(&it).copied());
        if let (Some(date), Some(at)) = (date, stood) {
            let worth = 3 + worths.of_block(at) - 4 * i32::from(worths.is_stale(id));
            all.push(Dated {
                date,
                source: if time { "time" } else { "text" },
                worth,
            });
        }
    }
    // The first of the worthiest; one that is worth little must at least stand alone.
    let best = all.iter().rev().max_by_key(|it| it.worth)?;
    let alone = || {
        let rivals = all.iter().filter(|it| it.worth == best.worth);
        best.worth >= 0 && rivals.clone().all(|it| it.date == best.date)
    };
    (best.worth >= ENOUGH || alone()).then(|| (best.date.clone(), best.source))
}

/// Whether an element's class says that it holds a date: it may stand within a heading or a line of
/// many words.
fn is_named_date(dom: &Dom, id: NodeId) -> bool {
    let class = dom.attr(id, "class").unwrap_or_default();
    let named = |it: &str| matches!(it, "date" | "time" | "datum" | "timestamp" | "pubdate");
    class.split(|it: char| !it.is_ascii_alphabetic()).any(named)
}

/// Bytes of a longer text of such an element are more than a date.
const MAX_NAMED: usize = 60;

/// The first words of a paragraph, where a place and a date may stand.
fn head(text: &str) -> &str {
    let end = text.char_indices().nth(48);
    end.map_or(text, |it| &text[..it.0])
}

/// Pages are younger than the web.
fn of_the_web(date: &str) -> bool {
    date >= "1995"
}

/// How much like a dateline's the places of dates are. Many dates may stand in one block or one element, so each is looked
/// through once.
struct Worths<'a> {
    dom: &'a Dom,
    flat: &'a [Flat],
    title: Option<usize>,
    of_block: HashMap<usize, i32>,
    stale: HashMap<NodeId, bool>,
}

impl Worths<'_> {
    /// How much like a dateline's the place of a date in block `at` is.
    fn of_block(&mut self, at: usize) -> i32 {
        if let Some(known) = self.of_block.get(&at) {
            return *known;
        }
        let worth = self.worth(at);
        self.of_block.insert(at, worth);
        worth
    }

    fn worth(&mut self, at: usize) -> i32 {
        let block = &self.flat[at];
        let title = self.title;
        // A dateline above the title stands right above it.
        let near = title.map_or(99, |title| match at.checked_sub(title) {
            Some(below) => below,
            None => 2 * (title - at),
        });
        let mut worth = match near {
            0..=2 => 6,
            3..=6 => 5,
            7..=15 => 3,
            16..=40 => 1,
            _ => 0,
        };
        let lower = block.text.to_lowercase();
        let labelled = LABELS.iter().any(|it| lower.contains(it));
        worth += 3 * i32::from(labelled || block.near & chrome::META != 0);
        let stale = STALE.iter().any(|it| lower.contains(it));
        worth -= 4 * i32::from(!labelled && (stale || self.is_stale(block.node)));
        let elsewhere = chrome::COMMENTS
            | chrome::RELATED
            | chrome::SIDEBAR
            | chrome::FOOTER
            | chrome::NAV
            | chrome::ASIDE
            | chrome::ADVERT;
        // What holds the title too says nothing against a block.
        let shared = title.map_or(0, |it| self.flat[it].hints);
        worth -= 6 * i32::from(block.hints & !shared & elsewhere != 0);
        worth - 2 * i32::from(block.near & chrome::CARD != 0)
    }

    /// Whether the element's class says that it holds the date of a change.
    fn is_stale(&mut self, id: NodeId) -> bool {
        let dom = self.dom;
        *self.stale.entry(id).or_insert_with(|| {
            let class = dom.attr(id, "class").unwrap_or_default();
            ["updated", "modified"].iter().any(|it| class.contains(it))
                && !class.contains("published")
        })
    }
}

/// What stands before a date of publication, in the languages of [`dates`].
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

/// What stands before a date of change.
const STALE: &[&str] = &[
    "updated",
    "modified",
    "aktualisiert",
    "mis à jour",
    "actualizado",
    "aggiornato",
    "geändert",
];

/// The block that is the page's title: of those that stand in the title whole the longest, a heading
/// before others.
fn title_at(flat: &[Flat], meta: &Metadata) -> Option<usize> {
    let title = meta.title.as_deref().unwrap_or_default().to_lowercase();
    let heading = |it: &Flat| it.kind == BlockKind::Heading;
    let named = flat.iter().enumerate().rev().filter(|(_, it)| {
        (2..MAX_WORDS).contains(&it.words) && title.contains(&it.text.to_lowercase())
    });
    let named = named.max_by_key(|(_, it)| (heading(it), it.words));
    let first = || flat.iter().position(|it| heading(it) && it.level == 1);
    named.map(|it| it.0).or_else(first)
}
