//! Whether the heading of a section asks what the question asks, so that what stands under it answers, in whatever words.
use crate::heuristic::intake::content_weight;
use crate::thresholds::{
    MIN_HEADING_ASPECT, MIN_HEADING_OWN_WORDS, MIN_HEADING_TOPIC, MIN_WORD_MATCH,
};
use ibid_core::domain::words::{is_stop_word, tokens};
use ibid_core::domain::{BlockKind, Evidence, Page, QuestionKind, SourceId};

use super::scorer::RelevanceScorer;

/// Fewest words of a sentence that leads to a list, "Keep fires away by these rules:", as of a heading.
const MIN_HEADING_WORDS: usize = 1;

impl RelevanceScorer {
    /// How nearly a heading under a page's title asks what the question asks, 0 to 1; 0 where it asks something else. It has
    /// what is asked of the subject, title and heading together have the question, and the heading has little besides.
    pub(super) fn heading_match(&mut self, heading: &str, title: &[u32]) -> f32 {
        if self.aspect.is_empty() || tokens(heading).len() < MIN_HEADING_WORDS {
            return 0.0;
        }
        let aspect = self.aspect.clone();
        let asked = self.share_in_use(&aspect, heading);
        let own = self.ids(heading);
        let mut topic = [own.as_slice(), title].concat();
        topic.sort_unstable();
        topic.dedup();
        let whole = self.coverage(&self.question, &topic);
        if asked < MIN_HEADING_ASPECT
            || whole < MIN_HEADING_TOPIC
            || self.asked_share(heading) < MIN_HEADING_OWN_WORDS
        {
            return 0.0;
        }
        f32::midpoint(asked, whole)
    }

    /// Share of the content words of a heading that the question has.
    fn asked_share(&mut self, heading: &str) -> f32 {
        let words = tokens(heading);
        let telling = |text: &str| !is_stop_word(text);
        let (mut all, mut met) = (0.0, 0.0);
        for word in words.iter().filter(|word| telling(&word.text)) {
            let weight = content_weight(heading, word);
            let id = self.lexicon.id(&word.text);
            let asked =
                self.question.iter().any(|term| self.match_strength(term.id, &[id]) >= MIN_WORD_MATCH);
            all += weight;
            met += if asked { weight } else { 0.0 };
        }
        if all > 0.0 { met / all } else { 0.0 }
    }

    /// Whether what stands under a heading that asks the same answers a question of this kind: a figure, a date or a name
    /// must stand in the sentence itself.
    pub(super) fn is_told_under_heading(kind: QuestionKind) -> bool {
        matches!(
            kind,
            QuestionKind::HowTo
                | QuestionKind::Why
                | QuestionKind::List
                | QuestionKind::Open
                | QuestionKind::YesNo
                | QuestionKind::Causal
        )
    }

    /// Notes that sentence `n` stands under a heading that asks the question.
    pub(super) fn note_headed(&mut self, source: SourceId, page: &Page, n: usize, strength: f32) {
        self.headed.insert((source, n), strength);
        if page.sentences()[n].kind == BlockKind::ListItem {
            self.listed.insert((source, n));
        }
    }

    /// How nearly the heading above evidence asks the question, 0 to 1.
    pub(crate) fn heading_strength(&self, evidence: &Evidence) -> f32 {
        let places = evidence.passage.first()..=evidence.passage.last();
        let strengths =
            places.filter_map(|n| self.headed.get(&(evidence.source, n)).copied());
        strengths.fold(0.0, f32::max)
    }
}
