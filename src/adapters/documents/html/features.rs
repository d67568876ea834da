//! What can be told of a block from where it stands, in numbers.
//!
//! The list is that of text-block classifiers since Kohlschütter, Fankhauser & Nejdl, "Boilerplate
//! detection using shallow text features" (WSDM 2010): words, link density and neighbours; with
//! the hints of tags, roles and class names, the shares of the containers around, and how often a
//! block's pattern repeats on the page.
use std::collections::HashMap;

use super::blocks::Flat;
use super::chrome::{self, HINTS};
use super::dom::{Dom, NodeId};
use super::metadata::Metadata;
use crate::domain::BlockKind;

/// Numbers that describe one block.
pub(crate) const FEATURES: usize = 2 * HINTS + 85;

/// One block in numbers.
pub(crate) type Row = [f32; FEATURES];

/// Describes every block of a page.
pub(super) fn describe(dom: &Dom, flat: &[Flat], meta: &Metadata) -> Vec<Row> {
    if flat.is_empty() {
        return Vec::new();
    }
    let page = Page::of(dom, flat, meta);
    let mut rows: Vec<Row> = Vec::with_capacity(flat.len());
    for at in 0..flat.len() {
        let mut put = Put {
            row: [0.0; FEATURES],
            next: 0,
        };
        hints(&mut put, &flat[at]);
        words(&mut put, &flat[at]);
        place(&mut put, &page, flat, at);
        neighbours(&mut put, flat, at);
        containers(&mut put, &page, dom, &flat[at]);
        pattern(&mut put, &page, flat, at);
        summary(&mut put, &page, at);
        whole_page(&mut put, &page);
        debug_assert!(put.next <= FEATURES, "{}", put.next);
        rows.push(put.row);
    }
    rows
}

struct Put {
    row: Row,
    next: usize,
}

impl Put {
    fn put(&mut self, value: f32) {
        if let Some(slot) = self.row.get_mut(self.next) {
            *slot = value;
        }
        self.next += 1;
    }
    fn flag(&mut self, value: bool) {
        self.put(f32::from(u8::from(value)));
    }
    fn ratio(&mut self, part: u32, whole: u32) {
        self.put(part as f32 / whole.max(1) as f32);
    }
    fn log(&mut self, value: u32) {
        self.put((value as f32).ln_1p());
    }
}

fn hints(put: &mut Put, block: &Flat) {
    for bit in 0..HINTS {
        put.flag(block.hints & (1 << bit) != 0);
    }
    for bit in 0..HINTS {
        put.flag(block.near & (1 << bit) != 0);
    }
}

/// Words that stand in the furniture of pages rather than in their text.
const FURNITURE: &[&str] = &[
    "cookie",
    "privacy",
    "terms of",
    "copyright",
    "©",
    "all rights reserved",
    "subscribe",
    "sign up",
    "sign in",
    "log in",
    "login",
    "newsletter",
    "share",
    "follow us",
    "add to cart",
    "add to bag",
    "read more",
    "learn more",
    "click here",
    "comments",
    "reply",
    "advertis",
    "related",
    "view all",
    "see all",
    "shop now",
    "buy now",
    "show more",
    "load more",
    "skip to",
    "back to",
    "powered by",
    "contact us",
    "posted",
    "tags:",
    "sponsored",
    "you may also",
    "recommended",
    "sort by",
    "filter",
    "free shipping",
    "wishlist",
    "download",
    "browse",
];

fn words(put: &mut Put, block: &Flat) {
    put.log(block.words);
    put.ratio(block.linked, block.words);
    put.put(match block.kind {
        BlockKind::Prose => 0.0,
        BlockKind::ListItem => 1.0,
        BlockKind::TableRow => 2.0,
        BlockKind::Code => 3.0,
        BlockKind::Heading => 4.0 + f32::from(block.level),
        BlockKind::Comment => 11.0,
    });
    put.put(f32::from(block.level));
    let text = block.text.as_str();
    let (mut upper, mut digits, mut letters, mut marks, mut stops) = (0, 0, 0, 0, 0);
    for c in text.chars() {
        if c.is_alphabetic() {
            letters += 1;
            upper += u32::from(c.is_uppercase());
        } else if c.is_ascii_digit() {
            digits += 1;
        } else if matches!(c, ',' | ';' | '、' | '，') {
            marks += 1;
        } else if matches!(c, '.' | '!' | '?' | '。') {
            stops += 1;
        }
    }
    put.ratio(upper, letters);
    put.ratio(digits, letters + digits);
    put.ratio(marks, block.words);
    put.ratio(stops, block.words);
    put.ratio(letters, block.words);
    put.flag(text.ends_with(['.', '!', '?', '。', '”', '"', ':', '…']));
    put.flag(text.contains(['$', '€', '£', '¥']));
    put.flag(text.contains(['|', '›', '»', '→', '·', '•']));
    let furniture = if block.words <= 40 {
        let lower = text.to_lowercase();
        FURNITURE.iter().filter(|it| lower.contains(**it)).count() as u32
    } else {
        0
    };
    put.put(furniture as f32);
}

/// What is counted once a page.
struct Page<'a> {
    total: u32,
    linked: u32,
    prose: u32,
    before: Vec<u32>,
    first_h1: Option<usize>,
    /// Words, linked words and blocks below each node that holds any.
    below: Vec<Sums>,
    best: Option<NodeId>,
    patterns: HashMap<u64, Sums>,
    pattern_of: Vec<u64>,
    texts: HashMap<&'a str, u32>,
    in_main: u32,
    in_body_text: u32,
    in_post: u32,
    in_card: u32,
    lists: u32,
    title: String,
    kinds: [bool; 5],
    /// Blocks that the page's own description quotes.
    quoted: Vec<bool>,
    first_quoted: Option<usize>,
    address: [bool; 5],
    prices: u32,
    cart: bool,
    repeats: u32,
    headings: u32,
    talk: u32,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    words: u32,
    linked: u32,
    blocks: u32,
    prose: u32,
}

impl Sums {
    fn add(&mut self, block: &Flat) {
        self.words += block.words;
        self.linked += block.linked;
        self.blocks += 1;
        if is_prose(block) {
            self.prose += block.words;
        }
    }
}

fn is_prose(block: &Flat) -> bool {
    block.words >= 10 && block.linked * 3 <= block.words
}

impl<'a> Page<'a> {
    fn of(dom: &Dom, flat: &'a [Flat], meta: &Metadata) -> Page<'a> {
        let with = |hint: u32| -> u32 {
            let inside = flat.iter().filter(|it| it.hints & hint != 0);
            inside.map(|it| it.words).sum()
        };
        let kind = |names: &[&str]| {
            meta.types
                .iter()
                .any(|it| names.iter().any(|name| it.contains(name)))
        };
        let quoted: Vec<bool> = flat.iter().map(|it| is_quoted(it, meta)).collect();
        let has = |it: &Flat, names: &[&str]| {
            let lower = it.text.to_lowercase();
            it.words < 12 && names.iter().any(|name| lower.contains(name))
        };
        let counted =
            |test: &dyn Fn(&Flat) -> bool| flat.iter().filter(|it| test(it)).count() as u32;
        let mut page = Page {
            first_quoted: quoted.iter().position(|it| *it),
            quoted,
            address: address_kinds(meta.canonical.as_deref().unwrap_or_default()),
            prices: counted(&|it| it.words < 12 && it.text.contains(['$', '€', '£'])),
            cart: flat.iter().any(|it| {
                has(
                    it,
                    &[
                        "add to cart",
                        "add to bag",
                        "buy now",
                        "add to basket",
                        "in den warenkorb",
                    ],
                )
            }),
            repeats: 0,
            headings: counted(&|it| it.kind == BlockKind::Heading),
            talk: counted(&|it| {
                has(
                    it,
                    &[
                        "reply", "quote", "posted", "joined", "likes", "upvote", "answered",
                    ],
                )
            }),
            total: flat.iter().map(|it| it.words).sum(),
            linked: flat.iter().map(|it| it.linked).sum(),
            prose: flat
                .iter()
                .filter(|it| is_prose(it))
                .map(|it| it.words)
                .sum(),
            before: Vec::with_capacity(flat.len()),
            first_h1: flat
                .iter()
                .position(|it| it.kind == BlockKind::Heading && it.level == 1),
            below: vec![Sums::default(); dom.len()],
            best: None,
            patterns: HashMap::new(),
            pattern_of: Vec::with_capacity(flat.len()),
            texts: HashMap::new(),
            in_main: with(chrome::MAIN | chrome::ARTICLE),
            in_body_text: with(chrome::BODY_TEXT),
            in_post: with(chrome::POST | chrome::COMMENTS),
            in_card: with(chrome::CARD | chrome::PRODUCT),
            lists: flat
                .iter()
                .filter(|it| it.kind == BlockKind::ListItem)
                .map(|it| it.words)
                .sum(),
            title: meta.title.clone().unwrap_or_default().to_lowercase(),
            kinds: [
                kind(&["article", "posting", "report", "recipe"]),
                kind(&["product", "offer"]),
                kind(&["forum", "qapage", "discussion", "question"]),
                kind(&["collection", "itemlist", "searchresults"]),
                kind(&["website", "organization", "business", "service"]),
            ],
        };
        let mut seen = 0;
        for block in flat {
            page.before.push(seen);
            seen += block.words;
            let mut at = Some(block.node);
            while let Some(id) = at {
                page.below[id.index()].add(block);
                at = dom.parent(id);
            }
            let pattern = pattern_hash(dom, block);
            page.patterns.entry(pattern).or_default().add(block);
            page.pattern_of.push(pattern);
            *page.texts.entry(block.text.as_str()).or_default() += 1;
        }
        page.repeats = page
            .patterns
            .values()
            .map(|it| it.blocks)
            .max()
            .unwrap_or(0);
        page.best = best_container(dom, flat, &page.below);
        page
    }
}

/// The container with the most prose near it, as Readability finds it: each prose block speaks for
/// its parent in full and for its grandparent by half.
fn best_container(dom: &Dom, flat: &[Flat], below: &[Sums]) -> Option<NodeId> {
    let mut scores: HashMap<NodeId, f32> = HashMap::new();
    for block in flat.iter().filter(|it| is_prose(it)) {
        let chrome =
            chrome::NAV | chrome::FOOTER | chrome::RELATED | chrome::CONSENT | chrome::ADVERT;
        if block.hints & chrome != 0 {
            continue;
        }
        let score = (block.words as f32).min(120.0);
        let mut at = dom.parent(block.node);
        for part in [1.0, 0.5, 0.25] {
            let Some(id) = at else { break };
            *scores.entry(id).or_default() += score * part;
            at = dom.parent(id);
        }
    }
    scores
        .into_iter()
        .map(|(id, score)| {
            let sums = below[id.index()];
            (
                id,
                score * (1.0 - sums.linked as f32 / sums.words.max(1) as f32),
            )
        })
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        .map(|it| it.0)
}

/// A hash of the tags and first classes of a block's element and its three nearest ancestors:
/// the items of a list or a grid share it.
fn pattern_hash(dom: &Dom, block: &Flat) -> u64 {
    // FNV-1a: the same on every machine and in every run.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |text: &str| {
        for byte in text.bytes().chain(std::iter::once(0)) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    let mut at = Some(block.node);
    for _ in 0..4 {
        let Some(id) = at else { break };
        mix(dom.name(id));
        let class = dom.attr(id, "class").unwrap_or_default();
        mix(class.split_ascii_whitespace().next().unwrap_or_default());
        at = dom.parent(id);
    }
    hash
}

fn place(put: &mut Put, page: &Page<'_>, flat: &[Flat], at: usize) {
    put.ratio(at as u32, flat.len() as u32);
    put.ratio(page.before[at], page.total);
    put.log(at as u32);
    let first = page.first_h1;
    put.flag(first == Some(at));
    put.flag(first.is_some_and(|it| at < it));
    put.put(first.map_or(-1.0, |it| {
        (page.before[at] as f32 - page.before[it] as f32) / page.total.max(1) as f32
    }));
    let block = &flat[at];
    let titled =
        block.words >= 2 && block.words <= 30 && page.title.contains(&block.text.to_lowercase());
    put.flag(titled);
}

fn neighbours(put: &mut Put, flat: &[Flat], at: usize) {
    for step in [-2_i64, -1, 1, 2] {
        let near = usize::try_from(at as i64 + step)
            .ok()
            .and_then(|it| flat.get(it));
        put.log(near.map_or(0, |it| it.words));
        put.ratio(
            near.map_or(0, |it| it.linked),
            near.map_or(1, |it| it.words),
        );
    }
    let next = flat.get(at + 1);
    put.flag(next.is_some_and(|it| it.kind == BlockKind::Heading));
    put.flag(at > 0 && flat[at - 1].kind == BlockKind::Heading);
    for reach in [4, 12] {
        let window = &flat[at.saturating_sub(reach)..(at + reach + 1).min(flat.len())];
        let words: u32 = window.iter().map(|it| it.words).sum();
        let linked: u32 = window.iter().map(|it| it.linked).sum();
        let prose: u32 = window
            .iter()
            .filter(|it| is_prose(it))
            .map(|it| it.words)
            .sum();
        put.log(words / window.len() as u32);
        put.ratio(linked, words);
        put.ratio(prose, words);
    }
    // The text under the nearest heading above.
    let head = flat[..=at]
        .iter()
        .rposition(|it| it.kind == BlockKind::Heading);
    let section = &flat[head.unwrap_or(0)..];
    let end = section
        .iter()
        .skip(1)
        .position(|it| it.kind == BlockKind::Heading);
    let section = &section[..end.map_or(section.len(), |it| it + 1).min(60)];
    let words: u32 = section.iter().map(|it| it.words).sum();
    put.log(words);
    put.ratio(section.iter().map(|it| it.linked).sum(), words);
}

fn containers(put: &mut Put, page: &Page<'_>, dom: &Dom, block: &Flat) {
    let mut at = Some(block.node);
    let mut last = block.words;
    let mut told = 0;
    let mut in_best = 0.0_f32;
    let mut level = 0;
    let mut shares = [[1.0_f32; 4]; 4];
    let mut depth = 0_u32;
    while let Some(id) = at {
        let sums = page.below[id.index()];
        if sums.words > last && told < 4 {
            shares[told] = [
                sums.words as f32 / page.total.max(1) as f32,
                sums.linked as f32 / sums.words.max(1) as f32,
                sums.prose as f32 / sums.words.max(1) as f32,
                (sums.blocks as f32).ln_1p(),
            ];
            told += 1;
            last = sums.words;
        }
        if page.best == Some(id) {
            in_best = 1.0;
        } else if in_best == 0.0
            && level < 2
            && page.best.is_some_and(|it| dom.parent(it) == Some(id))
        {
            in_best = 0.5;
        }
        level += 1;
        depth += 1;
        at = dom.parent(id);
    }
    for it in shares.iter().flatten() {
        put.put(*it);
    }
    put.put(in_best);
    put.put(depth as f32);
}

fn pattern(put: &mut Put, page: &Page<'_>, flat: &[Flat], at: usize) {
    let sums = page
        .patterns
        .get(&page.pattern_of[at])
        .copied()
        .unwrap_or_default();
    put.log(sums.blocks);
    put.log(sums.words / sums.blocks.max(1));
    put.ratio(sums.linked, sums.words);
    let same = page.texts.get(flat[at].text.as_str()).copied().unwrap_or(1);
    put.log(same);
}

/// Whether the page's description quotes the block, or the block begins as the description does.
fn is_quoted(block: &Flat, meta: &Metadata) -> bool {
    if block.words < 4 || block.linked * 2 > block.words {
        return false;
    }
    let head: String = block.text.chars().take(48).collect();
    meta.descriptions.iter().any(|it| {
        let start: String = it.chars().take(48).collect();
        it.contains(&head) || (start.len() > 24 && block.text.contains(&start))
    })
}

/// What the page's own address says of its kind: shop, talk, overview, handbook, article.
fn address_kinds(url: &str) -> [bool; 5] {
    let url = url.to_ascii_lowercase();
    let any = |parts: &[&str]| parts.iter().any(|it| url.contains(it));
    [
        any(&["/product", "/p/", "/dp/", "/item", "/itm/", "/shop/", "sku"]),
        any(&[
            "forum",
            "thread",
            "topic",
            "/t/",
            "/questions/",
            "discuss",
            "community",
            "viewtopic",
            "/comments/",
        ]),
        any(&[
            "/category",
            "/collection",
            "/c/",
            "/tag/",
            "/browse",
            "/cat/",
            "/search",
            "/genre",
            "/best",
        ]),
        any(&[
            "docs",
            "/guide",
            "reference",
            "/api",
            "/manual",
            "/wiki",
            "/learn",
        ]),
        any(&["/blog", "/news", "/article", "/20", "/post", "/story"]),
    ]
}

fn summary(put: &mut Put, page: &Page<'_>, at: usize) {
    put.flag(page.quoted[at]);
    put.put(page.first_quoted.map_or(-2.0, |it| {
        (page.before[at] as f32 - page.before[it] as f32) / page.total.max(1) as f32
    }));
    for it in page.address {
        put.flag(it);
    }
    put.log(page.prices);
    put.flag(page.cart);
    put.log(page.repeats);
    put.log(page.headings);
    put.log(page.talk);
}

fn whole_page(put: &mut Put, page: &Page<'_>) {
    put.log(page.total);
    put.ratio(page.linked, page.total);
    put.ratio(page.prose, page.total);
    put.ratio(page.in_main, page.total);
    put.ratio(page.in_body_text, page.total);
    put.ratio(page.in_post, page.total);
    put.ratio(page.in_card, page.total);
    put.ratio(page.lists, page.total);
    for it in page.kinds {
        put.flag(it);
    }
}
