//! What can be told of a block from where it stands, in numbers.
//!
//! The list is that of text-block classifiers since Kohlschütter, Fankhauser & Nejdl, "Boilerplate
//! detection using shallow text features" (WSDM 2010): words, link density and neighbours; with
//! the hints of tags, roles and class names, the shares of the containers around, and how often a
//! block's pattern repeats on the page.
use std::collections::HashMap;
use std::sync::OnceLock;

use super::blocks::Flat;
use super::chrome::{self, HINTS};
use super::dom::{Dom, NodeId};
use super::furniture;
use super::landmarks::{self, Landmarks, MAX_LABEL, Sums, is_prose};
use super::metadata::{ARTICLE, FORUM, Metadata};
use super::quoted;
use crate::domain::BlockKind;

/// Numbers that describe one block.
pub(crate) const FEATURES: usize = 2 * HINTS + 85 + landmarks::NUMBERS;

/// One block in numbers.
pub(crate) type Row = [f32; FEATURES];

/// Describes every block of a page.
pub(super) fn describe(dom: &Dom, flat: &[Flat], meta: &Metadata) -> Vec<Row> {
    if flat.is_empty() {
        return Vec::new();
    }
    let page = Page::of(dom, flat, meta);
    let landmarks = Landmarks::of(dom, flat, &page.below, &page.lower, &page.title);
    let stands = landmarks.describe();
    let mut same = Put::default();
    whole_page(&mut same, &page);
    let same = &same.row[..same.next.min(FEATURES)];
    let mut rows: Vec<Row> = Vec::with_capacity(flat.len());
    for at in 0..flat.len() {
        let mut put = Put::default();
        hints(&mut put, &flat[at]);
        words(&mut put, &flat[at], &page.lower[at]);
        place(&mut put, &page, flat, at);
        neighbours(&mut put, &page, flat, at);
        containers(&mut put, &page, dom, &flat[at], landmarks.best());
        pattern(&mut put, &page, at);
        summary(&mut put, &page, at);
        same.iter().chain(&stands[at]).for_each(|it| put.put(*it));
        debug_assert!(put.next <= FEATURES, "{}", put.next);
        rows.push(put.row);
    }
    rows
}

struct Put {
    row: Row,
    next: usize,
}

impl Default for Put {
    fn default() -> Put {
        Put {
            row: [0.0; FEATURES],
            next: 0,
        }
    }
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
        self.put(ln(value));
    }
}

/// ln(1 + value): small numbers come again and again, so theirs are worked out once.
fn ln(value: u32) -> f32 {
    static SMALL: OnceLock<Vec<f32>> = OnceLock::new();
    let small = SMALL.get_or_init(|| (0..2048_u16).map(|it| f32::from(it).ln_1p()).collect());
    let known = small.get(value as usize).copied();
    known.unwrap_or_else(|| (value as f32).ln_1p())
}

fn hints(put: &mut Put, block: &Flat) {
    for bit in 0..HINTS {
        put.flag(block.hints & (1 << bit) != 0);
    }
    for bit in 0..HINTS {
        put.flag(block.near & (1 << bit) != 0);
    }
}

fn words(put: &mut Put, block: &Flat, lower: &str) {
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
    let (mut money, mut divided) = (false, false);
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
        } else if matches!(c, '$' | '€' | '£' | '¥') {
            money = true;
        } else if matches!(c, '|' | '›' | '»' | '→' | '·' | '•') {
            divided = true;
        }
    }
    put.ratio(upper, letters);
    put.ratio(digits, letters + digits);
    put.ratio(marks, block.words);
    put.ratio(stops, block.words);
    put.ratio(letters, block.words);
    put.flag(text.ends_with(['.', '!', '?', '。', '”', '"', ':', '…']));
    put.flag(money);
    put.flag(divided);
    put.put(furniture::count(lower) as f32);
}

/// What is counted once a page.
struct Page {
    total: u32,
    linked: u32,
    prose: u32,
    /// Words in the blocks before each, and in all.
    before: Vec<u32>,
    /// The same for words in links.
    linked_before: Vec<u32>,
    /// The same for words of prose.
    prose_before: Vec<u32>,
    /// The last heading at each block or above it, or the first block.
    head: Vec<usize>,
    /// The first heading behind each block, or the end.
    next_head: Vec<usize>,
    /// The text in lower case, of blocks that may be labels.
    lower: Vec<String>,
    first_h1: Option<usize>,
    /// Words, linked words and blocks below each node that holds any.
    below: Vec<Sums>,
    patterns: Vec<Sums>,
    pattern_of: Vec<usize>,
    /// How often each text comes.
    texts: Vec<u32>,
    text_of: Vec<usize>,
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

impl Page {
    fn of(dom: &Dom, flat: &[Flat], meta: &Metadata) -> Page {
        let with = |hint: u32| -> u32 {
            let inside = flat.iter().filter(|it| it.hints & hint != 0);
            inside.map(|it| it.words).sum()
        };
        let quoted = quoted::find(flat, &meta.descriptions);
        let lower: Vec<String> = flat
            .iter()
            .map(|it| match it.words <= MAX_LABEL {
                true => it.text.to_lowercase(),
                false => String::new(),
            })
            .collect();
        let has = |names: &[&str]| {
            flat.iter()
                .zip(&lower)
                .filter(|(it, _)| it.words < 12)
                .filter(|(_, lower)| names.iter().any(|name| lower.contains(name)))
                .count() as u32
        };
        let counted =
            |test: &dyn Fn(&Flat) -> bool| flat.iter().filter(|it| test(it)).count() as u32;
        let mut page = Page {
            first_quoted: quoted.iter().position(|it| *it),
            quoted,
            address: address_kinds(meta.canonical.as_deref().unwrap_or_default()),
            prices: counted(&|it| it.words < 12 && it.text.contains(['$', '€', '£'])),
            cart: has(&[
                "add to cart",
                "add to bag",
                "buy now",
                "add to basket",
                "in den warenkorb",
            ]) > 0,
            repeats: 0,
            headings: counted(&|it| it.kind == BlockKind::Heading),
            talk: has(&[
                "reply", "quote", "posted", "joined", "likes", "upvote", "answered",
            ]),
            lower,
            total: flat.iter().map(|it| it.words).sum(),
            linked: flat.iter().map(|it| it.linked).sum(),
            prose: flat
                .iter()
                .filter(|it| is_prose(it))
                .map(|it| it.words)
                .sum(),
            before: sums(flat, |it| it.words),
            linked_before: sums(flat, |it| it.linked),
            prose_before: sums(flat, |it| if is_prose(it) { it.words } else { 0 }),
            head: Vec::with_capacity(flat.len()),
            next_head: vec![flat.len(); flat.len()],
            first_h1: flat
                .iter()
                .position(|it| it.kind == BlockKind::Heading && it.level == 1),
            below: vec![Sums::default(); dom.len()],
            patterns: Vec::new(),
            pattern_of: Vec::with_capacity(flat.len()),
            texts: Vec::new(),
            text_of: Vec::with_capacity(flat.len()),
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
                meta.is_a(ARTICLE),
                meta.is_a(&["product", "offer"]),
                meta.is_a(FORUM),
                meta.is_a(&["collection", "itemlist", "searchresults"]),
                meta.is_a(&["website", "organization", "business", "service"]),
            ],
        };
        let hashes = patterns(dom, flat);
        let mut patterns: HashMap<u64, usize> = HashMap::new();
        let mut texts: HashMap<&str, usize> = HashMap::new();
        let mut head = 0;
        for (at, block) in flat.iter().enumerate() {
            if block.kind == BlockKind::Heading {
                page.next_head[head..at].fill(at);
                head = at;
            }
            page.head.push(head);
            let mut above = Some(block.node);
            while let Some(id) = above {
                page.below[id.index()].add(block);
                above = dom.parent(id);
            }
            let new = patterns.len();
            let pattern = *patterns.entry(hashes[at]).or_insert(new);
            page.patterns.resize(patterns.len(), Sums::default());
            page.patterns[pattern].add(block);
            page.pattern_of.push(pattern);
            let new = texts.len();
            let text = *texts.entry(block.text.as_str()).or_insert(new);
            page.texts.resize(texts.len(), 0);
            page.texts[text] += 1;
            page.text_of.push(text);
        }
        page.repeats = page.patterns.iter().map(|it| it.blocks).max().unwrap_or(0);
        page
    }
}

/// What the blocks before each amount to, and all.
fn sums(flat: &[Flat], of: impl Fn(&Flat) -> u32) -> Vec<u32> {
    let mut sums = Vec::with_capacity(flat.len() + 1);
    let mut sum = 0;
    sums.push(sum);
    for block in flat {
        sum += of(block);
        sums.push(sum);
    }
    sums
}

/// For each block a hash of the tags and first classes of its element and that one's three nearest ancestors: the items of a
/// list or a grid share it.
pub(super) fn patterns(dom: &Dom, flat: &[Flat]) -> Vec<u64> {
    // Blocks share their ancestors, so each element is looked at once.
    let mut known: Vec<Option<u64>> = vec![None; dom.len()];
    let mut own = |id: NodeId| {
        *known[id.index()].get_or_insert_with(|| {
            let class = dom.attr(id, "class").unwrap_or_default();
            let first = class.split_ascii_whitespace().next().unwrap_or_default();
            [dom.name(id), first].iter().fold(FNV, |hash, it| {
                let bytes = it.bytes().chain(std::iter::once(0));
                bytes.fold(hash, |hash, byte| mix(hash, u64::from(byte)))
            })
        })
    };
    flat.iter()
        .map(|block| {
            let up = std::iter::successors(Some(block.node), |it| dom.parent(*it));
            up.take(4).fold(FNV, |hash, id| mix(hash, own(id)))
        })
        .collect()
}

/// The beginning of FNV-1a, which is the same on every machine and in every run.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, more: u64) -> u64 {
    (hash ^ more).wrapping_mul(0x0100_0000_01b3)
}

fn place(put: &mut Put, page: &Page, flat: &[Flat], at: usize) {
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
    let titled = block.words >= 2 && block.words <= 30 && page.title.contains(&page.lower[at]);
    put.flag(titled);
}

fn neighbours(put: &mut Put, page: &Page, flat: &[Flat], at: usize) {
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
    let between = |sums: &[u32], from: usize, to: usize| sums[to] - sums[from];
    for reach in [4, 12] {
        let from = at.saturating_sub(reach);
        let to = (at + reach + 1).min(flat.len());
        let words = between(&page.before, from, to);
        put.log(words / (to - from) as u32);
        put.ratio(between(&page.linked_before, from, to), words);
        put.ratio(between(&page.prose_before, from, to), words);
    }
    // The text under the nearest heading above.
    let from = page.head[at];
    let to = page.next_head[from].min(from + 60);
    let words = between(&page.before, from, to);
    put.log(words);
    put.ratio(between(&page.linked_before, from, to), words);
}

fn containers(put: &mut Put, page: &Page, dom: &Dom, block: &Flat, best: Option<NodeId>) {
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
                ln(sums.blocks),
            ];
            told += 1;
            last = sums.words;
        }
        if best == Some(id) {
            in_best = 1.0;
        } else if in_best == 0.0 && level < 2 && best.is_some_and(|it| dom.parent(it) == Some(id)) {
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

fn pattern(put: &mut Put, page: &Page, at: usize) {
    let sums = page.patterns[page.pattern_of[at]];
    put.log(sums.blocks);
    put.log(sums.words / sums.blocks.max(1));
    put.ratio(sums.linked, sums.words);
    put.log(page.texts[page.text_of[at]]);
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

fn summary(put: &mut Put, page: &Page, at: usize) {
    put.flag(page.quoted[at]);
    put.put(page.first_quoted.map_or(-2.0, |it| {
        (page.before[at] as f32 - page.before[it] as f32) / page.total.max(1) as f32
    }));
}

/// What is the same for all blocks of a page.
fn whole_page(put: &mut Put, page: &Page) {
    for it in page.address {
        put.flag(it);
    }
    put.log(page.prices);
    put.flag(page.cart);
    put.log(page.repeats);
    put.log(page.headings);
    put.log(page.talk);
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
