//! Who made a named thing or holds a named office: directed by, album by, minister is.
use super::words::TextWords;
use super::{FactQuestion, FactValue, StatedFact};

/// Shortest common beginning by which a role and a verb are of one word: "director" and "directed".
const MIN_ROLE_PREFIX: usize = 5;

/// Maximum number of words of the name between a role and its verb: "the mayor of Velmo is".
const MAX_NAME_AFTER_ROLE: usize = 8;

/// Stems that say "made by" of a work, for a role that no verb is made of.
const MADE: &[(&str, &[&str])] = &[
    ("artist", &["record", "releas", "perform"]),
    ("singer", &["record", "releas", "perform", "sung"]),
    ("author", &["written", "wrote", "author"]),
    ("writer", &["written", "wrote"]),
    ("creator", &["written", "wrote", "direct", "develop"]),
    ("architect", &["design"]),
];

/// Stems of nouns for works, of which "by" tells the maker.
const WORKS: &[&str] =
    &["album", "ep", "lp", "singl", "song", "novel", "book", "essay", "play", "poem", "seri", "cd"];

impl FactQuestion {
    /// The name that a sentence gives for the role asked about.
    pub(super) fn name_stated_in(
        &self,
        words: &TextWords<'_>,
        on_page: bool,
    ) -> Option<StatedFact> {
        if let Some(fact) = self.name_in_title(words) {
            return Some(fact);
        }
        if !self.is_spoken_of(words, on_page) {
            return None;
        }
        let run = (0..words.len()).find_map(|at| self.name_at(words, at))?;
        self.stated_name(words, run)
    }

    /// The name of the maker after word `at`: "directed by …", "album by …", "the minister is …".
    fn name_at(&self, words: &TextWords<'_>, at: usize) -> Option<(usize, usize)> {
        let next =
            (at + 1 < words.len() && !words.breaks_before(at + 1)).then(|| words.word(at + 1))?;
        let verb = self.is_role_verb(words, at);
        let own = words.stems[at].as_str();
        let kind = self.asks(own) && !self.is_role(words, at)
            || WORKS.contains(&own) && MADE.iter().any(|(role, _)| self.asks(role));
        match next {
            "by" if verb || kind => words.name_in_phrase(at + 2),
            "from" if kind && self.asks("artist") => words.name_in_phrase(at + 2),
            "of" if self.asks("father") && matches!(own, "son" | "sons" | "daughter") => {
                words.name_in_phrase(at + 2)
            }
            "is" | "was" | "are" if self.is_role(words, at) => words.name_in_phrase(at + 2),
            // "The mayor of Velmo is Ada Lee".
            "of" if self.is_role(words, at) => {
                let of_name =
                    |at: &usize| self.has_name_word(&words.stems[*at]) || words.is_stop(*at);
                let is_verb = |at: &usize| matches!(words.word(*at), "is" | "was" | "are");
                let until = words.len().min(at + 2 + MAX_NAME_AFTER_ROLE);
                let verb = (at + 2..until).take_while(of_name).find(is_verb)?;
                words.name_in_phrase(verb + 1)
            }
            _ => None,
        }
    }

    /// The name in a title that tells works of one title apart: "Big Fun (Towa Tei album)".
    fn name_in_title(&self, words: &TextWords<'_>) -> Option<StatedFact> {
        if !self.asks("artist") && !self.asks("singer") {
            return None;
        }
        let open = (1..words.len()).find(|at| {
            words.gap_before(*at).contains('(') && self.has_name_word(&words.stems[at - 1])
        })?;
        let (first, last) = words.capital_run(open)?;
        let kind = last + 1;
        let closed = kind < words.len()
            && (self.relation.contains(&words.stems[kind])
                || WORKS.contains(&words.stems[kind].as_str()))
            && words.gap_before(kind + 1).trim_start().starts_with(')');
        closed.then(|| self.stated_name(words, (first, last))).flatten()
    }

    fn stated_name(&self, words: &TextWords<'_>, run: (usize, usize)) -> Option<StatedFact> {
        let (first, mut last) = run;
        // "Directed by Lee Written by Kay": the next label is no part of the name.
        if last > first && last + 1 < words.len() && words.word(last + 1) == "by" {
            last -= 1;
        }
        // "The Who" has only stop words.
        let of_stops = (first..=last).all(|at| words.is_stop(at));
        let own: Vec<String> = (first..=last)
            .filter(|at| of_stops || !words.is_stop(*at))
            .map(|at| words.stems[at].clone())
            .collect();
        let fresh = own.iter().any(|it| !self.has_name_word(it) && !self.relation.contains(it));
        fresh.then(|| StatedFact {
            shown: words.slice(first, last).to_owned(),
            value: FactValue::Name(own),
        })
    }

    fn is_role(&self, words: &TextWords<'_>, at: usize) -> bool {
        self.relation.first() == Some(&words.stems[at])
    }

    /// Whether the word is the verb of the role asked about.
    fn is_role_verb(&self, words: &TextWords<'_>, at: usize) -> bool {
        let own = words.stems[at].as_str();
        self.relation.iter().any(|role| {
            let same = role.chars().zip(own.chars()).take_while(|(a, b)| a == b).count();
            own == role
                || same >= MIN_ROLE_PREFIX && same + 1 >= own.chars().count()
                || MADE.iter().any(|(of, verbs)| of == role && verbs.contains(&own))
        })
    }
}
