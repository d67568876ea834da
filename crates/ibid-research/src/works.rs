//! Recognises works by address, id and title, so that each is one source.
use std::collections::BTreeMap;

use ibid_core::domain::work::{canonical_url, registrable_domain};
use ibid_core::domain::{Hit, SourceKind, Vertical, Work};

/// Content words that a title must have to identify a work.
const MIN_TITLE_WORDS: usize = 5;

/// Which keys mean the same work. A work keeps its first key.
#[derive(Debug, Default)]
pub(crate) struct WorkIndex {
    known: BTreeMap<String, String>,
    /// By title: the key of the work, and its record with the first author.
    titled: BTreeMap<String, (String, Work)>,
}

impl WorkIndex {
    /// The key of the work behind `hit`. Documents of a folder have their own key; others are known by their
    /// ids, their address, and the title of a scholarly work with the same first author.
    pub(crate) fn key(&mut self, hit: &Hit) -> String {
        if hit.vertical == Vertical::Local {
            return hit.key().to_owned();
        }
        let mut names = hit.work.keys();
        names.push(canonical_url(&hit.url));
        let titled = title_key(hit);
        let twin = titled.as_ref().and_then(|titled| self.titled.get(titled));
        let twin = twin.filter(|(_, work)| {
            has_same_first_author(work, &hit.work) && !work.contradicts(&hit.work)
        });
        let key = names
            .iter()
            .find_map(|name| self.known.get(name))
            .or(twin.map(|twin| &twin.0))
            .unwrap_or(&names[0])
            .clone();
        for name in names {
            self.known.entry(name).or_insert_with(|| key.clone());
        }
        if let Some(title) = titled {
            let entry = self.titled.entry(title).or_insert_with(|| (key.clone(), Work::default()));
            entry.1.merge(&hit.work);
        }
        key
    }
}

/// The words of a scholarly work's title, if they are enough to identify it.
fn title_key(hit: &Hit) -> Option<String> {
    let scholarly =
        matches!(SourceKind::from(hit.vertical), SourceKind::Pubmed | SourceKind::Scholar);
    let words: Vec<String> = hit
        .title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .map(str::to_lowercase)
        .collect();
    (scholarly && words.len() >= MIN_TITLE_WORDS).then(|| words.join(" "))
}

/// Whether two records name the same first author, or one names none.
fn has_same_first_author(a: &Work, b: &Work) -> bool {
    let last = |work: &Work| {
        let first = work.authors.first()?;
        let name = first.split([' ', ',']).rfind(|part| part.chars().count() > 2)?;
        Some(name.to_lowercase())
    };
    match (last(a), last(b)) {
        // "Smith J" and "Jane Smith": the name is one of the words.
        (Some(_), Some(_)) => {
            let words = |work: &Work| -> Vec<String> {
                let first = work.authors.first().map_or("", String::as_str);
                first
                    .split([' ', ',', '.'])
                    .filter(|part| part.chars().count() > 2)
                    .map(str::to_lowercase)
                    .collect()
            };
            let b = words(b);
            words(a).iter().any(|word| b.contains(word))
        }
        _ => true,
    }
}

/// Adds what a second record of a work knows and the first lacks.
pub(crate) fn merge_hit(known: &mut Hit, other: Hit) {
    // Text of a private document must not get into a public record.
    if known.vertical == Vertical::Local || other.vertical == Vertical::Local {
        return;
    }
    known.work.merge(&other.work);
    known.date = known.date.take().or(other.date);
    // The text of another site is not at this address, but what a catalogue knows about the work holds.
    let scholarly = matches!(other.vertical, Vertical::Scholar | Vertical::Pubmed);
    if !scholarly && registrable_domain(&known.url) != registrable_domain(&other.url) {
        return;
    }
    if known.snippet.len() < other.snippet.len() {
        known.snippet = other.snippet;
    }
    if known.text.as_ref().map_or(0, |text| text.len())
        < other.text.as_ref().map_or(0, |text| text.len())
    {
        known.text = other.text;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(url: &str, title: &str, author: &str) -> Hit {
        let mut hit = Hit::new("x", url, title, "");
        hit.vertical = Vertical::Scholar;
        hit.work.authors = vec![author.to_owned()];
        hit
    }

    #[test]
    fn a_preprint_and_its_journal_version_are_one_work() {
        let mut works = WorkIndex::default();
        let title = "Cork bark regrows within nine years of harvest";
        let preprint = works.key(&hit("https://arxiv.org/abs/2301.01234", title, "Ana Silva"));
        assert_eq!(
            works.key(&hit("https://doi.org/10.1000/1", &title.to_uppercase(), "Silva A")),
            preprint
        );
        assert_eq!(works.key(&hit("https://dx.doi.org/10.1000/1", "another title", "")), preprint);
        assert_ne!(works.key(&hit("https://doi.org/10.1000/2", title, "Someone Else")), preprint);
    }

    #[test]
    fn two_ways_to_write_an_address_are_one_work() {
        let mut works = WorkIndex::default();
        let web = |url| Hit::new("x", url, "a title", "");
        let one = works.key(&web("https://example.org/a?utm_source=y"));
        assert_eq!(works.key(&web("http://www.example.org/a/#b")), one);
        assert_ne!(works.key(&web("http://www.example.org/b")), one);
    }
}
