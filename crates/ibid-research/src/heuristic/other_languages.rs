//! Questions in other languages than English: which language, what kind of question, what about.
use ibid_core::domain::QuestionKind;
use ibid_core::domain::words::{Token, is_stop_word, tokens};

use super::lexicon::{begins_with_phrase, spaced};
use crate::prompts::{self, LanguageWords};

/// Minimum number of stop words of a language, its question word included, by which a short question is of it.
const MIN_STOP_WORDS: usize = 2;
/// Minimum share of these among the words of the question.
const MIN_STOP_WORD_SHARE: f32 = 0.25;
/// Maximum number of subjects of a question.
const MAX_SUBJECTS: usize = 3;
/// Words that begin questions in another language, and are nouns in English.
const ENGLISH_NOUNS: [&str; 1] = ["hat"];
/// First words of English questions that begin none in the other languages.
const ENGLISH_OPENINGS: [&str; 16] = [
    "who", "what", "why", "how", "when", "where", "which", "whose", "do", "does", "did", "are",
    "can", "could", "should", "compare",
];

/// Two-letter code of the language whose question words begin a short `text` and that most of its stop words are of; `None` if English is
/// as likely.
pub(super) fn language_by_stop_words(text: &str) -> Option<&'static str> {
    let words = tokens(text);
    if words.first().is_some_and(|first| ENGLISH_OPENINGS.contains(&first.text.as_str())) {
        return None;
    }
    let english = words.iter().filter(|word| is_stop_word(&word.text)).count();
    // "Who wrote Das Kapital" has a German word in a name.
    let begins = words.first().map(|first| first.span.start);
    let is_plain = |word: &&Token| {
        Some(word.span.start) == begins || !text[word.span.clone()].starts_with(char::is_uppercase)
    };
    let languages = prompts::language_words().ok()?;
    let counted = languages.iter().filter(|(_, known)| known.begins(text)).map(|(code, known)| {
        let plain = || words.iter().filter(is_plain);
        let opening = known.opening_weight(text);
        let own = opening + plain().filter(|it| known.stop_words.contains(&it.text)).count();
        let shared = plain().filter(|it| known.shared_stop_words.contains(&it.text)).count();
        (own, own + shared, code.as_str())
    });
    let enough = |found: &(usize, usize, &str)| {
        found.0 >= MIN_STOP_WORDS
            && found.1 > english
            && found.1 as f32 >= MIN_STOP_WORD_SHARE * words.len() as f32
    };
    counted.filter(enough).max_by_key(|found| (found.1, found.0)).map(|found| found.2)
}

/// What kind of question `asked` is and what it is about: its runs of words between stop words, those of several words first. `None` for
/// English and a language without a list of words.
pub(super) fn kind_and_subjects(lang: &str, asked: &str) -> Option<(QuestionKind, Vec<String>)> {
    let known = prompts::language_words().ok()?.get(lang)?;
    let kind = known.kind(asked);
    let words = tokens(asked);
    // The verb of "Lohnt sich …" is no subject.
    let words = if kind == Some(QuestionKind::YesNo) { &words[1..] } else { &words[..] };
    let mut runs: Vec<&str> = words
        .split(|word| known.is_stop_word(&word.text))
        .filter_map(|run| run.first().zip(run.last()))
        .map(|(first, last)| without_elision(&asked[first.span.start..last.span.end]))
        .collect();
    // German nouns have capitals.
    let noun = |run: &str| run.split(' ').any(|word| word.starts_with(char::is_uppercase));
    if lang == "de" && runs.iter().any(|run| noun(run)) {
        runs.retain(|run| noun(run));
    }
    // The verb of "Combien coûte …" stands first.
    if kind == Some(QuestionKind::Quantity) && lang != "de" && runs.len() > 1 {
        runs.rotate_left(1);
    }
    runs.sort_by_key(|run| !run.contains(' '));
    runs.dedup();
    let subjects = runs.into_iter().take(MAX_SUBJECTS).map(str::to_owned).collect();
    Some((kind.unwrap_or(QuestionKind::Open), subjects))
}

/// A run of words without an article or preposition that is written together with its first word: "inflation" of "l'inflation".
fn without_elision(run: &str) -> &str {
    match run.split_once(['\'', '’']) {
        Some((before, rest)) if before.chars().count() <= 4 && !before.contains(' ') => rest,
        _ => run,
    }
}

/// Whether a lower-case word is a stop word of the language `lang`.
pub(super) fn is_stop_word_in(lang: &str, word: &str) -> bool {
    let words = prompts::language_words().ok().and_then(|languages| languages.get(lang));
    words.is_some_and(|words| words.is_stop_word(word))
}

impl LanguageWords {
    fn is_stop_word(&self, word: &str) -> bool {
        self.stop_words.contains(word) || self.shared_stop_words.contains(word)
    }

    /// Whether `asked` begins as questions of this language do.
    fn begins(&self, asked: &str) -> bool {
        let first = tokens(asked).into_iter().next();
        self.kind(asked).is_some() || first.is_some_and(|it| self.stop_words.contains(&it.text))
    }

    /// How many words the opening of a question counts for: one, and one more for each of its words that is neither a stop word, which
    /// counts by itself, nor English.
    fn opening_weight(&self, asked: &str) -> usize {
        let Some((kind, phrase)) = self.opening(asked) else {
            return usize::from(self.asks_steps(asked));
        };
        let is_foreign = |word: &&str| !is_stop_word(word) && !ENGLISH_NOUNS.contains(word);
        // "Is" begins questions of several languages.
        if kind == QuestionKind::YesNo {
            return usize::from(phrase.split(' ').all(|word| is_foreign(&word)));
        }
        let more = phrase.split(' ').skip(1).filter(is_foreign);
        1 + more.filter(|word| !self.stop_words.contains(*word)).count()
    }

    /// The kind of the question `asked` by its first words; `None` if they are of no kind.
    fn kind(&self, asked: &str) -> Option<QuestionKind> {
        let opened = self.opening(asked).map(|(kind, _)| kind);
        opened.or_else(|| self.asks_steps(asked).then_some(QuestionKind::HowTo))
    }

    /// The first words of a question that tell its kind.
    fn opening(&self, asked: &str) -> Option<(QuestionKind, &str)> {
        let start = spaced(asked);
        let by_opening = [
            (&self.open, QuestionKind::Open),
            (&self.definition, QuestionKind::Definition),
            (&self.quantity, QuestionKind::Quantity),
            (&self.when, QuestionKind::When),
            (&self.who, QuestionKind::Who),
            (&self.r#where, QuestionKind::Where),
            (&self.why, QuestionKind::Why),
            (&self.list, QuestionKind::List),
            (&self.yes_no, QuestionKind::YesNo),
        ];
        by_opening.into_iter().find_map(|(phrases, kind)| {
            let is_opening = |it: &&String| begins_with_phrase(&start, std::slice::from_ref(*it));
            phrases.iter().find(is_opening).map(|phrase| (kind, phrase.as_str()))
        })
    }

    fn asks_steps(&self, asked: &str) -> bool {
        let words: Vec<Token> = tokens(asked);
        let [how, verb, ..] = words.as_slice() else {
            return false;
        };
        let next = || words[1..].iter().take(2);
        let by_pronoun = || next().any(|word| self.subject_pronouns.contains(&word.text));
        let ends = |ending: &String| verb.text.ends_with(ending.as_str());
        let whole_verb =
            || verb.text.chars().count() > 4 && self.infinitive_endings.iter().any(ends);
        self.how.contains(&how.text)
            && !next().any(|word| self.naming.contains(&word.text))
            && (by_pronoun() || whole_verb())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_questions_are_told_by_their_stop_words() {
        for (asked, lang) in [
            ("Wie installiere ich ein extensives Gründach?", Some("de")),
            ("Was kostet eine Solaranlage?", Some("de")),
            ("Was ist Kork?", Some("de")),
            ("Was kostet Kork?", Some("de")),
            ("Ist Kork giftig?", Some("de")),
            ("Wat is kurk?", Some("nl")),
            ("Was cork used in 1900?", None),
            ("Hat trick rules", None),
            ("Is cork toxic?", None),
            ("Comment installer une toiture végétalisée ?", Some("fr")),
            ("¿Cómo se instala un techo verde?", Some("es")),
            ("Quanto costa un tetto verde?", Some("it")),
            ("Como se instala um telhado verde?", Some("pt")),
            ("Hoeveel kost een groendak?", Some("nl")),
            ("How do you install an extensive green roof?", None),
            ("Was Die Hard set in Los Angeles?", None),
            ("Is NfL (neurofilament light chain) a biomarker of neurodegeneration?", None),
            ("Is the Rio de la Plata a river or an estuary?", None),
            ("List men on the moon.", None),
            ("Las Vegas to Los Angeles drive time", None),
            ("Che Guevara UN speech 1964", None),
            ("iPhone SE price on amazon.com", None),
            ("Ce este un acoperiș verde?", None),
            ("Qu'est-ce que l'inflation ?", Some("fr")),
            ("Who wrote Das Kapital and Der Ring des Nibelungen?", None),
            ("What is the role of p53 in apoptosis?", None),
            ("Green roof cost per square metre", None),
        ] {
            assert_eq!(language_by_stop_words(asked), lang, "{asked}");
        }
    }

    #[test]
    fn kinds_are_told_in_their_language() {
        for (lang, asked, kind) in [
            ("de", "Wie installiere ich ein extensives Gründach?", QuestionKind::HowTo),
            ("de", "Wie dichtet man ein Flachdach ab?", QuestionKind::HowTo),
            ("de", "Wie funktioniert eine Wärmepumpe?", QuestionKind::Open),
            ("de", "Was kostet ein Gründach pro Quadratmeter?", QuestionKind::Quantity),
            ("de", "Was ist ein Gründach?", QuestionKind::Definition),
            ("de", "Welches Land hat die meisten Einwohner?", QuestionKind::Open),
            ("de", "Was ist der Unterschied zwischen Hanf und Flachs?", QuestionKind::Open),
            ("es", "¿Cómo se llama la capital de Bolivia?", QuestionKind::Open),
            ("fr", "Qu'est-ce que l'inflation ?", QuestionKind::Definition),
            ("fr", "Comment installer une toiture végétalisée ?", QuestionKind::HowTo),
            ("fr", "Combien coûte une toiture végétalisée ?", QuestionKind::Quantity),
            ("es", "¿Cómo se instala un techo verde?", QuestionKind::HowTo),
            ("es", "¿Por qué gotean los techos verdes?", QuestionKind::Why),
            ("nl", "Hoe installeer ik een groendak?", QuestionKind::HowTo),
        ] {
            assert_eq!(kind_and_subjects(lang, asked).unwrap().0, kind, "{asked}");
        }
    }

    #[test]
    fn the_subject_is_between_the_stop_words() {
        let subjects = |lang, asked| kind_and_subjects(lang, asked).unwrap().1;
        let german = subjects("de", "Wie installiere ich ein extensives Gründach?");
        assert_eq!(german, ["extensives Gründach"]);
        let cost = subjects("de", "Was kostet ein Gründach pro Quadratmeter?");
        assert_eq!(cost, ["Gründach", "Quadratmeter"]);
        assert_eq!(
            subjects("fr", "Combien coûte une toiture végétalisée ?")[0],
            "toiture végétalisée"
        );
        assert_eq!(kind_and_subjects("zh", "什么是人工智能？"), None);
    }
}
