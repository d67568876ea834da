//! Near-synonyms, and words of one field.
//!
//! All lists hold lower-case stems from [`ibid_core::domain::words::stem`], so that one entry covers all
//! forms of a word. They were written by hand from general knowledge of English.
use std::sync::LazyLock;

type StemGroups = LazyLock<Vec<Vec<&'static str>>>;

static SYNONYMS: StemGroups =
    LazyLock::new(|| parse_groups(include_str!("thesaurus/synonyms.txt")));
static RELATED: StemGroups = LazyLock::new(|| parse_groups(include_str!("thesaurus/related.txt")));

/// The near-synonyms of `stem`, including itself.
pub(crate) fn synonyms(stem: &str) -> impl Iterator<Item = &'static str> {
    groups_with(&SYNONYMS, stem)
}

/// Stems of the same field, a weaker relation than [`synonyms`].
pub(crate) fn related(stem: &str) -> impl Iterator<Item = &'static str> {
    groups_with(&RELATED, stem)
}

fn groups_with(all: &'static StemGroups, stem: &str) -> impl Iterator<Item = &'static str> {
    all.iter().filter(move |group| group.contains(&stem)).flatten().copied()
}

/// One group a line; a line with `#` is a comment.
fn parse_groups(text: &'static str) -> Vec<Vec<&'static str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().collect()).collect()
}
