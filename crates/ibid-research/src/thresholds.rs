//! The tuned constants of the method, in one table.
//!
//! A constant names the measurement or source that set it. Those that name none were chosen by judgement while reports over
//! the sample library and the development halves were read. After a change of any, run `evals answers`, `evals strategies`,
//! `evals conflicts` and `evals attribution`, and compare with the figures in `evals/README.md`.
//!
//! *Overlap* is the share of the words of one text that another has; *similarity* is between two texts, 0 to 1. The weights
//! that were fitted are in `attribution/weights.rs`.

// Words and spellings.
/// Weight of a near-synonym, relative to the word itself.
pub(crate) const ALIGN_SYNONYM_WEIGHT: f32 = 0.85;
/// Weight of a word of the same field.
pub(crate) const ALIGN_RELATED_WEIGHT: f32 = 0.5;
/// Least similarity at which two spellings count as forms of one word.
pub(crate) const MIN_SPELLING_SIMILARITY: f32 = 0.55;
/// What a near-synonym of a question word counts, relative to the word itself.
pub(crate) const QUERY_SYNONYM_WEIGHT: f32 = 0.6;
/// Weight of a word of the same field.
pub(crate) const QUERY_RELATED_WEIGHT: f32 = 0.35;
/// Match strength from which another word counts as a match of a word.
pub(crate) const MIN_WORD_MATCH: f32 = 0.5;
/// Share of the question's words from which a sentence takes a stance on it.
pub(crate) const MIN_STANCE_OVERLAP: f32 = 0.45;
/// Match strength from which a word expresses the question's verb.
pub(crate) const MIN_VERB_MATCH: f32 = 0.35;
/// Share of function words from which a text counts as English. Other languages are not compared.
pub(crate) const MIN_ENGLISH_FUNCTION_WORDS: f32 = 0.2;
/// Average tokens per English word.
pub(crate) const TOKENS_PER_WORD: f32 = 1.35;

// Question and plan.
/// Share of the question's words that a refined wording must keep; otherwise the model asks something else and is ignored.
pub(crate) const MIN_REFINED_QUESTION_OVERLAP: f32 = 0.7;
/// Share of the question's words that an item must have to ask the question itself.
pub(crate) const MIN_CORE_ITEM_OVERLAP: f32 = 0.6;
/// Share of each other's words from which two items ask the same.
pub(crate) const MIN_SAME_ASKS_OVERLAP: f32 = 0.9;
/// Temperature of the second attempt to ask a model. At 0 a model that failed once fails again.
pub(crate) const RETRY_TEMPERATURE: f32 = 0.4;

// Choosing pages.
/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
pub(crate) const RRF_K: f32 = 60.0;
/// Factor for each further page of a site that was already chosen.
pub(crate) const SAME_SITE_FACTOR: f32 = 0.85;
/// Weight of the ranker's score, relative to the fused score.
pub(crate) const RANKER_WEIGHT: f32 = 0.5;
/// Weight of the share of the context's words that a hit has: less than one place among the first, so that it decides only
/// between hits that match the question equally well.
pub(crate) const CONTEXT_WEIGHT: f32 = 0.1;
/// Similarity of two pages' shingles from which they are the same text.
pub(crate) const MIN_SAME_TEXT_SIMILARITY: f32 = 0.8;

// Relevance of a sentence without a model.
/// Relevance to the question, from a sentence's own words and its context, below which the sentence is about something
/// else. Measured on the null questions of MultiHop-RAG.
pub(crate) const MIN_RELEVANCE: f32 = 0.34;
/// Minimum weight of matched words around a sentence that lacks the most informative word.
pub(crate) const MIN_CONTEXT_MATCH_WEIGHT: f32 = 0.4;
/// Share of the words of a part that a sentence about it must have.
pub(crate) const MIN_PART_OVERLAP: f32 = 0.75;
/// Weight of matched terms that counts as a full match: four to six content words.
pub(crate) const FULL_MATCH_WEIGHT: f32 = 6.5;
/// Weight of a sentence that lacks the word asked for, if its title and heading lack it too.
pub(crate) const OTHER_HEAD_WEIGHT: f32 = 0.7;
/// Factor for the score of an answer without the word asked for.
pub(crate) const WITHOUT_HEAD_WORTH: f32 = 0.8;
/// Extra weight of the verb that the question asks about.
pub(crate) const VERB_WEIGHT: f32 = 1.8;
/// Weight of a side item, relative to an item on the question itself.
pub(crate) const SIDE_ITEM_WEIGHT: f32 = 0.82;
/// Weight of a side of a comparison, whose items also cover its cost and its risks.
pub(crate) const SIDE_OF_COMPARISON_WEIGHT: f32 = 0.75;
/// Weight of a widened quote.
pub(crate) const WIDENED_QUOTE_WEIGHT: f32 = 0.85;
/// Weight of a sentence about another thing of the same kind: prostate cancer, not cervical.
pub(crate) const OTHER_SUBJECT_WEIGHT: f32 = 0.5;
/// Share of the aspect's words at which a sentence, with title and heading, counts as on the aspect.
pub(crate) const ENOUGH_ASPECT_WORDS: f32 = 0.5;
/// Weight of a sentence with none of these words, for an item on the whole question.
pub(crate) const OTHER_ASPECT_WEIGHT: f32 = 0.7;
/// The same for a part of a question and for a side item; also that of a sentence for a part without the form of an answer.
pub(crate) const OTHER_PART_WEIGHT: f32 = 0.45;
/// Weight of a sentence that was joined with one or two headings.
pub(crate) const JOINED_HEADINGS_WEIGHT: f32 = 0.6;
/// Weight of a sentence that was joined with more headings.
pub(crate) const MANY_JOINED_HEADINGS_WEIGHT: f32 = 0.35;
/// Share of an item's words that title and heading must have for the page to be about it.
pub(crate) const MIN_PAGE_TOPIC_OVERLAP: f32 = 0.65;
/// Best score below which a sentence is not evidence.
pub(crate) const MIN_EVIDENCE_SCORE: f32 = 0.2;
/// Index of the sentence at which the bonus for an early position has fallen to half.
pub(crate) const EARLY_BONUS_HALF_SENTENCES: f32 = 12.0;

// What a model's words must share with the evidence.
/// Share of a claim's words that sentences must have to be used instead of the sentences the model named.
pub(crate) const MIN_NAMED_SENTENCE_OVERLAP: f32 = 0.5;
/// Share of a sentence's words that its named evidence must have.
pub(crate) const MIN_NAMED_EVIDENCE_OVERLAP: f32 = 0.5;
/// Share of a sentence's words from which evidence that it does not name is taken instead.
pub(crate) const MIN_OTHER_EVIDENCE_OVERLAP: f32 = 0.8;
/// Share of a sentence's words that its quotes must have, whatever a model says.
pub(crate) const MIN_VERIFIED_QUOTE_OVERLAP: f32 = 0.2;
/// Share of a sentence's words other than names that must occur in what it rests on.
pub(crate) const MIN_PREDICATE_OVERLAP: f32 = 0.2;
/// A quoted sentence supports a name only if it holds more than this share of the line's other words.
pub(crate) const MIN_NAME_CONTEXT_OVERLAP: f32 = 0.5;
/// Share of a claim's words that make another claim the same.
pub(crate) const MIN_SAME_CLAIM_OVERLAP: f32 = 0.8;

// Coverage and progress.
/// Share of items that must be covered for good coverage; in addition, none may be open.
pub(crate) const MIN_GOOD_COVERAGE: f32 = 0.6;
/// Score from which evidence answers its item instead of touching on it.
pub(crate) const MIN_ANSWERING_SCORE: f32 = 0.5;
/// Score from which evidence from a single site is enough.
pub(crate) const MIN_SINGLE_SITE_SCORE: f32 = 0.7;
/// Highest score of a model's finding that has no word of its item: a second site must say the same.
pub(crate) const MAX_UNNAMED_ITEM_SCORE: f32 = 0.69;
/// Share of a gap's words in a claim that shows the gap is closed.
pub(crate) const MIN_CLOSED_GAP_OVERLAP: f32 = 0.8;
/// Least rise in the sum of all scores for a round to count as progress.
pub(crate) const MIN_PROGRESS: f32 = 0.02;

// Which of a model's sentences are kept.
/// Share of the best written sentence's relevance from which another is kept without the verb asked about.
pub(crate) const MIN_WRITTEN_SHARE_WITHOUT_VERB: f32 = 0.95;
/// Share of the relevance of the best written sentence on a part from which another of its section is kept.
pub(crate) const MIN_PART_RELEVANCE_SHARE: f32 = 0.7;

// Composing a report without a model.
/// Share of the best sentence's relevance below which another is off the subject.
pub(crate) const MIN_RELEVANCE_SHARE: f32 = 0.55;
/// Share of the best sentence's relevance from which another need not contain the question's verb.
pub(crate) const MIN_RELEVANCE_SHARE_WITHOUT_VERB: f32 = 0.85;
/// Fit of a definition from which a sentence need not begin with the defined term.
pub(crate) const MIN_DEFINITION_FIT: f32 = 0.6;
/// Score from which a sentence answers its item whatever words it uses, such as a step under its title.
pub(crate) const MIN_ITEM_ANSWER_SCORE: f32 = 0.5;
/// Score from which a sentence answers its item if it mainly answers a part of the question.
pub(crate) const MIN_PART_ANSWER_SCORE: f32 = 0.35;
/// The same for a step.
pub(crate) const MIN_STEP_SCORE: f32 = 0.25;
/// Share of an item's best score below which a sentence does not belong in its section.
pub(crate) const MIN_SECTION_SCORE_SHARE: f32 = 0.68;
/// Fit from which a sentence has the form of a step.
pub(crate) const MIN_STEP_FIT: f32 = 0.8;
/// Share of the best answer's score below which a sentence is not a finding.
pub(crate) const MIN_FINDING_WORTH_SHARE: f32 = 0.72;
/// Share of the best answer's score below which the best sentence of an item is not a finding.
pub(crate) const MIN_ITEM_FINDING_WORTH_SHARE: f32 = 0.55;
/// Share of a claim's words that a quote must have to support it too.
pub(crate) const MIN_SUPPORTING_QUOTE_OVERLAP: f32 = 0.75;
/// Similarity above which two sentences say the same.
pub(crate) const MAX_SENTENCE_SIMILARITY: f32 = 0.6;
/// Maximum that authority adds to the best score of a source: enough to decide between two of about the same score.
pub(crate) const MAX_AUTHORITY_BONUS: f32 = 0.15;
/// Similarity below which the next sentence begins a new paragraph.
pub(crate) const MIN_PARAGRAPH_SIMILARITY: f32 = 0.08;
/// Similarity of two neighbouring sentences of one page.
pub(crate) const SAME_PAGE_SIMILARITY: f32 = 0.4;
/// Distance in sentences at which the similarity within a page has fallen to half.
pub(crate) const SAME_PAGE_HALF_DISTANCE: f32 = 3.0;
/// Similarity of two titles, without their numbers, from which they are editions of one work.
pub(crate) const MIN_EDITION_TITLE_SIMILARITY: f32 = 0.7;

// The short answer and its confidence.
/// Score below which a sentence is on the subject but does not answer.
pub(crate) const MIN_ANSWER_WORTH: f32 = 0.45;
/// Share of the best sentence's score below which another does not answer well enough.
pub(crate) const MIN_ANSWER_WORTH_SHARE: f32 = 0.7;
/// Share of the relevance of the best sentence picked by code below which a model's answer is not to the question.
pub(crate) const MIN_DIRECTNESS_SHARE: f32 = 0.6;
/// Minimum share of the question's words for a sentence to decide a yes/no question.
pub(crate) const MIN_DECIDING_OVERLAP: f32 = 0.7;
/// Share of the question's content words, unweighted, that a sentence must also have to decide a yes/no question.
pub(crate) const MIN_DECIDING_CONTENT_WORDS: f32 = 0.7;
/// Share of a sentence's relevance that a shortened form must keep.
pub(crate) const MIN_SHORTENED_RELEVANCE: f32 = 0.85;
/// Share of the question's content words above which a sentence answers it directly.
pub(crate) const MIN_DIRECT_ANSWER_WEIGHT: f32 = 0.55;
/// Share of the question's words, unweighted, above which a sentence answers it directly.
pub(crate) const MIN_DIRECT_ANSWER_WORDS: f32 = 0.7;
/// Distance from the question's words, in words, at which an answer's score is halved.
pub(crate) const ANSWER_HALF_DISTANCE: f32 = 8.0;
/// Weight of a sentence after one with the question's words ("He was born…").
pub(crate) const FOLLOWING_SENTENCE_WEIGHT: f32 = 0.6;

// Disagreement.
/// Relative difference up to which two numbers are the same, rounded.
pub(crate) const ROUNDING_TOLERANCE: f64 = 0.05;
/// Similarity of the words around two numbers from which they are the same quantity.
pub(crate) const MIN_SAME_QUANTITY_SIMILARITY: f32 = 0.45;
/// Similarity of two statements from which one may contradict the other.
pub(crate) const MIN_SAME_STATEMENT_SIMILARITY: f32 = 0.55;
/// Worth from which an answer counts in a conflict: its sentence has most words of the question, and it is near them.
pub(crate) const MIN_CONFLICT_ANSWER_WORTH: f32 = 0.45;
/// Share of the heaviest side of a conflict below which a side does not belong in the short answer.
pub(crate) const MIN_CONFLICT_SIDE_WEIGHT: f32 = 0.6;

// Support of a claim by a source.
/// Log-odds from which a claim is contradicted rather than unsupported.
pub(crate) const MIN_CONTRADICTED_LOG_ODDS: f32 = 0.0;
/// Log-odds from which a claim counts as partly supported; from 0 on, as supported.
pub(crate) const MIN_PARTLY_SUPPORTED_LOG_ODDS: f32 = -0.3;
/// Share of the claim's weight below which a sentence is not about it.
pub(crate) const MIN_SENTENCE_CLAIM_SHARE: f32 = 0.35;
/// Share of the claim's weight that a neighbouring sentence must add to join the quote.
pub(crate) const MIN_JOINING_CLAIM_SHARE: f32 = 0.15;
/// Share of words that two claims must have in common to match.
pub(crate) const MIN_MATCHING_CLAIM_OVERLAP: f32 = 0.6;

// Trust in a source.
/// What each independent site that names a source adds to its authority.
pub(crate) const AUTHORITY_PER_NAMING_SITE: f32 = 0.05;
/// Authority of a page whose server is unknown.
pub(crate) const UNKNOWN_SERVER_AUTHORITY: f32 = 0.3;
/// Authority of a work without peer review.
pub(crate) const PREPRINT_AUTHORITY: f32 = 0.6;
/// Weight of the authority of a source in its trust.
pub(crate) const TRUST_AUTHORITY_WEIGHT: f32 = 0.4;
/// Weight of its agreement with other sources.
pub(crate) const TRUST_CONSISTENCY_WEIGHT: f32 = 0.3;
/// Weight of its kind of publication.
pub(crate) const TRUST_EXPERTISE_WEIGHT: f32 = 0.2;
/// Weight of its recency.
pub(crate) const TRUST_RECENCY_WEIGHT: f32 = 0.1;
/// Years in which recency halves: about the time in which half the findings of a field are superseded.
pub(crate) const RECENCY_HALF_LIFE_YEARS: f32 = 5.0;
/// Recency of a source without a date.
pub(crate) const UNDATED_RECENCY: f32 = 0.25;
/// Similarity from which two sentences say the same.
pub(crate) const MIN_AGREEING_SIMILARITY: f32 = 0.5;

// Judging a finished run.
/// How far a model may raise a counted score: models praise too easily.
pub(crate) const MAX_MODEL_RAISE: f64 = 0.1;
/// How far a model may lower a counted score: it sees what counting does not.
pub(crate) const MAX_MODEL_CUT: f64 = 0.4;
/// Weight of a part that only a model can judge; counted parts weigh 1.
pub(crate) const MODEL_PART_WEIGHT: f64 = 0.33;
