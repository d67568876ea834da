//! Finds the date of publication of a page, and its source.
//!
//! A date in the page's address comes first: it is the day in the author's time zone, and machine-readable times may be in
//! another. Then machine-readable dates: JSON-LD, meta elements, microdata. A time in UTC gives way to a dateline of the day
//! before or after, if it may have been that day where the author is. Then visible dates: of all dates in `<time>` or in a short
//! visible block, the one whose place is most like that of a dateline, which is below or just above the title and outside
//! comments and lists of other pages, and whose label is that of a publication. Last, data of scripts, times that are not shown,
//! and the day of the last change. A year alone, as in a copyright notice, is no date.
use std::collections::HashMap;

use super::blocks::FlatBlock;
use super::date_labels::{self, DateRole};
use super::dom::{Dom, NodeId};
use super::element_hints::{self, Hints};
use super::json_dates;
use super::metadata::{MAX_ELEMENT_TEXT, Metadata, StatedDate};
use super::microdata_date::{self, MAX_LEVELS_UP};
use crate::dates::{self, DateMatch, DateOrder};
use crate::language;
use ibid_core::domain::BlockKind;

/// Words; a longer block is a paragraph, and a date in it belongs to its content.
const MAX_WORDS: u32 = 40;
/// Words; a date in a longer block scores less.
const MAX_DATELINE_WORDS: u32 = 12;
/// The score from which a visible date counts.
const MIN_SCORE: i32 = 3;
/// The score of a date right beside the title in an element or with a label of a dateline.
const SURE_SCORE: i32 = 9;
/// What a date inside a part of others loses against other dates.
const FOREIGN_COST: i32 = 3;
/// What a label or class of a change takes from the score of a date.
const STALE_COST: i32 = 4;
/// Characters of the text of an element whose class names a date; a longer text is more than a date.
const MAX_NAMED: usize = 60;
/// Characters at the beginning of a paragraph where a place and a date may be.
const DATELINE_CHARS: usize = 48;
/// Dates of one block that are considered.
const MAX_IN_BLOCK: usize = 4;
/// Blocks with dates that are considered: a page with more is a table or a list.
const MAX_DATED_BLOCKS: usize = 1_000;
/// Words of a block that may be the label of the date in the next block.
const MAX_LABEL_WORDS: u32 = 4;
/// Attributes with the time of an element for scripts, in seconds or milliseconds or as a date.
const TIME_ATTRIBUTES: &[&str] =
    &["data-utime", "data-timestamp", "data-time", "data-datetime", "data-date", "data-published"];

/// The date and its source: `json-ld`, `meta`, `microdata`, `url`, `time`, `text`, `script` or `modified`.
pub(super) fn find(
    dom: &Dom,
    flat: &[FlatBlock],
    meta: &Metadata,
    address: &str,
) -> Option<(String, &'static str)> {
    let stated = &meta.dates;
    let latest = tomorrow();
    let possible = |date: &String| *date <= latest && !NO_TIMES.contains(&date.as_str());
    let own = meta.canonical.as_deref().unwrap_or_default();
    let order = order_of(flat, meta, address);
    let title = title_at(flat, meta);
    // Hints that the title has too mean nothing.
    let shared = title.map_or(0, |title| flat[title].hints);
    let visible = || dateline(dom, flat, title, order);
    let in_address = dates::from_url(address).or_else(|| dates::from_url(own));
    if let Some(date) = in_address.filter(possible) {
        return Some((date, "url"));
    }
    let read = [
        (&stated.json_ld, "json-ld", false),
        (&stated.meta, "meta", false),
        (&stated.weak_meta, "meta", true),
    ];
    let mut read = read.into_iter().filter_map(|it| Some((it.0.as_ref()?, it.1, it.2)));
    if let Some((it, source, weak)) = read.find(|it| possible(&it.0.date)) {
        let local = local_day(it);
        let better =
            |shown: &Dateline| weak && shown.is_sure || Some(&shown.date) == local.as_ref();
        let shown = if weak || local.is_some() { visible().filter(better) } else { None };
        return Some(shown.map_or((it.date.clone(), source), |shown| (shown.date, shown.source)));
    }
    let marked = || Some((microdata_date::find(dom, order, shared).filter(possible)?, "microdata"));
    let hidden =
        || Some((microdata_date::only_hidden_time(dom, flat, shared).filter(possible)?, "time"));
    let script = || Some((json_dates::only_date_in_scripts(dom).filter(possible)?, "script"));
    let modified = || Some((stated.modified.clone().filter(possible)?, "modified"));
    marked()
        .or_else(|| visible().map(|shown| (shown.date, shown.source)))
        .or_else(script)
        .or_else(hidden)
        .or_else(modified)
        .or_else(|| Some((dates::from_query(address).filter(possible)?, "url")))
}

/// The other day that it may have been where the author is: the day before in America, the day after in Asia and Australia.
fn local_day(stated: &StatedDate) -> Option<String> {
    let days = match stated.utc_hour? {
        ..10 => -1,
        15.. => 1,
        _ => return None,
    };
    dates::days_later(&stated.date, days)
}

/// What a time of zero or a forgotten one looks like as a date.
const NO_TIMES: [&str; 3] = ["1969-12-31", "1970-01-01", "1900-01-01"];

/// The last day that it is today anywhere.
fn tomorrow() -> String {
    let now = jiff::Timestamp::now().as_second() + 86_400;
    dates::from_unix(now).unwrap_or_default()
}

/// The order of `05/03/2024`: as the stated language of the page says, else its country, else as its other dates show, else as
/// the language of its text says, which many pages state wrongly.
fn order_of(flat: &[FlatBlock], meta: &Metadata, address: &str) -> DateOrder {
    let by_language = meta.lang.as_deref().map_or(DateOrder::Unknown, DateOrder::from_lang);
    let stated = [meta.dates.order, by_language, DateOrder::from_host(address)];
    let known = stated.into_iter().find(|order| *order != DateOrder::Unknown);
    let short = flat.iter().filter(|block| block.words <= MAX_WORDS && has_digit(&block.text));
    let shown = || {
        let orders = short.take(MAX_DATED_BLOCKS).map(|block| dates::order_shown(&block.text));
        orders.into_iter().find(|order| *order != DateOrder::Unknown)
    };
    let detected = || {
        let language = language::detect(flat.iter().map(|block| block.text.as_str()))?;
        Some(DateOrder::from_lang(&language))
    };
    known.or_else(shown).or_else(detected).unwrap_or_default()
}

/// A visible date.
struct DateCandidate {
    date: String,
    source: &'static str,
    score: i32,
    /// Whether its label says that it is the day of publication or of a change, and it is not in a comment or the like.
    is_labelled: bool,
    is_updated: bool,
    is_foreign: bool,
}

/// The visible date that was chosen.
struct Dateline {
    date: String,
    source: &'static str,
    /// Whether it is near the title, and marked or labelled as a date.
    is_sure: bool,
}

/// The visible date whose place is most like that of a dateline.
fn dateline(
    dom: &Dom,
    flat: &[FlatBlock],
    title: Option<usize>,
    order: DateOrder,
) -> Option<Dateline> {
    let mut scorer = DatelineScorer {
        dom,
        flat,
        title,
        shared: title.map_or(0, |title| flat[title].hints),
        places: HashMap::new(),
        stale: HashMap::new(),
        roles: HashMap::new(),
    };
    let latest = tomorrow();
    let mut all = dates_in_blocks(flat, order, &mut scorer);
    all.extend(dates_in_elements(dom, flat, order, &mut scorer));
    all.retain(|it| is_plausible(&it.date, &latest));
    // The first of those with the highest score. A date with a low score counts only if it is the only one.
    let best =
        all.iter().rev().max_by_key(|it| it.score - FOREIGN_COST * i32::from(it.is_foreign))?;
    let alone = || {
        let rivals = all.iter().filter(|it| it.score == best.score);
        best.score >= 0 && rivals.clone().all(|rival| rival.date == best.date)
    };
    if best.score >= MIN_SCORE || alone() {
        let is_sure = best.score >= SURE_SCORE && !best.is_foreign;
        return Some(Dateline { date: best.date.clone(), source: best.source, is_sure });
    }
    // A labelled date at the foot may be all that a page says, mostly that of the last change.
    let mut labelled = all.iter().filter(|it| it.is_labelled);
    let first = labelled.next()?;
    let source = if first.is_updated { "modified" } else { first.source };
    let only = labelled.all(|it| it.date == first.date);
    only.then(|| Dateline { date: first.date.clone(), source, is_sure: false })
}

/// The dates in short visible blocks, and at the beginning of a paragraph right below the title.
fn dates_in_blocks(
    flat: &[FlatBlock],
    order: DateOrder,
    scorer: &mut DatelineScorer<'_>,
) -> Vec<DateCandidate> {
    let mut found = Vec::new();
    let mut dated = 0;
    for (at, block) in flat.iter().enumerate() {
        if block.kind == BlockKind::Code || !has_digit(&block.text) {
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
        let text = dates::with_ascii_digits(text);
        let dates = dates::all_dates(&text, order);
        dated += usize::from(!dates.is_empty());
        if dated > MAX_DATED_BLOCKS {
            break;
        }
        let before = at.checked_sub(1).map(|it| &flat[it]);
        let label = before.filter(|it| it.words <= MAX_LABEL_WORDS && !has_digit(&it.text));
        let roles = roles_of(&text, &dates, label.map_or("", |block| block.text.as_str()));
        let is_long = block.words > MAX_DATELINE_WORDS;
        for (date, role) in dates.into_iter().zip(roles).take(MAX_IN_BLOCK) {
            scorer.roles.entry((at, date.date.clone())).or_insert(role);
            let score = scorer.score(at, role) - i32::from(is_long) * 3;
            found.push(DateCandidate {
                date: date.date,
                source: "text",
                score,
                is_labelled: scorer.is_labelled(at, role, score),
                is_updated: role == DateRole::Updated,
                is_foreign: scorer.known_place(at).foreign,
            });
        }
    }
    found
}

/// What each date of a text is the day of. The label of the first may be in the block before.
fn roles_of(text: &str, dates: &[DateMatch], label: &str) -> Vec<DateRole> {
    let (mut start, mut labels_follow) = (0, false);
    let ends = dates.iter().skip(1).map(|it| it.start).chain([text.len()]);
    let roles = dates.iter().zip(ends).take(MAX_IN_BLOCK).map(|(date, end)| {
        let before = text.get(start..date.start).unwrap_or_default();
        let after = text.get(date.end..end).unwrap_or_default();
        let unlabelled = start == 0 && !before.contains(char::is_alphabetic);
        start = date.end;
        // Where labels follow, what is before a date is the label of another.
        let by_before =
            if labels_follow { DateRole::Unknown } else { date_labels::role_after(before) };
        if by_before != DateRole::Unknown {
            return by_before;
        }
        let by_after = date_labels::role_before(after);
        labels_follow |= by_after != DateRole::Unknown;
        match by_after {
            DateRole::Unknown if unlabelled && !label.is_empty() => date_labels::role_after(label),
            DateRole::Unknown if dates.len() == 1 => date_labels::role_of_line(text),
            role => role,
        }
    });
    roles.collect()
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
        let time = matches!(dom.name(id), "time" | "relative-time" | "time-ago" | "local-time");
        if !(time || dom.name(id) == "abbr" || is_named_date(dom, id)) {
            continue;
        }
        let text = || {
            let text = dom.text_within(id, MAX_ELEMENT_TEXT);
            Some(text).filter(|it| time || it.chars().nth(MAX_NAMED).is_none())
        };
        let date =
            stated_time(dom, id, order).or_else(|| dates::normalise_with_order(&text()?, order));
        let mut up = std::iter::successors(Some(id), |it| dom.parent(*it)).take(MAX_LEVELS_UP);
        let block = up.find_map(|it| blocks.get(&it).copied());
        if let (Some(date), Some(at)) = (date, block) {
            let role = scorer.roles.get(&(at, date.clone())).copied().unwrap_or(DateRole::Unknown);
            let stale = role != DateRole::Published && scorer.is_stale(id);
            let score = scorer.score(at, role);
            found.push(DateCandidate {
                date,
                source: if time { "time" } else { "text" },
                score: 3 + score - STALE_COST * i32::from(stale),
                is_labelled: scorer.is_labelled(at, role, score),
                is_updated: role == DateRole::Updated,
                is_foreign: scorer.known_place(at).foreign,
            });
        }
    }
    found
}

/// The date in the attributes of an element.
fn stated_time(dom: &Dom, id: NodeId, order: DateOrder) -> Option<String> {
    let read = ["datetime", "title"]
        .iter()
        .find_map(|name| dates::normalise_with_order(dom.attr(id, name)?, order));
    read.or_else(|| {
        TIME_ATTRIBUTES.iter().find_map(|name| {
            let value = dom.attr(id, name)?.trim();
            let time =
                value.parse::<i64>().ok().filter(|_| matches!(value.len(), 9..=10 | 12..=13));
            time.and_then(dates::from_unix).or_else(|| dates::normalise(value))
        })
    })
}

/// Whether an element's class says that it holds a date. It may be inside a heading or a line of many words.
fn is_named_date(dom: &Dom, id: NodeId) -> bool {
    let class = dom.attr(id, "class").unwrap_or_default();
    let named = |word: &str| DATE_WORDS.iter().any(|it| it.eq_ignore_ascii_case(word));
    class.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
        // `postDate` and `PublishDate`.
        let last = word.rfind(|c: char| c.is_ascii_uppercase()).unwrap_or(0);
        named(word) || named(&word[last..])
    })
}

/// Words in the classes of elements with a date.
const DATE_WORDS: &[&str] = &[
    "date",
    "time",
    "datum",
    "timestamp",
    "pubdate",
    "dateline",
    "datetime",
    "fecha",
    "published",
    "posted",
    "postdate",
    "postdatum",
    "publishdate",
    "publishtime",
    "pubtime",
    "entrydate",
    "articledate",
    "newsdate",
    "datepublished",
    "relativetime",
];

fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit() || !c.is_ascii() && c.is_numeric())
}

/// The first [`HEAD`] characters of a text.
fn head(text: &str) -> &str {
    let end = text.char_indices().nth(DATELINE_CHARS);
    end.map_or(text, |pair| &text[..pair.0])
}

/// Whether a page can have been published then: there were few web pages before 1995.
fn is_plausible(date: &str, latest: &str) -> bool {
    ("1995"..=latest).contains(&date)
}

/// Scores how much the place of a date is like that of a dateline. Many dates may be in one block or element, so the score of
/// each is computed once.
struct DatelineScorer<'a> {
    dom: &'a Dom,
    flat: &'a [FlatBlock],
    title: Option<usize>,
    /// Hints that the title has, which mean nothing elsewhere.
    shared: Hints,
    places: HashMap<usize, DatePlace>,
    stale: HashMap<NodeId, bool>,
    /// What the dates of blocks are the days of.
    roles: HashMap<(usize, String), DateRole>,
}

/// Parts of a page with the dates of others.
const FOREIGN: Hints = element_hints::COMMENTS
    | element_hints::RELATED
    | element_hints::SIDEBAR
    | element_hints::NAV
    | element_hints::ASIDE
    | element_hints::ADVERT
    | element_hints::PRODUCT;

/// Where a block is.
#[derive(Clone, Copy)]
struct DatePlace {
    score: i32,
    /// Whether an element around it says that it holds a dateline.
    named: bool,
    /// Whether it belongs to a comment, another page or what is beside the text.
    foreign: bool,
    /// Whether its class says that it holds the date of a change.
    stale: bool,
}

impl DatelineScorer<'_> {
    /// Whether a date with a role and a score in block `at` is the page's own and has a label, and is not part of a sentence.
    fn is_labelled(&mut self, at: usize, role: DateRole, score: i32) -> bool {
        let labelled = matches!(role, DateRole::Published | DateRole::Updated);
        let dateline = score >= -STALE_COST || self.flat[at].words <= MAX_DATELINE_WORDS;
        labelled && dateline && !self.known_place(at).foreign
    }

    fn known_place(&mut self, at: usize) -> DatePlace {
        if let Some(known) = self.places.get(&at) {
            return *known;
        }
        let place = self.place(at);
        self.places.insert(at, place);
        place
    }

    /// The score of a date with a role in block `at`.
    fn score(&mut self, at: usize, role: DateRole) -> i32 {
        let place = self.known_place(at);
        let published = role == DateRole::Published;
        let stale = !published && (role == DateRole::Updated || place.stale);
        place.score + 3 * i32::from(published || place.named)
            - STALE_COST * i32::from(stale)
            - 6 * i32::from(role == DateRole::Other)
    }

    fn place(&mut self, at: usize) -> DatePlace {
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
        let hints = block.hints & !self.shared;
        let foreign = hints & FOREIGN != 0;
        score -= 6 * i32::from(foreign || hints & element_hints::FOOTER != 0);
        score -= 2 * i32::from(block.near & element_hints::CARD != 0);
        let named = block.near & element_hints::META != 0;
        DatePlace { score, named, foreign, stale: self.is_stale(block.node) }
    }

    /// Whether an element's class says that it holds the date of a change.
    fn is_stale(&mut self, id: NodeId) -> bool {
        let dom = self.dom;
        *self.stale.entry(id).or_insert_with(|| {
            let class = dom.attr(id, "class").unwrap_or_default();
            ["updated", "modified", "lastmod", "last-mod"].iter().any(|it| class.contains(it))
                && !class.contains("published")
        })
    }
}

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
