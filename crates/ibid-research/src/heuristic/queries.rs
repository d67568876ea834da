//! The queries for an item: its variations first, then queries for its gap.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::prompts::{self, PhraseSet, fill_template};
use crate::query_policy::QueryPolicy;
use ibid_core::Result;
use ibid_core::domain::words::{content_stems, is_stop_word, tokens};
use ibid_core::domain::{
    Brief, ChecklistItem, Plan, Query, QueryExpansion, Question, SearchEndpoint, SearchTask,
    Variation, Vertical, pubmed,
};
use ibid_core::ports::SearchProvider;

use super::intake::is_weak;

/// Where queries are sent: local folders, and outside engines by vertical.
#[derive(Debug, Clone)]
pub(crate) struct SearchTargets {
    local: bool,
    outside: Vec<Vertical>,
    /// Whether any engine serves news.
    news: bool,
    /// Whether any engine serves scholarly works.
    scholar: bool,
    /// What queries may contain.
    policy: QueryPolicy,
}

impl SearchTargets {
    /// The targets of this question, given the engines that there are.
    pub(crate) fn new(
        search: &[Arc<dyn SearchProvider>],
        question: &str,
        policy: QueryPolicy,
    ) -> SearchTargets {
        let serves =
            |vertical: Vertical| search.iter().any(|engine| engine.verticals().contains(&vertical));
        SearchTargets {
            policy,
            news: serves(Vertical::News),
            scholar: serves(Vertical::Scholar),
            local: serves(Vertical::Local),
            outside: [Vertical::Web, Vertical::News, Vertical::Scholar, Vertical::Pubmed]
                .into_iter()
                .filter(|it| serves(*it))
                .filter(|it| match it {
                    // A general search finds old news, so news engines are only used for questions about recent
                    // events.
                    Vertical::News => asks_for_news(question),
                    it => !is_web_duplicate(search, *it),
                })
                .collect(),
        }
    }

    /// Whether there is nothing to search.
    pub(crate) fn is_empty(&self) -> bool {
        !self.local && self.outside.is_empty()
    }

    /// Folders alone and outside engines alone, where there are both.
    pub(crate) fn split(&self) -> Option<(SearchTargets, SearchTargets)> {
        let outside = self.outside_only();
        (self.local && !self.outside.is_empty()).then_some((self.folders_only(), outside))
    }

    /// Folders alone.
    pub(crate) fn folders_only(&self) -> SearchTargets {
        SearchTargets { outside: Vec::new(), news: false, scholar: false, ..self.clone() }
    }

    /// Outside engines alone.
    pub(crate) fn outside_only(&self) -> SearchTargets {
        SearchTargets { local: false, ..self.clone() }
    }

    /// What queries may contain.
    pub(crate) fn policy(&self) -> &QueryPolicy {
        &self.policy
    }

    /// Whether a scholarly engine is searched.
    pub(crate) fn is_scholarly(&self) -> bool {
        let scholarly =
            |vertical: &Vertical| matches!(vertical, Vertical::Scholar | Vertical::Pubmed);
        self.outside.iter().any(scholarly)
    }

    /// Whether PubMed is searched.
    pub(crate) fn has_pubmed(&self) -> bool {
        self.outside.contains(&Vertical::Pubmed)
    }

    /// Whether news are searched.
    pub(crate) fn has_news(&self) -> bool {
        self.outside.contains(&Vertical::News)
    }

    /// The verticals of a search task: folders always, and outside the one that the endpoint names, or else the first.
    fn verticals_for_endpoint(&self, endpoint: SearchEndpoint) -> Vec<Vertical> {
        let named: &[Vertical] = match endpoint {
            SearchEndpoint::Search => &[Vertical::Web],
            SearchEndpoint::Scholar => &[Vertical::Scholar, Vertical::Pubmed],
            SearchEndpoint::News if self.news => &[Vertical::News],
            SearchEndpoint::News => &[Vertical::Web],
        };
        // A task that names an endpoint is sent there, though for other queries the engine's web search does the same.
        let there = |vertical: &&Vertical| {
            **vertical == Vertical::News
                || self.outside.contains(vertical)
                || **vertical == Vertical::Scholar && self.scholar
        };
        let mut outside: Vec<Vertical> = named.iter().filter(there).copied().collect();
        if outside.is_empty() {
            outside.extend(self.outside.first());
        }
        let local = self.local.then_some(Vertical::Local);
        local.into_iter().chain(outside).collect()
    }

    /// Where the `nth` of `count` queries for an item goes, from 0. Folders get all. Outside engines are slow and their
    /// calls are counted: every vertical gets the first query, and the first vertical half of them, but at least two.
    fn verticals_for_nth(&self, nth: usize, count: usize) -> Vec<Vertical> {
        let local = self.local.then_some(Vertical::Local);
        let outside = match nth {
            0 => self.outside.as_slice(),
            nth if nth < count.div_ceil(2).max(2) => &self.outside[..self.outside.len().min(1)],
            _ => &[],
        };
        local.into_iter().chain(outside.iter().copied()).collect()
    }
}

/// Whether a question is about recent events.
fn asks_for_news(question: &str) -> bool {
    const WORDS: &[&str] = &[
        "news",
        "latest",
        "today",
        "yesterday",
        "tonight",
        "recent",
        "recently",
        "newest",
        "announced",
        "breaking",
        "currently",
    ];
    const PHRASES: &[&str] =
        &["this week", "this month", "this year", "last week", "last month", "so far"];
    let lower = question.to_lowercase();
    tokens(question).iter().any(|token| WORDS.contains(&token.text.as_str()))
        || PHRASES.iter().any(|phrase| lower.contains(phrase))
}

/// Whether a vertical is only served by engines that are asked for the web anyway.
fn is_web_duplicate(search: &[Arc<dyn SearchProvider>], vertical: Vertical) -> bool {
    vertical != Vertical::Web
        && search
            .iter()
            .filter(|provider| provider.verticals().contains(&vertical))
            .all(|provider| provider.verticals().contains(&Vertical::Web))
}

/// Queries in PubMed's syntax, by the plain words of the same query.
type PubmedByText = BTreeMap<String, String>;

/// The words of a query from a model or a document.
pub(crate) struct QueryText {
    /// How it varies the item's own query.
    pub(crate) variation: Variation,
    /// The words.
    pub(crate) text: String,
    /// The same in PubMed's syntax, where the model gave it.
    pub(crate) pubmed: Option<String>,
}

impl QueryText {
    /// Plain words.
    pub(crate) fn new(variation: Variation, text: String) -> QueryText {
        QueryText { variation, text, pubmed: None }
    }
}

/// The words of a query, before its targets are chosen.
struct QueryDraft {
    text: String,
    variation: Variation,
}

/// Makes queries from words, one for each target. Leaves out what was asked before.
pub(crate) struct QueryBuilder<'a> {
    pub(crate) targets: &'a SearchTargets,
    pub(crate) question: &'a Question,
    /// The stems of every query asked so far.
    pub(crate) sent_queries: &'a mut BTreeSet<Vec<String>>,
}

impl QueryBuilder<'_> {
    /// The first queries for every item of the plan, in its order, at most `breadth` for each. No two of them have
    /// the same stems, because they would find the same.
    pub(crate) fn first_round(
        &mut self,
        brief: &Brief,
        plan: &Plan,
        breadth: u32,
    ) -> Result<Vec<Query>> {
        let mut found = Vec::new();
        for item in plan.items() {
            let mut texts = item_variations(brief, item)?;
            if breadth > STANDARD_BREADTH {
                texts.extend(cue_queries(brief, item)?);
            }
            let mut own = Vec::new();
            for (variation, text) in texts {
                if own.len() < breadth as usize {
                    own.extend(self.new_draft(variation, text));
                }
            }
            found.extend(self.place(item, &PubmedByText::new(), own));
        }
        Ok(found)
    }

    /// Queries for an item that is still open: for the gap, for the names met while reading (`met`), then in the
    /// item's own terms.
    pub(crate) fn for_gap(
        &mut self,
        item: &ChecklistItem,
        gap_query: &str,
        met: &[String],
        breadth: u32,
    ) -> Vec<Query> {
        let mut found = Vec::new();
        let mut texts = vec![gap_query.to_owned()];
        let subject = item.terms.first().cloned().unwrap_or_default();
        texts.extend(met.iter().map(|name| format!("{subject} {name}")));
        texts.extend(item.terms.iter().cloned());
        // A bare word finds what was not asked.
        let is_bare = |text: &str| content_stems(text).len() < 2;
        let anchor = item.terms.iter().find(|term| !is_bare(term)).unwrap_or(&item.query);
        for text in texts {
            let text = if is_bare(&text) { format!("{anchor} {text}") } else { text };
            if is_bare(&text) && !is_bare(&self.question.text) {
                continue;
            }
            if found.len() >= breadth as usize {
                break;
            }
            found.extend(self.new_draft(Variation::Gap, text));
        }
        self.place(item, &PubmedByText::new(), found)
    }

    /// Queries for an item in words from elsewhere, at most `most` of them.
    pub(crate) fn for_texts(
        &mut self,
        item: &ChecklistItem,
        texts: Vec<QueryText>,
        most: u32,
    ) -> Vec<Query> {
        let mut found = Vec::new();
        let mut written = PubmedByText::new();
        for text in texts {
            if found.len() < most as usize {
                if let Some(own) = text.pubmed.filter(|pubmed| pubmed::is_valid(pubmed)) {
                    written.insert(text.text.clone(), own);
                }
                found.extend(self.new_draft(text.variation, text.text));
            }
        }
        self.place(item, &written, found)
    }

    /// The queries of a search task; none where it was asked before.
    pub(crate) fn for_task(
        &mut self,
        item: &ChecklistItem,
        task: &SearchTask,
        variation: Variation,
    ) -> Vec<Query> {
        let Some(draft) = self.new_draft(variation, task.query.clone()) else {
            return Vec::new();
        };
        let verticals = self.targets.verticals_for_endpoint(task.endpoint);
        verticals
            .into_iter()
            .filter_map(|vertical| {
                self.query_for_vertical(vertical, item, &PubmedByText::new(), &draft)
            })
            .map(|mut query| {
                query.limit = task.num_results;
                query
            })
            .collect()
    }

    /// Queries for the `wanted` variations of an item, and up to `more` that combine its subject with answer cues.
    pub(crate) fn variations(
        &mut self,
        brief: &Brief,
        item: &ChecklistItem,
        wanted: &[Variation],
        more: u32,
    ) -> Result<Vec<Query>> {
        let all = item_variations(brief, item)?;
        let mut found = Vec::new();
        for (variation, text) in
            wanted.iter().filter_map(|variation| all.iter().find(|row| row.0 == *variation))
        {
            found.extend(self.new_draft(*variation, text.clone()));
        }
        if more > 0 {
            let further: Vec<QueryDraft> = cue_queries(brief, item)?
                .into_iter()
                .filter_map(|(variation, text)| self.new_draft(variation, text))
                .take(more as usize)
                .collect();
            found.extend(further);
        }
        Ok(self.place(item, &PubmedByText::new(), found))
    }

    /// A draft of words that were not asked before.
    fn new_draft(&mut self, variation: Variation, text: String) -> Option<QueryDraft> {
        let new = query_key(&text).is_some_and(|key| self.sent_queries.insert(key));
        new.then_some(QueryDraft { text, variation })
    }

    /// The queries of the drafts of an item, one for each target.
    fn place(
        &self,
        item: &ChecklistItem,
        written: &PubmedByText,
        drafts: Vec<QueryDraft>,
    ) -> Vec<Query> {
        let mut found = Vec::new();
        let mut nth_outside = 0;
        let is_informative = |query_draft: &QueryDraft| content_stems(&query_draft.text).len() > 1;
        let any_informative = drafts.iter().any(is_informative);
        // A question may be of one word.
        let single_word_item = content_stems(&item.query).len() <= 1;
        let count = drafts.len();
        for draft in drafts {
            // A single word matches too much outside.
            let informative = is_informative(&draft) || !any_informative && single_word_item;
            let nth = if informative { nth_outside } else { usize::MAX };
            nth_outside += usize::from(informative);
            let verticals = self.targets.verticals_for_nth(nth, count).into_iter();
            found.extend(
                verticals.filter_map(|vertical| {
                    self.query_for_vertical(vertical, item, written, &draft)
                }),
            );
        }
        found
    }

    /// The query of a draft for one vertical. Folders get any words, outside engines only words that may
    /// leave, PubMed its own syntax. `None` if no words are left.
    fn query_for_vertical(
        &self,
        vertical: Vertical,
        item: &ChecklistItem,
        written: &PubmedByText,
        draft: &QueryDraft,
    ) -> Option<Query> {
        let (question, policy) = (self.question, &self.targets.policy);
        let limit = question.method.results_per_query;
        let mut query = match vertical {
            Vertical::Local => Query::local(draft.text.clone(), item.id, draft.variation, limit),
            _ => {
                let words = match vertical {
                    Vertical::Pubmed => {
                        let own = written.get(&draft.text);
                        let own = own.and_then(|it| policy.outbound_syntax(it));
                        own.or_else(|| {
                            let plain = policy.outbound(vertical, &draft.text)?;
                            Some(plain.to_pubmed_syntax(&item.terms))
                        })
                    }
                    _ => policy.outbound(vertical, &draft.text),
                };
                Query::outbound(words?, vertical, item.id, draft.variation, limit)
            }
        };
        query.domains.clone_from(&question.domains);
        query.not_domains.clone_from(&question.not_domains);
        query.since.clone_from(&question.since);
        query.until.clone_from(&question.until);
        Some(query)
    }
}

/// The words of `question` as they are, one query for each target.
pub(crate) fn plain_queries(
    targets: &SearchTargets,
    question: &Question,
    item: &ChecklistItem,
) -> Vec<Query> {
    let mut builder = QueryBuilder { targets, question, sent_queries: &mut BTreeSet::new() };
    let draft = builder.new_draft(Variation::Original, question.text.clone());
    builder.place(item, &PubmedByText::new(), draft.into_iter().collect())
}

/// Maximum number of other wordings of an item.
const MAX_VARIATIONS: usize = 3;

/// Breadth up to which the variations of an item suffice.
pub(crate) const STANDARD_BREADTH: u32 = 4;

/// Words that narrow any subject.
const PLAIN_CUES: [&str; 3] = ["overview", "study", "data"];

/// The subject of an item with each of the words in which such items are answered.
fn cue_queries(brief: &Brief, item: &ChecklistItem) -> Result<Vec<(Variation, String)>> {
    let subject = item.terms.first().or(brief.subjects.first()).cloned().unwrap_or_default();
    let facet = prompts::plan_words()?.facet_by_heading(&item.heading);
    let own = facet.iter().flat_map(|(_, facet)| facet.strong.iter().chain([&facet.cues]));
    // "Do not" and "rather than" find nothing beside a subject.
    let finds = |cue: &&str| !cue.split(' ').any(is_stop_word);
    let cues = own.flat_map(PhraseSet::iter).filter(finds).chain(PLAIN_CUES);
    Ok(cues.map(|cue| (Variation::Narrower, format!("{subject} {cue}"))).collect())
}

/// The queries of each item, made without a model: its variations, and as many more as a breadth above the standard wants.
pub(crate) fn expand_plan_queries(
    brief: &Brief,
    plan: &Plan,
    breadth: u32,
) -> Result<Vec<QueryExpansion>> {
    let more = breadth.saturating_sub(STANDARD_BREADTH) as usize;
    let expand = |item: &ChecklistItem| {
        let all = item_variations(brief, item)?;
        let sent: BTreeSet<_> = all.iter().filter_map(|pair| query_key(&pair.1)).collect();
        let is_new = |text: &str| query_key(text).is_some_and(|key| !sent.contains(&key));
        let further = cue_queries(brief, item)?.into_iter().filter(|pair| is_new(&pair.1));
        let further = further.take(more).map(|pair| pair.1);
        let by = |wanted: Variation| {
            let found = all.iter().find(|pair| pair.0 == wanted);
            found.map_or_else(|| item.query.clone(), |pair| pair.1.clone())
        };
        Ok(QueryExpansion {
            item: item.id,
            original_query: by(Variation::Original),
            variations: all
                .iter()
                .skip(1)
                .take(MAX_VARIATIONS)
                .map(|pair| pair.1.clone())
                .chain(further)
                .collect(),
            broad_query: broader_query(brief, item)?,
            specific_query: by(Variation::Narrower),
        })
    };
    plan.items().iter().map(expand).collect()
}

/// The item's query, then rephrased, broader, narrower, and in further words; no two with the same stems.
fn item_variations(brief: &Brief, item: &ChecklistItem) -> Result<Vec<(Variation, String)>> {
    let words = &prompts::phrases()?.query;
    let subject = item.terms.first().or(brief.subjects.first()).cloned().unwrap_or_default();
    let rest: Vec<&str> = tokens(&item.query)
        .into_iter()
        .map(|token| &item.query[token.span])
        .filter(|it| !subject.contains(it))
        .filter(|it| !is_stop_word(&it.to_lowercase()))
        .take(4)
        .collect();
    let narrow = rest.join(" ");
    let terms: Vec<&str> = brief
        .key_terms
        .iter()
        .map(String::as_str)
        .filter(|text| !is_weak(&text.to_lowercase()))
        .collect();
    let terms = fill_template(&words.rephrased, &[("terms", &terms.join(" "))]);
    // The question's own words rephrase its first item; a further one has words of its own. Its heading is left for the
    // gap that may be found.
    let asks = item.asks.trim_end_matches(['?', '.', ' ']).to_owned();
    let (rephrased, other) = if item.id.number() == 1 { (terms, asks) } else { (asks, terms) };
    let mut all = vec![
        (Variation::Original, item.query.clone()),
        (Variation::Rephrased, rephrased),
        (Variation::Broader, broader_query(brief, item)?),
        (
            Variation::Narrower,
            fill_template(&words.narrower, &[("subject", &subject), ("item", &narrow)]),
        ),
        (Variation::Rephrased, other),
    ];
    let mut known: BTreeSet<Vec<String>> = BTreeSet::new();
    let mut is_new = |text: &str| query_key(text).is_some_and(|key| known.insert(key));
    all.retain(|(_, text)| is_new(text));
    // Of a short query there are few variations.
    let lacking = (1 + MAX_VARIATIONS).saturating_sub(all.len());
    let cues = cue_queries(brief, item)?.into_iter();
    all.extend(cues.filter(|(_, text)| is_new(text)).take(lacking));
    Ok(all)
}

/// The subject of an item alone.
fn broader_query(brief: &Brief, item: &ChecklistItem) -> Result<String> {
    let subject = item.terms.first().or(brief.subjects.first()).cloned().unwrap_or_default();
    Ok(fill_template(&prompts::phrases()?.query.broader, &[("subject", &subject)]))
}

/// The sorted stems of a query, by which two of them are the same; `None` if it has none.
fn query_key(text: &str) -> Option<Vec<String>> {
    let mut key = content_stems(text);
    key.sort();
    key.dedup();
    (!key.is_empty()).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::asks_for_news;

    #[test]
    fn news_are_asked_for_by_questions_that_say_so() {
        assert!(asks_for_news("What is the latest on the green roof ordinance?"));
        assert!(asks_for_news("Which roofs failed this week?"));
        assert!(!asks_for_news("How heavy is a green roof?"));
    }
}
