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
/// Average tokens per English word of reports: four characters a token.
pub(crate) const TOKENS_PER_WORD: f32 = 1.45;

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
/// Share of what is asked of the subject that a heading must have to ask the question.
pub(crate) const MIN_HEADING_ASPECT: f32 = 0.5;
/// Weight of what is asked where the title of the page has it, and not the heading.
pub(crate) const TITLE_ASPECT_WEIGHT: f32 = 0.9;
/// Share of the question that such a heading and the title of its page have together.
pub(crate) const MIN_HEADING_TOPIC: f32 = 0.6;
/// The same where the heading is the noun whose things are asked for.
pub(crate) const MIN_HEADING_TOPIC_OF_NOUN: f32 = 0.5;
/// Share of the heading's own words that the question has: a heading on more asks something else.
pub(crate) const MIN_HEADING_OWN_WORDS: f32 = 0.5;
/// Relevance of a sentence under a heading that asks the whole question.
pub(crate) const HEADED_RELEVANCE: f32 = 0.75;
/// How well it fits as an answer, whatever its form.
pub(crate) const HEADED_FIT: f32 = 0.6;
/// The same where it has the form of an answer, too.
pub(crate) const HEADED_FORM_FIT: f32 = 0.8;
/// Share of the words asked for that the best evidence has, below which the words have failed and meaning is compared.
pub(crate) const MIN_FOUND_ASPECT: f32 = 0.5;
/// Relevance of a sentence that means what is asked in other words.
pub(crate) const SIMILAR_RELEVANCE: f32 = 0.75;
/// How well a step, a member of a list or a reason fits as an answer if it only means what is asked.
pub(crate) const SIMILAR_FIT: f32 = 0.4;
/// Weight of a sentence that means something else, whatever words it shares.
pub(crate) const DISSIMILAR_WEIGHT: f32 = 0.7;
/// Score of a sentence that means what is asked, whatever its words and its form, and how far it must mean it.
pub(crate) const MEANING_SCORE: f32 = 0.7;
pub(crate) const MIN_MEANT_SIMILARITY: f32 = 0.5;
/// How far a member of a list must mean what is asked, if only the title of its page names the subject.
pub(crate) const MIN_MEMBER_SIMILARITY: f32 = 0.2;
/// Probability from which the best sentence surely answers, so that the others are measured by it.
pub(crate) const SURE_ANSWER: f32 = 0.4;
/// Probability of an answer from which a sentence answers directly whatever its words are. Of 88 everyday questions on eight small
/// folders, the likeliest sentence was the expected one for eight of the 14 from there.
pub(crate) const DIRECT_ANSWER_PROBABILITY: f32 = 0.7;
/// The same where no page names a thing that the question names.
pub(crate) const UNKNOWN_THING_ANSWER: f32 = 0.8;
/// What the words asked for say of the meaning of a sentence, next to its similarity.
pub(crate) const SHARED_WORDS_MEANING: f32 = 0.4;
/// What is added to the score of an answer that means what is asked and has none of the words asked for.
pub(crate) const SIMILAR_BONUS: f32 = 0.2;
/// Share of its worth that a sentence keeps which tells what somebody asked.
pub(crate) const REPORTED_QUESTION_WORTH: f32 = 0.5;
/// What is added to the score of an answer that surely means what is asked, whatever its words.
pub(crate) const MEANT_BONUS: f32 = 0.3;
// Chosen by reading the answers to `plain-1` of `evals questions`; no figure was fitted.
/// What is added to the worth of a sentence that states the fact asked for, in a form that says so.
pub(crate) const STATED_FACT_BONUS: f32 = 0.4;
/// What is added to the worth of the form of a fact that surely answers, times the probability that it does.
pub(crate) const SURE_FACT_BONUS: f32 = 0.25;
/// Fit of the form, and share of the words of the question, from which a sentence states a fact whatever the model says.
pub(crate) const MIN_PLAIN_FORM_FIT: f32 = 0.8;
pub(crate) const MIN_ALL_WORDS: f32 = 0.9;
/// The same share where the unit of a figure stands for a word: "28 °C" to "how warm is the water?"
pub(crate) const MIN_MEASURED_WORDS: f32 = 0.4;
/// Weight of a point without the words for what is asked of the subject, where another point has them.
pub(crate) const OTHER_ASPECT_WORTH: f32 = 0.5;
/// Probability of an answer from which a point keeps its worth without these words.
pub(crate) const OTHER_ASPECT_SURE: f32 = 0.85;
/// What the words of the title of its page count for a sentence that states a fact.
pub(crate) const FACT_TITLE_WEIGHT: f32 = 0.85;
/// Share of its score that an answer keeps which has words asked for and means something else.
pub(crate) const BESIDE_WORTH: f32 = 0.8;
/// Factor for the score of an answer that means something else, where no words asked for were found.
pub(crate) const DISSIMILAR_WORTH: f32 = 0.4;
/// Best score below which a sentence is not evidence.
pub(crate) const MIN_EVIDENCE_SCORE: f32 = 0.2;
/// Index of the sentence at which the bonus for an early position has fallen to half.
pub(crate) const EARLY_BONUS_HALF_SENTENCES: f32 = 12.0;

// Fit: how well a sentence has the form of an answer to a kind of question, 0 to 1.
/// Fit where the form decides nothing: yes or no, a cause, or a facet without cues.
pub(crate) const UNDECIDED_FIT: f32 = 0.5;
/// Fit of a sentence that compares, in answer to a yes/no question that does.
pub(crate) const COMPARING_FIT: f32 = 0.8;
/// Fit of one that does not compare.
pub(crate) const NOT_COMPARING_FIT: f32 = 0.3;
/// Weight of the share of new words, in answer to an open question.
pub(crate) const OPEN_NOVELTY_WEIGHT: f32 = 0.6;
/// What is added to it.
pub(crate) const OPEN_BASE_FIT: f32 = 0.2;
/// Weight of the share of new words, as a member of a list.
pub(crate) const LIST_NOVELTY_WEIGHT: f32 = 0.8;
/// Weight of a sentence that denies its members.
pub(crate) const DENIED_MEMBERS_WEIGHT: f32 = 0.5;
/// Weight of a new name, in answer to where.
pub(crate) const PLACE_NAME_WEIGHT: f32 = 0.6;
/// Weight of a sentence that says why something happens less, in answer to why it happens.
pub(crate) const LESSENING_WEIGHT: f32 = 0.3;
/// Fit of a sentence with cues of a facet, but none of its strong ones.
pub(crate) const WEAK_CUE_FIT: f32 = 0.15;
/// Fit of a sentence with one cue of a facet; with three it is 1.
pub(crate) const ONE_CUE_FIT: f32 = 0.6;
/// Fit of a sentence with two cues.
pub(crate) const TWO_CUES_FIT: f32 = 0.8;
/// Fit of a definition that says what kind of thing the subject is, but not what distinguishes it.
pub(crate) const DEFINITION_WITHOUT_DISTINCTION_FIT: f32 = 0.7;
/// Fit of a full definition of a longer phrase than the subject.
pub(crate) const INDIRECT_DEFINITION_FIT: f32 = 0.5;
/// Fit of another sentence with the subject before a defining verb.
pub(crate) const LOOSE_DEFINITION_FIT: f32 = 0.25;
/// Fit of a sentence that begins with a number, as a step.
pub(crate) const NUMBERED_STEP_FIT: f32 = 0.9;
/// Fit of an imperative without a number.
pub(crate) const IMPERATIVE_FIT: f32 = 0.8;
/// Fit of a sentence with one comma, as a list.
pub(crate) const ONE_COMMA_FIT: f32 = 0.2;
/// Fit of one with two commas.
pub(crate) const TWO_COMMAS_FIT: f32 = 0.45;
/// Fit of one with more.
pub(crate) const MANY_COMMAS_FIT: f32 = 0.6;
/// What a conjunction adds to it.
pub(crate) const LIST_CONJUNCTION_BONUS: f32 = 0.15;
/// What "such as" or "include" adds.
pub(crate) const LIST_PHRASE_BONUS: f32 = 0.3;
/// Fit of a year without a month, in answer to when.
pub(crate) const YEAR_FIT: f32 = 0.85;
/// Fit of a month without a year.
pub(crate) const MONTH_FIT: f32 = 0.6;
/// A month without a year, for a question on when something is done.
pub(crate) const MONTH_ALONE_FIT: f32 = 0.9;
/// Weight of a sentence with a year for such a question.
pub(crate) const DATE_FOR_RECURRING_WEIGHT: f32 = 0.4;
/// Fit of a century or of days.
pub(crate) const VAGUE_TIME_FIT: f32 = 0.4;
// Chosen in the same way, as are those of the worth of stated facts.
/// Fit of a text with an hour or a day of the week, where a time that recurs is asked for.
pub(crate) const TIME_OF_DAY_FIT: f32 = 0.95;
/// Weight of an amount that is told instead of how often.
pub(crate) const OTHER_FREQUENCY_WEIGHT: f32 = 0.6;
/// Fit of a text with "behind the" or the like, where a place is asked for; and where a verb of place is before it.
pub(crate) const PLACE_FIT: f32 = 0.6;
pub(crate) const TOLD_PLACE_FIT: f32 = 0.8;
/// Fit of a new name of one word, in answer to who; a longer name fits fully.
pub(crate) const ONE_NAME_FIT: f32 = 0.6;
/// Fit of a figure with another unit than the one asked for.
pub(crate) const OTHER_UNIT_FIT: f32 = 0.7;
/// Relevance of the current edition's sentence from which it leads for that of a replaced one, as a share of it.
pub(crate) const CURRENT_EDITION_SHARE: f32 = 0.6;
/// Fit of an amount of something that "how much" does not name: "grass" may be the food asked about.
pub(crate) const AMOUNT_OF_ANOTHER_FIT: f32 = 0.55;
/// Fit of a figure without a unit, in answer to how many.
pub(crate) const NO_UNIT_FIT: f32 = 0.35;
/// Fit of a figure with a unit of the dimension asked for, in a sentence that does not name the dimension.
pub(crate) const UNNAMED_DIMENSION_FIT: f32 = 0.55;
/// Fit of a sentence that names the dimension, with a figure that has no unit of it.
pub(crate) const DIMENSION_WITHOUT_UNIT_FIT: f32 = 0.3;
/// Fit of a figure of another dimension.
pub(crate) const OTHER_DIMENSION_FIT: f32 = 0.15;
/// Fit of figures without units, for a facet that asks for figures.
pub(crate) const FIGURE_WITHOUT_UNIT_FIT: f32 = 0.3;
/// Fit of one figure with a unit; two fit fully.
pub(crate) const ONE_FIGURE_FIT: f32 = 0.75;
/// Factor of the share of new words: from five words of seven on, a sentence counts as new.
pub(crate) const NOVELTY_FACTOR: f32 = 1.4;

// The score of a sentence for an item.
/// Confidence of evidence that was found by its words.
pub(crate) const UNCHECKED_CONFIDENCE: f32 = 0.5;
/// Weight of a sentence's own words; the rest is that of its context.
pub(crate) const OWN_WORDS_WEIGHT: f32 = 0.72;
/// The same for steps and members of a list, which seldom name what they belong to.
pub(crate) const STEP_OWN_WORDS_WEIGHT: f32 = 0.5;
/// Weight of the form of a comparison that does not name both sides.
pub(crate) const MISSING_SIDE_WEIGHT: f32 = 0.4;
/// Fit from which a step or a member need not repeat the question, under a title that asks the same.
pub(crate) const MIN_TOPICAL_FIT: f32 = 0.5;
/// How well an item of a list fits as a member of what a list question asks for.
pub(crate) const LISTED_MEMBER_FIT: f32 = 0.9;
/// Weight of the words of such a title in the relevance of the sentence.
pub(crate) const PAGE_TOPIC_WEIGHT: f32 = 0.6;
/// Weight of the sentence's relevance beside them.
pub(crate) const TOPICAL_RELEVANCE_WEIGHT: f32 = 0.2;
/// Fit below which a sentence is only on the subject.
pub(crate) const MIN_ANSWER_FIT: f32 = 0.3;
/// Weight of such a sentence, for an item on the whole question.
pub(crate) const ONLY_ON_SUBJECT_WEIGHT: f32 = 0.6;
/// Weight of matched words in what a sentence is about.
pub(crate) const MATCHED_WORDS_WEIGHT: f32 = 0.86;
/// Weight of its similarity to the topic.
pub(crate) const TOPIC_SIMILARITY_WEIGHT: f32 = 0.14;
/// For an item on the question itself: weight of what the sentence is about.
pub(crate) const CORE_MATTER_WEIGHT: f32 = 0.6;
/// Weight of its form.
pub(crate) const CORE_FIT_WEIGHT: f32 = 0.34;
/// Weight of its place in the page.
pub(crate) const CORE_EARLY_WEIGHT: f32 = 0.06;
/// For a side of a comparison: share of its words that a sentence must have.
pub(crate) const MIN_SIDE_MATCH: f32 = 0.7;
/// Weight of these words.
pub(crate) const SIDE_MATCH_WEIGHT: f32 = 0.6;
/// Weight of the question's words.
pub(crate) const SIDE_QUESTION_WEIGHT: f32 = 0.3;
/// Weight of the sentence's place in the page.
pub(crate) const SIDE_EARLY_WEIGHT: f32 = 0.1;
/// For a side item: fit to its facet that a sentence must have.
pub(crate) const MIN_FACET_CUE_FIT: f32 = 0.5;
/// Share of the item's words that it must have.
pub(crate) const MIN_FACET_MATCH: f32 = 0.45;
/// Share of [`MIN_RELEVANCE`] that it must have.
pub(crate) const FACET_RELEVANCE_SHARE: f32 = 0.7;
/// Weight of the item's words.
pub(crate) const FACET_MATCH_WEIGHT: f32 = 0.3;
/// Weight of the question's words.
pub(crate) const FACET_QUESTION_WEIGHT: f32 = 0.3;
/// Weight of the fit to the facet.
pub(crate) const FACET_CUE_WEIGHT: f32 = 0.34;
/// Weight of the sentence's place in the page.
pub(crate) const FACET_EARLY_WEIGHT: f32 = 0.06;
/// How well a sentence must stand alone for a quote to be widened to it.
pub(crate) const MIN_ANTECEDENT_FIT: f32 = 0.4;

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

/// Share of the words of the longer of two sentences that both have in the same order, from which one is copied from the other.
/// In the tests of `same_voice` and `strategies::cited`, a copy with one word changed shares 0.94 to 0.95, the same told anew 0.21 to 0.41.
pub(crate) const MIN_SAME_WORDING: f32 = 0.9;

// Coverage and progress.
/// Share of items that must be covered for good coverage; in addition, none may be open.
pub(crate) const MIN_GOOD_COVERAGE: f32 = 0.6;
/// Score from which evidence answers its item instead of touching on it.
pub(crate) const MIN_ANSWERING_SCORE: f32 = 0.5;
/// Score from which evidence from a single site is enough.
pub(crate) const MIN_SINGLE_SITE_SCORE: f32 = 0.7;
/// Highest score of a model's finding that has no word of its item: a second site must say the same.
pub(crate) const MAX_UNNAMED_ITEM_SCORE: f32 = 0.69;
/// Share of pages on which a model answers the control item, which no page answers, from which its findings rank below those by words.
pub(crate) const MIN_CAUGHT_SHARE: f32 = 0.34;
/// Share of a gap's words in a claim that shows the gap is closed.
pub(crate) const MIN_CLOSED_GAP_OVERLAP: f32 = 0.8;
/// Least rise in the sum of all scores for a round to count as progress.
pub(crate) const MIN_PROGRESS: f32 = 0.02;

// Which of a model's sentences are kept.
/// Share of the best written sentence's relevance from which another is kept without the verb asked about.
pub(crate) const MIN_WRITTEN_SHARE_WITHOUT_VERB: f32 = 0.95;
/// Share of the best other sentence's relevance from which the quote of a faulty sentence, or one added beside the lines of code, stays.
pub(crate) const MIN_REPLACEMENT_SHARE: f32 = 0.7;
/// A sentence of a section is kept if its relevance is at least this share of that of the best sentence on the same part.
pub(crate) const MIN_PART_RELEVANCE_SHARE: f32 = 0.7;

// Composing a report without a model.
/// Similarity from which a critic finds that a sentence repeats another.
pub(crate) const MIN_REPEATED_SIMILARITY: f32 = 0.8;
/// Share of the best match of what is asked of the subject, title included, below which a sentence is on the subject alone.
pub(crate) const MIN_ASPECT_SHARE: f32 = 0.4;
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
/// Share of the best answer's worth below which a sentence is left out of the section on the question.
pub(crate) const MIN_SECTION_WORTH_SHARE: f32 = 0.7;
/// Fit from which a sentence has the form of a step.
pub(crate) const MIN_STEP_FIT: f32 = 0.8;
/// Share of the best answer's score below which a sentence is not a finding.
pub(crate) const MIN_FINDING_WORTH_SHARE: f32 = 0.72;
/// Share of the best answer's score below which the best sentence of an item is not a finding.
pub(crate) const MIN_ITEM_FINDING_WORTH_SHARE: f32 = 0.7;
/// Share of a claim's words that a quote must have to support it too: a single one can be what the claim says, as "trial" of "is on trial".
pub(crate) const MIN_SUPPORTING_QUOTE_OVERLAP: f32 = 1.0;
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

// The outline.
/// Pieces of evidence from which each of two items of a section gets a section of its own.
pub(crate) const MIN_SPLIT_EVIDENCE: usize = 4;
/// Pieces of evidence that a section needs to stand alone.
pub(crate) const MIN_SECTION_EVIDENCE: usize = 2;
/// Share of the words of the only evidence of a section that another section must have to take it.
pub(crate) const MIN_MERGED_SECTION_OVERLAP: f32 = 0.3;

// The short answer and its confidence.
/// Score below which a sentence is on the subject but does not answer.
pub(crate) const MIN_ANSWER_WORTH: f32 = 0.45;
/// Share of the best sentence's score below which another does not answer well enough.
pub(crate) const MIN_ANSWER_WORTH_SHARE: f32 = 0.7;
/// Share of the best answer's worth that a sentence must have to sum up a procedure, and the best member of a list to open the answer.
pub(crate) const MIN_SUMMARY_WORTH_SHARE: f32 = 0.8;
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
/// How far a sentence must mean what is asked, where that was compared, to answer it directly.
pub(crate) const MIN_DIRECT_SIMILARITY: f32 = 0.2;
/// The fit of a sentence that denies something, to a question for a date: "it was not built in 1925".
pub(crate) const DENIED_DATE_FIT: f32 = 0.2;
/// Probability of an answer, by the model that compares meaning, below which a sentence is only near the question. Of 16 everyday
/// questions that eight small folders do not answer, the likeliest sentence is below it for nine.
pub(crate) const MIN_ANSWER_PROBABILITY: f32 = 0.3;
/// The same where no page names a thing that the question names.
pub(crate) const MIN_UNKNOWN_THING_PROBABILITY: f32 = 0.6;
/// How likely one of the steps of a procedure must answer, as a share of the likeliest sentence.
pub(crate) const MIN_STEPS_LIKELIHOOD: f32 = 0.9;
/// How nearly the heading of the section with the likeliest sentence asks the question.
pub(crate) const ANSWERING_SECTION: f32 = 0.6;
/// Probability of an answer from which the likeliest sentence is shown as the nearest passage.
pub(crate) const MIN_NEAREST_PROBABILITY: f32 = 0.1;
/// Distance from the question's words, in words, at which an answer's score is halved.
pub(crate) const ANSWER_HALF_DISTANCE: f32 = 8.0;
/// Weight of a sentence after one with the question's words ("He was born…").
pub(crate) const FOLLOWING_SENTENCE_WEIGHT: f32 = 0.6;

// The worth of a sentence as an answer, about 0 to 1.
/// Share of its fit that a sentence keeps whose fact is far from the question's words.
pub(crate) const FAR_FACT_FIT: f32 = 0.4;
/// What is added to this share where the fact is beside them.
pub(crate) const NEAR_FACT_FIT: f32 = 0.6;
/// Weight of the form of a comparison in its fit.
pub(crate) const COMPARISON_FORM_WEIGHT: f32 = 0.4;
/// Weight of both sides being named.
pub(crate) const COMPARISON_SIDES_WEIGHT: f32 = 0.6;
/// Weight of relevance in the worth.
pub(crate) const WORTH_RELEVANCE_WEIGHT: f32 = 0.42;
/// Weight of the fit.
pub(crate) const WORTH_FIT_WEIGHT: f32 = 0.33;
/// Weight of the score as evidence.
pub(crate) const WORTH_SCORE_WEIGHT: f32 = 0.25;
/// Added for the second piece of evidence that says the same, and for the third.
pub(crate) const MORE_EVIDENCE_BONUS: f32 = 0.05;
/// Weight of a sentence that gives no reason, in answer to why.
pub(crate) const WITHOUT_REASON_WORTH: f32 = 0.7;
/// Deducted from a sentence that expresses doubt.
pub(crate) const DOUBT_LOSS: f32 = 0.06;
/// Deducted from a sentence of more than 40 words.
pub(crate) const LONG_SENTENCE_LOSS: f32 = 0.08;
/// Deducted from the worth of a figure that holds for one place or time only.
pub(crate) const ONE_CASE_LOSS: f32 = 0.1;
/// Deducted if the sentence does not begin with the figure's subject.
pub(crate) const LATE_SUBJECT_LOSS: f32 = 0.1;
/// Loss of a figure whose sentence begins with something that is not asked about: "Maintenance of a roof costs".
pub(crate) const OTHER_LEAD_LOSS: f32 = 0.08;
/// Added to the worth of an item of a list that lists what the question asks for.
pub(crate) const LISTED_MEMBER_BONUS: f32 = 0.2;
/// How nearly a heading must ask the question, so that what stands under it answers better than what has the question's words.
pub(crate) const ASKING_HEADING: f32 = 0.9;
/// What that adds to the worth of an answer.
pub(crate) const HEADED_BONUS: f32 = 0.3;
/// Added to the worth of a sentence that says yes or no to the question.
pub(crate) const STANCE_BONUS: f32 = 0.1;
/// Weight of a sentence that has other amounts of the unit asked about, and not the amount asked about.
pub(crate) const OTHER_AMOUNT_WEIGHT: f32 = 0.75;
/// Weight of the verb among the words of what is asked of a subject.
pub(crate) const ASPECT_VERB_WEIGHT: f32 = 2.5;
/// Weight of a sentence that says what a study was to find out.
pub(crate) const AIM_WEIGHT: f32 = 0.7;
/// Share of the highest relevance that a sentence must have to decide a yes/no question.
pub(crate) const MIN_DECIDING_RELEVANCE_SHARE: f32 = 0.8;
/// Share of the relevance of the best answer that another must have to answer as well.
pub(crate) const MIN_ANSWERING_RELEVANCE_SHARE: f32 = 0.8;
/// Share of its fit, also for a further sentence of the short answer.
pub(crate) const MIN_ANSWERING_FIT_SHARE: f32 = 0.75;
/// Share of its relevance that a further sentence of the short answer must have.
pub(crate) const MIN_SHORT_ANSWER_RELEVANCE_SHARE: f32 = 0.65;
/// Similarity above which two sentences do not both belong in the short answer.
pub(crate) const MAX_ANSWER_SIMILARITY: f32 = 0.5;
/// Share of the worth of the best answer that the sentence of the answer line must have.
pub(crate) const MIN_ANSWER_LINE_WORTH_SHARE: f32 = 0.75;
/// Share of its relevance.
pub(crate) const MIN_ANSWER_LINE_RELEVANCE_SHARE: f32 = 0.75;

// Disagreement.
/// Relative difference up to which two numbers are the same, rounded.
pub(crate) const ROUNDING_TOLERANCE: f64 = 0.05;
/// Similarity of the words around two numbers from which they are the same quantity.
pub(crate) const MIN_SAME_QUANTITY_SIMILARITY: f32 = 0.45;
/// Similarity of two statements from which one may contradict the other.
pub(crate) const MIN_SAME_STATEMENT_SIMILARITY: f32 = 0.55;
/// Worth from which an answer counts in a conflict: its sentence has most words of the question, and it is near them.
pub(crate) const MIN_CONFLICT_ANSWER_WORTH: f32 = 0.45;
/// Probability of an answer, by the model that compares meaning, from which a figure is the one that is asked for, whatever words are
/// near it.
pub(crate) const CONFLICT_PROBABILITY: f32 = 0.6;
/// Share of the words of the shorter of two pages from which they may be copies of one text with another answer.
pub(crate) const MIN_COPIED_WORDS: f32 = 0.7;
/// Share of the words of two sentences from which they tell of one thing and differ in the answer, and not of two of one name.
pub(crate) const MIN_SAME_THING_OVERLAP: f32 = 0.6;
/// Share of the heaviest side of a conflict below which a side does not belong in the short answer.
pub(crate) const MIN_CONFLICT_SIDE_WEIGHT: f32 = 0.6;

// Support of a claim by a source.
/// Share of the words of a claim that a sentence has, from which what differs decides.
pub(crate) const MIN_SAME_WORDS_SHARE: f32 = 0.75;
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
/// Weight of its authors' standing.
pub(crate) const TRUST_EXPERTISE_WEIGHT: f32 = 0.2;
/// Weight of its recency.
pub(crate) const TRUST_RECENCY_WEIGHT: f32 = 0.1;
/// Years in which recency halves: about the time in which half the findings of a field are superseded.
pub(crate) const RECENCY_HALF_LIFE_YEARS: f32 = 5.0;
/// Recency of a source without a date.
pub(crate) const UNDATED_RECENCY: f32 = 0.25;
/// Similarity from which two sentences say the same.
pub(crate) const MIN_AGREEING_SIMILARITY: f32 = 0.5;

// Authority by the kind of place.
/// Authority of a work that PubMed lists.
pub(crate) const PUBMED_AUTHORITY: f32 = 0.88;
/// Authority of a work in another catalogue.
pub(crate) const SCHOLAR_AUTHORITY: f32 = 0.83;
/// Authority of a page among papers that no catalogue lists.
pub(crate) const UNLISTED_PAPER_AUTHORITY: f32 = 0.5;
/// Authority of news.
pub(crate) const NEWS_AUTHORITY: f32 = 0.6;
/// Authority of any other page, and of a local file.
pub(crate) const PAGE_AUTHORITY: f32 = 0.5;
/// Least authority of a host under `gov` or the like.
pub(crate) const PUBLIC_BODY_AUTHORITY: f32 = 0.85;
/// Least authority of a host under `edu` or `ac`.
pub(crate) const UNIVERSITY_AUTHORITY: f32 = 0.8;
/// Least authority of a host under `org`.
pub(crate) const ORG_AUTHORITY: f32 = 0.6;
/// Most authority of a site where anybody may write or something is sold.
pub(crate) const MAX_OPEN_PUBLISHING_AUTHORITY: f32 = 0.3;
/// What being a synthesis of studies adds to the authority of a work.
pub(crate) const SYNTHESIS_BONUS: f32 = 0.1;
/// What being a trial or a review adds.
pub(crate) const TRIAL_BONUS: f32 = 0.05;
/// What being an editorial or a letter adds.
pub(crate) const OPINION_BONUS: f32 = -0.2;
/// The logarithm of the citations is divided by this: 1,000 are worth as much as being a synthesis.
pub(crate) const CITATION_DIGITS_DIVISOR: f32 = 30.0;
/// Most that kind and citations add.
pub(crate) const MAX_WORK_BONUS: f32 = 0.12;

// Expertise, and the weight of a side of a conflict.
/// Expertise of a source without a named author.
pub(crate) const UNKNOWN_AUTHOR_EXPERTISE: f32 = 0.3;
/// Expertise of one named author.
pub(crate) const NAMED_AUTHOR_EXPERTISE: f32 = 0.6;
/// What several authors add.
pub(crate) const SEVERAL_AUTHORS_BONUS: f32 = 0.1;
/// What a title or an organisation adds.
pub(crate) const AFFILIATION_BONUS: f32 = 0.2;
/// What a collection that requires affiliations adds.
pub(crate) const REVIEWED_COLLECTION_BONUS: f32 = 0.2;
/// Share of its trust with which the oldest work counts in a conflict.
pub(crate) const MIN_RECENCY_FACTOR: f32 = 0.5;
/// Factor of a work that a newer edition supersedes.
pub(crate) const REPLACED_FACTOR: f32 = 0.5;

// Judging a finished run.
/// How far a model may raise a counted score: models praise too easily.
pub(crate) const MAX_MODEL_RAISE: f64 = 0.1;
/// How far a model may lower a counted score: it sees what counting does not.
pub(crate) const MAX_MODEL_CUT: f64 = 0.4;
/// Weight of a part that only a model can judge; counted parts weigh 1.
pub(crate) const MODEL_PART_WEIGHT: f64 = 0.33;
