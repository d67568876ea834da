//! The short answer of at most 60 words, and the answer line of at most 140 characters.
use crate::draft::DraftLine;
use crate::prompts;
use crate::prompts::{SentenceWords, fill_template};
use crate::thresholds::{
    MAX_ANSWER_SIMILARITY, MIN_ANSWER_FIT, MIN_ANSWER_LINE_RELEVANCE_SHARE,
    MIN_ANSWER_LINE_WORTH_SHARE, MIN_ANSWER_WORTH, MIN_ANSWER_WORTH_SHARE, MIN_ANSWERING_FIT_SHARE,
    MIN_ANSWERING_RELEVANCE_SHARE, MIN_DECIDING_CONTENT_WORDS, MIN_DECIDING_OVERLAP,
    MIN_DECIDING_RELEVANCE_SHARE, MIN_SHORT_ANSWER_RELEVANCE_SHARE, MIN_SHORTENED_RELEVANCE,
};
use ibid_core::Result;
use ibid_core::domain::{Brief, Evidence, EvidenceStore, ItemId, QuestionKind, Stance};

use super::calendar::{names_month, years};
use super::claim_clusters::{ClaimCluster, share_sentences};
use super::lexicon::{has_phrase, jaccard, sentence_case, spaced};
use super::procedure;
use super::question_kind::question_kind;
use super::ranked_points::RankedPoint;
use super::score::RelevanceScorer;
use super::sentence::has_number;
use super::side_name::SideName;

/// Maximum number of words of the short answer.
const SHORT_WORDS: usize = 60;
/// Maximum number of words of the short answer to a question of several parts, and of the sentence for one part.
const PARTS_WORDS: usize = 100;
const PART_WORDS: usize = 50;
/// Maximum number of characters of the answer line.
pub(crate) const ANSWER_CHARS: usize = 140;

/// The best sentence for each part of a question, at most 100 words together. Where all parts ask for `one_thing`, the sentence that
/// answers them all, if there is one.
pub(crate) fn answer_parts<'a>(
    rankings: &[(ItemId, Vec<RankedPoint<'a>>)],
    one_thing: bool,
) -> Vec<&'a ClaimCluster> {
    let mut taken: Vec<&ClaimCluster> = Vec::new();
    if let Some(point) = answer_to_all(rankings).filter(|_| one_thing) {
        return vec![point];
    }
    for (_, ranked) in rankings {
        let said: usize = taken.iter().map(|point| point.words).sum();
        let top = ranked.first().map_or(0.0, |best| best.worth);
        let fits = ranked.iter().find(|it| {
            it.point.words <= PART_WORDS
                && it.point.words + said <= PARTS_WORDS
                && it.worth >= (top * MIN_ANSWER_WORTH_SHARE).max(MIN_ANSWER_WORTH)
                && taken
                    .iter()
                    .all(|other| jaccard(&other.ids, &it.point.ids) <= MAX_ANSWER_SIMILARITY)
        });
        taken.extend(fits.map(|it| it.point));
    }
    taken
}

/// The point that answers each of several parts of a question well enough, best the one whose weakest part is best.
fn answer_to_all<'a>(rankings: &[(ItemId, Vec<RankedPoint<'a>>)]) -> Option<&'a ClaimCluster> {
    let first = rankings.first().filter(|_| rankings.len() > 1)?;
    let least_worth = |point: &'a ClaimCluster| {
        let of_part = |ranked: &[RankedPoint<'a>]| {
            let top = ranked.first().map_or(0.0, |best| best.worth);
            let found = ranked.iter().find(|it| std::ptr::eq(it.point, point));
            let worth = found.map_or(0.0, |it| it.worth);
            if worth >= top * MIN_ANSWER_WORTH_SHARE { worth } else { 0.0 }
        };
        rankings.iter().map(|ranking| of_part(&ranking.1)).fold(f32::MAX, f32::min)
    };
    let points = first.1.iter().map(|it| (least_worth(it.point), it.point));
    let good = points.filter(|it| it.0 >= MIN_ANSWER_WORTH && it.1.words <= PART_WORDS);
    good.max_by(|a, b| a.0.total_cmp(&b.0)).map(|it| it.1)
}

/// The tally of evidence for yes and for no.
pub(crate) struct YesNoTally {
    pub(crate) yes: usize,
    pub(crate) no: usize,
}

impl YesNoTally {
    /// Counts the stances of the sentences that decide the question.
    pub(crate) fn tally_ranked(
        brief: &Brief,
        notes: &EvidenceStore,
        ranked: &[RankedPoint<'_>],
    ) -> Option<YesNoTally> {
        if !matches!(brief.kind, QuestionKind::YesNo | QuestionKind::Causal) || brief.lang != "en" {
            return None;
        }
        let mut lean = YesNoTally { yes: 0, no: 0 };
        for it in deciding_points(ranked)
            .flat_map(|deciding_point| &deciding_point.point.evidence)
            .map(|nth| &notes.evidence[*nth])
        {
            match it.stance {
                Stance::For => lean.yes += 1,
                Stance::Against => lean.no += 1,
                Stance::Neutral => {}
            }
        }
        Some(lean)
    }

    /// Yes or no, where one clearly outweighs the other.
    pub(crate) fn majority(&self) -> Option<bool> {
        if self.yes >= 1 && self.yes >= self.no * 2 {
            Some(true)
        } else if self.no >= 1 && self.no >= self.yes * 2 {
            Some(false)
        } else {
            None
        }
    }
}

/// The best few sentences that decide the question.
fn deciding_points<'r, 'a>(
    ranked: &'r [RankedPoint<'a>],
) -> impl Iterator<Item = &'r RankedPoint<'a>> {
    let top = ranked.iter().map(|ranked_point| ranked_point.relevance).fold(0.0, f32::max);
    ranked
        .iter()
        .filter(move |ranked_point| {
            ranked_point.relevance >= MIN_DECIDING_OVERLAP
                && ranked_point.relevance >= top * MIN_DECIDING_RELEVANCE_SHARE
                && ranked_point.share >= MIN_DECIDING_CONTENT_WORDS
        })
        .take(8)
}

/// The sentences that decide a yes or no with their stances, best first; empty for questions of other kinds.
pub(crate) fn deciding_stances<'a>(
    brief: &Brief,
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'a>],
) -> Vec<(&'a ClaimCluster, Stance)> {
    if !matches!(brief.kind, QuestionKind::YesNo | QuestionKind::Causal) || brief.lang != "en" {
        return Vec::new();
    }
    deciding_points(ranked)
        .filter_map(|deciding_point| {
            let first = deciding_point.point.evidence.first()?;
            Some((deciding_point.point, notes.evidence[*first].stance))
        })
        .collect()
}

/// The sentences that answer about as well as the best one, best first.
pub(crate) fn answering_points<'a>(ranked: &[RankedPoint<'a>]) -> Vec<&'a ClaimCluster> {
    let Some(top) = ranked.first() else {
        return Vec::new();
    };
    ranked
        .iter()
        .filter(|ranked_point| {
            // What means what is asked answers no less: "the school now has 437 pupils".
            let meant = ranked_point.meant
                && ranked_point.has_head
                && ranked_point.things_known
                && ranked_point.fit >= MIN_ANSWER_FIT;
            let as_well = ranked_point.worth >= top.worth * MIN_ANSWER_WORTH_SHARE
                && ranked_point.fit >= top.fit * MIN_ANSWERING_FIT_SHARE;
            ranked_point.worth >= MIN_ANSWER_WORTH
                && (meant || as_well)
                && ranked_point.relevance >= top.relevance * MIN_ANSWERING_RELEVANCE_SHARE
        })
        .map(|ranked_point| ranked_point.point)
        .take(8)
        .collect()
}

/// The best sentence on each side of a comparison, at most 60 words together; empty where a sentence compares both.
fn side_answers<'a>(
    brief: &Brief,
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'a>],
) -> Vec<&'a ClaimCluster> {
    let names = SideName::of_brief(brief);
    let compares = |it: &RankedPoint<'_>| names.iter().all(|name| name.is_in(&it.point.text));
    if names.is_empty() || ranked.iter().any(compares) {
        return Vec::new();
    }
    let best_on = |name: &SideName| {
        let items = notes.plan.items().iter().skip(1);
        let item =
            items.filter(|item| item.terms.len() == 1).find(|it| name.is_in(&it.terms[0]))?;
        let own = ranked.iter().filter(|it| {
            it.point.items.contains(&item.id)
                && it.point.words <= SHORT_WORDS / 2
                && name.is_in(&it.point.text)
        });
        own.map(|it| it.point).max_by(|a, b| a.score.total_cmp(&b.score))
    };
    let found: Vec<&ClaimCluster> = names.iter().filter_map(best_on).collect();
    if found.len() == names.len() { found } else { Vec::new() }
}

/// The short answer to a question of one part: each side of a comparison that no sentence compares, or else what answers best.
pub(crate) fn whole_answer<'a>(
    brief: &Brief,
    notes: &EvidenceStore,
    base: &[RankedPoint<'a>],
    leading: &[RankedPoint<'a>],
    lean: Option<&YesNoTally>,
) -> Vec<&'a ClaimCluster> {
    match side_answers(brief, notes, leading) {
        sides if sides.is_empty() => {
            short_answer(brief.kind, base, lean.and_then(YesNoTally::majority), notes)
        }
        sides => sides,
    }
}

/// Drops the points whose sentences a longer one quotes, too: a sentence is not told twice, alone and before one that goes on with it.
pub(crate) fn drop_repeats(notes: &EvidenceStore, short: &mut Vec<&ClaimCluster>) {
    let all = short.clone();
    short.retain(|own| {
        let mut longer = all.iter().filter(|it| it.words > own.words);
        !longer.any(|it| share_sentences(notes, it.evidence[0], own.evidence[0]))
    });
}

/// One to three sentences that answer a question of this kind, at most 60 words together.
fn short_answer<'a>(
    kind: QuestionKind,
    ranked: &[RankedPoint<'a>],
    lean: Option<bool>,
    notes: &EvidenceStore,
) -> Vec<&'a ClaimCluster> {
    let steps = procedure::short_answer(kind, notes, ranked, SHORT_WORDS);
    if !steps.is_empty() {
        return steps;
    }
    let mut taken: Vec<&ClaimCluster> = Vec::new();
    let mut room = SHORT_WORDS;
    let Some(top) = ranked.first() else {
        return taken;
    };
    // Where a yes holds on a condition, the condition is the answer.
    let limiting = |it: &&RankedPoint<'_>| {
        kind == QuestionKind::YesNo
            && it.point.words <= room
            && it.relevance >= top.relevance * MIN_DECIDING_RELEVANCE_SHARE
            && it.share >= MIN_DECIDING_CONTENT_WORDS
            && is_limited(&it.point.text)
    };
    let limited = ranked.iter().find(limiting);
    if let Some(it) = limited {
        room -= it.point.words;
        taken.push(it.point);
    }
    for it in ranked {
        let weak = it.worth < top.worth * MIN_ANSWER_WORTH_SHARE
            || it.relevance < top.relevance * MIN_SHORT_ANSWER_RELEVANCE_SHARE
            || it.fit < top.fit * MIN_ANSWERING_FIT_SHARE
            || it.worth < MIN_ANSWER_WORTH;
        if taken.len() >= 3 {
            break;
        }
        // A figure of something else does not stand beside one of what is asked.
        let aside = kind == QuestionKind::Quantity && top.early && !it.early;
        // Nor does what a seller says stand beside what others say.
        let sold = it.point.is_by_sellers(notes) && !top.point.is_by_sellers(notes);
        if (weak || aside || sold) && !taken.is_empty() {
            continue;
        }
        let like = taken.iter().map(|other| jaccard(&other.ids, &it.point.ids)).fold(0.0, f32::max);
        let quoted =
            |other: &&ClaimCluster| share_sentences(notes, other.evidence[0], it.point.evidence[0]);
        if it.point.words > room
            || like > MAX_ANSWER_SIMILARITY
            || taken.iter().any(quoted)
            || is_against(lean, it.point, notes)
        {
            continue;
        }
        room -= it.point.words;
        taken.push(it.point);
    }
    match kind {
        QuestionKind::HowTo => procedure::procedure_of(notes, ranked, &taken).unwrap_or(taken),
        _ => taken,
    }
}

/// Whether a sentence says that something is so under a condition alone: "only in", "only where".
pub(super) fn is_limited(text: &str) -> bool {
    prompts::phrases().is_ok_and(|phrases| phrases.sentence.only_if.any_in(&spaced(text)))
}

/// Whether a point contradicts the majority of the evidence.
fn is_against(lean: Option<bool>, point: &ClaimCluster, notes: &EvidenceStore) -> bool {
    let stance = point.evidence.first().map(|it| notes.evidence[*it].stance);
    matches!((lean, stance), (Some(true), Some(Stance::Against)) | (Some(false), Some(Stance::For)))
}

/// Whether a point has the stance of a clear yes or no; any point if there is none.
pub(super) fn agrees_with(lean: Option<bool>, point: &ClaimCluster, notes: &EvidenceStore) -> bool {
    let stance = point.evidence.first().map(|it| notes.evidence[*it].stance);
    match lean {
        Some(true) => stance == Some(Stance::For),
        Some(false) => stance == Some(Stance::Against),
        None => true,
    }
}

/// One line of at most 140 characters: a whole sentence, or a clause that stands alone.
pub(crate) fn answer_line(
    scorer: &mut RelevanceScorer,
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'_>],
    lean: Option<&YesNoTally>,
) -> Result<Option<DraftLine>> {
    let words = &prompts::phrases()?.answer;
    let Some(top) = ranked.first().filter(|it| it.worth >= MIN_ANSWER_WORTH) else {
        return Ok(None);
    };
    let near_top: Vec<&RankedPoint<'_>> = ranked
        .iter()
        .take(8)
        .filter(|it| {
            it.worth >= top.worth * MIN_ANSWER_LINE_WORTH_SHARE
                && it.relevance >= top.relevance * MIN_ANSWER_LINE_RELEVANCE_SHARE
        })
        .collect();
    // Yes or no is only said if one of the best sentences says it.
    let clear = lean
        .and_then(YesNoTally::majority)
        .filter(|yes| near_top.iter().any(|it| agrees_with(Some(*yes), it.point, notes)));
    let prefix = match clear {
        Some(true) => words.yes.as_str(),
        Some(false) => words.no.as_str(),
        None => "{text}",
    };
    let room = ANSWER_CHARS - fill_template(prefix, &[("text", "")]).chars().count();
    for it in near_top.into_iter().filter(|it| agrees_with(clear, it.point, notes)) {
        if let Some(text) = shorten_to(&it.point.text, room, scorer)? {
            let evidence = ids(notes, it.point);
            return Ok(Some(DraftLine {
                text: fill_template(prefix, &[("text", &text)]),
                evidence,
            }));
        }
    }
    if let Some(counted) = tally_line(notes, ranked, lean, clear)? {
        return Ok(Some(counted));
    }
    // Where something answers, the truncated best sentence is better than nothing.
    let fact = AskedFact::of_question(scorer.question())?;
    Ok(ranked.iter().find(|it| agrees_with(clear, it.point, notes)).map(|it| DraftLine {
        text: fill_template(prefix, &[("text", &fact.truncate(&it.point.text, room))]),
        evidence: ids(notes, it.point),
    }))
}

/// What a line must have to answer, whatever else of its sentence is cut: a date, a number or nothing certain.
#[derive(Clone, Copy, PartialEq)]
enum AskedFact {
    Date,
    Number,
    Any,
}

impl AskedFact {
    fn of_question(asked: &str) -> Result<AskedFact> {
        Ok(match question_kind(asked, prompts::phrases()?) {
            QuestionKind::When => AskedFact::Date,
            QuestionKind::Quantity => AskedFact::Number,
            _ => AskedFact::Any,
        })
    }

    fn is_in(self, text: &str) -> bool {
        match self {
            AskedFact::Date => !years(text).is_empty() || names_month(&spaced(text)),
            AskedFact::Number => has_number(text),
            AskedFact::Any => true,
        }
    }

    /// Whether a part of `whole` lacks the fact that the whole has.
    fn is_lost(self, whole: &str, part: &str) -> bool {
        self.is_in(whole) && !self.is_in(part)
    }

    /// The beginning of `text`, or its end where only that has the fact, with an ellipsis; unchanged where it fits.
    fn truncate(self, text: &str, room: usize) -> String {
        let beginning = truncate_with_ellipsis(text, room);
        let cut = text.chars().count().saturating_sub(room.saturating_sub(1));
        let Some((from, _)) = text.char_indices().nth(cut) else {
            return beginning;
        };
        let end = text[from..].split_once(' ').map_or("", |pair| pair.1);
        match self.is_lost(text, &beginning) && self.is_in(end) {
            true => format!("…{end}"),
            false => beginning,
        }
    }
}

/// The answer in one line from one sentence: its part that says most of what is asked, or else its beginning.
pub(crate) fn line_of_point(
    scorer: &mut RelevanceScorer,
    notes: &EvidenceStore,
    point: &ClaimCluster,
) -> Result<DraftLine> {
    let text = match shorten_to(&point.text, ANSWER_CHARS, scorer)? {
        Some(text) => text,
        None => AskedFact::of_question(scorer.question())?.truncate(&point.text, ANSWER_CHARS),
    };
    Ok(DraftLine { text, evidence: ids(notes, point) })
}

/// An answer in the words of a quote: whole where it fits, or else its beginning.
pub(crate) fn answer_from_quote(quote: &str) -> String {
    truncate_with_ellipsis(quote, ANSWER_CHARS)
}

/// `text` truncated to `room` characters at a word, with an ellipsis; unchanged where it fits.
fn truncate_with_ellipsis(text: &str, room: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(room) else {
        return text.to_owned();
    };
    // Leave room for the ellipsis, then go back to the end of a word.
    let kept = &text[..text[..end].char_indices().next_back().map_or(0, |pair| pair.0)];
    let whole = kept.rfind(char::is_whitespace).map_or(kept, |at| &kept[..at]);
    format!("{}…", whole.trim_end_matches([' ', ',', ';', ':', '(', '-', '–']))
}

/// Where no sentence fits, yes or no with its count still answers.
fn tally_line(
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'_>],
    lean: Option<&YesNoTally>,
    clear: Option<bool>,
) -> Result<Option<DraftLine>> {
    let words = &prompts::phrases()?.answer;
    let (Some(lean), Some(yes)) = (lean, clear) else {
        return Ok(None);
    };
    let total = lean.yes + lean.no;
    // One passage is no count: its own words say more.
    if total < 2 {
        return Ok(None);
    }
    let (template, n) = if yes { (&words.yes_count, lean.yes) } else { (&words.no_count, lean.no) };
    let text = fill_template(template, &[("n", &n.to_string()), ("total", &total.to_string())]);
    let carried = ranked
        .iter()
        .find(|ranked_point| !is_against(clear, ranked_point.point, notes))
        .map(|it| ids(notes, it.point));
    Ok(carried.map(|evidence| DraftLine { text, evidence }))
}

fn ids(notes: &EvidenceStore, point: &ClaimCluster) -> Vec<ibid_core::domain::EvidenceId> {
    point.evidence.iter().map(|it| notes.evidence[*it].id).collect()
}

/// The sentence if it fits; or else without brackets, without "it was found that", or cut to a clause that
/// stands alone. `None` if no such form still says what the question asks.
fn shorten_to(text: &str, room: usize, scorer: &mut RelevanceScorer) -> Result<Option<String>> {
    let words = &prompts::phrases()?.sentence;
    let fits = |text: &str| text.chars().count() <= room;
    if fits(text) {
        return Ok(Some(text.to_owned()));
    }
    let whole = scorer.word_relevance(text);
    let fact = AskedFact::of_question(scorer.question())?;
    let mut shorter = without_brackets(text);
    if let Some(tail) = strip_reporting_clause(&shorter, &words.found_that) {
        shorter = tail;
    }
    let candidates = std::iter::once(shorter.clone())
        .chain(clause_heads(&shorter))
        .chain(clause_tails(&shorter, &words.leaning, fact));
    for it in candidates {
        if fits(&it)
            && !fact.is_lost(text, &it)
            && it.split_whitespace().count() >= 5
            && has_verb(&it, words)
            && scorer.word_relevance(&it) >= whole * MIN_SHORTENED_RELEVANCE
        {
            return Ok(Some(it));
        }
    }
    Ok(None)
}

/// Prefixes of the sentence that end before a non-restrictive addition.
fn clause_heads(text: &str) -> Vec<String> {
    const CONNECTIVES: &[&str] = &[
        "; ",
        ", which ",
        ", who ",
        ", where ",
        ", thereby ",
        ", resulting in ",
        ", leading to ",
        ", and ",
        ", with ",
        ", including ",
        ", such as ",
        " characterized by ",
        " characterised by ",
    ];
    // An addition with one of these words qualifies what precedes it.
    const TURNS: &[&str] = &[
        "but", "although", "though", "however", "only", "unless", "except", "if", "whereas", "not",
        "while", "when", "or", "no",
    ];
    CONNECTIVES
        .iter()
        .filter_map(|joint| text.find(joint))
        .map(|at| text.split_at(at))
        .filter(|(_, tail)| !TURNS.iter().any(|turn| has_phrase(&spaced(tail), turn)))
        // "A, B, and C" is no clause: a list has a comma before the conjunction.
        .filter(|(head, tail)| !tail.starts_with(", and ") || !head.contains(", "))
        .map(|(head, _)| format!("{}.", head.trim_end_matches([',', ';'])))
        .collect()
}

/// Suffixes of the sentence that start at an independent clause.
fn clause_tails(text: &str, leaning: &[String], fact: AskedFact) -> Vec<String> {
    // What follows "after" or "when" is not asserted by itself, except that it happened: "after it opened in 1998".
    let of_time: &[&str] = match fact {
        AskedFact::Date => &[" after ", " since ", " when "],
        AskedFact::Number | AskedFact::Any => &[],
    };
    ["; ", ", and ", " because "]
        .iter()
        .chain(of_time)
        .filter_map(|joint| text.find(joint).map(|at| &text[at + joint.len()..]))
        .filter(|tail| {
            let words = spaced(tail);
            let start = words.trim_start();
            let begins_clause = start.starts_with(char::is_alphabetic);
            begins_clause && !leaning.iter().any(|text| start.starts_with(&format!("{text} ")))
        })
        .map(sentence_case)
        .collect()
}

fn without_brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0usize;
    for c in text.chars() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",").replace(" .", ".")
}

fn strip_reporting_clause(text: &str, phrases: &[String]) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    phrases
        .iter()
        .filter_map(|phrase| lower.find(&format!(" {phrase} ")).map(|at| at + phrase.len() + 2))
        .filter(|at| *at < text.len() / 2)
        .min()
        .map(|at| sentence_case(text[at..].trim()))
}

/// A clause needs a verb.
fn has_verb(text: &str, words: &SentenceWords) -> bool {
    let words_of = spaced(text);
    words_of
        .split([' ', ','])
        .any(|part| words.verbs.contains(part) || (part.len() > 4 && part.ends_with("ed")))
}

/// Whether any of this evidence expresses doubt.
pub(crate) fn has_doubt<'a>(evidence: impl IntoIterator<Item = &'a Evidence>) -> bool {
    evidence.into_iter().any(|evidence| evidence.contradiction_or_uncertainty)
}
