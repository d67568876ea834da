//! Words as numbers, so that thousands of sentences can be compared cheaply.
use std::collections::HashMap;

use crate::prompts;
use crate::thesaurus;
use ibid_core::domain::words::{is_stop_word, stem, tokens};

/// The words of a run: each stem has a number. The map is only looked up and never iterated, so its order
/// reaches no result.
#[derive(Default)]
pub(crate) struct StemInterner {
    words: HashMap<String, u32>,
    stems: HashMap<String, u32>,
}

impl StemInterner {
    /// The number of a lower-case word's stem.
    pub(crate) fn id(&mut self, word: &str) -> u32 {
        if let Some(id) = self.words.get(word) {
            return *id;
        }
        let next = self.stems.len() as u32;
        let spelled = number_of_word(word).map_or_else(|| one_spelling(word), str::to_owned);
        // "G4s" are several of "G4"; "1990s" is no year.
        let singular = spelled.strip_suffix('s').filter(|it| {
            it.ends_with(|c: char| c.is_ascii_digit()) && it.starts_with(char::is_alphabetic)
        });
        let spelled = singular.map_or_else(|| spelled.clone(), str::to_owned);
        let spelled = without_zero_patch(&spelled).map_or_else(|| spelled.clone(), str::to_owned);
        let spelled = present_form(&spelled).map_or_else(|| spelled.clone(), str::to_owned);
        // Clay is fired without a fire.
        let spelled = if spelled == "fired" { "firing".to_owned() } else { spelled };
        if spelled == "firing" {
            let id = *self.stems.entry(spelled).or_insert(next);
            self.words.insert(word.to_owned(), id);
            return id;
        }
        let root = match agent_noun_verb(&spelled) {
            Some(doer) => doer.to_owned(),
            None => root(&stem(&spelled)).to_owned(),
        };
        let id = *self.stems.entry(root).or_insert(next);
        self.words.insert(word.to_owned(), id);
        id
    }

    /// The numbers of the content words of `text`, in order. A hyphenated word counts by its parts and as a
    /// whole, so that "back-splicing" matches "backsplicing" and "splicing".
    pub(crate) fn ids(&mut self, text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        let text = &*thesaurus::single_words(text);
        for token in tokens(text) {
            let word = token.text.as_str();
            if is_stop_word(word) {
                continue;
            }
            if word.contains(['-', '‐', '‑']) {
                for part in word.split(['-', '‐', '‑']) {
                    if !is_stop_word(part) && !part.is_empty() {
                        found.push(self.id(part));
                    }
                }
                found.push(self.id(&word.replace(['-', '‐', '‑'], "")));
            } else if let Some(head) = before_capital_tail(&text[token.span.clone()]) {
                found.push(self.id(&head.to_lowercase()));
            } else {
                found.push(self.id(word));
            }
        }
        found
    }

    /// The numbers of the parts of a hyphenated word, or of the word: a page may write "CPX-351" in two words or in one.
    pub(crate) fn part_ids(&mut self, word: &str) -> Vec<u32> {
        let parts = word.split(['-', '‐', '‑']).filter(|it| !it.is_empty() && !is_stop_word(it));
        parts.map(|part| self.id(part)).collect()
    }

    /// Like [`StemInterner::ids`], each once, sorted by number.
    pub(crate) fn id_set(&mut self, text: &str) -> Vec<u32> {
        let mut ids = self.ids(text);
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// "topoisomerase" of "topoisomeraseII", which others write apart.
fn before_capital_tail(word: &str) -> Option<&str> {
    let head = word.trim_end_matches(|c: char| c.is_uppercase());
    let tail = word.len() - head.len();
    ((1..=3).contains(&tail) && head.len() >= 5 && head.chars().skip(1).all(char::is_lowercase))
        .then_some(head)
}

/// A version without its final ".0": "1.90" of "1.90.0"; `None` for other words.
pub(super) fn without_zero_patch(word: &str) -> Option<&str> {
    let release = word.strip_suffix(".0")?;
    (release.contains('.') && release.split('.').all(|it| it.parse::<u32>().is_ok()))
        .then_some(release)
}

/// Past forms of verbs that the stemmer does not join to their present. "Found", "felt", "left", "saw", "led", "fed" and "won" are left
/// out: each is another word, too; and "held", which says "contained".
const PAST_FORMS: [(&str, &str); 71] = [
    ("ate", "eat"),
    ("became", "become"),
    ("began", "begin"),
    ("begun", "begin"),
    ("bought", "buy"),
    ("broke", "break"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("came", "come"),
    ("caught", "catch"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("dealt", "deal"),
    ("drawn", "draw"),
    ("drew", "draw"),
    ("driven", "drive"),
    ("drove", "drive"),
    ("dug", "dig"),
    ("eaten", "eat"),
    ("fallen", "fall"),
    ("fell", "fall"),
    ("flew", "fly"),
    ("flown", "fly"),
    ("fought", "fight"),
    ("froze", "freeze"),
    ("frozen", "freeze"),
    ("gave", "give"),
    ("given", "give"),
    ("gone", "go"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("hung", "hang"),
    ("kept", "keep"),
    ("knew", "know"),
    ("known", "know"),
    ("lent", "lend"),
    ("lost", "lose"),
    ("made", "make"),
    ("overtaken", "overtake"),
    ("overtook", "overtake"),
    ("paid", "pay"),
    ("ran", "run"),
    ("risen", "rise"),
    ("rose", "rise"),
    ("sang", "sing"),
    ("sank", "sink"),
    ("sent", "send"),
    ("shown", "show"),
    ("slept", "sleep"),
    ("sold", "sell"),
    ("sought", "seek"),
    ("spent", "spend"),
    ("stole", "steal"),
    ("stolen", "steal"),
    ("stood", "stand"),
    ("sung", "sing"),
    ("sunk", "sink"),
    ("swam", "swim"),
    ("swum", "swim"),
    ("taken", "take"),
    ("taught", "teach"),
    ("threw", "throw"),
    ("thrown", "throw"),
    ("told", "tell"),
    ("took", "take"),
    ("went", "go"),
    ("wore", "wear"),
    ("worn", "wear"),
    ("written", "write"),
    ("wrote", "write"),
];

/// Whether a word is such a form.
pub(crate) fn is_past_form(word: &str) -> bool {
    present_form(word).is_some()
}

/// The present of a past form.
fn present_form(word: &str) -> Option<&'static str> {
    let at = PAST_FORMS.binary_search_by(|row| row.0.cmp(word)).ok()?;
    Some(PAST_FORMS[at].1)
}

/// The root that joins "treatment" and "treat", which the stemmer keeps apart.
fn root(stem: &str) -> &str {
    stem.strip_suffix("ment").filter(|rest| rest.chars().count() >= 5).unwrap_or(stem)
}

/// The verb inside a word for a doer or a tool; `None` for other words. Such a word has a meaning of its own:
/// "promoters" are not whatever promotes.
fn agent_noun_verb(word: &str) -> Option<&str> {
    let single = word.strip_suffix("'s").or(word.strip_suffix("’s")).unwrap_or(word);
    let single = single.strip_suffix('s').unwrap_or(single);
    (single.len() >= 7 && (single.ends_with("er") || single.ends_with("or"))).then_some(single)
}

/// Words derived from another, with weights. Agent nouns stand for verbs, and verbs for them: "an inhibitor of" means
/// "inhibits", but what promotes something is not always called a promoter. Nouns in "-sis" stand for their adjectives, and
/// back: "cytokinesis" and "cytokinetic". "Retention" is hardly another word than "retains".
pub(crate) fn derived_words(word: &str) -> Vec<(String, f32)> {
    const VERB_BY_DOER: f32 = 0.7;
    const DOER_BY_VERB: f32 = 0.4;
    const ADJECTIVE_BY_NOUN: f32 = 0.8;
    const NOUN_BY_VERB: f32 = 0.9;
    let of_noun = |from: &str, to: &str| {
        let stem = word.strip_suffix(from).filter(|stem| stem.len() >= 5)?;
        let vowel = stem.ends_with(['a', 'e', 'o', 'y']);
        vowel.then(|| vec![(format!("{stem}{to}"), ADJECTIVE_BY_NOUN)])
    };
    if let Some(found) = of_noun("sis", "tic").or_else(|| of_noun("tic", "sis")) {
        return found;
    }
    if let Some(verb) = verb_of_noun(word) {
        return vec![(verb, NOUN_BY_VERB)];
    }
    if let Some(doer) = agent_noun_verb(word) {
        let verb = &doer[..doer.len() - 2];
        return vec![(verb.to_owned(), DOER_BY_VERB), (format!("{verb}e"), DOER_BY_VERB)];
    }
    let base = ["ing", "ed", "es", "s", "e"]
        .iter()
        .find_map(|suffix| word.strip_suffix(suffix))
        .unwrap_or(word);
    if base.len() < 4 || !base.is_ascii() {
        return Vec::new();
    }
    let doers = ["or", "er"].map(|it| (format!("{base}{it}"), VERB_BY_DOER));
    noun_of_verb(word).map(|noun| (noun, NOUN_BY_VERB)).into_iter().chain(doers).collect()
}

/// How Latin verbs, without a last "e", and the nouns of what they say end. Their stems differ.
const VERB_NOUN_ENDS: [(&str, &str); 23] = [
    ("tain", "tention"),
    ("duc", "duction"),
    ("sorb", "sorption"),
    ("ceiv", "ception"),
    ("scrib", "scription"),
    ("sum", "sumption"),
    ("vert", "version"),
    ("mit", "mission"),
    ("ced", "cession"),
    ("clud", "clusion"),
    ("vad", "vasion"),
    ("rod", "rosion"),
    ("plod", "plosion"),
    ("pand", "pansion"),
    ("tend", "tension"),
    ("ven", "vention"),
    ("solv", "solution"),
    ("volv", "volution"),
    ("quir", "quisition"),
    ("pel", "pulsion"),
    ("cid", "cision"),
    ("vid", "vision"),
    ("pos", "position"),
];

/// Nouns that end so and are none of such a verb: "attention" is not of "attain".
const OTHER_NOUNS: [&str; 4] = ["attention", "contention", "commission", "intention"];

/// "Retention" of "retains".
fn noun_of_verb(word: &str) -> Option<String> {
    let bases = ["", "e", "s", "es", "ed", "ing", "ting", "ted"];
    bases.iter().filter_map(|end| word.strip_suffix(end)).find_map(|base| {
        let (before, noun) = VERB_NOUN_ENDS
            .iter()
            .find_map(|(verb, noun)| Some((base.strip_suffix(verb)?, noun)))?;
        let noun = (!before.is_empty()).then(|| format!("{before}{noun}"))?;
        (!OTHER_NOUNS.contains(&noun.as_str())).then_some(noun)
    })
}

/// "Retain" of "retention".
fn verb_of_noun(word: &str) -> Option<String> {
    let word = word.strip_suffix('s').filter(|it| !it.ends_with('s')).unwrap_or(word);
    if OTHER_NOUNS.contains(&word) {
        return None;
    }
    let (before, verb) =
        VERB_NOUN_ENDS.iter().find_map(|(verb, noun)| Some((word.strip_suffix(noun)?, verb)))?;
    (!before.is_empty()).then(|| format!("{before}{verb}"))
}

/// The figures of a number word: "forty" is 40. "One" is more often a pronoun.
pub(crate) fn number_of_word(word: &str) -> Option<&'static str> {
    const NUMBERS: [(&str, &str); 19] = [
        ("two", "2"),
        ("three", "3"),
        ("four", "4"),
        ("five", "5"),
        ("six", "6"),
        ("seven", "7"),
        ("eight", "8"),
        ("nine", "9"),
        ("ten", "10"),
        ("eleven", "11"),
        ("twelve", "12"),
        ("twenty", "20"),
        ("thirty", "30"),
        ("forty", "40"),
        ("fifty", "50"),
        ("sixty", "60"),
        ("seventy", "70"),
        ("eighty", "80"),
        ("ninety", "90"),
    ];
    NUMBERS.iter().find(|pair| pair.0 == word).map(|pair| pair.1)
}

/// British and American spelling made equal: "tumour" and "tumor", "haemoglobin" and "hemoglobin".
fn one_spelling(word: &str) -> String {
    if !word.is_ascii() || word.len() < 5 {
        return word.to_owned();
    }
    let mut out = word.replace("ae", "e").replace("oe", "e");
    if out.len() > 5 {
        out = out.replace("our", "or");
    }
    for (british, american) in [("isation", "ization"), ("ising", "izing"), ("ised", "ized")] {
        if let Some(head) = out.strip_suffix(british)
            && head.len() > 3
        {
            out = format!("{head}{american}");
        }
    }
    out
}

/// The words of `text` in lower case with single spaces between and around, so that a phrase is found as `
/// phrase `. Commas and colons stay as words of their own, because phrases may contain them.
pub(crate) fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(' ');
    let mut last = 0;
    for token in tokens(text) {
        if text[last..token.span.start].contains([',', ':', ';']) && out.len() > 1 {
            out.pop();
            out.push_str(", ");
        }
        out.push_str(&token.text);
        out.push(' ');
        last = token.span.end;
    }
    out
}

/// The lines of `text` as one: sentences of several paragraphs, or a line of code and the next.
pub(crate) fn on_one_line(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(continued) = joined.strip_suffix('\\') {
            joined.truncate(continued.trim_end().len());
            joined.push(' ');
        } else if !joined.is_empty() {
            let ends = |marks: &[char]| joined.trim_end_matches(['"', '”']).ends_with(marks);
            let goes_on = ends(&['.', '!', '?', '…', ':', ';', '{', '(', '[', ',', '|', '&']);
            let closes = line.starts_with(['}', ')', ']']);
            joined.push_str(if goes_on || closes { " " } else { "; " });
        }
        // A list after a sentence is told as sentences.
        let is_item = joined.ends_with(". ");
        let marked = ["- ", "* ", "• "].iter().find_map(|mark| line.strip_prefix(mark));
        let words = marked.filter(|_| is_item).unwrap_or(line).split_whitespace();
        joined.push_str(&words.collect::<Vec<_>>().join(" "));
    }
    joined
}

/// Whether `spaced` contains the phrase as whole words.
pub(crate) fn has_phrase(spaced: &str, phrase: &str) -> bool {
    let mut from = 0;
    while let Some(at) = spaced[from..].find(phrase) {
        let start = from + at;
        let end = start + phrase.len();
        let opens = spaced[..start].ends_with(' ');
        let closes = spaced[end..].starts_with([' ', ',']) || phrase.ends_with(',');
        if opens && closes {
            return true;
        }
        from = start + phrase.chars().next().map_or(1, char::len_utf8);
    }
    false
}

/// Whether normalized text begins with one of `phrases`.
pub(crate) fn begins_with_phrase(spaced: &str, phrases: &[String]) -> bool {
    let start = spaced.trim_start();
    phrases.iter().any(|phrase| {
        start.strip_prefix(phrase.as_str()).is_some_and(|rest| rest.starts_with([' ', ',']))
    })
}

/// Share of `a`'s members that are in `b`; both sorted. 0 for an empty `a`.
pub(crate) fn containment(a: &[u32], b: &[u32]) -> f32 {
    if a.is_empty() {
        return 0.0;
    }
    shared(a, b) as f32 / a.len() as f32
}

/// Jaccard similarity of two sorted sets; 0 when both are empty.
pub(crate) fn jaccard(a: &[u32], b: &[u32]) -> f32 {
    let both = shared(a, b);
    let all = a.len() + b.len() - both;
    if all == 0 { 0.0 } else { both as f32 / all as f32 }
}

fn shared(a: &[u32], b: &[u32]) -> usize {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                both += 1;
                i += 1;
                j += 1;
            }
        }
    }
    both
}

/// The text with a capital first letter, unless its first word has a spelling of its own (mRNA, iPhone).
pub(crate) fn sentence_case(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    if first.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    match chars.next() {
        Some(c) if c.is_lowercase() => c.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// Whether a lower-case word is a known verb.
pub(crate) fn is_verb(word: &str) -> bool {
    prompts::phrases().is_ok_and(|phrases| phrases.sentence.verbs.contains(word))
}

/// Whether a lower-case word ends a question of how something is done: "done" of "how is a test done".
pub(crate) fn is_done_participle(word: &str) -> bool {
    let phrases = prompts::phrases();
    phrases.is_ok_and(|phrases| phrases.question.done_participles.iter().any(|it| it == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_two_paragraphs_are_joined_as_they_are_and_lines_of_code_are_told_apart() {
        assert_eq!(on_one_line("One holds.\n\n- Two does  not."), "One holds. Two does not.");
        assert_eq!(on_one_line("cd roof\n  make(all)\nmake test"), "cd roof; make(all); make test");
        assert_eq!(
            on_one_line("run -d \\\n  -p 80\nlet a = 1;\nb()"),
            "run -d -p 80; let a = 1; b()"
        );
        assert_eq!(on_one_line("say(\"Done.\")\nexit()"), "say(\"Done.\"); exit()");
        assert_eq!(on_one_line("Build it:\n\nmake test"), "Build it: make test");
    }

    #[test]
    fn spellings_and_hyphens_meet() {
        let mut words = StemInterner::default();
        assert_eq!(words.id("tumour"), words.id("tumors"));
        assert_eq!(words.id("haemoglobin"), words.id("hemoglobin"));
        let (a, b) = (words.id_set("back-splicing"), words.id_set("backsplicing"));
        assert!(containment(&b, &a) > 0.99);
        assert_ne!(words.id("four"), words.id("for"));
        // Clay is fired without a fire.
        assert_ne!(words.id("firing"), words.id("fire"));
        assert_eq!(words.id("treatment"), words.id("treated"));
        assert_eq!(words.id("1.90.0"), words.id("1.90"));
        assert_ne!(words.id("1.90.1"), words.id("1.90"));
        assert_ne!(words.id("3.0"), words.id("3"));
    }

    #[test]
    fn what_promotes_is_no_promoter() {
        let mut words = StemInterner::default();
        assert_eq!(words.id("promoter"), words.id("promoters"));
        assert_ne!(words.id("promoters"), words.id("promote"));
        assert!(
            derived_words("inhibits")
                .iter()
                .any(|agent_noun_variant| agent_noun_variant.0 == "inhibitor")
        );
        assert!(
            derived_words("promoters")
                .iter()
                .any(|agent_noun_variant| agent_noun_variant.0 == "promote")
        );
    }

    #[test]
    fn a_noun_of_another_stem_stands_for_its_verb_and_back() {
        for (word, other) in [
            ("retain", "retention"),
            ("retained", "retention"),
            ("reducing", "reduction"),
            ("admitted", "admission"),
            ("absorption", "absorb"),
            ("decisions", "decid"),
        ] {
            let found = derived_words(word);
            assert!(found.iter().any(|it| it.0 == other), "{word}: {found:?}");
        }
        assert!(derived_words("erosion").iter().any(|it| it.0 == "erod"));
        assert!(derived_words("attention").iter().all(|it| it.0 != "attain"));
        assert!(derived_words("commit").iter().all(|it| it.0 != "commission"));
    }

    #[test]
    fn phrases_are_whole_words() {
        let text = spaced("However, it is not a notable case.");
        assert!(has_phrase(&text, "however"));
        assert!(has_phrase(&text, "is not"));
        assert!(!has_phrase(&text, "table"));
    }
}
