//! The features of a block.
//!
//! They are those of text-block classifiers since Kohlschütter, Fankhauser & Nejdl, "Boilerplate detection using shallow text
//! features" (WSDM 2010): words, link density and neighbours. Added are the hints of tags, roles and class names, the shares of
//! the surrounding containers, and how often a block's pattern repeats on the page.
use std::collections::HashMap;
use std::sync::OnceLock;

use super::blocks::FlatBlock;
use super::boilerplate;
use super::description_match;
use super::dom::{Dom, NodeId};
use super::element_hints::{self, HINTS};
use super::landmarks::{self, Landmarks, MAX_LABEL, NodeTotals, is_prose};
use super::metadata::{ARTICLE, FORUM, Metadata};
use ibid_core::domain::BlockKind;

/// The number of features of one block.
pub(crate) const FEATURES: usize = 2 * HINTS + 85 + landmarks::NUMBERS;

/// Words of a button or label, such as a price or `Add to cart`; longer blocks are not counted as one.
const MAX_BUTTON_WORDS: u32 = 12;

/// The features of one block.
pub(crate) type FeatureRow = [f32; FEATURES];

/// The features of every block of a page.
pub(super) fn describe(dom: &Dom, flat: &[FlatBlock], meta: &Metadata) -> Vec<FeatureRow> {
    if flat.is_empty() {
        return Vec::new();
    }
    let page = PageContext::new(dom, flat, meta);
    let landmarks = Landmarks::new(dom, flat, &page.below, &page.lower, &page.title);
    let positions = landmarks.describe();
    let mut same = FeatureWriter::default();
    whole_page(&mut same, &page);
    let same = &same.row[..same.next.min(FEATURES)];
    let mut rows: Vec<FeatureRow> = Vec::with_capacity(flat.len());
    for at in 0..flat.len() {
        let mut put = FeatureWriter::default();
        hints(&mut put, &flat[at]);
        words(&mut put, &flat[at], &page.lower[at]);
        place(&mut put, &page, flat, at);
        neighbours(&mut put, &page, flat, at);
        containers(&mut put, &page, dom, &flat[at], landmarks.best());
        pattern(&mut put, &page, at);
        summary(&mut put, &page, at);
        same.iter().chain(&positions[at]).for_each(|it| put.push(*it));
        debug_assert!(put.next <= FEATURES, "{}", put.next);
        rows.push(put.row);
    }
    rows
}

/// Fills a row from left to right.
struct FeatureWriter {
    row: FeatureRow,
    next: usize,
}

impl Default for FeatureWriter {
    fn default() -> FeatureWriter {
        FeatureWriter { row: [0.0; FEATURES], next: 0 }
    }
}

impl FeatureWriter {
    fn push(&mut self, value: f32) {
        if let Some(slot) = self.row.get_mut(self.next) {
            *slot = value;
        }
        self.next += 1;
    }
    fn flag(&mut self, value: bool) {
        self.push(f32::from(u8::from(value)));
    }
    fn ratio(&mut self, part: u32, whole: u32) {
        self.push(part as f32 / whole.max(1) as f32);
    }
    fn log(&mut self, value: u32) {
        self.push(ln(value));
    }
}

/// ln(1 + value), from a table for small values, which are frequent.
fn ln(value: u32) -> f32 {
    static SMALL: OnceLock<Vec<f32>> = OnceLock::new();
    let small = SMALL.get_or_init(|| (0..2048_u16).map(|index| f32::from(index).ln_1p()).collect());
    let known = small.get(value as usize).copied();
    known.unwrap_or_else(|| (value as f32).ln_1p())
}

fn hints(put: &mut FeatureWriter, block: &FlatBlock) {
    for bit in 0..HINTS {
        put.flag(block.hints & (1 << bit) != 0);
    }
    for bit in 0..HINTS {
        put.flag(block.near & (1 << bit) != 0);
    }
}

fn words(put: &mut FeatureWriter, block: &FlatBlock, lower: &str) {
    put.log(block.words);
    put.ratio(block.linked, block.words);
    put.push(match block.kind {
        BlockKind::Prose => 0.0,
        BlockKind::ListItem => 1.0,
        BlockKind::TableRow | BlockKind::TableHeader => 2.0,
        BlockKind::Code => 3.0,
        BlockKind::Heading => 4.0 + f32::from(block.level),
        BlockKind::Comment => 11.0,
    });
    put.push(f32::from(block.level));
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
    put.push(boilerplate::count_phrases(lower) as f32);
}

/// Values that are computed once per page.
struct PageContext {
    total: u32,
    linked: u32,
    prose: u32,
    /// Words in the blocks before each, and in all.
    before: Vec<u32>,
    /// Linked words in the blocks before each, and in all.
    linked_before: Vec<u32>,
    /// Words of prose in the blocks before each, and in all.
    prose_before: Vec<u32>,
    /// For each block, the last heading at or above it, or the first block.
    head: Vec<usize>,
    /// For each heading, the next one, or the end.
    next_head: Vec<usize>,
    /// The texts of blocks that may be labels, in lower case.
    lower: Vec<String>,
    first_h1: Option<usize>,
    /// The totals of each node.
    below: Vec<NodeTotals>,
    /// The totals of each pattern.
    patterns: Vec<NodeTotals>,
    /// For each block, its pattern.
    pattern_of: Vec<usize>,
    /// How often each text occurs.
    texts: Vec<u32>,
    /// For each block, its text.
    text_of: Vec<usize>,
    /// Words in main elements, body text, posts, cards and lists.
    in_main: u32,
    in_body_text: u32,
    in_post: u32,
    in_card: u32,
    lists: u32,
    /// The title in lower case.
    title: String,
    /// The kinds of page by its types: article, product, forum, collection, site.
    kinds: [bool; 5],
    /// For each block, whether the page's own description quotes it.
    quoted: Vec<bool>,
    first_quoted: Option<usize>,
    /// The kinds of page by its address.
    address: [bool; 5],
    prices: u32,
    cart: bool,
    repeats: u32,
    headings: u32,
    talk: u32,
}

impl PageContext {
    fn new(dom: &Dom, flat: &[FlatBlock], meta: &Metadata) -> PageContext {
        let mut page = PageContext::with_counts(dom, flat, meta);
        page.add_groups(dom, flat);
        page
    }

    /// All values but the groups of [`PageContext::add_groups`].
    fn with_counts(dom: &Dom, flat: &[FlatBlock], meta: &Metadata) -> PageContext {
        let words = |test: &dyn Fn(&FlatBlock) -> bool| -> u32 {
            flat.iter().filter(|block| test(block)).map(|block| block.words).sum()
        };
        let words_with = |hint: u32| words(&|it| it.hints & hint != 0);
        let quoted = description_match::find(flat, &meta.descriptions);
        let lower: Vec<String> = flat.iter().map(label_text).collect();
        let buttons = |names: &[&str]| {
            flat.iter()
                .zip(&lower)
                .filter(|(block, _)| block.words < MAX_BUTTON_WORDS)
                .filter(|(_, lower)| names.iter().any(|name| lower.contains(name)))
                .count() as u32
        };
        let count = |test: &dyn Fn(&FlatBlock) -> bool| {
            flat.iter().filter(|block| test(block)).count() as u32
        };
        PageContext {
            first_quoted: quoted.iter().position(|flag| *flag),
            quoted,
            address: address_kinds(meta.canonical.as_deref().unwrap_or_default()),
            prices: count(&|it| it.words < MAX_BUTTON_WORDS && it.text.contains(['$', '€', '£'])),
            cart: buttons(&[
                "add to cart",
                "add to bag",
                "buy now",
                "add to basket",
                "in den warenkorb",
            ]) > 0,
            repeats: 0,
            headings: count(&|it| it.kind == BlockKind::Heading),
            talk: buttons(&["reply", "quote", "posted", "joined", "likes", "upvote", "answered"]),
            lower,
            total: words(&|_| true),
            linked: flat.iter().map(|block| block.linked).sum(),
            prose: words(&is_prose),
            before: prefix_sums(flat, |it| it.words),
            linked_before: prefix_sums(flat, |it| it.linked),
            prose_before: prefix_sums(flat, |it| if is_prose(it) { it.words } else { 0 }),
            head: Vec::with_capacity(flat.len()),
            next_head: vec![flat.len(); flat.len()],
            first_h1: flat
                .iter()
                .position(|block| block.kind == BlockKind::Heading && block.level == 1),
            below: vec![NodeTotals::default(); dom.len()],
            patterns: Vec::new(),
            pattern_of: Vec::with_capacity(flat.len()),
            texts: Vec::new(),
            text_of: Vec::with_capacity(flat.len()),
            in_main: words_with(element_hints::MAIN | element_hints::ARTICLE),
            in_body_text: words_with(element_hints::BODY_TEXT),
            in_post: words_with(element_hints::POST | element_hints::COMMENTS),
            in_card: words_with(element_hints::CARD | element_hints::PRODUCT),
            lists: words(&|it| it.kind == BlockKind::ListItem),
            title: meta.title.clone().unwrap_or_default().to_lowercase(),
            kinds: [
                meta.has_type(ARTICLE),
                meta.has_type(&["product", "offer"]),
                meta.has_type(FORUM),
                meta.has_type(&["collection", "itemlist", "searchresults"]),
                meta.has_type(&["website", "organization", "business", "service"]),
            ],
        }
    }

    /// Groups the blocks by heading, container, pattern and text.
    fn add_groups(&mut self, dom: &Dom, flat: &[FlatBlock]) {
        let hashes = patterns(dom, flat);
        let mut patterns: HashMap<u64, usize> = HashMap::new();
        let mut texts: HashMap<&str, usize> = HashMap::new();
        let mut head = 0;
        for (at, block) in flat.iter().enumerate() {
            if block.kind == BlockKind::Heading {
                self.next_head[head..at].fill(at);
                head = at;
            }
            self.head.push(head);
            let mut above = Some(block.node);
            while let Some(id) = above {
                self.below[id.index()].add(block);
                above = dom.parent(id);
            }
            let new = patterns.len();
            let pattern = *patterns.entry(hashes[at]).or_insert(new);
            self.patterns.resize(patterns.len(), NodeTotals::default());
            self.patterns[pattern].add(block);
            self.pattern_of.push(pattern);
            let new = texts.len();
            let text = *texts.entry(block.text.as_str()).or_insert(new);
            self.texts.resize(texts.len(), 0);
            self.texts[text] += 1;
            self.text_of.push(text);
        }
        self.repeats = self.patterns.iter().map(|pattern| pattern.blocks).max().unwrap_or(0);
    }
}

/// The text of a block in lower case if it may be a label, else an empty one.
fn label_text(block: &FlatBlock) -> String {
    if block.words <= MAX_LABEL { block.text.to_lowercase() } else { String::new() }
}

/// The sums of a value over the blocks before each, and over all.
fn prefix_sums(flat: &[FlatBlock], of: impl Fn(&FlatBlock) -> u32) -> Vec<u32> {
    let mut sums = Vec::with_capacity(flat.len() + 1);
    let mut sum = 0;
    sums.push(sum);
    for block in flat {
        sum += of(block);
        sums.push(sum);
    }
    sums
}

/// For each block, a hash of the tags and first classes of its element and its three nearest ancestors. The items of a list or
/// a grid share it.
pub(super) fn patterns(dom: &Dom, flat: &[FlatBlock]) -> Vec<u64> {
    // Blocks share ancestors, so the hash of each element is computed once.
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

/// The initial value of FNV-1a, which gives the same hashes on every machine and in every run.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, more: u64) -> u64 {
    (hash ^ more).wrapping_mul(0x0100_0000_01b3)
}

fn place(put: &mut FeatureWriter, page: &PageContext, flat: &[FlatBlock], at: usize) {
    put.ratio(at as u32, flat.len() as u32);
    put.ratio(page.before[at], page.total);
    put.log(at as u32);
    let first = page.first_h1;
    put.flag(first == Some(at));
    put.flag(first.is_some_and(|it| at < it));
    put.push(first.map_or(-1.0, |it| {
        (page.before[at] as f32 - page.before[it] as f32) / page.total.max(1) as f32
    }));
    let block = &flat[at];
    let titled = block.words >= 2 && block.words <= 30 && page.title.contains(&page.lower[at]);
    put.flag(titled);
}

fn neighbours(put: &mut FeatureWriter, page: &PageContext, flat: &[FlatBlock], at: usize) {
    for step in [-2_i64, -1, 1, 2] {
        let near = usize::try_from(at as i64 + step).ok().and_then(|it| flat.get(it));
        put.log(near.map_or(0, |it| it.words));
        put.ratio(near.map_or(0, |it| it.linked), near.map_or(1, |it| it.words));
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

fn containers(
    put: &mut FeatureWriter,
    page: &PageContext,
    dom: &Dom,
    block: &FlatBlock,
    best: Option<NodeId>,
) {
    let mut at = Some(block.node);
    let mut last = block.words;
    let mut written = 0;
    let mut in_best = 0.0_f32;
    let mut level = 0;
    let mut shares = [[1.0_f32; 4]; 4];
    let mut depth = 0_u32;
    while let Some(id) = at {
        let sums = page.below[id.index()];
        if sums.words > last && written < 4 {
            shares[written] = [
                sums.words as f32 / page.total.max(1) as f32,
                sums.linked as f32 / sums.words.max(1) as f32,
                sums.prose as f32 / sums.words.max(1) as f32,
                ln(sums.blocks),
            ];
            written += 1;
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
        put.push(*it);
    }
    put.push(in_best);
    put.push(depth as f32);
}

fn pattern(put: &mut FeatureWriter, page: &PageContext, at: usize) {
    let sums = page.patterns[page.pattern_of[at]];
    put.log(sums.blocks);
    put.log(sums.words / sums.blocks.max(1));
    put.ratio(sums.linked, sums.words);
    put.log(page.texts[page.text_of[at]]);
}

/// Whether the page's own address is like that of a shop, a forum, an overview, a manual and an article.
fn address_kinds(url: &str) -> [bool; 5] {
    let url = url.to_ascii_lowercase();
    let any = |parts: &[&str]| parts.iter().any(|part| url.contains(part));
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
        any(&["docs", "/guide", "reference", "/api", "/manual", "/wiki", "/learn"]),
        any(&["/blog", "/news", "/article", "/20", "/post", "/story"]),
    ]
}

fn summary(put: &mut FeatureWriter, page: &PageContext, at: usize) {
    put.flag(page.quoted[at]);
    put.push(page.first_quoted.map_or(-2.0, |first_quoted| {
        (page.before[at] as f32 - page.before[first_quoted] as f32) / page.total.max(1) as f32
    }));
}

/// The features that all blocks of a page share.
fn whole_page(put: &mut FeatureWriter, page: &PageContext) {
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
