//! What tables, and sentences about kinds of a thing, add to the points of a report.
use std::collections::BTreeSet;

use super::compare::comparison_table;
use super::kinds::kinds_with_figures;
use super::measure::{holds, stems};
use super::quantity::{ConvertedColumn, Quantity, align};
use super::request::{Extreme, TableRequest};
use super::rows::MIN_PROBLEM_SCORE;
use crate::draft::DraftComparison;
use crate::heuristic::claim_clusters::ClaimCluster;
use crate::heuristic::ranked_points::{RankedPoint, page_title};
use crate::heuristic::score::RelevanceScorer;
use crate::research_state::ResearchState;
use ibid_core::domain::{Brief, Evidence, EvidenceStore, SourceId};

/// Maximum number of rows, and of words, of a short answer.
const MAX_SHORT_ROWS: usize = 3;
const MAX_SHORT_WORDS: usize = 60;
/// Maximum number of rows among the findings.
const MAX_FINDING_ROWS: usize = 3;
/// The score of a row with all that a question is about, or that the question names; a row on its problem has a higher one.
const WHOLE_TOPIC_SCORE: f32 = 0.9;
/// Share of the best row's score that another one must have beside it.
const MIN_SCORE_SHARE: f32 = 0.9;

/// The rows of tables that answer the question, best first.
pub(crate) struct TablePoints {
    /// What the question asks of a table.
    request: TableRequest,
    replaced: BTreeSet<SourceId>,
    points: Vec<ClaimCluster>,
    /// The sentences that together give a figure for most kinds of a thing, if they do for two.
    kinds: Vec<ClaimCluster>,
}

impl TablePoints {
    /// The rows among the evidence that is not from one of the `replaced` sources.
    pub(crate) fn from_notes(
        notes: &EvidenceStore,
        scorer: &mut RelevanceScorer,
        replaced: &BTreeSet<SourceId>,
    ) -> TablePoints {
        let request = scorer.table_request();
        let lexicon = scorer.lexicon();
        let mut cluster = |(nth, it): (usize, &Evidence)| ClaimCluster {
            text: it.claim.clone(),
            evidence: vec![nth],
            ids: lexicon.id_set(&it.claim),
            score: it.score,
            items: it.items.clone(),
            words: it.claim.split_whitespace().count(),
        };
        let all = notes.evidence.iter().enumerate();
        let all = all.filter(|(_, it)| !replaced.contains(&it.source));
        let (rows, sentences): (Vec<_>, Vec<_>) =
            all.partition(|(_, it)| it.table_header.is_some());
        let mut points: Vec<ClaimCluster> = rows.into_iter().map(&mut cluster).collect();
        points.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.evidence.cmp(&b.evidence)));
        let mut seen = BTreeSet::new();
        let best = points.first().map_or(0.0, |best| best.score);
        // A row on one side of a comparison has fewer of its words.
        let compares = request.sides.len() > 1;
        points.retain(|it| {
            (compares || it.score >= best * MIN_SCORE_SHARE) && seen.insert(it.text.clone())
        });
        keep_first_of_all(&request, &mut points);
        let mut kinds: Vec<(BTreeSet<String>, ClaimCluster)> = sentences
            .into_iter()
            .map(|it| (kinds_with_figures(&request, &it.1.claim), cluster(it)))
            .filter(|it| request.asks_figures && !it.0.is_empty())
            .collect();
        kinds.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.1.evidence.cmp(&b.1.evidence)));
        let mut told: BTreeSet<String> = BTreeSet::new();
        kinds.retain(|it| it.0.iter().any(|kind| told.insert(kind.clone())));
        let kinds = if told.len() >= 2 { kinds } else { Vec::new() };
        let replaced = replaced.clone();
        TablePoints { request, replaced, points, kinds: kinds.into_iter().map(|it| it.1).collect() }
    }

    /// Whether they are rows with the most or the least of a column.
    pub(crate) fn are_extremes(&self) -> bool {
        self.request.extreme.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty() && self.kinds.is_empty()
    }

    /// Whether a row has all that the question is about: it answers before what stands under a heading.
    pub(crate) fn has_whole_topic(&self) -> bool {
        self.points.first().is_some_and(|it| it.score >= WHOLE_TOPIC_SCORE)
    }

    /// The short answer: the rows alone where they say what is asked and no sentence does, the best sentence and the rows that
    /// say more of what is asked, or else the sentences.
    pub(crate) fn short_answer<'a>(
        &'a self,
        sentences: Vec<&'a ClaimCluster>,
    ) -> Vec<&'a ClaimCluster> {
        let request = &self.request;
        let measured = |it: &&ClaimCluster| {
            let mut measures = request.measures.iter();
            request.measures.is_empty()
                || measures.any(|measure| holds(measure, request.words, &it.text, &it.text))
        };
        // A sentence on an extensive roof says nothing of an intensive one.
        let on_subject = |it: &&ClaimCluster| {
            let own = stems(&it.text);
            let rows = self.points.iter().map(|row| stems(&row.text));
            let named = rows.flatten().filter(|stem| request.subject.contains(stem));
            named.into_iter().all(|stem| own.contains(&stem))
        };
        // Beside the row of the warranty, a sentence on the machine that says nothing of one is no answer.
        let besides: BTreeSet<String> =
            request.topic.difference(&request.subject).cloned().collect();
        let of_rows: BTreeSet<String> =
            self.points.iter().flat_map(|row| stems(&row.text)).collect();
        let told: BTreeSet<&String> = besides.intersection(&of_rows).collect();
        let on_matter = |it: &&ClaimCluster| {
            let own = stems(&it.text);
            told.is_empty() || told.iter().any(|stem| own.contains(*stem))
        };
        let answers = |it: &&ClaimCluster| measured(it) && on_subject(it) && on_matter(it);
        // Rows with years tell how a figure went on better than a sentence on one of them.
        let by_row = request.extreme.is_some() || request.years.is_some();
        let on_problem = self.points.first().is_some_and(|it| it.score >= MIN_PROBLEM_SCORE);
        let leads = by_row || on_problem || !sentences.iter().any(answers);
        if !self.kinds.is_empty() {
            return fitting(&self.kinds, 0);
        }
        if leads && !self.is_empty() && request.sides.is_empty() {
            return fitting(&self.points, 0);
        }
        // What names one side compares nothing.
        let names_sides = |it: &&ClaimCluster| {
            let own = stems(&it.text);
            request.sides.iter().filter(|side| own.contains(*side)).count() > 1
        };
        let told = self.points.len() > 1 || self.points.iter().any(|it| names_sides(&it));
        if request.sides.len() > 1 && told && !sentences.iter().any(names_sides) {
            return fitting(self.points_by_side(), 0);
        }
        let said = sentences.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ");
        let said = stems(&said);
        let adds = |it: &ClaimCluster| {
            let mut own = stems(&it.text).into_iter();
            own.any(|stem| request.topic.contains(&stem) && !said.contains(&stem))
        };
        let Some(first) =
            sentences.iter().find(|it| answers(it)).filter(|_| self.points.iter().any(adds))
        else {
            return sentences;
        };
        let mut short = vec![*first];
        short.extend(fitting(self.points.iter().filter(|it| adds(it)), first.words));
        short
    }

    /// The rows on a comparison: the best of each side, then the others.
    fn points_by_side(&self) -> Vec<&ClaimCluster> {
        let mut by_side: Vec<&ClaimCluster> = Vec::new();
        for side in &self.request.sides {
            let of_side = |it: &&ClaimCluster| {
                stems(&it.text).contains(side) && !by_side.iter().any(|own| std::ptr::eq(*own, *it))
            };
            by_side.extend(self.points.iter().find(of_side));
        }
        let others = |it: &&ClaimCluster| !by_side.iter().any(|own| std::ptr::eq(*own, *it));
        let others: Vec<&ClaimCluster> = self.points.iter().filter(others).collect();
        by_side.extend(others);
        by_side
    }

    /// Whether a row, with the title of its page, has the names of the question, or all rows on the sides of a comparison have them: only
    /// such rows answer where no sentence does.
    pub(crate) fn has_asked_names(
        &self,
        notes: &EvidenceStore,
        scorer: &mut RelevanceScorer,
    ) -> bool {
        let all = self.points.iter().chain(&self.kinds);
        let mut said: Vec<String> =
            all.map(|it| format!("{} {}", page_title(notes, it), it.text)).collect();
        // Each row of a comparison names its own side.
        if !self.request.sides.is_empty() {
            said = vec![said.join(" ")];
        }
        said.iter().any(|text| scorer.has_asked_names(text))
    }

    /// A row as a ranked point, if it is one of these: it answers directly.
    pub(crate) fn as_ranked<'a>(&'a self, point: &ClaimCluster) -> Option<RankedPoint<'a>> {
        let point = self.points.iter().chain(&self.kinds).find(|it| std::ptr::eq(*it, point))?;
        Some(RankedPoint {
            point,
            worth: 1.0,
            relevance: 1.0,
            fit: 1.0,
            share: 1.0,
            similarity: None,
            probability: None,
            early: true,
            listed: false,
            states_fact: false,
            meant: false,
            has_head: true,
            headed: false,
            things_known: true,
        })
    }

    /// The rows to tell beside the findings, without those that are told already.
    pub(crate) fn findings(&self, told: &[&ClaimCluster]) -> Vec<RankedPoint<'_>> {
        let fresh = self.points.iter().filter(|it| told.iter().all(|other| other.text != it.text));
        fresh.take(MAX_FINDING_ROWS).filter_map(|it| self.as_ranked(it)).collect()
    }

    /// The comparison table of the report, if there are enough figures.
    pub(crate) fn comparison(
        &self,
        brief: &Brief,
        state: &ResearchState,
    ) -> Option<DraftComparison> {
        let stands = |it: &Evidence| !self.replaced.contains(&it.source);
        comparison_table(brief, &self.request, state, stands)
    }
}

/// Of the first rows of several tables, keeps those that are first among them all, where their figures can be compared: a price is not
/// compared with a deposit.
fn keep_first_of_all(request: &TableRequest, points: &mut Vec<ClaimCluster>) {
    let Some(extreme) = request.extreme.filter(|_| request.per.is_none() && points.len() > 1)
    else {
        return;
    };
    let Some(figures) =
        points.iter().map(|it| told_figure(&it.text)).collect::<Option<Vec<Quantity>>>()
    else {
        return;
    };
    let attributes: Vec<BTreeSet<String>> =
        points.iter().map(|it| stems(told_attribute(&it.text))).collect();
    if attributes.iter().any(|it| it.is_disjoint(&attributes[0])) {
        return;
    }
    let Some(ConvertedColumn { quantities, .. }) = align(&figures, "") else { return };
    let leads = |own: &Quantity| {
        quantities.iter().all(|other| match extreme {
            Extreme::Most => own.high >= other.low,
            Extreme::Least => own.low <= other.high,
        })
    };
    let mut kept = quantities.iter().map(leads);
    points.retain(|_| kept.next().unwrap_or(true));
}

/// "Price" of "Cork – Price: 0.30 €, the lowest figure of its column."
fn told_attribute(text: &str) -> &str {
    let behind = text.rsplit_once(" – ").map_or(text, |it| it.1);
    behind.split_once(": ").map_or(behind, |it| it.0)
}

/// The figure of "Cork – Price: 0.30 €, the lowest figure of its column."
fn told_figure(text: &str) -> Option<Quantity> {
    let (_, cell) = text.rsplit_once(": ")?;
    Quantity::read(cell.rsplit_once(", ")?.0, "").filter(|it| it.unit.is_known())
}

/// The first points that fit beside `words` words.
fn fitting<'a>(
    from: impl IntoIterator<Item = &'a ClaimCluster>,
    mut words: usize,
) -> Vec<&'a ClaimCluster> {
    let mut taken = Vec::new();
    for it in from.into_iter().take(MAX_SHORT_ROWS) {
        words += it.words;
        if words <= MAX_SHORT_WORDS || taken.is_empty() {
            taken.push(it);
        }
    }
    taken
}
