//! What a yes-or-no question claims: its verb and what it is asked of, its amounts, the purpose of what is used, and what it ranks.
use std::collections::BTreeSet;

use super::assertion::AssertionWords;
use crate::heuristic::intake::content_weight;
use crate::heuristic::lexicon::is_verb;
use crate::heuristic::lexicon::{StemInterner, spaced};
use crate::heuristic::measures::measures;
use crate::heuristic::question_kind::HELPING_VERBS;
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
    /// Of a question on what something is used for, the words of the purpose: "detection" of "used for the detection of leaks". That
    /// it works for it, or is approved for it, decides, too.
    pub(super) purpose: Option<Vec<u32>>,
    /// Words of the question that an answer need not have: those of an introduction, "good" of "good targets", and what `purpose` has.
    pub(super) minor: BTreeSet<u32>,
    /// The opposites of the verb.
    pub(super) opposites: BTreeSet<u32>,
    /// What the question asks if its subject is, of all its kind: "first" of "is it the first test".
    pub(super) ranks: Vec<String>,
    /// The words before the verb.
    pub(super) subject: Vec<u32>,
    /// The same in lower case, without stop words: "agnes pell".
    pub(super) subject_phrase: String,
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
        let question = main_clause(&brief.question);
        let asks_enough = words.enough.any_in(&asked);
        let related = related_objects(question, words);
        let named = noun_predicate(question).filter(|_| related.is_none());
        let used = used_for(question).filter(|_| related.is_none() && named.is_none());
        let verb = match (&related, &named) {
            (Some((relation, _)), _) => Some(relation.clone()),
            (None, Some((head, _))) => Some(head.clone()),
            (None, None) if used.is_some() => use_verb(question),
            (None, None) => yes_no_verb(question).or_else(|| predicate(question)),
        };
        let claim_is_known = verb.is_some() || asks_enough;
        let before = tokens(question).into_iter().take_while(|it| verb.as_ref() != Some(&it.text));
        let subject: Vec<String> =
            before.map(|it| it.text).filter(|word| !is_stop_word(word)).collect();
        let verb = verb
            .filter(|verb| !asks_enough && related.is_none() && !words.light_verbs.contains(verb));
        let objects_follow = related.is_none() && named.is_none() && verb.is_some();
        let (purpose, of_purpose) = used.map_or((None, None), |it| (Some(it.0), Some(it.1)));
        let objects: Vec<String> = match (related.or(named), verb.as_deref()) {
            (Some((_, objects)), _) => objects,
            (None, None) => Vec::new(),
            (None, Some(_)) if of_purpose.is_some() => of_purpose.unwrap_or_default(),
            (None, Some(verb)) => {
                let words = tokens(question).into_iter();
                let after = words.skip_while(|it| it.text != verb).skip(1);
                after.filter(|it| !is_stop_word(&it.text)).map(|it| it.text).collect()
            }
        };
        let all_words = if claim_is_known {
            Vec::new()
        } else {
            let words = tokens(question);
            // Of "is the greenhouse full in winter" each word decides.
            let of_state = words.first().is_some_and(|it| COPULAS.contains(&it.text.as_str()))
                && words.get(1).is_some_and(|it| it.text == "the");
            let telling = |it: &&Token| {
                content_weight(question, it) >= 1.0 || of_state && !is_stop_word(&it.text)
            };
            words.iter().filter(telling).flat_map(|it| lexicon.part_ids(&it.text)).collect()
        };
        let opposites = verb.iter().flat_map(|verb| opposites(lexicon, verb, words)).collect();
        let mut minor = minor_words(&brief.question, question, purpose.as_deref());
        minor.retain(|word| verb.as_ref() != Some(word) || USES.contains(&word.as_str()));
        let is_ranked = |rank: &&str| {
            ["the", "a", "an"].iter().any(|it| asked.contains(&format!(" {it} {rank} ")))
        };
        let ranks = words.ranking.all_in(&asked).into_iter().filter(is_ranked);
        let ranks = ranks.map(str::to_owned).collect();
        Some(YesNoClaim {
            minor: minor.iter().flat_map(|word| lexicon.part_ids(word)).collect(),
            opposites,
            objects: objects.iter().flat_map(|object| lexicon.part_ids(object)).collect(),
            objects_follow,
            purpose: purpose
                .map(|all| all.iter().flat_map(|word| lexicon.part_ids(word)).collect()),
            ranks,
            subject_phrase: subject.join(" "),
            subject: subject.iter().flat_map(|word| lexicon.part_ids(word)).collect(),
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

    /// Whether more than half of the objects are named.
    pub(super) fn names_enough(&self, names: impl Fn(&u32) -> bool) -> bool {
        self.objects.iter().filter(|it| names(it)).count() * 2 > self.objects.len()
    }

    /// The verb with each of its opposites.
    pub(super) fn opposite_pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let verb = self.verb.into_iter();
        verb.flat_map(|verb| self.opposites.iter().map(move |opposite| (verb, *opposite)))
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

/// What a question asks after an introduction that narrows nothing: "can it delay rust" of "Based on the trials, can it delay rust?".
fn main_clause(asked: &str) -> &str {
    const INTRODUCTIONS: [&str; 4] =
        ["based on ", "according to ", "judging by ", "in the light of "];
    let lower = asked.trim_start().to_lowercase();
    let is_introduced = INTRODUCTIONS.iter().any(|it| lower.starts_with(it));
    let rest = asked.split_once(',').filter(|_| is_introduced).map(|it| it.1);
    let opens = |clause: &&str| {
        let first = tokens(clause).into_iter().next();
        first.is_some_and(|it| {
            let word = it.text.as_str();
            HELPING_VERBS.contains(&word) || COPULAS.contains(&word)
        })
    };
    rest.filter(opens).unwrap_or(asked)
}

/// The words of a question that an answer need not have.
fn minor_words(asked: &str, main: &str, purpose: Option<&[String]>) -> BTreeSet<String> {
    let of = |text: &str| tokens(text).into_iter().map(|it| it.text).collect::<BTreeSet<String>>();
    let of_main = of(main);
    let mut minor: BTreeSet<String> =
        of(asked).into_iter().filter(|word| !of_main.contains(word)).collect();
    let is_vague = |word: &&String| VAGUE_ADJECTIVES.contains(&word.as_str());
    minor.extend(of_main.iter().filter(is_vague).cloned());
    if let Some(purpose) = purpose {
        minor.extend(purpose.iter().cloned().chain(USES.map(str::to_owned)));
    }
    minor
}

/// The numbers of the words that say the opposite of a verb.
fn opposites(lexicon: &mut StemInterner, verb: &str, words: &SentenceWords) -> Vec<u32> {
    let own = lexicon.id(verb);
    let pairs = words.antonyms.iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    let mut found = Vec::new();
    for (one, other) in pairs {
        if lexicon.id(one) == own {
            found.push(lexicon.id(other));
        }
    }
    found
}

/// The verb of questions on what something is used for.
pub(super) const USED: &str = "used";
/// It and the verbs that ask the same: "can it be taken for a headache".
const USES: [&str; 5] = [USED, "taken", "given", "applied", "prescribed"];

/// The first of these in a question.
fn use_verb(asked: &str) -> Option<String> {
    tokens(asked).into_iter().map(|it| it.text).find(|it| USES.contains(&it.as_str()))
}

/// Of a question on what something is used for, the purpose and what it is of, in lower case: "detect" and "leaks" of "can it be used
/// to detect leaks", nothing and "walls" of "is it used for walls". "Is the brick used for the dam safe?" asks something else.
fn used_for(asked: &str) -> Option<(Vec<String>, Vec<String>)> {
    const OF_PURPOSE: [&str; 5] = ["for", "to", "in", "against", "as"];
    let words = tokens(asked);
    let at = words.iter().position(|it| USES.contains(&it.text.as_str()))?;
    // "Taken in Paris" and "given to Anna" tell of no use.
    let leading = if words[at].text == USED { &OF_PURPOSE[..] } else { &["for", "against"] };
    let leads = words.get(at + 1).filter(|it| leading.contains(&it.text.as_str()))?;
    if COPULAS.contains(&words[0].text.as_str()) && words[1].text == "the" {
        return None;
    }
    let after = &words[at + 2..];
    let first = after.iter().position(|it| !is_stop_word(&it.text))?;
    let is_of = after.get(first + 1).is_some_and(|it| it.text == "of");
    let is_purpose = leads.text == "to" || is_of || after[first].text.ends_with("ing");
    let (purpose, of) = after.split_at(if is_purpose { first + 1 } else { first });
    let content = |all: &[Token]| -> Vec<String> {
        all.iter().filter(|it| !is_stop_word(&it.text)).map(|it| it.text.clone()).collect()
    };
    Some((content(purpose), content(of))).filter(|it| !it.1.is_empty())
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
fn predicate(asked: &str) -> Option<String> {
    // "G-quadruplexes (G4)": what stands in brackets names the subject again.
    let question = without_brackets(asked);
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
