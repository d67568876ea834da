//! Checks that a report does not deny in one place what it says in another.
//!
//! Open items come from the coverage, which a model may have judged, and from words that no finding had. Cited claims were
//! checked against stored pages, so they take precedence: an item with a cited claim has an answer, and a word in such a claim is
//! not missing.
use std::collections::{BTreeMap, BTreeSet};

use ibid_core::Result;
use ibid_core::domain::words::stem_overlap;
use ibid_core::domain::{
    Citation, Complexity, Confidence, Conflict, Coverage, CoverageRow, EvidenceId, EvidenceStore,
    ItemId, OpenItem, OutputMode, Plan, Report, YesNo,
};

use super::draft::ReportDraft;
use super::heuristic::answer_shape::cue_fit;
use super::heuristic::claim_clusters::independent_sources;
use super::heuristic::conflict_reason::dispute_reason;
use super::heuristic::lexicon::{sentence_case, spaced};
use super::prompts::{self, fill_template};
use super::research_state::ResearchState;
use crate::thresholds::MIN_FACET_CUE_FIT;

/// Whether `title` is that of a part that the report has besides its sections.
fn is_made(report: &Report, title: &str) -> bool {
    match title.to_lowercase().as_str() {
        "introduction" => !report.introduction.is_empty(),
        "conclusion" | "conclusions" => {
            !report.conclusion.is_empty() || !report.conflicts.is_empty()
        }
        _ => false,
    }
}

/// What the report says with citations.
struct CitedStatements {
    /// The items that claims are cited for.
    items: BTreeSet<ItemId>,
    /// The texts of the claims.
    texts: Vec<String>,
}

impl CitedStatements {
    fn of_report(report: &Report, notes: &EvidenceStore) -> CitedStatements {
        let items: BTreeMap<EvidenceId, &[ItemId]> = notes
            .evidence
            .iter()
            .map(|evidence| (evidence.id, evidence.items.as_slice()))
            .collect();
        let cited = report.claims().flat_map(|claim| claim.citations());
        let cited = cited.filter_map(|citation| items.get(&citation.evidence).copied());
        CitedStatements {
            items: cited.flatten().copied().collect(),
            texts: report.claims().map(|claim| claim.text().to_owned()).collect(),
        }
    }

    /// Whether a claim has all words of `term`.
    fn has(&self, term: &str) -> bool {
        self.texts.iter().any(|text| stem_overlap(term, text) >= 1.0)
    }
}

/// The terms that `text` says are missing, with the text before and after them.
fn missing_terms(text: &str) -> Result<Option<(&str, Vec<&str>, &str)>> {
    let template = &prompts::phrases()?.gap.missing;
    let Some((before, after)) = template.split_once("{terms}") else {
        return Ok(None);
    };
    let found = text.split_once(before).and_then(|(head, rest)| {
        let (terms, tail) = rest.split_once(after)?;
        Some((head.trim_end(), terms.split(", ").collect(), tail))
    });
    Ok(found)
}

/// `text` without the missing terms that a claim has.
fn without_said(text: &str, said: &CitedStatements) -> Result<String> {
    let Some((head, terms, tail)) = missing_terms(text)? else {
        return Ok(text.to_owned());
    };
    let missing: Vec<&str> = terms.into_iter().filter(|term| !said.has(term)).collect();
    let mut parts = vec![head.to_owned()];
    if !missing.is_empty() {
        let words = &prompts::phrases()?.gap;
        parts.push(fill_template(&words.missing, &[("terms", &missing.join(", "))]));
    }
    parts.push(tail.trim().to_owned());
    parts.retain(|part| !part.is_empty());
    Ok(parts.join(" "))
}

/// Counts a covered item that no sentence of a report is about as not answered.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
fn demote_unreported(report: &mut Report, said: &CitedStatements) -> Result<()> {
    if report.mode != OutputMode::Report || report.short.is_empty() {
        return Ok(());
    }
    let unreported = &prompts::phrases()?.gap.unreported;
    for row in &mut report.coverage {
        if row.state == Coverage::Covered && !said.items.contains(&row.id) {
            row.state = Coverage::Open;
            row.gap = Some(unreported.clone());
        }
    }
    Ok(())
}

/// Says of each planned section without a sentence that it is open, unless its items are told elsewhere or are open already. What code
/// planned beside the question is listed together.
fn report_lost_sections(report: &mut Report, plan: &Plan, said: &CitedStatements) -> Result<()> {
    if report.mode != OutputMode::Report || report.short.is_empty() {
        return Ok(());
    }
    let phrases = prompts::phrases()?;
    let facets = prompts::plan_words()?;
    let mut beside: Vec<String> = Vec::new();
    for planned in &plan.writing.sections {
        let is_told = report.sections.iter().any(|it| it.title == planned.title)
            || planned.items.iter().any(|item| said.items.contains(item))
            || is_made(report, &planned.title);
        let is_open = report.open.iter().any(|open| {
            open.item.is_some_and(|item| planned.items.contains(&item))
                || open.why.contains(&planned.title.to_lowercase())
        });
        if is_told || is_open {
            continue;
        }
        let what = planned.title.clone();
        match facets.facet_by_heading(&what) {
            Some(_) => beside.push(what.to_lowercase()),
            None => {
                report.open.push(OpenItem { item: None, what, why: phrases.gap.untold.clone() });
            }
        }
    }
    // An item that no section was planned for is not lost without a word either.
    let sections = &plan.writing.sections;
    for row in report.coverage.iter().filter(|row| row.state == Coverage::Open) {
        let has_section = sections.iter().any(|section| section.items.contains(&row.id));
        let is_open = report.open.iter().any(|open| open.item == Some(row.id));
        let item = plan.items().iter().find(|item| item.id == row.id);
        if let Some(item) = item.filter(|_| !has_section && !is_open) {
            let is_facet = facets.facet_by_heading(&item.heading).is_some();
            let heading = if is_facet { item.heading.to_lowercase() } else { item.heading.clone() };
            // What asks why is not told beside a question that asks why.
            let asks_why = |text: &str| spaced(text).contains(" why ");
            if !(is_facet && asks_why(&heading) && asks_why(&report.question)) {
                beside.push(heading);
            }
        }
    }
    // Who asks a simple question has not asked what else is known; the coverage tells it.
    if plan.complexity == Complexity::Simple {
        return Ok(());
    }
    list_beside(&mut report.open, beside)
}

/// Adds `headings` to the open item that lists what was searched for besides the question.
fn list_beside(open: &mut Vec<OpenItem>, mut headings: Vec<String>) -> Result<()> {
    if headings.is_empty() {
        return Ok(());
    }
    let words = &prompts::phrases()?.open;
    let listed = |it: &OpenItem| -> Option<Vec<String>> {
        let headings = listed_headings(&words.beside, &it.why)?;
        Some(headings.into_iter().map(str::to_owned).collect())
    };
    if let Some((at, known)) =
        open.iter().enumerate().find_map(|(at, it)| listed(it).map(|known| (at, known)))
    {
        open.remove(at);
        headings.retain(|heading| !known.contains(heading));
        headings.splice(0..0, known);
    }
    let why = fill_template(&words.beside, &[("headings", &headings.join("; "))]);
    open.push(OpenItem { item: None, what: words.beside_what.clone(), why });
    Ok(())
}

/// Adds the planned sections that were lost to the open items, removes from these and the coverage of `report` what its claims
/// contradict, and counts in its checks what
/// contradictions are left.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
pub(crate) fn resolve_contradictions(report: &mut Report, notes: &EvidenceStore) -> Result<()> {
    let said = CitedStatements::of_report(report, notes);
    demote_unreported(report, &said)?;
    report_lost_sections(report, &notes.plan, &said)?;
    let gaps = &prompts::phrases()?.gap;
    let weak = &gaps.weak;
    let mut answered = BTreeSet::new();
    for row in &mut report.coverage {
        if is_denied(row, &said)? {
            row.state = Coverage::Partial;
            row.gap = Some(weak.clone());
            answered.insert(row.id);
        }
        if let Some(gap) = &row.gap {
            row.gap = Some(without_said(gap, &said)?);
        }
    }
    for open in &mut report.open {
        if open.item.is_some_and(|item| answered.contains(&item)) {
            open.why.clone_from(weak);
        }
        open.why = without_said(&open.why, &said)?;
    }
    let confidence = &prompts::phrases()?.confidence;
    let is_direct = !report.nearest_only && report.confidence.why.contains(&confidence.direct);
    let core = report.coverage.first().map(|row| row.id).filter(|_| is_direct);
    if core.is_some() {
        // That one source tells it stands in the confidence.
        let thin = &prompts::phrases()?.gap.thin;
        let is_told = |open: &OpenItem| open.item.is_some_and(|item| said.items.contains(&item));
        report.open.retain(|open| {
            let is_weak = open.item == core && only_touches(&open.why, weak);
            !(is_weak || is_told(open) && open.why == *thin)
        });
        let only_touched = |row: &&mut CoverageRow| {
            Some(row.id) == core
                && row.state == Coverage::Partial
                && row.gap.as_ref().is_some_and(|gap| only_touches(gap, weak))
        };
        for row in report.coverage.iter_mut().filter(only_touched) {
            (row.state, row.gap) = (Coverage::Covered, None);
        }
    }
    drop_told_headings(report)?;
    report.open.retain(|open| !open.why.trim().is_empty());
    // What only touches on the question does not answer it directly.
    let denies =
        |why: &str| why.starts_with(weak) || missing_terms(why).is_ok_and(|it| it.is_some());
    if report.open.iter().any(|it| it.item == core && core.is_some() && denies(&it.why)) {
        let direct = report.confidence.why.iter_mut().filter(|it| **it == confidence.direct);
        direct.for_each(|it| it.clone_from(&confidence.indirect));
    }
    if has_disputed_answer(report) {
        let why = disputed_reasons(&report.confidence.why, &report.conflicts)?;
        report.confidence.why = why;
        report.confidence.level = report.confidence.level.min(Confidence::Low);
    }
    count_cited_sources(report, notes)?;
    report.checks.contradictions = count_contradictions(report, notes)?;
    Ok(())
}

/// Whether a gap says no more than that what was read only touches on the question: `weak`, and no words but those that name the form of
/// an answer, which a table need not have.
fn only_touches(gap: &str, weak: &str) -> bool {
    const FORMS: [&str; 12] = [
        "change",
        "changes",
        "changed",
        "develop",
        "developed",
        "development",
        "trend",
        "trends",
        "history",
        "timeline",
        "compare",
        "compared",
    ];
    let is_form = |term: &&str| FORMS.contains(&term.to_lowercase().as_str());
    let missing = || missing_terms(gap).ok().flatten();
    gap == weak || gap.starts_with(weak) && missing().is_some_and(|it| it.1.iter().all(is_form))
}

/// Has the confidence give as many independent sources as the short answer cites: a model's sentences may have become other quotes after
/// the confidence was determined.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
fn count_cited_sources(report: &mut Report, notes: &EvidenceStore) -> Result<()> {
    let words = &prompts::phrases()?.confidence;
    let cited: BTreeSet<EvidenceId> = report
        .short
        .iter()
        .flat_map(|claim| claim.citations())
        .map(|citation| citation.evidence)
        .collect();
    let evidence = notes.evidence.iter().filter(|it| cited.contains(&it.id));
    let n = independent_sources(notes, evidence).len();
    let counted = match n {
        0 => return Ok(()),
        1 => words.one_source.clone(),
        _ => fill_template(&words.sources, &[("n", &n.to_string())]),
    };
    let several = words.sources.trim_start_matches("{n}");
    let counts = |it: &&mut String| **it == words.one_source || it.ends_with(several);
    for reason in report.confidence.why.iter_mut().filter(counts) {
        reason.clone_from(&counted);
    }
    Ok(())
}

/// Leaves out of what the report has no sentence on the headings that one of its sentences is on.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
fn drop_told_headings(report: &mut Report) -> Result<()> {
    let template = &prompts::phrases()?.open.beside;
    let claims: Vec<String> = report.claims().map(|claim| claim.text().to_owned()).collect();
    // A report that says no has told what speaks against it.
    let denies = report.verdict == Some(YesNo::No);
    let against = prompts::plan_words()?.facets.get("against").map(|it| it.heading.to_lowercase());
    let is_denial = |heading: &str| denies && against.as_deref() == Some(heading);
    for open in report.open.iter_mut().filter(|open| open.item.is_none()) {
        let Some(headings) = listed_headings(template, &open.why) else { continue };
        let is_untold = |it: &&str| !is_denial(it) && !is_told(it, &claims).unwrap_or(false);
        let untold: Vec<&str> = headings.iter().copied().filter(is_untold).collect();
        open.why = match untold.is_empty() {
            true => String::new(),
            false => fill_template(template, &[("headings", &untold.join("; "))]),
        };
    }
    Ok(())
}

/// The headings that a text made of `template` lists; `None` for another text.
fn listed_headings<'t>(template: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let (before, after) = template.split_once("{headings}")?;
    let listed = text.strip_prefix(before)?.split_once(after)?.0;
    Some(listed.split("; ").collect())
}

/// Whether one of the `claims` has the form that the facet of this heading asks for.
fn is_told(heading: &str, claims: &[String]) -> Result<bool> {
    let facets = prompts::plan_words()?;
    let Some((_, facet)) = facets.facet_by_heading(&sentence_case(heading)) else {
        return Ok(false);
    };
    let is_reason = facet.cues.any_in(" because ");
    let fits = |claim: &String| {
        is_reason && claim.contains(", so ") && !claim.contains(", so far")
            || cue_fit(facet, claim, &spaced(claim)) >= MIN_FACET_CUE_FIT
    };
    Ok(claims.iter().any(fits))
}

/// The draft without its one line, where code took that from a sentence and the coverage says of the question that such
/// sentences only touch on it: then none of them names a word that was asked for, and the line would answer something else.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
pub(crate) fn without_unfit_line(
    mut draft: ReportDraft,
    state: &ResearchState,
) -> Result<ReportDraft> {
    let (Some(line), Some(core)) = (&draft.answer, state.coverage.first()) else {
        return Ok(draft);
    };
    let answered = matches!(core.state, Coverage::Covered | Coverage::Conflict);
    let gap = core.gap.as_deref().unwrap_or_default();
    let weak = &prompts::phrases()?.gap.weak;
    if answered || !draft.answer_by_code || !gap.starts_with(weak.as_str()) {
        return Ok(draft);
    }
    let missing = missing_terms(gap)?
        .is_some_and(|(_, terms, _)| terms.iter().any(|term| stem_overlap(term, &line.text) < 1.0));
    if missing {
        draft.answer = None;
    }
    Ok(draft)
}

/// Whether a sentence of the short answer is a side of a conflict. A model's sentences can become the same quote after the confidence
/// was determined.
fn has_disputed_answer(report: &Report) -> bool {
    let place = |it: &Citation| (it.n, it.passage.first(), it.passage.last());
    let short: Vec<_> = report.short.iter().flat_map(|it| it.citations()).map(place).collect();
    let sides = report.conflicts.iter().flat_map(|conflict| &conflict.sides);
    let mut cited = sides.flat_map(|side| side.claim.citations());
    cited.any(|it| short.contains(&place(it)))
}

/// The reasons of a confidence with that of the conflicts in place of those that deny it.
fn disputed_reasons(why: &[String], conflicts: &[Conflict]) -> Result<Vec<String>> {
    let words = &prompts::phrases()?.confidence;
    let same = words.same.trim_start_matches("{n}");
    let denies = |text: &String| {
        [&words.agree, &words.none_disagrees].contains(&text) || text.ends_with(same)
    };
    let mut out: Vec<String> = why.iter().filter(|it| !denies(it)).cloned().collect();
    if !out.contains(&words.disagree) && !out.contains(&words.cases) {
        let reason = dispute_reason(conflicts.iter().map(|it| it.cause))?;
        out.insert(out.len().min(1), reason.to_owned());
    }
    Ok(out)
}

/// Whether a row of the coverage denies what a claim is cited for. Evidence for several items may be told for another of them alone.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
fn is_denied(row: &CoverageRow, said: &CitedStatements) -> Result<bool> {
    let is_untold = row.gap.as_ref() == Some(&prompts::phrases()?.gap.untold);
    Ok(row.state == Coverage::Open && !is_untold && said.items.contains(&row.id))
}

/// How many open items and rows of the coverage deny what a claim of the report says, and whether the confidence denies a conflict.
///
/// # Errors
/// `Internal` if the phrases cannot be read.
pub(crate) fn count_contradictions(report: &Report, notes: &EvidenceStore) -> Result<u32> {
    let said = CitedStatements::of_report(report, notes);
    let phrases = prompts::phrases()?;
    let denies = [phrases.gap.open.as_str(), phrases.open.nothing.as_str()];
    let reasons = disputed_reasons(&report.confidence.why, &report.conflicts)?;
    let told = reasons == report.confidence.why;
    let mut count = u32::from(has_disputed_answer(report) && !told);
    for row in &report.coverage {
        count += u32::from(is_denied(row, &said)?);
    }
    let claims: Vec<String> = report.claims().map(|claim| claim.text().to_owned()).collect();
    for OpenItem { item, why, .. } in &report.open {
        for heading in listed_headings(&phrases.open.beside, why).unwrap_or_default() {
            count += u32::from(is_told(heading, &claims)?);
        }
        let answered = item.is_some_and(|item| said.items.contains(&item));
        count += u32::from(answered && denies.iter().any(|text| why.contains(text)));
        if let Some((_, terms, _)) = missing_terms(why)? {
            count += terms.iter().filter(|term| said.has(term)).count() as u32;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::domain::ConflictCause;

    fn said(texts: &[&str]) -> CitedStatements {
        CitedStatements {
            items: BTreeSet::new(),
            texts: texts.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    #[test]
    fn a_confidence_does_not_deny_a_conflict() {
        let conflict = |cause| Conflict {
            about: String::new(),
            item: ItemId::new(1),
            sides: Vec::new(),
            likely: None,
            cause,
        };
        let of = |why: &[&str], cause| {
            let why: Vec<String> = why.iter().map(|it| (*it).to_owned()).collect();
            disputed_reasons(&why, &[conflict(cause)]).unwrap()
        };
        let told = |why: &[&str]| of(why, None);
        let direct = "answers the question directly";
        for denied in ["they agree", "no disagreement found", "2 of them say the same"] {
            assert_eq!(
                told(&["3 independent sources", denied, direct]),
                ["3 independent sources", "sources disagree", direct]
            );
        }
        let known = ["one source", "sources disagree", direct];
        assert_eq!(told(&known), known);
        let differ = ["one source", "sources speak of different cases"];
        assert_eq!(of(&["one source", "they agree"], Some(ConflictCause::Cases)), differ);
    }

    #[test]
    fn what_was_searched_for_besides_the_question_is_listed_together() {
        let mut open = Vec::new();
        for heading in ["figures", "how it works"] {
            list_beside(&mut open, vec![heading.to_owned()]).unwrap();
        }
        let why: Vec<&str> = open.iter().map(|it| &*it.why).collect();
        assert_eq!(why, ["the report has no sentence on: figures; how it works."]);
    }

    #[test]
    fn a_word_that_a_claim_says_is_not_missing() {
        let said = said(&["Green roofs retain 56 % of annual rainfall."]);
        let words = &prompts::phrases().unwrap().gap;
        let missing = |terms: &str| fill_template(&words.missing, &[("terms", terms)]);
        let text = format!("{} {}", words.weak, missing("rainfall, cost"));
        assert_eq!(
            without_said(&text, &said).unwrap(),
            format!("{} {}", words.weak, missing("cost"))
        );
        let text = format!("{} {}", words.weak, missing("rainfall"));
        assert_eq!(without_said(&text, &said).unwrap(), words.weak);
        assert_eq!(without_said(&words.open, &said).unwrap(), words.open);
    }
}
