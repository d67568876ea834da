//! One work, one source: addresses, ids and titles that mean the same.
use std::collections::BTreeMap;

use crate::domain::work::{canonical, registrable_domain};
use crate::domain::{Hit, SourceKind, Vertical, Work};

/// Words that a title must have to tell a work from others.
const TELLING: usize = 5;

/// Which names mean one work. The first name that was met is the one it is known by.
#[derive(Debug, Default)]
pub(crate) struct Works {
    known: BTreeMap<String, String>,
    /// By the words of a title: the work, its first author, and what is known of it.
    titled: BTreeMap<String, (String, Work)>,
}

impl Works {
    /// What the work behind `hit` is known by: documents of a folder by their own key; what is found outside by its ids, its
    /// address, and the title of a scholarly work with the same first author.
    pub(crate) fn key(&mut self, hit: &Hit) -> String {
        if hit.vertical == Vertical::Local {
            return hit.key().to_owned();
        }
        let mut names = hit.work.keys();
        names.push(canonical(&hit.url));
        let titled = title_of(hit);
        let twin = titled.as_ref().and_then(|it| self.titled.get(it));
        let twin =
            twin.filter(|(_, work)| same_people(work, &hit.work) && !work.contradicts(&hit.work));
        let key = names
            .iter()
            .find_map(|it| self.known.get(it))
            .or(twin.map(|it| &it.0))
            .unwrap_or(&names[0])
            .clone();
        for name in names {
            self.known.entry(name).or_insert_with(|| key.clone());
        }
        if let Some(title) = titled {
            let entry = self
                .titled
                .entry(title)
                .or_insert_with(|| (key.clone(), Work::default()));
            entry.1.learn(&hit.work);
        }
        key
    }
}

/// The words of a scholarly work's title, where they are enough to know it by.
fn title_of(hit: &Hit) -> Option<String> {
    let scholarly = matches!(
        SourceKind::from(hit.vertical),
        SourceKind::Pubmed | SourceKind::Scholar
    );
    let words: Vec<String> = hit
        .title
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .map(str::to_lowercase)
        .collect();
    (scholarly && words.len() >= TELLING).then(|| words.join(" "))
}

/// Whether two records name the same first author, or one names none.
fn same_people(a: &Work, b: &Work) -> bool {
    let last = |it: &Work| {
        let first = it.authors.first()?;
        let name = first.split([' ', ',']).rfind(|it| it.chars().count() > 2)?;
        Some(name.to_lowercase())
    };
    match (last(a), last(b)) {
        // "Smith J" and "Jane Smith": the name is one of the words.
        (Some(_), Some(_)) => {
            let words = |it: &Work| -> Vec<String> {
                let first = it.authors.first().map_or("", String::as_str);
                first
                    .split([' ', ',', '.'])
                    .filter(|it| it.chars().count() > 2)
                    .map(str::to_lowercase)
                    .collect()
            };
            let b = words(b);
            words(a).iter().any(|it| b.contains(it))
        }
        _ => true,
    }
}

/// Takes over what a second record of a work knows and the first did not.
pub(crate) fn merge(known: &mut Hit, other: Hit) {
    // Words of a private document never stand in a record of the outside.
    if known.vertical == Vertical::Local || other.vertical == Vertical::Local {
        return;
    }
    known.work.learn(&other.work);
    known.date = known.date.take().or(other.date);
    // The words of another site are not those at this address; what a catalogue has of the work are.
    let scholarly = matches!(other.vertical, Vertical::Scholar | Vertical::Pubmed);
    if !scholarly && registrable_domain(&known.url) != registrable_domain(&other.url) {
        return;
    }
    if known.snippet.len() < other.snippet.len() {
        known.snippet = other.snippet;
    }
    if known.text.as_ref().map_or(0, |it| it.len()) < other.text.as_ref().map_or(0, |it| it.len()) {
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
        let mut works = Works::default();
        let title = "Cork bark regrows within nine years of harvest";
        let preprint = works.key(&hit("https://arxiv.org/abs/2301.01234", title, "Ana Silva"));
        assert_eq!(
            works.key(&hit(
                "https://doi.org/10.1000/1",
                &title.to_uppercase(),
                "Silva A"
            )),
            preprint
        );
        assert_eq!(
            works.key(&hit("https://dx.doi.org/10.1000/1", "another title", "")),
            preprint
        );
        assert_ne!(
            works.key(&hit("https://doi.org/10.1000/2", title, "Someone Else")),
            preprint
        );
    }

    #[test]
    fn two_ways_to_write_an_address_are_one_work() {
        let mut works = Works::default();
        let web = |url| Hit::new("x", url, "a title", "");
        let one = works.key(&web("https://example.org/a?utm_source=y"));
        assert_eq!(works.key(&web("http://www.example.org/a/#b")), one);
        assert_ne!(works.key(&web("http://www.example.org/b")), one);
    }
}
