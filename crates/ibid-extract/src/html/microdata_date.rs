//! The date of publication in microdata, RDFa and microformats.
use std::collections::{BTreeSet, HashMap, HashSet};

use super::blocks::FlatBlock;
use super::dom::{Dom, NodeId};
use super::element_hints::{self, HintCache, Hints};
use super::metadata::MAX_ELEMENT_TEXT;
use crate::dates::{self, DateOrder};

/// Levels up from a marked element that say whether it belongs to a comment or another page.
const MAX_LEVELS: usize = 48;
/// Levels from an element up to the block that contains it.
pub(super) const MAX_LEVELS_UP: usize = 6;
/// What belongs to the dates of others.
const OTHERS: Hints = element_hints::COMMENTS
    | element_hints::RELATED
    | element_hints::SIDEBAR
    | element_hints::ASIDE
    | element_hints::NAV
    | element_hints::PRODUCT;
/// Properties of a date of publication and of creation, in lower case.
const PUBLISHED: &[&str] = &["datepublished", "published", "issued"];
const CREATED: &[&str] = &["datecreated", "created"];
/// Classes of microformats and of common themes that mark the date of publication of the page.
const CLASSES: &[&str] =
    &["published", "dt-published", "date-published", "entry-date", "entry-time"];
/// Attributes with a date that a machine can read.
pub(super) const ATTRIBUTES: &[&str] = &["content", "datetime", "title"];

/// The first date that is marked as that of publication, else the first marked as that of creation. A date in a comment or in
/// a list of other pages is not that of the page. `shared` are the hints that the title has too.
pub(super) fn find(dom: &Dom, order: DateOrder, shared: Hints) -> Option<String> {
    let mut created = None;
    let mut others =
        UnrelatedContentFinder { dom, shared, seen: HintCache::new(), known: HashMap::new() };
    for id in dom.descendants(dom.root()) {
        let Some(published) = marks_publication(dom, id) else {
            continue;
        };
        if !published && created.is_some() {
            continue;
        }
        let value = ATTRIBUTES.iter().find_map(|name| dom.attr(id, name));
        let text = || dates::normalise_with_order(&dom.text_within(id, MAX_ELEMENT_TEXT), order);
        let found = value.and_then(|value| dates::normalise_with_order(value, order)).or_else(text);
        if found.is_none() || others.contains(id) {
            continue;
        }
        if published {
            return found;
        }
        created = found;
    }
    created
}

/// The date of the `<time>` elements that are not shown, if they all say the same.
pub(super) fn only_hidden_time(dom: &Dom, flat: &[FlatBlock], shared: Hints) -> Option<String> {
    let shown: HashSet<NodeId> = flat.iter().map(|block| block.node).collect();
    let mut others =
        UnrelatedContentFinder { dom, shared, seen: HintCache::new(), known: HashMap::new() };
    let mut found = BTreeSet::new();
    for id in dom.descendants(dom.root()).filter(|id| dom.name(*id) == "time") {
        let mut up = std::iter::successors(Some(id), |it| dom.parent(*it)).take(MAX_LEVELS_UP);
        if up.any(|it| shown.contains(&it)) || others.contains(id) {
            continue;
        }
        found.extend(dom.attr(id, "datetime").and_then(dates::normalise));
        if found.len() > 1 {
            return None;
        }
    }
    found.into_iter().next()
}

/// Whether an element is marked as the date of publication; `Some(false)` if as that of creation.
fn marks_publication(dom: &Dom, id: NodeId) -> Option<bool> {
    let marked = dom.attr(id, "itemprop").or_else(|| dom.attr(id, "property"));
    let mut created = false;
    for word in marked.unwrap_or_default().split_ascii_whitespace() {
        let name = word.rsplit(':').next().unwrap_or(word).to_ascii_lowercase();
        if PUBLISHED.contains(&name.as_str()) {
            return Some(true);
        }
        created |= CREATED.contains(&name.as_str());
    }
    if created {
        return Some(false);
    }
    let name = dom.name(id);
    if name == "time" && dom.attr(id, "pubdate").is_some() {
        return Some(true);
    }
    let class = matches!(name, "abbr" | "time").then(|| dom.attr(id, "class"))??;
    let published = class.split_ascii_whitespace().any(|word| CLASSES.contains(&word));
    published.then_some(true)
}

/// Finds the parts of a page that belong to comments, to other pages or to sidebars.
struct UnrelatedContentFinder<'a> {
    dom: &'a Dom,
    shared: Hints,
    seen: HintCache<'a>,
    known: HashMap<NodeId, bool>,
}

impl UnrelatedContentFinder<'_> {
    fn contains(&mut self, id: NodeId) -> bool {
        let up: Vec<NodeId> =
            std::iter::successors(Some(id), |it| self.dom.parent(*it)).take(MAX_LEVELS).collect();
        let mut inside = false;
        let mut told = up.len();
        for (level, it) in up.iter().enumerate() {
            inside = self.known.get(it).copied().unwrap_or_else(|| self.is_of_others(*it));
            if inside || self.known.contains_key(it) {
                told = level + 1;
                break;
            }
        }
        self.known.extend(up.iter().take(told).map(|it| (*it, inside)));
        inside
    }

    /// Whether an element itself says so.
    fn is_of_others(&mut self, id: NodeId) -> bool {
        if matches!(self.dom.name(id), "body" | "html") {
            return false;
        }
        let kind = self.dom.attr(id, "itemtype").unwrap_or_default();
        ["Comment", "Review", "Answer"].iter().any(|it| kind.contains(it))
            || element_hints::hints_of_element(self.dom, id, &mut self.seen) & OTHERS & !self.shared
                != 0
    }
}
