//! The rows of tables among the points of a report.
use super::measure::{holds, stems};
use super::request::TableRequest;
use crate::heuristic::claim_clusters::ClaimCluster;
use crate::heuristic::lexicon::StemInterner;
use crate::heuristic::ranked_points::RankedPoint;
use ibid_core::domain::{Evidence, EvidenceStore};

/// Maximum number of rows, and of words, of a short answer.
const MAX_SHORT_ROWS: usize = 3;
const MAX_SHORT_WORDS: usize = 60;
/// Maximum number of rows among the findings.
const MAX_FINDING_ROWS: usize = 3;
/// Share of the best row's score that another one must have beside it.
const MIN_SCORE_SHARE: f32 = 0.9;

/// The rows of tables that answer the question, best first.
pub(crate) struct TablePoints {
    points: Vec<ClaimCluster>,
}

impl TablePoints {
    /// The rows among the evidence that `stands`.
    pub(crate) fn from_notes(
        notes: &EvidenceStore,
        lexicon: &mut StemInterner,
        stands: impl Fn(&Evidence) -> bool,
    ) -> TablePoints {
        let rows = notes.evidence.iter().enumerate();
        let rows = rows.filter(|(_, it)| it.table_header.is_some() && stands(it));
        let mut points: Vec<ClaimCluster> = Vec::new();
        for (nth, it) in rows {
            if points.iter().any(|known| known.text == it.claim) {
                continue;
            }
            points.push(ClaimCluster {
                text: it.claim.clone(),
                evidence: vec![nth],
                ids: lexicon.id_set(&it.claim),
                score: it.score,
                items: it.items.clone(),
                words: it.claim.split_whitespace().count(),
            });
        }
        points.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.evidence.cmp(&b.evidence)));
        let best = points.first().map_or(0.0, |best| best.score);
        points.retain(|it| it.score >= best * MIN_SCORE_SHARE);
        TablePoints { points }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The short answer: the rows alone where they say what is asked and no sentence does, the best sentence and the rows that
    /// say more of what is asked, or else the sentences.
    pub(crate) fn short_answer<'a>(
        &'a self,
        request: &TableRequest,
        sentences: Vec<&'a ClaimCluster>,
    ) -> Vec<&'a ClaimCluster> {
        let measured = |it: &&ClaimCluster| {
            let mut measures = request.measures.iter();
            request.measures.is_empty()
                || measures.any(|measure| holds(measure, request.words, &it.text, &it.text))
        };
        let leads = request.extreme.is_some() || !sentences.iter().any(measured);
        if leads && !self.is_empty() && request.sides.is_empty() {
            return self.fitting(0, |_| true);
        }
        let said = sentences.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ");
        let said = stems(&said);
        let adds = |it: &ClaimCluster| {
            let mut own = stems(&it.text).into_iter();
            own.any(|stem| request.topic.contains(&stem) && !said.contains(&stem))
        };
        let Some(first) = sentences.first().filter(|_| self.points.iter().any(adds)) else {
            return sentences;
        };
        let mut short = vec![*first];
        short.extend(self.fitting(first.words, adds));
        short
    }

    /// A row as a ranked point, if it is one of these: it answers directly.
    pub(crate) fn as_ranked<'a>(&'a self, point: &ClaimCluster) -> Option<RankedPoint<'a>> {
        let point = self.points.iter().find(|it| std::ptr::eq(*it, point))?;
        Some(RankedPoint {
            point,
            worth: 1.0,
            relevance: 1.0,
            fit: 1.0,
            share: 1.0,
            early: true,
            listed: false,
            has_head: true,
        })
    }

    /// The rows to tell beside the findings, without those that are told already.
    pub(crate) fn findings(&self, told: &[&ClaimCluster]) -> Vec<&ClaimCluster> {
        let fresh = self.points.iter().filter(|it| told.iter().all(|other| other.text != it.text));
        fresh.take(MAX_FINDING_ROWS).collect()
    }

    /// The first rows that fit beside `words` words.
    fn fitting(
        &self,
        mut words: usize,
        wanted: impl Fn(&ClaimCluster) -> bool,
    ) -> Vec<&ClaimCluster> {
        let mut taken = Vec::new();
        for it in self.points.iter().filter(|it| wanted(it)).take(MAX_SHORT_ROWS) {
            words += it.words;
            if words <= MAX_SHORT_WORDS || taken.is_empty() {
                taken.push(it);
            }
        }
        taken
    }
}
