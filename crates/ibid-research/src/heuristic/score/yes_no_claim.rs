//! What a yes-or-no question claims: its verb, its amounts, and whether it asks if something is enough.
use super::assertion::AssertionWords;
use crate::heuristic::intake::{content_weight, is_verb};
use crate::heuristic::lexicon::{StemInterner, spaced};
use crate::heuristic::question_kind::HELPING_VERBS;
use crate::heuristic::sentence::measures;
use crate::prompts::SentenceWords;
use ibid_core::domain::words::{Number, Token, is_stop_word, tokens};
use ibid_core::domain::{Brief, QuestionKind, Stance};

/// What a sentence must say to decide a yes-or-no question.
pub(super) struct YesNoClaim {
    /// The question, normalized.
    pub(super) asked: String,
    /// The verb asked about: "prevent" of "do roofs prevent floods". Of a question with "is", what it asks the subject to be:
    /// "bad" of "are roofs bad for panels".
    pub(super) verb: Option<u32>,
    /// What the verb is asked of: "floods" of "do roofs prevent floods".
    pub(super) objects: Vec<u32>,
    /// Whether they follow the verb, and do not specify it: "a fire risk".
    pub(super) objects_follow: bool,
    /// All content words of a question whose claim is not known: only a sentence with all of them decides it.
    pub(super) all_words: Vec<u32>,
    /// Whether the question asks of every member of a kind: "can any roof carry plants".
    pub(super) asks_every: bool,
    /// Whether the question asks if nothing else is the case: "do they only cause epilepsy".
    pub(super) asks_only: bool,
    /// What tells reported clauses from asserted ones.
    pub(super) assertions: AssertionWords,
    /// The amounts in the question.
    amounts: Vec<Number>,
    /// Whether the question asks if something is enough.
    pub(super) asks_enough: bool,
}

impl YesNoClaim {
    /// The claim of a yes-or-no question; `None` for questions of other kinds.
    pub(super) fn of_question(
        lexicon: &mut StemInterner,
        brief: &Brief,
        words: &SentenceWords,
    ) -> Option<YesNoClaim> {
        if !matches!(brief.kind, QuestionKind::YesNo | QuestionKind::Causal) {
            return None;
        }
        let asked = spaced(&brief.question);
        let asks_enough = words.enough.any_in(&asked);
        let related = related_objects(&brief.question, words);
        let named = noun_predicate(&brief.question).filter(|_| related.is_none());
        let verb = match (&related, &named) {
            (Some((relation, _)), _) => Some(relation.clone()),
            (None, Some((head, _))) => Some(head.clone()),
            (None, None) => yes_no_verb(&brief.question).or_else(|| predicate(brief)),
        };
        let claim_is_known = verb.is_some() || asks_enough;
        let verb = verb
            .filter(|verb| !asks_enough && related.is_none() && !words.light_verbs.contains(verb));
        let objects_follow = related.is_none() && named.is_none() && verb.is_some();
        let objects: Vec<String> = match (related.or(named), verb.as_deref()) {
            (Some((_, objects)), _) => objects,
            (None, None) => Vec::new(),
            (None, Some(verb)) => {
                let words = tokens(&brief.question).into_iter();
                let after = words.skip_while(|it| it.text != verb).skip(1);
                after.filter(|it| !is_stop_word(&it.text)).map(|it| it.text).collect()
            }
        };
        let all_words = if claim_is_known {
            Vec::new()
        } else {
            let words = tokens(&brief.question);
            let telling = |it: &&Token| content_weight(&brief.question, it) >= 1.0;
            words.iter().filter(telling).flat_map(|it| lexicon.part_ids(&it.text)).collect()
        };
        Some(YesNoClaim {
            objects: objects.iter().flat_map(|object| lexicon.part_ids(object)).collect(),
            objects_follow,
            all_words,
            assertions: AssertionWords::new(words),
            asks_only: words.only.any_in(&asked),
            asks_every: words.every.any_in(&asked),
            verb: verb.map(|verb| lexicon.id(&verb)),
            amounts: measures(&brief.question),
            asks_enough,
            asked,
        })
    }

    /// The stance of a sentence with other amounts of the same unit than the question: what is required beyond it is not
    /// enough, and otherwise the sentence is about another case. `None` where the amounts do not differ.
    pub(super) fn stance_by_amounts(
        &self,
        text: &str,
        lower: &str,
        words: &SentenceWords,
    ) -> Option<Stance> {
        let said = measures(text);
        let mut differs = false;
        for asked in &self.amounts {
            let mut same_unit = said.iter().filter(|it| it.unit == asked.unit).peekable();
            if same_unit.peek().is_none() {
                continue;
            }
            let more = |it: &&Number| it.value > asked.value;
            if self.asks_enough
                && words.requiring.any_in(lower)
                && same_unit.clone().all(|it| more(&it))
            {
                return Some(Stance::Against);
            }
            differs |= same_unit.all(|it| it.value != asked.value);
        }
        differs.then_some(Stance::Neutral)
    }
}

/// The verb that a yes-or-no question with "do" or a modal verb asks about, in lower case: "prevent" of "do roofs prevent
/// floods", "combined" of "can panels be combined".
fn yes_no_verb(asked: &str) -> Option<String> {
    let words = tokens(asked);
    let helper = words.iter().position(|it| HELPING_VERBS.contains(&it.text.as_str()))?;
    let rest = words.get(helper + 2..)?;
    let passive = rest.iter().position(|it| it.text == "be");
    let participle =
        passive.and_then(|at| rest[at + 1..].iter().find(|it| !is_stop_word(&it.text)));
    let known = || rest.iter().find(|it| is_verb(&it.text) && !is_stop_word(&it.text));
    participle.or_else(known).map(|it| it.text.clone())
}

/// What a yes-or-no question asks of its subject, in lower case: "bad" of "are roofs bad for panels", "cool" of "do roofs cool
/// cities".
fn predicate(brief: &Brief) -> Option<String> {
    // "G-quadruplexes (G4)": what stands in brackets names the subject again.
    let question = without_brackets(&brief.question);
    let words = tokens(&question);
    let (first, rest) = words.split_first()?;
    if !COPULAS.contains(&first.text.as_str()) && !HELPING_VERBS.contains(&first.text.as_str()) {
        return None;
    }
    // The subject ends with its first noun in the plural; where there is none, its end is not known.
    let mut run = rest
        .iter()
        .skip_while(|it| is_stop_word(&it.text))
        .take_while(|it| !is_stop_word(&it.text) || VAGUE_ADJECTIVES.contains(&it.text.as_str()));
    let is_plural = |it: &&Token| {
        let is_name = question[it.span.clone()].starts_with(char::is_uppercase)
            && question[it.span.clone()].chars().nth(1) != Some('-');
        let is_acronym = question[it.span.clone()].strip_suffix('s').is_some_and(is_capitals);
        it.text.ends_with('s') && !it.text.ends_with("ss") && !is_name || is_acronym
    };
    run.find(is_plural)?;
    let asked = run.next()?;
    // "Possible drug targets" are asked for as targets.
    let is_vague = VAGUE_ADJECTIVES.contains(&asked.text.as_str());
    let rest: Vec<&Token> = run.filter(|_| is_vague).collect();
    let plural = rest.iter().rev().find(|it| is_plural(it));
    Some(plural.or(rest.first()).copied().unwrap_or(asked).text.clone())
}

/// Whether a word is of several capital letters and digits alone: "TAM" of "TAMs".
fn is_capitals(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// Adjectives before what a question asks its subject to be, for which sources use one another.
const VAGUE_ADJECTIVES: [&str; 8] =
    ["possible", "potential", "promising", "good", "useful", "effective", "viable", "suitable"];

/// `text` without what stands in round brackets.
fn without_brackets(text: &str) -> String {
    let mut depth = 0_i32;
    text.chars()
        .map(|c| {
            depth += i32::from(c == '(');
            let inside = depth > 0;
            depth -= i32::from(c == ')' && depth > 0);
            if inside { ' ' } else { c }
        })
        .collect()
}

/// The relation that a question asks about, and the content words of what its subject is to be related to, in lower case:
/// "related" and "cytokinesis" of "is AGO2 related to cytokinesis". A sentence on both need not repeat the relation.
fn related_objects(asked: &str, words: &SentenceWords) -> Option<(String, Vec<String>)> {
    let asked_words = tokens(asked);
    let at = asked_words.iter().position(|it| words.relating.contains(&it.text))?;
    let after = asked_words[at + 1..].iter().filter(|it| !is_stop_word(&it.text));
    let objects: Vec<String> = after.map(|it| it.text.clone()).collect();
    (!objects.is_empty()).then(|| (asked_words[at].text.clone(), objects))
}

/// The noun that a question asks its subject to be, and what specifies the noun, in lower case: "risk" and "fire" of "is a
/// green roof a fire risk".
fn noun_predicate(asked: &str) -> Option<(String, Vec<String>)> {
    const ARTICLES: [&str; 2] = ["a", "an"];
    let words = tokens(asked);
    let (first, rest) = words.split_first()?;
    if !COPULAS.contains(&first.text.as_str()) {
        return None;
    }
    let follows_noun = |at: &usize| !is_stop_word(&rest[at - 1].text);
    let is_article = |at: &usize| ARTICLES.contains(&rest[*at].text.as_str());
    let article = (1..rest.len()).find(|at| is_article(at) && follows_noun(at))?;
    let noun = rest[article + 1..].iter().take_while(|it| !is_stop_word(&it.text));
    let mut noun: Vec<String> = noun.map(|it| it.text.clone()).collect();
    let head = noun.pop()?;
    Some((head, noun))
}

/// Words that begin a question on what something is.
const COPULAS: [&str; 4] = ["is", "are", "was", "were"];
