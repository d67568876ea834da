//! Whether a sentence can be used in a report, and how it is cleaned.
use crate::prompts::SentenceWords;
use ibid_core::domain::words::is_stop_word;

use super::measures::measures;
use ibid_core::domain::{BlockKind, Page};

use super::lexicon::{has_phrase, on_one_line, sentence_case, spaced};
use super::sentence_form::{
    is_conditional, is_contents, is_title, is_unbalanced, starts_with_page_number,
};
use super::text_headings::has_lost_break;

/// Minimum number of words of a sentence with content.
const MIN_SENTENCE_WORDS: usize = 5;
/// Minimum number of words of a step in a list: "Install the binary."
const MIN_STEP_WORDS: usize = 3;
/// How well formed a member of a list is.
pub(crate) const MEMBER_FITNESS: f32 = 0.6;
/// Words of a longer line that begins "how to", which is a sentence.
const MAX_GUIDE_TITLE_WORDS: usize = 14;
/// Maximum length of the label of a line, in bytes.
const MAX_LABEL_BYTES: usize = 48;
/// Minimum number of words of a statement with a verb or a number: "She never married."
const MIN_STATEMENT_WORDS: usize = 3;
/// Maximum number of words of a readable sentence.
pub(crate) const MAX_SENTENCE_WORDS: usize = 65;

/// A sentence of a page, prepared for scoring.
pub(crate) struct SentenceText {
    /// Its words with single spaces, in lower case.
    pub(crate) spaced: String,
    /// How many words.
    pub(crate) words: usize,
}

impl SentenceText {
    pub(crate) fn new(text: &str) -> SentenceText {
        let spaced = spaced(without_announcement(text));
        SentenceText { words: spaced.split(' ').filter(|part| !part.is_empty()).count(), spaced }
    }
}

/// How well sentence `n` is formed, at most 1. `None` if its form rules it out: a heading, code, a
/// question, a reference, navigation, too short or too long. Whether it gives orders is up to
/// [`InjectionDetector`](super::injection::InjectionDetector).
pub(crate) fn fitness(
    page: &Page,
    n: usize,
    seen: &SentenceText,
    words: &SentenceWords,
) -> Option<f32> {
    let text = page.sentence(n);
    let kind = page.sentences().get(n).map(|sentence| sentence.kind);
    let Some(kind @ (BlockKind::Prose | BlockKind::ListItem | BlockKind::Comment)) = kind else {
        return None;
    };
    let stop = ends_like_a_sentence(text);
    let cut = kind == BlockKind::Prose
        && text.starts_with(char::is_lowercase)
        && starts_mid_sentence(text);
    if seen.words > MAX_SENTENCE_WORDS
        || seen.words < MIN_SENTENCE_WORDS
            && !is_short_step((page, n), kind, seen, words)
            && !is_short_statement(text, seen, words)
        || cut
        || (!stop && seen.words < 8 && kind != BlockKind::ListItem)
        || (!stop && kind == BlockKind::Prose && breaks_off(text, words))
        || has_lost_break(page, n)
        || text.trim_end_matches(['"', '”', '\'', ')']).ends_with('?')
        || text.contains("? ") && seen.words < 25
        || is_reference(text, seen)
        || is_title_with_byline(&page.title, text)
        || is_title_of_guide(seen, words)
        || is_title_without_verb((&page.title, text), seen, words)
        || is_noise(text)
        || words.boilerplate.any_in(&seen.spaced) && seen.words < 40
    {
        return None;
    }
    Some(form_score(text, kind, stop, seen, words))
}

/// Whether a sentence is a member of a list, or a line with a label.
pub(crate) fn is_listed(page: &Page, n: usize) -> bool {
    let labelled = || {
        page.sentence(n).split_once(": ").is_some_and(|(label, rest)| {
            label.starts_with(char::is_uppercase)
                && label.len() <= MAX_LABEL_BYTES
                && rest.starts_with(char::is_alphanumeric)
        })
    };
    page.sentences().get(n).is_some_and(|sentence| match sentence.kind {
        BlockKind::ListItem => true,
        BlockKind::Prose => labelled(),
        _ => false,
    })
}

/// How well formed a member of a list is that no sentence is, "Bicycle leasing", or a line with a label, "Common: thirst, a dry
/// mouth", the first line below a heading, or a block of code. `None` for what is none of these.
pub(crate) fn member_fitness(page: &Page, n: usize) -> Option<f32> {
    let text = page.sentence(n);
    let kind = page.sentences().get(n)?.kind;
    // "MPL-2.0." under "Licence".
    let above = n.checked_sub(1).and_then(|above| page.sentences().get(above));
    let first = above.is_some_and(|above| above.kind == BlockKind::Heading);
    let member = is_listed(page, n) || kind == BlockKind::Code || kind == BlockKind::Prose && first;
    let words = text.split_whitespace().count();
    let fits = member && words <= MAX_SENTENCE_WORDS && !text.ends_with('?') && !is_byline(text);
    (fits && text.contains(char::is_alphabetic)).then_some(MEMBER_FITNESS)
}

/// Whether it is a short step of a list, as a sentence or before what it names: "1. Install the binary.", "2. Write the file:"
fn is_short_step(
    (page, n): (&Page, usize),
    kind: BlockKind,
    seen: &SentenceText,
    words: &SentenceWords,
) -> bool {
    let text = page.sentence(n);
    let next = page.sentences().get(n + 1);
    let names_code = || text.ends_with(':') && next.is_some_and(|it| it.kind == BlockKind::Code);
    kind == BlockKind::ListItem
        && seen.words >= MIN_STEP_WORDS
        && (names_code()
            || ends_like_a_sentence(text)
                && is_imperative(&without_lead(text, words).to_lowercase(), words))
}

/// Whether it is a short but whole statement: "It draws 280 watts.", "Cockerels are not allowed."
fn is_short_statement(text: &str, seen: &SentenceText, words: &SentenceWords) -> bool {
    seen.words >= MIN_STATEMENT_WORDS
        && ends_like_a_sentence(text)
        && (has_finite_verb(&seen.spaced, words) || text.contains(|c: char| c.is_ascii_digit()))
}

/// Whether a text without a full stop ends in a word that wants another: "the green roof costs".
fn breaks_off(text: &str, words: &SentenceWords) -> bool {
    let last = text.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    is_stop_word(last) || last.starts_with(char::is_lowercase) && words.verbs.contains(last)
}

/// Whether a lower-case text begins by telling what to do.
pub(crate) fn is_imperative(opening: &str, words: &SentenceWords) -> bool {
    let clause = without_ordinal(opening).split([',', ':', ';']).next().unwrap_or_default();
    let mut rest = clause.split(' ');
    let first = rest.next().unwrap_or_default();
    // "Ensure the valve is closed" leaves out "that".
    let is_noun = !["ensure", "check", "see"].contains(&first)
        && rest
            .take_while(|word| !words.clause_openings.contains(*word))
            .any(|word| words.subject_verbs.contains(word));
    words.imperatives.contains(first) && !is_noun
}

/// A lower-case text without the word that gives a step its place: "first, mix", "then fold".
fn without_ordinal(opening: &str) -> &str {
    const ORDINALS: [&str; 16] = [
        "first",
        "firstly",
        "second",
        "secondly",
        "third",
        "thirdly",
        "fourth",
        "fourthly",
        "fifth",
        "sixth",
        "then",
        "next",
        "afterwards",
        "after that",
        "finally",
        "lastly",
    ];
    let mut rests = ORDINALS.iter().filter_map(|word| opening.strip_prefix(word));
    let rest = rests.find_map(|rest| rest.strip_prefix(", ").or_else(|| rest.strip_prefix(' ')));
    rest.unwrap_or(opening)
}

/// Scores the form of a sentence: each flaw lowers it.
fn form_score(
    text: &str,
    kind: BlockKind,
    stop: bool,
    seen: &SentenceText,
    words: &SentenceWords,
) -> f32 {
    let opening = without_lead(text, words).to_lowercase();
    let flaws = [
        (kind == BlockKind::Comment, 0.7),
        (words.aims.any_in(&seen.spaced), 0.55),
        (
            words.aim_openings.iter().any(|aim_opening| opening.starts_with(aim_opening.as_str())),
            0.4,
        ),
        (words.pointing.any_in(&seen.spaced), 0.7),
        (text.ends_with(':'), 0.4),
        (!stop && kind == BlockKind::Prose, 0.6),
        (text.starts_with('['), 0.4),
        (is_title(text), 0.7),
        (!has_finite_verb(&seen.spaced, words) && !is_imperative(&opening, words), 0.5),
        (starts_with_page_number(text), 0.5),
        (seen.words > 45 || seen.words < 8, 0.85),
        // A statement under a condition answers another question than the one asked.
        (is_conditional(&opening) && seen.words > 12, 0.7),
        (is_unbalanced(text), 0.75),
    ];
    flaws.iter().filter(|flaw| flaw.0).map(|flaw| flaw.1).product()
}

/// Whether there is a verb; titles and captions have none.
pub(crate) fn has_finite_verb(spaced: &str, words: &SentenceWords) -> bool {
    let all: Vec<&str> = spaced.split([' ', ',']).filter(|part| !part.is_empty()).collect();
    all.iter().enumerate().any(|(nth, it)| {
        let participle = all.get(nth + 1).is_some_and(|next| {
            matches!(*next, "by" | "with" | "from" | "to" | "in" | "at" | "on" | "for" | "as")
        });
        let past = it.len() > 4 && it.ends_with("ed") && !participle && nth > 0;
        past || words.verbs.contains(*it) || nth > 0 && is_third_person(it, all.get(nth + 1))
    })
}

/// Whether a word ends as the third person of a verb does and an object follows: "crosses the river". Such a word seldom follows a plural.
fn is_third_person(word: &str, next: Option<&&str>) -> bool {
    const OBJECTS: &[&str] = &[
        "the", "a", "an", "its", "their", "his", "her", "our", "your", "it", "them", "him", "us",
        "you", "every", "each", "both",
    ];
    let object = next.is_some_and(|next| OBJECTS.contains(next));
    object && word.len() > 3 && word.ends_with('s') && !word.ends_with("ss")
}

pub(crate) fn ends_like_a_sentence(text: &str) -> bool {
    text.trim_end_matches(['"', '”', '\'', '’', ')', ']', '»'])
        .ends_with(['.', '!', '。', '！', '।', '…'])
}

/// A lower-case first letter means a cut sentence, unless the word is written so: mRNA, p53, α-synuclein.
fn starts_mid_sentence(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    !first.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit()) && first.is_ascii()
}

/// Whether a line only names what another page tells: "How to run your own workshop".
fn is_title_of_guide(seen: &SentenceText, words: &SentenceWords) -> bool {
    let opens = seen.spaced.trim_start().starts_with("how to ");
    opens
        && seen.words <= MAX_GUIDE_TITLE_WORDS
        && !words.subject_verbs.iter().any(|verb| has_phrase(&seen.spaced, verb))
}

/// Whether a sentence is the title of its page, and states nothing: "Rain in the old town: five options compared".
fn is_title_without_verb(
    (title, text): (&str, &str),
    seen: &SentenceText,
    words: &SentenceWords,
) -> bool {
    let is_title = text.trim_end_matches('.') == title.trim().trim_end_matches('.');
    is_title && text.contains(": ") && !seen.spaced.split(' ').any(|it| words.verbs.contains(it))
}

/// Whether a sentence is the title of its page with the names of its authors: "Forty years on a roof Mara Quist".
fn is_title_with_byline(title: &str, text: &str) -> bool {
    let Some(byline) = text.strip_prefix(title.trim()).filter(|_| !title.trim().is_empty()) else {
        return false;
    };
    const PARTICLES: [&str; 11] =
        ["and", "by", ",", "&", "van", "von", "de", "der", "den", "la", "di"];
    let names: Vec<&str> = byline.split_whitespace().collect();
    let is_name = |word: &&str| word.starts_with(char::is_uppercase) || PARTICLES.contains(word);
    byline.contains(char::is_uppercase)
        && byline.starts_with(' ')
        && (1..=8).contains(&names.len())
        && names.iter().all(is_name)
}

/// A line of a reference list.
fn is_reference(text: &str, seen: &SentenceText) -> bool {
    let lower = &seen.spaced;
    let doi = lower.contains(" doi ") || text.contains("doi.org") || text.contains("doi:");
    let volume = text.contains(");")
        || text.contains(":e")
        || lower.contains(" pp ")
        || lower.contains(" vol ");
    let initials = text.matches(|c: char| c.is_ascii_uppercase()).count() * 4 > text.len().max(1);
    (doi && seen.words < 45)
        || (volume && initials)
        || text.contains("http://")
        || text.contains("https://")
        || text.contains("www.")
}

/// Navigation, flattened tables, formulae: too few letters, or too many bars.
fn is_noise(text: &str) -> bool {
    let total = text.chars().count();
    let letters = text.chars().filter(|c| c.is_alphabetic() || c.is_whitespace()).count();
    let bars = text.matches(['|', '›', '»', '→', '•', '·', '_', '{', '}', '<', '>', '\\']).count();
    letters * 10 < total * 7 || bars > 2 || is_byline(text) || is_contents(text)
}

/// "By Ada Reed 2016-03-04 - 3 min read".
fn is_byline(text: &str) -> bool {
    text.trim_end_matches('.').ends_with(" min read")
}

/// Whether the sentence depends on the one before it: it begins with an unresolved pronoun.
pub(crate) fn leans_on_previous(text: &str, words: &SentenceWords) -> bool {
    let bare = spaced(&without_lead(text, words));
    let start = bare.trim_start();
    let begins = |all: &[String]| {
        all.iter().any(|text| {
            start.strip_prefix(text.as_str()).is_some_and(|rest| {
                rest.is_empty() || text.ends_with(',') || rest.starts_with([' ', ','])
            })
        })
    };
    begins(&words.leaning) && !begins(&words.standing)
        || has_unresolved_them(start)
        || has_unresolved_these(start)
}

/// Whether a sentence whose subject is an action names what it is done to as "these issues" alone: "Doing things to address these
/// issues helps".
fn has_unresolved_these(text: &str) -> bool {
    /// Words of a sentence within which its subject stands.
    const MAX_WORDS_TO_THESE: usize = 7;
    let mut words = text.split_whitespace();
    let acts = words.next().is_some_and(|first| first.ends_with("ing"));
    acts && words.take(MAX_WORDS_TO_THESE).any(|word| matches!(word, "these" | "those"))
}

/// Whether a sentence has "them" before anything that it could stand for: "We could not compare them with gravel roofs".
fn has_unresolved_them(text: &str) -> bool {
    /// Maximum number of words from the pronoun at the beginning to "them".
    const MAX_WORDS_TO_THEM: usize = 4;
    let mut words = text.split_whitespace();
    let begins = matches!(words.next(), Some("i" | "we" | "you"));
    // "We boil eggs, cool them" names the eggs.
    let clause = words.take_while(|word| !word.ends_with(',')).take(MAX_WORDS_TO_THEM);
    begins && clause.into_iter().any(|word| word == "them")
}

/// The sentence without list marker, section label of an abstract, and leading connectives.
fn without_lead(text: &str, words: &SentenceWords) -> String {
    let mut rest = without_announcement(text.trim());
    rest = strip_marker(rest);
    rest = strip_label(rest, words);
    for _ in 0..2 {
        let Some(shorter) = strip_connective(rest, words) else {
            break;
        };
        rest = shorter;
    }
    strip_reporting(rest, words).to_owned()
}

/// A sentence without an announcement before a colon: "Here are more details from the example above: linking is twice as fast."
fn without_announcement(text: &str) -> &str {
    const MAX_WORDS: usize = 14;
    const MIN_REST: usize = 4;
    let Some((lead, rest)) = text.split_once(": ") else {
        return text;
    };
    let lower = lead.trim_start().to_lowercase();
    let announces = ["here is ", "here are ", "here's "].iter().any(|it| lower.starts_with(it));
    let words = |text: &str| text.split_whitespace().count();
    let whole = announces && words(lead) <= MAX_WORDS && words(rest) >= MIN_REST;
    if whole { rest.trim_start() } else { text }
}

fn strip_marker(text: &str) -> &str {
    let bare = text.trim_start_matches(['•', '·', '-', '–', '*', '▪', '●', '‣', ' ']);
    let digits = bare.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    if (1..=2).contains(&digits)
        && let Some(after) = bare[digits..].strip_prefix(['.', ')'])
        && after.starts_with(' ')
    {
        return after.trim_start();
    }
    without_clause_number(bare)
}

/// A text without the number of its clause: "3.1 Dogs stay outside.", and not "3.1 litres".
fn without_clause_number(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(0);
    let rest = text[end..].trim_start();
    let clause = text[..end].split('.').filter(|part| !part.is_empty()).count() > 1;
    let follows = text[end..].starts_with(' ') && rest.starts_with(char::is_uppercase);
    if clause && follows { rest } else { text }
}

fn strip_label<'a>(text: &'a str, words: &SentenceWords) -> &'a str {
    let Some((label, rest)) = text.split_once(':') else {
        return text;
    };
    let lower = label.trim().to_lowercase();
    if words.labels.contains(&lower) && rest.starts_with(' ') { rest.trim_start() } else { text }
}

fn strip_connective<'a>(text: &'a str, words: &SentenceWords) -> Option<&'a str> {
    // "And plants matter less" stands without its first word.
    if let Some(rest) = text.strip_prefix("And ").filter(|rest| rest.contains(' ')) {
        return Some(rest);
    }
    let (lead, rest) = text.split_once(',')?;
    // Numbers such as "1,200" are no connective, and a longer lead is an adverbial with content.
    let lower = lead.trim().to_lowercase();
    (words.connectives.contains(&lower) && rest.starts_with(' ')).then(|| rest.trim_start())
}

/// Removes "We found that": the finding stands by itself.
fn strip_reporting<'a>(text: &'a str, words: &SentenceWords) -> &'a str {
    let longest = words
        .reporting
        .iter()
        .filter(|it| text.get(..it.len()).is_some_and(|lead| lead.eq_ignore_ascii_case(it)))
        .filter(|it| text[it.len()..].starts_with(' '))
        .map(String::len)
        .max();
    let Some(end) = longest else {
        return text;
    };
    let rest = text[end..].trim_start();
    let that = text[..end].ends_with("that");
    // Without "that", only a name can be told from an object: "Here we find METTL1 is amplified".
    let named = rest.split(' ').next().is_some_and(|part| part.chars().any(|c| c.is_uppercase()));
    if that || named { rest } else { text }
}

/// The sentence as a claim: verbatim, except for parts that may safely be removed. Words are never changed.
pub(crate) fn claim_text(text: &str, words: &SentenceWords) -> String {
    let bare = without_lead(&on_one_line(text), words);
    let bare = strip_trailing_marks(&bare);
    let mut claim = if starts_mid_sentence(text) && text.starts_with(char::is_lowercase) {
        bare.to_owned()
    } else {
        sentence_case(bare)
    };
    // Code that ends a step has no full stop.
    let ends_with_code = text.contains(":\n");
    if !ends_with_code
        && !claim.ends_with(['.', '!', '?', '。', '！', '…', '।', '"', '”', ')', ':'])
    {
        claim.push('.');
    }
    if claim.ends_with(':') {
        claim.pop();
        claim.push('.');
    }
    claim
}

/// Removes reference marks such as "[12]" or "[3, 4]" before or after the full stop.
fn strip_trailing_marks(text: &str) -> &str {
    let mut rest = text;
    loop {
        let bare = rest.trim_end();
        let inner = bare.trim_end_matches('.');
        let Some(open) = inner.strip_suffix(']').and_then(|rest| rest.rfind('[')) else {
            return rest;
        };
        let marks = &inner[open + 1..inner.len() - 1];
        if marks.is_empty()
            || !marks.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | ' ' | '-' | '–'))
        {
            return rest;
        }
        rest = inner[..open].trim_end();
    }
}

/// Phrases that begin a comparison.
const COMPARED: &[&str] =
    &[" than ", " compared with ", " compared to ", " versus ", " relative to "];

/// What leads to another thing of which a sentence does not hold: "it inhibits the one, but not the other".
pub(crate) const BUT_NOT: &str = " but not ";

/// Whether the words contain a negation.
pub(crate) fn has_denial(spaced: &str, words: &SentenceWords) -> bool {
    words.negations.any_in(&without_harmless_negations(spaced, words))
}

/// How many negations the words contain; "neither … nor" is one.
pub(crate) fn count_denials(spaced: &str, words: &SentenceWords) -> usize {
    let text = without_harmless_negations(spaced, words);
    let count = words.negations.count_in(&text);
    let repeats = text.matches(" nor ").count();
    if count > repeats { count - repeats } else { count.min(1) }
}

/// The words without negations that negate nothing here.
fn without_harmless_negations(spaced: &str, words: &SentenceWords) -> String {
    let mut text = spaced.to_owned();
    for harmless in &words.no_negation {
        text = text.replace(&format!(" {harmless} "), " ");
    }
    // "Cooler than streets without trees" negates nothing.
    let compared = COMPARED.iter().filter_map(|it| text.find(it)).min();
    if let Some(at) = compared {
        let tail = text[at..].replace(" without ", " ");
        text.replace_range(at.., &tail);
    }
    text
}

/// Whether the words express doubt or contradiction.
pub(crate) fn has_doubt_words(spaced: &str, words: &SentenceWords) -> bool {
    words.doubt.any_in(spaced)
}

/// Whether the text has a number that measures or counts.
pub(crate) fn has_number(text: &str) -> bool {
    measures(text).iter().any(|measure| measure.unit.is_some() || measure.value >= 10.0)
}

/// Titles that stand before the name of a person.
pub(crate) const TITLES: [&str; 9] = ["mr", "mrs", "ms", "miss", "dr", "prof", "sir", "col", "rev"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn them_before_a_noun_leans_on_the_sentence_before() {
        let words = &crate::prompts::phrases().unwrap().sentence;
        assert!(leans_on_previous("We could not compare them with roofs of gravel.", words));
        assert!(!leans_on_previous("We boil eggs, cool them and peel them.", words));
        assert!(!leans_on_previous(
            "We measured the runoff of twelve roofs and compared them.",
            words
        ));
    }

    #[test]
    fn a_title_before_its_authors_is_no_sentence() {
        let title = "Forty years on a roof: life cycles compared";
        assert!(is_title_with_byline(title, &format!("{title} Mara Quist and Lou Hart")));
        assert!(!is_title_with_byline(title, title));
        assert!(!is_title_with_byline(title, &format!("{title} shows that membranes last.")));
        assert!(!is_title_with_byline("", "Mara Quist"));
    }
    use crate::prompts;

    fn words() -> &'static SentenceWords {
        &prompts::phrases().unwrap().sentence
    }

    #[test]
    fn claims_are_cleaned_without_changing_words() {
        for (text, claim) in [
            ("However, cork floats.", "Cork floats."),
            (
                "CONCLUSIONS: In addition, mRNA levels rose by 1,200 % [12].",
                "mRNA levels rose by 1,200 %",
            ),
            ("3. Soak the beans", "Soak the beans."),
            ("In 1900, cork was dear.", "In 1900, cork was dear."),
        ] {
            assert!(claim_text(text, words()).starts_with(claim.trim_end_matches('.')), "{text}");
        }
    }

    #[test]
    fn sentences_that_lean_on_others_are_known() {
        for text in
            ["This finding matters.", "It floats.", "However, they sink.", "These two differ."]
        {
            assert!(leans_on_previous(text, words()), "{text}");
        }
        for text in [
            "Cork floats.",
            "It is known that cork floats.",
            "In 1900, cork was dear.",
            "Italy grows cork.",
        ] {
            assert!(!leans_on_previous(text, words()), "{text}");
        }
    }
}
