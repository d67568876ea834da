//! Finds evidence by meaning.
use ibid_core::domain::{Evidence, QuestionKind};
use ibid_core::ports::{EventLog, Ranker};
use ibid_core::record::{Event, LogSource};
use ibid_core::{ErrorKind, Result};

use crate::heuristic::score::{PageInput, PageSentences, RelevanceScorer};
use crate::thresholds::MIN_FOUND_ASPECT;

/// Whether the meaning of sentences may tell more than their words: steps seldom mean by themselves what is asked, so they are
/// compared only where none of the evidence has most of the words asked for. So are those of later rounds, which search for what is open
/// besides the question.
pub(crate) fn needs_meaning(kind: QuestionKind, round: u32, words_fail: bool) -> bool {
    words_fail || kind != QuestionKind::HowTo && round <= 1
}

/// Whether none of the evidence has most of the words asked for: the pages may say it in others.
pub(crate) fn lacks_lexical_match<'e>(
    scorer: &mut RelevanceScorer,
    mut found: impl Iterator<Item = &'e Evidence>,
) -> bool {
    !found.any(|it| scorer.aspect_words_share(&it.claim) >= MIN_FOUND_ASPECT)
}

/// Has the ranker compare the sentences of the pages with the question, if it compares meaning. Returns whether it did: without
/// its answer, words decide alone.
pub(crate) async fn compare_meaning<'p>(
    log: &EventLog,
    ranker: &dyn Ranker,
    (scorer, words_fail): (&mut RelevanceScorer, bool),
    pages: impl Iterator<Item = (&'p PageInput<'p>, &'p PageSentences)>,
) -> Result<bool> {
    let sentences = scorer.sentences_to_compare(pages);
    match ranker.similarity(scorer.question(), &sentences).await {
        Ok(similarity) if similarity.is_empty() => {}
        Ok(similarity) => {
            scorer.learn_similarity(&sentences, similarity, words_fail);
            return Ok(true);
        }
        Err(stopped) if stopped.kind() == ErrorKind::Cancelled => return Err(stopped),
        Err(failed) => log.emit(Event::Log {
            level: "warn".to_owned(),
            message: format!("comparing meaning: {}", failed.chain()),
            source: Some(LogSource::Service),
        }),
    }
    Ok(false)
}
