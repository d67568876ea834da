//! What opens and closes a report without a model: what the subject is, and what several sources say together.
use crate::draft::{DraftConflict, DraftLine};
use crate::heuristic::answer::deciding_stances;
use crate::heuristic::answer_shape::{asks_for_fact, kind_fit};
use crate::heuristic::claim_clusters::{ClaimCluster, independent_sources};
use crate::heuristic::editions::is_newer_edition;
use crate::heuristic::lexicon::{jaccard, spaced};
use crate::heuristic::ranked_points::RankedPoint;
use crate::prompts;
use crate::prompts::fill_template;
use crate::thresholds::{MAX_ANSWER_SIMILARITY, MIN_DEFINITION_FIT};
use ibid_core::Result;
use ibid_core::domain::words::{stem, tokens};
use ibid_core::domain::{Brief, Evidence, EvidenceStore, QuestionKind, Stance};

/// Maximum number of words of the sentence that opens a report.
const OPENING_WORDS: usize = 40;
/// Number of independent sources from which something is said together.
const MIN_VOICES: usize = 2;

/// The sentence that says what the subject is, if one was read and the report does not have it yet.
pub(super) fn opening<'a>(
    brief: &Brief,
    notes: &EvidenceStore,
    points: &'a [ClaimCluster],
    used: &[Vec<u32>],
) -> Result<Option<&'a ClaimCluster>> {
    // Who asks for one fact, for members or for yes or no knows what the thing is; the subject of a comparison is two.
    use QuestionKind::{Comparison, Definition, List, YesNo};
    let is_closed =
        asks_for_fact(brief.kind) || matches!(brief.kind, Comparison | Definition | List | YesNo);
    let Some(subject) = brief.subjects.first().filter(|_| !is_closed) else {
        return Ok(None);
    };
    let asked = format!("What is {subject}?");
    // What is sold is praised.
    let may_open = |it: &&ClaimCluster| it.words <= OPENING_WORDS && !it.is_by_sellers(notes);
    for point in points.iter().filter(may_open) {
        let lower = spaced(&point.text);
        // "Consists of" and "belongs to" describe what is known already.
        let says_what = [" is ", " are ", " was ", " were ", " refers to ", " means "];
        if opens_with(&point.text, subject)
            && says_what.iter().any(|verb| lower.contains(verb))
            && kind_fit(QuestionKind::Definition, &asked, &point.text, &lower)?
                >= MIN_DEFINITION_FIT
        {
            // If the report has it already, a further one adds nothing.
            let is_new = used.iter().all(|it| jaccard(it, &point.ids) <= MAX_ANSWER_SIMILARITY);
            return Ok(is_new.then_some(point));
        }
    }
    Ok(None)
}

/// Whether `text` begins with `subject` alone, with or without an article: "a green roof is", and not "an intensive green roof
/// is".
fn opens_with(text: &str, subject: &str) -> bool {
    let stems = |text: &str| -> Vec<String> {
        let words = tokens(text).into_iter().map(|token| token.text);
        let words = words.skip_while(|word| matches!(word.as_str(), "a" | "an" | "the"));
        words.map(|word| stem(&word)).collect()
    };
    stems(text).starts_with(&stems(subject))
}

/// Takes out of `conflicts` the sides of editions that a newer one among the sides replaces, and says what they had, where the `short`
/// answer tells one of the two.
pub(super) fn take_replaced(
    notes: &EvidenceStore,
    short: &[DraftLine],
    conflicts: &mut Vec<DraftConflict>,
) -> Result<Vec<DraftLine>> {
    let words = &prompts::phrases()?.synthesis;
    let source = |line: &DraftLine| {
        let evidence = notes.evidence.iter().find(|it| line.evidence.first() == Some(&it.id))?;
        notes.source(evidence.source)
    };
    let mut lines = Vec::new();
    for conflict in conflicts.iter_mut() {
        let sides = conflict.sides.clone();
        conflict.sides.retain(|(says, line)| {
            let newer = sides.iter().find(|(_, other)| {
                let pair = source(other).zip(source(line));
                pair.is_some_and(|(newer, older)| {
                    is_newer_edition(newer, older) || older.superseded && !newer.superseded
                })
            });
            let Some((new, by)) = newer else {
                return true;
            };
            let editions = source(by).zip(source(line));
            let editions = editions.is_some_and(|(newer, older)| is_newer_edition(newer, older));
            let template = if editions { &words.replaced } else { &words.superseded };
            let filled = [("old", says.as_str()), ("new", new.as_str())];
            let evidence = [line.evidence.as_slice(), &by.evidence].concat();
            let mut told = short.iter().flat_map(|line| &line.evidence);
            if told.any(|id| evidence.contains(id)) {
                lines.push(DraftLine { text: fill_template(template, &filled), evidence });
            }
            false
        });
    }
    conflicts.retain(|conflict| conflict.sides.len() > 1);
    Ok(lines)
}

/// What several sources say together: which of them say yes and which no, and what `earlier` editions had. How many there are is told by
/// the citations.
pub(super) fn conclusion(
    brief: &Brief,
    notes: &EvidenceStore,
    ranked: &[RankedPoint<'_>],
    earlier: Vec<DraftLine>,
) -> Result<Vec<DraftLine>> {
    let words = &prompts::phrases()?.synthesis;
    let stances = deciding_stances(brief, notes, ranked);
    let say = |stance: Stance| -> Vec<&Evidence> {
        let all = stances.iter().flat_map(|(point, _)| &point.evidence);
        all.map(|nth| &notes.evidence[*nth]).filter(|it| it.stance == stance).collect()
    };
    let line = |text: &str, evidence: &[&Evidence]| DraftLine {
        text: text.to_owned(),
        evidence: evidence.iter().map(|it| it.id).collect(),
    };
    let (yes, no) = (say(Stance::For), say(Stance::Against));
    let voices = |of: &[&Evidence]| independent_sources(notes, of.iter().copied()).len();
    let mut lines = match (voices(&yes), voices(&no)) {
        (MIN_VOICES.., 0) => vec![line(&words.only_yes, &yes)],
        (0, MIN_VOICES..) => vec![line(&words.only_no, &no)],
        // Where some say yes and some no, the conflict shows what each says.
        _ => Vec::new(),
    };
    lines.extend(earlier);
    Ok(lines)
}
