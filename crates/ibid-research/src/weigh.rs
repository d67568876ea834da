//! Finds the sentences on the pages that answer the items.
use crate::thresholds::{MAX_UNNAMED_ITEM_SCORE, MIN_NAMED_SENTENCE_OVERLAP, MIN_RELEVANCE_SHARE};
use futures_util::{StreamExt, stream};

use ibid_core::domain::words::{content_stems, stem_overlap};
use ibid_core::domain::{
    BlockKind, Brief, ChecklistItem, Evidence, EvidenceId, EvidenceStore, ModelRole, Page, Plan,
    Question, SourceId,
};
use ibid_core::ports::{EventLog, LanguageModel, Ranker, RoleModel};
use ibid_core::record::{Event, LogSource};
use ibid_core::{Error, ErrorKind, Result};

use super::ask::{
    self,
    fit::{ContextWindow, sentence_batches},
    shapes::{WeighPrompt, WeighReplyRow, language_name},
};
use super::attribution::{self, SupportLevel};
use super::catch_item::catch_item;
use super::compare_meaning::{compare_meaning, lacks_lexical_match, needs_meaning};
use super::grounding::{has_unknown_code, has_unknown_number};
use super::heuristic::lexicon::spaced;
use super::heuristic::score::{
    CHUNK_CHARS, PAGE_CUT, PageEvidence, PageInput, PageSentences, RelevanceScorer, chunk_ranges,
    with_antecedent,
};
use super::heuristic::sentence::{SentenceText, claim_text, fitness, has_denial, has_doubt_words};
use super::llm_session::{LlmSession, LlmStep, TrackedModel, narrower_window};
use super::overstatement::overstates;
use super::page_set::PageSet;
use super::prompts;
use super::research_state::ResearchState;
use crate::concurrency::MAX_CALLS_IN_FLIGHT;

/// Chunks of 4,000 characters kept of a page that is used whole: up to the limit of 25,000 characters.
const MAX_FULL_PAGE_CHUNKS: usize = 7;
/// Tokens of a page's summary for each finding requested from a model: 8 findings for the default of 500.
const TOKENS_PER_FINDING: u32 = 63;
/// Tokens reserved for 8 of them.
const ANSWER_TOKENS: usize = 1_500;
/// Smallest window that is tried.
const MIN_WINDOW_TOKENS: u32 = 2_000;
/// Maximum number of sentences of one finding.
const MAX_SENTENCES: usize = 4;
/// Score of a model's finding with none of the question's words, and what all of them add: where its own
/// words agree with the sentences, and below it where they do not.
const AGREED_SCORE: (f32, f32) = (0.5, 0.4);
const DISAGREED_SCORE: (f32, f32) = (0.25, 0.5);

/// The pages of one round, and what they are weighed for.
pub(crate) struct WeighContext<'a> {
    pub(crate) log: &'a EventLog,
    pub(crate) question: &'a Question,
    pub(crate) brief: &'a Brief,
    /// The sources read in this round, best first.
    pub(crate) fresh: &'a [SourceId],
    pub(crate) round: u32,
    /// How many chunks of each page are weighed, also of a short page; `None` decides by rank.
    pub(crate) chunks: Option<usize>,
    /// Chooses the chunks of long pages, if it is a reranker, and compares meaning, if it can.
    pub(crate) ranker: Option<&'a dyn Ranker>,
}

/// Weighs the pages of a round and adds the evidence to the notes. Returns how much there was.
pub(crate) async fn weigh(
    llm: &mut LlmSession<'_>,
    round: &WeighContext<'_>,
    scorer: &mut RelevanceScorer,
    state: &mut ResearchState,
) -> Result<u32> {
    let found = find_evidence(llm, round, scorer, &state.notes, &state.pages).await?;
    let new = found.len() as u32;
    for evidence in found {
        add_evidence(round.log, None, &mut state.notes, evidence);
    }
    Ok(new)
}

/// Adds evidence to the notes, which gives it its id.
pub(crate) fn add_evidence(
    log: &EventLog,
    agent: Option<&str>,
    notes: &mut EvidenceStore,
    mut evidence: Evidence,
) {
    evidence.id = EvidenceId::new(notes.evidence.len() as u32 + 1);
    let added = Event::EvidenceAdded { evidence: evidence.clone() };
    log.emit_as(agent, added);
    notes.evidence.push(evidence);
}

/// A page of a round, and the evidence found on it so far.
struct WeighedPage<'a> {
    input: PageInput<'a>,
    sentences: PageSentences,
    found: PageEvidence,
}

/// Weighs the pages of a round. Returns the evidence in the order of the pages.
///
/// Words alone come first. A model is then asked about the best pages and about those on which the words
/// found something. It names sentences by number, and code makes quotes of them.
pub(crate) async fn find_evidence(
    llm: &mut LlmSession<'_>,
    round: &WeighContext<'_>,
    scorer: &mut RelevanceScorer,
    notes: &EvidenceStore,
    pages: &PageSet,
) -> Result<Vec<Evidence>> {
    let first = notes.plan.items()[0].id;
    let read = round.fresh.iter().filter_map(|id| pages.page(notes.source(*id)?));
    for page in read.filter(|page| is_navigation(page)) {
        round.log.emit(Event::EvidenceRejected {
            url: page.url.clone(),
            item: first,
            reason: "the page is only a list of links".to_owned(),
        });
    }
    let mut inputs = page_inputs(round, notes, pages);
    rank_chunks(round, &mut inputs).await?;
    let mut weighed = weigh_by_words(round, scorer, inputs)?;
    let found = weighed.iter().flat_map(|page| &page.found.evidence).chain(&notes.evidence);
    let words_fail = lacks_lexical_match(scorer, found);
    let compares = needs_meaning(round.brief.kind, round.round, words_fail);
    if let Some(ranker) = round.ranker.filter(|_| compares) {
        let pages = weighed.iter().map(|page| (&page.input, &page.sentences));
        if compare_meaning(round.log, ranker, (scorer, words_fail), pages).await? {
            for page in &mut weighed {
                page.found =
                    scorer.weigh_page(&page.input, &page.sentences, round.round, &mut 1)?;
            }
        }
    }
    weigh_by_model(llm, round, scorer, &notes.plan, &mut weighed).await?;
    let mut all = Vec::new();
    for page in weighed {
        let rejected = |reason: String| Event::EvidenceRejected {
            url: page.input.page.url.clone(),
            item: first,
            reason,
        };
        if page.found.orders > 0 {
            let reason = match page.found.orders {
                1 => "1 sentence contains instructions to AI readers".to_owned(),
                n => format!("{n} sentences contain instructions to AI readers"),
            };
            round.log.emit(rejected(reason));
        }
        if page.found.evidence.is_empty() {
            let reason = "no sentence clearly answers the question".to_owned();
            round.log.emit(rejected(reason));
        }
        all.extend(page.found.evidence);
    }
    Ok(all)
}

/// The evidence that the words alone find on the pages of a round, in the order of the pages. Emits nothing.
pub(crate) fn find_evidence_by_words(
    round: &WeighContext<'_>,
    scorer: &mut RelevanceScorer,
    notes: &EvidenceStore,
    pages: &PageSet,
) -> Result<Vec<Evidence>> {
    let weighed = weigh_by_words(round, scorer, page_inputs(round, notes, pages))?;
    Ok(weighed.into_iter().flat_map(|page| page.found.evidence).collect())
}

/// Weighs pages by their words alone.
fn weigh_by_words<'a>(
    round: &WeighContext<'_>,
    scorer: &mut RelevanceScorer,
    inputs: Vec<PageInput<'a>>,
) -> Result<Vec<WeighedPage<'a>>> {
    // All pages of the round are taken in before any is weighed: how rare a word is must not
    // depend on which page came first.
    let sentences: Vec<PageSentences> = inputs.iter().map(|input| scorer.add_page(input)).collect();
    scorer.learn_topic(&sentences);
    scorer.note_changed_facts(&inputs);
    let pairs = inputs.into_iter().zip(sentences);
    pairs
        .map(|(input, sentences)| {
            let found = scorer.weigh_page(&input, &sentences, round.round, &mut 1)?;
            Ok(WeighedPage { input, sentences, found })
        })
        .collect()
}

/// Weighs the sentences `only` of a page that was weighed before, by words alone.
pub(crate) fn weigh_part(
    round: &WeighContext<'_>,
    scorer: &mut RelevanceScorer,
    (page, source): (&Page, SourceId),
    only: Vec<usize>,
) -> Result<Vec<Evidence>> {
    let input = PageInput {
        page,
        source,
        chunks: 1,
        chunk_length: CHUNK_CHARS,
        chunk_scores: Vec::new(),
        only: Some(only),
        whole: PAGE_CUT,
        tokens: round.question.method.summary_tokens as usize,
    };
    let sentences = scorer.add_page(&input);
    Ok(scorer.weigh_page(&input, &sentences, round.round, &mut 1)?.evidence)
}

/// The pages of a round that are worth weighing, with how much of each is used.
fn page_inputs<'a>(
    round: &WeighContext<'_>,
    notes: &EvidenceStore,
    pages: &'a PageSet,
) -> Vec<PageInput<'a>> {
    let input = |(rank, id): (usize, &SourceId)| {
        let page = pages.page(notes.source(*id)?)?;
        if is_navigation(page) {
            return None;
        }
        let (chunks, chunk_length, whole) = chunk_limits(round, rank);
        Some(PageInput {
            page,
            source: *id,
            chunks,
            chunk_length,
            chunk_scores: Vec::new(),
            only: None,
            whole,
            tokens: round.question.method.summary_tokens as usize,
        })
    };
    round.fresh.iter().enumerate().filter_map(input).collect()
}

/// Whether a page is only a list of links.
fn is_navigation(page: &Page) -> bool {
    const MIN_LIST_ITEMS: usize = 8;
    let count = |counts: fn(BlockKind) -> bool| {
        page.sentences().iter().filter(|sentence| counts(sentence.kind)).count()
    };
    let listed = count(|kind| kind == BlockKind::ListItem);
    let other = count(|kind| !matches!(kind, BlockKind::ListItem | BlockKind::Heading));
    let words = |n: usize| page.sentence(n).split_whitespace().count();
    let short = (0..page.sentences().len()).all(|n| words(n) <= 8);
    page.url.starts_with("http") && listed >= MIN_LIST_ITEMS && other == 0 && short
}

/// Adds a model's findings, if there is a model, to what the words alone found.
async fn weigh_by_model(
    llm: &mut LlmSession<'_>,
    round: &WeighContext<'_>,
    scorer: &mut RelevanceScorer,
    plan: &Plan,
    pages: &mut [WeighedPage<'_>],
) -> Result<()> {
    let Some(role_model) = llm.role_model(LlmStep::Weigh, ModelRole::Summarizer) else {
        return Ok(());
    };
    let full_text = round.question.method.top_m_full_text_sources as usize;
    let catch = catch_item(round.brief, plan)?;
    let items: Vec<ChecklistItem> = plan.items().iter().chain(&catch).cloned().collect();
    let mut calls = Vec::new();
    for (nth, it) in pages.iter().enumerate() {
        if nth < full_text || !it.found.evidence.is_empty() {
            let page = it.input.page;
            let shown = scorer.shown_sentences(page, &it.sentences).0;
            let title = scorer.shown_title(page);
            let question = PageQuestion { round, items: &items, page, title, shown };
            calls.push(ask_about_page(nth, role_model, llm.window(role_model), question));
        }
    }
    let answers: Vec<_> = stream::iter(calls).buffered(MAX_CALLS_IN_FLIGHT).collect().await;
    let by_words: Vec<Vec<Evidence>> =
        pages.iter_mut().map(|page| std::mem::take(&mut page.found.evidence)).collect();
    let mut by_model: Vec<Vec<Evidence>> = vec![Vec::new(); pages.len()];
    let (mut read, mut caught, mut all, mut overstated) = (0, 0, 0, 0);
    for (nth, model, window, found) in answers {
        llm.learn_window(role_model, window);
        llm.record_usage(LlmStep::Weigh, ModelRole::Summarizer, model);
        match found {
            Ok(rows) => {
                read += 1;
                let is_catch =
                    |row: &WeighReplyRow| catch.as_ref().is_some_and(|it| it.id == row.item);
                caught += u32::from(rows.iter().any(is_catch));
                for row in rows.into_iter().filter(|row| !is_catch(row)) {
                    let input = &pages[nth].input;
                    let Some(mut it) = build_evidence(scorer, input, &row, round)? else {
                        continue;
                    };
                    all += 1;
                    // The beginning of a quote says nothing of its own.
                    let (quote, claim) = (it.passage.text().expose(), row.claim.trim());
                    overstated += u32::from(!quote.starts_with(claim) && it.claim != claim);
                    if !names_item(round.brief, plan, &it) {
                        it.score = it.score.min(MAX_UNNAMED_ITEM_SCORE);
                    }
                    merge_finding(&mut by_model[nth], it);
                }
            }
            Err(fault) => llm.fall_back(LlmStep::Weigh, ModelRole::Summarizer, fault)?,
        }
    }
    llm.record_readings((read, caught), (all, overstated));
    // A model that finds nothing anywhere is not believed where the words alone found something.
    let fault = if read > 0 && all == 0 && by_words.iter().any(|evidence| !evidence.is_empty()) {
        Some(format!("found nothing on {read} pages"))
    } else {
        llm.poor_reading()
    };
    if let Some(fault) = fault {
        let fault = format!("{} {fault}", role_model.model.name());
        let fault = Error::new(ErrorKind::Malformed, fault);
        llm.fall_back(LlmStep::Weigh, ModelRole::Summarizer, fault)?;
    }
    let claims = by_words.iter().flatten().map(|it| scorer.relevance(&it.claim));
    let least = claims.fold(0.0, f32::max) * MIN_RELEVANCE_SHARE;
    for ((page, by_words), mut by_model) in pages.iter_mut().zip(by_words).zip(by_model) {
        page.found.evidence = if llm.reads_poorly() {
            // What words found leads, and of the rest only what names its item and says about as much of the question is used.
            by_model.retain(|it| {
                names_item(round.brief, plan, it) && scorer.relevance(&it.claim) >= least
            });
            let mut leading = by_words;
            add_missed(&mut leading, by_model);
            leading
        } else {
            add_missed(&mut by_model, by_words);
            by_model
        };
    }
    Ok(())
}

/// Adds the `missed` findings that the `leading` ones do not cover. A model can replace a finding by words by its own words on the
/// same sentences, but not remove it.
fn add_missed(leading: &mut Vec<Evidence>, missed: Vec<Evidence>) {
    for evidence in missed {
        let covered = leading.iter().any(|finding| {
            finding.passage.first() <= evidence.passage.last()
                && evidence.passage.first() <= finding.passage.last()
                // Two neighbouring sentences may say different things.
                && stem_overlap(&evidence.claim, &finding.claim) >= MIN_NAMED_SENTENCE_OVERLAP
        });
        if !covered {
            leading.push(evidence);
        }
    }
}

/// What a model is asked about a page: which of the `shown` sentences answer which item of the plan.
struct PageQuestion<'a> {
    round: &'a WeighContext<'a>,
    items: &'a [ChecklistItem],
    page: &'a Page,
    title: &'a str,
    shown: Vec<usize>,
}

/// Asks a model with a window about one page. Returns the page's index in the round, the model's usage, the window
/// that prompts had to fit, and the findings.
async fn ask_about_page<'a>(
    nth: usize,
    role_model: &'a RoleModel,
    mut window: u32,
    question: PageQuestion<'a>,
) -> (usize, TrackedModel<'a>, u32, Result<Vec<WeighReplyRow>>) {
    let model = TrackedModel::new(role_model);
    let mut found = findings_on_page(&model, window, &question).await;
    // Only now does it show that the window was configured too large.
    while let Err(error) = &found
        && error.is_prompt_too_long()
        && window > MIN_WINDOW_TOKENS
    {
        window = narrower_window(window, error);
        found = findings_on_page(&model, window, &question).await;
    }
    (nth, model, window, found)
}

/// A model's findings among the `shown` sentences of a page, in as many calls as its window needs.
async fn findings_on_page(
    model: &dyn LanguageModel,
    window: u32,
    question: &PageQuestion<'_>,
) -> Result<Vec<WeighReplyRow>> {
    let PageQuestion { round, items, page, title, shown } = question;
    let language = language_name(Some(&round.brief.lang));
    let most = round.question.method.summary_tokens.div_ceil(TOKENS_PER_FINDING) as usize;
    let plain = WeighPrompt {
        question: round.brief.effective_question(),
        items,
        title,
        sentences: &[],
        most,
        language: &language,
    };
    let sentences: Vec<(usize, &str)> = shown.iter().map(|n| (*n, page.sentence(*n))).collect();
    let answer = (ANSWER_TOKENS * most.max(8) / 8).min(window as usize / 3);
    let room = ContextWindow { tokens: window as usize, answer }.minus_prompt(&plain.prompt()?);
    let mut rows = Vec::new();
    for batch in sentence_batches(&sentences, room) {
        // Numbered from 1 in every call: with gaps in the numbers, small models name some that do not exist.
        let called: Vec<(usize, &str)> =
            (1..).zip(&batch).map(|(nth, it)| (nth, it.1.as_str())).collect();
        let prompt_input = WeighPrompt { sentences: &called, ..plain.clone() };
        let mut prompt = prompt_input.prompt()?;
        prompt.max_tokens = Some(room.answer as u32);
        let answer = ask::ask_typed(model, prompt, |it| prompt_input.check(it)).await?;
        for row in prompt_input.valid_rows(&answer.value) {
            let mut row = row.clone();
            row.sentences = resolve_sentences(&row, &called)
                .into_iter()
                .filter_map(|nth| i64::try_from(batch[nth - 1].0).ok())
                .collect();
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The numbers of the sentences that a row means: those it names, or the one that says what it claims where
/// the named ones say something else. Only sentences that were shown count.
fn resolve_sentences(row: &WeighReplyRow, shown: &[(usize, &str)]) -> Vec<usize> {
    let named: Vec<&(usize, &str)> = shown
        .iter()
        .filter(|pair| row.sentences.iter().any(|n| usize::try_from(*n) == Ok(pair.0)))
        .collect();
    let words: Vec<&str> = named.iter().map(|pair| pair.1).collect();
    let named_overlap = stem_overlap(&row.claim, &words.join(" "));
    let best = shown
        .iter()
        .map(|pair| (stem_overlap(&row.claim, pair.1), pair.0))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    match best {
        Some((share, nth))
            if named_overlap < MIN_NAMED_SENTENCE_OVERLAP
                && share >= MIN_NAMED_SENTENCE_OVERLAP =>
        {
            vec![nth]
        }
        _ => named.into_iter().map(|pair| pair.0).collect(),
    }
}

/// Evidence from a model's finding: the sentences it named, verbatim. Its own wording is kept only if it says
/// what they say.
fn build_evidence(
    scorer: &mut RelevanceScorer,
    reading: &PageInput<'_>,
    row: &WeighReplyRow,
    context: &WeighContext<'_>,
) -> Result<Option<Evidence>> {
    let page = reading.page;
    let mut named: Vec<usize> =
        row.sentences.iter().filter_map(|sentence| usize::try_from(*sentence).ok()).collect();
    named.sort_unstable();
    named.dedup();
    let Some(&first) = named.first() else {
        return Ok(None);
    };
    // A quote is one piece: the sentences adjacent to the first.
    let last = named
        .iter()
        .skip(1)
        .fold(first, |last, n| if *n <= last + 1 { *n } else { last })
        .min(first + MAX_SENTENCES - 1);
    let words = &prompts::phrases()?.sentence;
    // A heading or a line under a title is not evidence, though it is next to some.
    let stands =
        |n: &usize| fitness(page, *n, &SentenceText::new(page.sentence(*n)), words).is_some();
    let (Some(first), Some(last)) =
        ((first..=last).find(stands), (first..=last).rev().find(stands))
    else {
        return Ok(None);
    };
    let first = with_antecedent(page, first, words);
    let Some(passage) = page.passage(first, last) else { return Ok(None) };
    let quoted: Vec<String> = (first..=last).map(|n| page.sentence(n).to_owned()).collect();
    let plain = quoted.iter().map(|text| claim_text(text, words)).collect::<Vec<_>>().join(" ");
    let sentence = row.claim.trim();
    let there: Vec<&str> = quoted.iter().map(String::as_str).collect();
    let overstated = overstates(sentence, context.brief, &there);
    let (claim, worth) = if !overstated && adds_no_words_to(sentence, &quoted)? {
        (sentence.to_owned(), AGREED_SCORE)
    } else {
        (plain.clone(), DISAGREED_SCORE)
    };
    let score = (worth.0 + worth.1 * scorer.relevance(&plain)).min(1.0);
    Ok(Some(Evidence {
        id: EvidenceId::new(1),
        items: vec![row.item],
        source: reading.source,
        passage,
        table_header: None,
        heading: None,
        claim,
        stance: scorer.checked_stance(row.stance, &plain),
        score,
        confidence: 0.5,
        contradiction_or_uncertainty: has_doubt_words(&spaced(&plain), words),
        round: context.round,
    }))
}

/// Whether the words of evidence have one of an item's own, beyond the subject that all items share. Small models find
/// something for each item on every page.
pub(crate) fn names_item(brief: &Brief, plan: &Plan, it: &Evidence) -> bool {
    let subject = content_stems(brief.subjects.first().map_or("", String::as_str));
    let evidence_stems = content_stems(&format!("{} {}", it.claim, it.passage.text().expose()));
    let items = it.items.iter().filter_map(|id| plan.item(*id));
    items.map(|item| format!("{} {}", item.heading, item.asks)).any(|text| {
        let mut item_stems = content_stems(&text);
        item_stems.retain(|stem| !subject.contains(stem));
        item_stems.is_empty() || item_stems.iter().any(|stem| evidence_stems.contains(stem))
    })
}

/// Whether a model's sentence says no more than the quote: no number, address or code that the quote lacks,
/// and nothing that its words do not support.
pub(crate) fn adds_no_words_to(sentence: &str, quoted: &[String]) -> Result<bool> {
    let there: Vec<&str> = quoted.iter().map(String::as_str).collect();
    let lacking =
        has_unknown_number(sentence, &there) || has_unknown_code(sentence, there.iter().copied());
    let verdict = attribution::judge_support(sentence, quoted, None).verdict;
    // Both must be negated, or neither: "without felling" does not say "felled".
    let words = &prompts::phrases()?.sentence;
    let denied = quoted.iter().any(|text| has_denial(&spaced(text), words));
    Ok(!sentence.is_empty()
        && !lacking
        && !sentence.contains("://")
        && has_denial(&spaced(sentence), words) == denied
        && matches!(verdict, SupportLevel::Supported | SupportLevel::Partly))
}

/// Adds a finding, or its items to the finding on the same sentences.
fn merge_finding(earned: &mut Vec<Evidence>, it: Evidence) {
    let same = |other: &&mut Evidence| {
        (other.passage.first(), other.passage.last()) == (it.passage.first(), it.passage.last())
    };
    match earned.iter_mut().find(same) {
        Some(known) => {
            for item in it.items {
                if !known.items.contains(&item) {
                    known.items.push(item);
                }
            }
        }
        None => earned.push(it),
    }
}

/// How many chunks of a page are weighed, how long they are, and up to which length it is weighed whole. Of the best sources as much as
/// fits is weighed. Many chunks are short ones, so that all fit.
fn chunk_limits(round: &WeighContext<'_>, rank: usize) -> (usize, usize, usize) {
    let method = &round.question.method;
    let most = method.top_n_chunks_per_source.max(1) as usize;
    match round.chunks {
        Some(most) => (most, CHUNK_CHARS, most * CHUNK_CHARS),
        None if rank < method.top_m_full_text_sources as usize => {
            (MAX_FULL_PAGE_CHUNKS, CHUNK_CHARS, PAGE_CUT)
        }
        None => (most, CHUNK_CHARS.min(PAGE_CUT / most), PAGE_CUT.min(most * CHUNK_CHARS)),
    }
}

/// Has the configured reranker score the chunks of long pages, all pages side by side. Pages that it fails on are scored by
/// words, as all are where there is none.
async fn rank_chunks(round: &WeighContext<'_>, inputs: &mut [PageInput<'_>]) -> Result<()> {
    let Some(ranker) = round.ranker.filter(|ranker| ranker.ranks_chunks()) else {
        return Ok(());
    };
    let mut calls = Vec::new();
    for (nth, it) in inputs.iter().enumerate().filter(|(_, it)| it.page.text().len() > it.whole) {
        let (page, length) = (it.page, it.chunk_length);
        calls.push(async move {
            let texts: Vec<String> = chunk_ranges(page, length)
                .into_iter()
                .map(|chunk| chunk.map(|n| page.sentence(n)).collect::<Vec<_>>().join(" "))
                .collect();
            let refs: Vec<&str> = texts.iter().map(String::as_str).collect();
            (nth, ranker.rank(&round.brief.question, &refs).await)
        });
    }
    let answers: Vec<_> = stream::iter(calls).buffered(MAX_CALLS_IN_FLIGHT).collect().await;
    for (nth, scores) in answers {
        match scores {
            Ok(scores) => inputs[nth].chunk_scores = scores,
            Err(stopped) if stopped.kind() == ErrorKind::Cancelled => return Err(stopped),
            Err(failed) => round.log.emit(Event::Log {
                level: "warn".to_owned(),
                message: format!("ranking: {}", failed.chain()),
                source: Some(LogSource::Service),
            }),
        }
    }
    Ok(())
}
