//! Finds where sources disagree: different numbers for one quantity, and statements that contradict each
//! other.
//!
//! A false conflict is worse than a missed one, so each rule also requires the same words around it.
use crate::draft::{DraftConflict, DraftLine};
use crate::prompts;
use crate::prompts::{SentenceWords, fill_template};
use crate::thresholds::{
    CONFLICT_PROBABILITY, MIN_CONFLICT_ANSWER_WORTH, MIN_SAME_QUANTITY_SIMILARITY,
    MIN_SAME_STATEMENT_SIMILARITY, ROUNDING_TOLERANCE,
};
use ibid_core::Result;
use ibid_core::domain::words::{Number, is_stop_word, numbers, tokens};
use ibid_core::domain::{Brief, Conflict, Evidence, EvidenceStore, QuestionKind, Source, Stance};

use super::calendar::years;
use super::claim_clusters::{ClaimCluster, independent_source};
use super::conflict_reason::{Side, answer_reason, likely_reason, older_and_newer, shared_subject};
use super::lexicon::{StemInterner, has_phrase, jaccard, spaced};
use super::measures::{labels, measures};
use super::question_kind::are_on_same_thing;
use super::score::RelevanceScorer;
use super::sentence::{has_denial, has_doubt_words};
use super::text_answer::{AnswerType, TextAnswer, answers_differ, extract_answer};
use crate::changed_fact::find_substitution;

/// Maximum number of conflicts shown.
const MAX_CONFLICTS: usize = 4;
/// Number of words from "since" within which its year stands.
const MAX_SINCE_WORDS: usize = 6;
/// Maximum number of characters of a statement that names a conflict.
const MAX_STATED_CHARS: usize = 100;
/// Content words at the beginning of a sentence that name its subject.
const SUBJECT_WINDOW: usize = 5;
/// Words on each side of a number that say what it counts.
const NUMBER_CONTEXT_WORDS: usize = 7;

/// The conflicts among the points, in the order of the points.
pub(crate) fn find_conflicts(
    brief: &Brief,
    notes: &EvidenceStore,
    points: &[ClaimCluster],
    lexicon: &mut StemInterner,
) -> Result<Vec<DraftConflict>> {
    let words = &prompts::phrases()?.sentence;
    let stated: Vec<Statement<'_>> = points
        .iter()
        .filter_map(|point| Statement::from_point(notes, point, lexicon, words))
        .collect();
    let mut found = Vec::new();
    let mut used: Vec<bool> = vec![false; stated.len()];
    for a in 0..stated.len() {
        for b in a + 1..stated.len() {
            if used[a] || used[b] || found.len() >= MAX_CONFLICTS {
                continue;
            }
            let (one, other) = (&stated[a], &stated[b]);
            if !can_disagree(one.source, other.source) || !shares_item(one, other) {
                continue;
            }
            let conflict = match numbers_disagree(one, other) {
                Some((x, y)) => Some(build_conflict(one, other, x, y)?),
                None if denies_other(one, other, words) => {
                    let says = &prompts::phrases()?.conflict;
                    let (x, y) = if one.no {
                        (&says.denies, &says.says_so)
                    } else {
                        (&says.says_so, &says.denies)
                    };
                    Some(denial_conflict(one, other, x.clone(), y.clone())?)
                }
                None => match changed_fact(brief, one, other) {
                    Some((x, y)) => Some(DraftConflict {
                        about: Conflict::ANSWER.to_owned(),
                        ..build_conflict(one, other, x, y)?
                    }),
                    None => None,
                },
            };
            if let Some(mut it) = conflict {
                used[a] = true;
                used[b] = true;
                for (c, third) in stated.iter().enumerate() {
                    let known =
                        [one, other].iter().any(|it| !can_disagree(it.source, third.source));
                    let says =
                        numbers_disagree(one, third).or_else(|| numbers_disagree(other, third));
                    if let Some((_, says)) = says
                        && !used[c]
                        && !known
                        && it.sides.len() < MAX_CONFLICTS
                        && it.sides.iter().all(|side| side.0 != says)
                    {
                        used[c] = true;
                        it.sides.push((says, statement_line(third)));
                    }
                }
                found.push(it);
            }
        }
    }
    Ok(found)
}

/// A conflict where the sentences that answer a question for a figure or a year give different ones, best
/// first.
pub(crate) fn figure_conflict(
    brief: &Brief,
    notes: &EvidenceStore,
    answering: &[&ClaimCluster],
    known: &[DraftConflict],
    scorer: &mut RelevanceScorer,
) -> Result<Option<DraftConflict>> {
    let wanted = match brief.kind {
        QuestionKind::Quantity => AnswerType::Amount,
        QuestionKind::When => AnswerType::Date,
        _ => return Ok(None),
    };
    let words = &prompts::phrases()?.sentence;
    let answers: Vec<(Statement<'_>, TextAnswer)> = answering
        .iter()
        .filter_map(|point| {
            let answer = extract_answer(wanted, &brief.question, &point.text)?;
            let measured = wanted == AnswerType::Date || answer.unit().is_some();
            // Other words may ask for the figure.
            let meant = scorer.answer_probability(&point.text).unwrap_or_default();
            let stated = Statement::from_point(notes, point, scorer.lexicon(), words)?;
            // "The school now has 437 pupils" replaces an earlier figure.
            let answers = answer.worth >= MIN_CONFLICT_ANSWER_WORTH
                || meant >= CONFLICT_PROBABILITY
                || has_phrase(&stated.spaced, "now");
            (measured && answers).then_some((stated, answer))
        })
        .collect();
    let mut sides: Vec<&(Statement<'_>, TextAnswer)> = Vec::new();
    for it in &answers {
        let other = sides.iter().all(|side| {
            answers_differ(&side.1, &it.1)
                && side.1.unit() == it.1.unit()
                && can_disagree(side.0.source, it.0.source)
                && same_case(&side.0, &it.0)
                && are_on_same_thing(&brief.question, &side.0.spaced, &it.0.spaced)
                && (bounds_agree(&side.0.spaced, &it.0.spaced) || breaks_bound(side, it))
                && (wanted == AnswerType::Date || side.0.years == it.0.years)
        });
        if other && sides.len() < MAX_CONFLICTS {
            sides.push(it);
        }
    }
    let is_shown = |statement: &Statement<'_>| {
        known
            .iter()
            .flat_map(|conflict| &conflict.sides)
            .any(|side| side.1.evidence.contains(&statement.evidence.id))
    };
    let [one, other, ..] = sides.as_slice() else {
        return Ok(None);
    };
    if sides.iter().any(|side| is_shown(&side.0)) {
        return Ok(None);
    }
    Ok(Some(DraftConflict {
        about: Conflict::ANSWER.to_owned(),
        item: one.0.evidence.items[0],
        likely: likely_reason(&one.0.side(&one.1.shown), &other.0.side(&other.1.shown))?,
        sides: sides.iter().map(|side| (side.1.shown.clone(), statement_line(&side.0))).collect(),
    }))
}

/// The fact in which two otherwise equal sentences differ.
fn changed_fact(
    brief: &Brief,
    one: &Statement<'_>,
    other: &Statement<'_>,
) -> Option<(String, String)> {
    // "2 hours and 15 minutes" and "135 minutes" are one figure.
    let values = |it: &Statement<'_>| -> Vec<(i64, Option<String>)> {
        let of = |it: &Number| ((it.value * 1000.0).round() as i64, it.unit.clone());
        it.figures.iter().map(|figure| of(&figure.0)).collect()
    };
    let (a, b) = (one.source, other.source);
    if brief.kind == QuestionKind::YesNo || !one.figures.is_empty() && values(one) == values(other)
    {
        return None;
    }
    let first = |source: &Source| source.copy_of.unwrap_or(source.id);
    let copies = first(a) == first(b);
    let (x, y) = find_substitution(&brief.question, &one.point.text, &other.point.text, copies)?;
    Some((with_unit(one, x), with_unit(other, y)))
}

/// A figure of a statement with its unit; what is no figure as it is.
fn with_unit(statement: &Statement<'_>, shown: String) -> String {
    let text = &statement.point.text;
    let is_shown = |number: &&Number| text[number.span.clone()] == shown;
    let figure = statement.figures.iter().map(|figure| &figure.0).find(is_shown);
    figure.map(|number| number_with_unit(text, number)).unwrap_or(shown)
}

/// Whether two sources can disagree: different independent sources, or two editions of one, years apart.
pub(super) fn can_disagree(one: &Source, other: &Source) -> bool {
    independent_source(one) != independent_source(other)
        || one.key() != other.key() && older_and_newer(one, other).is_some()
}

/// A conflict where some passages that decide a yes-or-no question say yes and some no: the best of each,
/// from different independent sources, unless the two are in a conflict already.
pub(crate) fn answer_conflict(
    notes: &EvidenceStore,
    deciding: &[(&ClaimCluster, Stance)],
    known: &[DraftConflict],
) -> Result<Option<DraftConflict>> {
    let best = |stance: Stance| {
        deciding
            .iter()
            .find(|pair| pair.1 == stance)
            .and_then(|pair| Some((pair.0, notes.evidence.get(*pair.0.evidence.first()?)?)))
    };
    let (Some((yes, for_it)), Some((no, against))) = (best(Stance::For), best(Stance::Against))
    else {
        return Ok(None);
    };
    let (Some(one), Some(other)) = (notes.source(for_it.source), notes.source(against.source))
    else {
        return Ok(None);
    };
    let has = |it: &DraftConflict, evidence: &Evidence| {
        it.sides.iter().any(|side| side.1.evidence.contains(&evidence.id))
    };
    if independent_source(one) == independent_source(other)
        || known.iter().any(|conflict| has(conflict, for_it) || has(conflict, against))
    {
        return Ok(None);
    }
    let words = &prompts::phrases()?.conflict;
    let side = |point: &ClaimCluster, evidence: &Evidence| DraftLine {
        text: point.text.clone(),
        evidence: vec![evidence.id],
    };
    Ok(Some(DraftConflict {
        about: Conflict::ANSWER.to_owned(),
        item: for_it.items[0],
        sides: vec![(words.no.clone(), side(no, against)), (words.yes.clone(), side(yes, for_it))],
        likely: answer_reason(
            &Side { text: &no.text, figure: "", source: other },
            &Side { text: &yes.text, figure: "", source: one },
        )?,
    }))
}

/// A point, prepared for comparison.
struct Statement<'a> {
    point: &'a ClaimCluster,
    evidence: &'a Evidence,
    source: &'a Source,
    /// Numbers with a unit, each with the words around it.
    figures: Vec<(Number, Vec<u32>)>,
    years: Vec<u32>,
    /// Numbers that are names: "roof number 4", "type 2".
    cases: Vec<String>,
    /// Its first few content words.
    lead: Vec<u32>,
    /// Names and codes in the sentence that tell cases apart.
    names: Vec<String>,
    spaced: String,
    no: bool,
}

impl<'a> Statement<'a> {
    /// The statement as a side of a conflict on `figure`.
    fn side<'s>(&'s self, figure: &'s str) -> Side<'s> {
        Side { text: &self.point.text, figure, source: self.source }
    }

    fn from_point(
        notes: &'a EvidenceStore,
        point: &'a ClaimCluster,
        lexicon: &mut StemInterner,
        words: &SentenceWords,
    ) -> Option<Statement<'a>> {
        let evidence = &notes.evidence[*point.evidence.first()?];
        let source = notes.source(evidence.source)?;
        let text = point.text.as_str();
        // A range or an aside is not part of the figure.
        let head = ["(", ", with a range", ", ranging", " between ", " ± "]
            .iter()
            .filter_map(|it| text.find(it))
            .min()
            .unwrap_or(text.len());
        let figures = measures(&text[..head])
            .into_iter()
            .filter(|measure| measure.unit.as_deref().is_some_and(|unit| !is_vague_unit(unit)))
            .map(|measure| {
                let around = words_around(text, &measure, lexicon);
                (measure, around)
            })
            .collect();
        let spaced = spaced(text);
        let no = has_denial(&spaced, words);
        Some(Statement {
            point,
            evidence,
            source,
            figures,
            years: bounding_years(text),
            cases: labels(text),
            lead: lexicon.ids(text).into_iter().take(SUBJECT_WINDOW).collect(),
            names: case_names(text),
            spaced,
            no,
        })
    }
}

fn shares_item(one: &Statement<'_>, other: &Statement<'_>) -> bool {
    one.point.items.iter().any(|item| other.point.items.contains(item))
}

/// Units that count something else in every sentence.
fn is_vague_unit(unit: &str) -> bool {
    matches!(
        unit,
        "year"
            | "day"
            | "month"
            | "week"
            | "hour"
            | "time"
            | "patient"
            | "case"
            | "studi"
            | "group"
            | "type"
            | "other"
            | "main"
            | "new"
            | "differ"
            | "peopl"
            | "person"
            | "of"
            | "s"
            | "th"
            | "nd"
            | "st"
            | "rd"
    ) || unit.len() == 1
        && unit.chars().all(|c| c.is_ascii_alphabetic() && !matches!(c, 'm' | 'g' | 'k'))
}

/// The words near a number, without other numbers.
fn words_around(text: &str, number: &Number, lexicon: &mut StemInterner) -> Vec<u32> {
    let words = tokens(text);
    let at = words.partition_point(|it| it.span.start < number.span.start);
    let from = at.saturating_sub(NUMBER_CONTEXT_WORDS);
    let mut ids: Vec<u32> = words[from..(at + NUMBER_CONTEXT_WORDS).min(words.len())]
        .iter()
        .filter(|it| !is_stop_word(&it.text) && !it.text.starts_with(|c: char| c.is_ascii_digit()))
        .map(|it| lexicon.id(&it.text))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Capitalised words inside the sentence and words with digits, in lower case.
fn case_names(text: &str) -> Vec<String> {
    let mut found: Vec<String> = tokens(text)
        .iter()
        .filter(|token| {
            let word = &text[token.span.clone()];
            let capital = word.starts_with(char::is_uppercase) && token.span.start > 0;
            let code =
                word.chars().any(char::is_alphabetic) && word.chars().any(|c| c.is_ascii_digit());
            (capital || code) && !is_stop_word(&token.text)
        })
        .map(|token| token.text.clone())
        .collect();
    found.sort();
    found.dedup();
    found
}

/// What each side says, where both give values for one quantity that rounding cannot explain.
fn numbers_disagree(one: &Statement<'_>, other: &Statement<'_>) -> Option<(String, String)> {
    // Several figures of one unit are a series or a range: which of them match would be a guess.
    let single = |it: &Statement<'_>, unit: &str| {
        it.figures.iter().filter(|(n, _)| n.unit.as_deref() == Some(unit)).count() == 1
    };
    if !same_years(one, other) || !same_case(one, other) {
        return None;
    }
    for (a, around_a) in &one.figures {
        for (b, around_b) in &other.figures {
            let unit = a.unit.as_deref()?;
            if a.unit != b.unit || !single(one, unit) || !single(other, unit) {
                continue;
            }
            let apart =
                (a.value - b.value).abs() / a.value.abs().max(b.value.abs()).max(f64::MIN_POSITIVE);
            if apart > ROUNDING_TOLERANCE
                && jaccard(around_a, around_b) >= MIN_SAME_QUANTITY_SIMILARITY
                && bounds_agree(&one.spaced, &other.spaced)
                && same_lead(one, other)
                && !has_in_range(&one.point.text, b.value)
                && !has_in_range(&other.point.text, a.value)
            {
                return Some((
                    number_with_unit(&one.point.text, a),
                    number_with_unit(&other.point.text, b),
                ));
            }
        }
    }
    None
}

/// Whether a value lies in the range that a text gives beside its own: "56 % on average, with a range of 44 to 67 %".
fn has_in_range(text: &str, value: f64) -> bool {
    const RANGES: [&str; 4] = [" range of ", " range from ", " ranging from ", " ranged from "];
    let at = RANGES.iter().filter_map(|it| text.find(it)).min();
    let ends: Vec<f64> = at.map_or_else(Vec::new, |at| {
        numbers(&text[at..]).into_iter().map(|number| number.value).take(2).collect()
    });
    matches!(ends.as_slice(), [from, to] if (*from..=*to).contains(&value))
}

/// The years that a sentence speaks of. "Since the repair of 2022" holds until now, as a sentence without a year does.
fn bounding_years(text: &str) -> Vec<u32> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let since = words.iter().position(|word| word.eq_ignore_ascii_case("since"));
    let Some(since) = since else { return years(text) };
    let end = (since + MAX_SINCE_WORDS).min(words.len());
    [years(&words[..since].join(" ")), years(&words[end..].join(" "))].concat()
}

/// Whether the years match: different years are different quantities.
fn same_years(one: &Statement<'_>, other: &Statement<'_>) -> bool {
    one.years.is_empty() || other.years.is_empty() || one.years == other.years
}

/// Whether the places and codes match: different ones are different quantities.
fn same_case(one: &Statement<'_>, other: &Statement<'_>) -> bool {
    one.cases == other.cases
        && (is_subset(&one.names, &other.names) || is_subset(&other.names, &one.names))
}

/// Whether both sentences begin with the same subject.
fn same_lead(one: &Statement<'_>, other: &Statement<'_>) -> bool {
    let shared = one.lead.iter().filter(|it| other.lead.contains(it)).count();
    let fewer = one.lead.len().min(other.lead.len());
    fewer > 0 && shared * 2 >= fewer && shared >= 2.min(fewer)
}

/// Whether bounds are compatible: "up to 50 kg" and "at least 20 kg" do not disagree.
fn bounds_agree(one: &str, other: &str) -> bool {
    const BOUNDS: &[&str] = &[
        "up to",
        "at least",
        "more than",
        "less than",
        "over",
        "under",
        "at most",
        "maximum",
        "minimum",
        "below",
        "above",
        "fewer than",
    ];
    !BOUNDS.iter().any(|bound| has_phrase(one, bound) != has_phrase(other, bound))
}

/// Whether one of two amounts is beyond the bound that the other is: "2 hours" where "at least 6 hours" are asked for.
fn breaks_bound(one: &(Statement<'_>, TextAnswer), other: &(Statement<'_>, TextAnswer)) -> bool {
    let Some((a, b)) = one.1.amount().zip(other.1.amount()) else {
        return false;
    };
    let says = |it: &(Statement<'_>, TextAnswer), bounds: &[&str]| {
        bounds.iter().any(|bound| has_phrase(&it.0.spaced, bound))
    };
    let (small, large) = if a < b { (one, other) } else { (other, one) };
    let least = |it| says(it, &["at least", "minimum"]);
    let most = |it| says(it, &["at most", "maximum", "up to"]);
    least(large) && !most(small) || most(small) && !least(large)
}

fn is_subset(a: &[String], b: &[String]) -> bool {
    a.iter().all(|text| b.contains(text))
}

/// A number with its unit, as written.
fn number_with_unit(text: &str, number: &Number) -> String {
    let before = text[..number.span.start]
        .chars()
        .next_back()
        .filter(|c| matches!(c, '$' | '€' | '£' | '¥'));
    let after = &text[number.span.end..];
    let tail = after.trim_start();
    let unit = if tail.starts_with('%') {
        "%".to_owned()
    } else if number.unit.is_some() && before.is_none() {
        tokens(tail)
            .first()
            .map(|token| format!(" {}", &tail[token.span.clone()]))
            .unwrap_or_default()
    } else {
        String::new()
    };
    format!("{}{}{unit}", before.map(String::from).unwrap_or_default(), &text[number.span.clone()])
}

/// Whether two statements are alike except for a negation, or for a word and its opposite.
fn denies_other(one: &Statement<'_>, other: &Statement<'_>, words: &SentenceWords) -> bool {
    if jaccard(&one.point.ids, &other.point.ids) < MIN_SAME_STATEMENT_SIMILARITY
        || one.names != other.names
        || has_doubt_words(&one.spaced, words)
        || has_doubt_words(&other.spaced, words)
    {
        return false;
    }
    one.no != other.no
        || words.antonyms.iter().any(|(x, y)| {
            [(x, y), (y, x)].iter().any(|(x, y)| {
                has_phrase(&one.spaced, x)
                    && !has_phrase(&one.spaced, y)
                    && has_phrase(&other.spaced, y)
                    && !has_phrase(&other.spaced, x)
            })
        })
}

fn build_conflict(
    one: &Statement<'_>,
    other: &Statement<'_>,
    x: String,
    y: String,
) -> Result<DraftConflict> {
    let words = &prompts::phrases()?.conflict;
    let item = one
        .point
        .items
        .iter()
        .find(|item| other.point.items.contains(item))
        .or(one.point.items.first());
    Ok(DraftConflict {
        about: fill_template(
            &words.about_number,
            &[("terms", &shared_subject(&one.point.text, &other.point.text))],
        ),
        item: item.copied().unwrap_or(one.evidence.items[0]),
        likely: likely_reason(&one.side(&x), &other.side(&y))?,
        sides: vec![(x, statement_line(one)), (y, statement_line(other))],
    })
}

/// Whether the sides of a conflict say yes and no to the question.
pub(crate) fn is_on_verdict(notes: &EvidenceStore, conflict: &DraftConflict) -> bool {
    let has = |stance: Stance| {
        let mut cited = conflict.sides.iter().flat_map(|(_, line)| &line.evidence);
        cited.any(|id| notes.evidence.iter().any(|it| it.id == *id && it.stance == stance))
    };
    has(Stance::For) && has(Stance::Against)
}

/// A conflict where one statement denies the other: it is named by the one that denies nothing, if that is short.
fn denial_conflict(
    one: &Statement<'_>,
    other: &Statement<'_>,
    x: String,
    y: String,
) -> Result<DraftConflict> {
    let stated = if one.no { &other.point.text } else { &one.point.text };
    let conflict = build_conflict(one, other, x, y)?;
    let is_short = stated.chars().count() <= MAX_STATED_CHARS;
    Ok(DraftConflict {
        about: match is_short {
            true => format!("“{}”", stated.trim_end_matches('.')),
            false => conflict.about.clone(),
        },
        likely: answer_reason(&one.side(""), &other.side(""))?,
        ..conflict
    })
}

fn statement_line(it: &Statement<'_>) -> DraftLine {
    DraftLine { text: it.point.text.clone(), evidence: vec![it.evidence.id] }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_value_in_the_stated_range_of_another_does_not_deny_it() {
        let text = "It retained 56 % on average, with a range of 44 to 67 % between roofs.";
        assert!([44.0, 63.0].iter().all(|value| super::has_in_range(text, *value)));
        assert!(!super::has_in_range(text, 78.0));
        assert!(!super::has_in_range("It retained 56 % on average.", 56.0));
    }
}
