//! What is sent to a search for an item: variations at first, then what closes its gap.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::words::{content_stems, tokens};
use crate::domain::{
    Brief, Endpoint, Expansion, Item, Plan, Query, Question, SearchTask, Variation, Vertical,
    pubmed,
};
use crate::error::Result;
use crate::research::prompts::{self, fill};
use crate::research::query_policy::QueryPolicy;
use crate::seams::SearchProvider;

use super::intake::is_weak;

/// Where to ask: in folders of documents, or of the outside in these verticals.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    local: bool,
    outside: Vec<Vertical>,
    /// Whether anybody is asked for news.
    news: bool,
    /// What queries may be made of.
    policy: QueryPolicy,
}

impl Places {
    /// What those who search are asked for, for this question.
    pub(crate) fn of(
        search: &[Arc<dyn SearchProvider>],
        question: &str,
        policy: QueryPolicy,
    ) -> Places {
        let serves = |it: Vertical| search.iter().any(|engine| engine.verticals().contains(&it));
        Places {
            policy,
            news: serves(Vertical::News),
            local: serves(Vertical::Local),
            outside: [
                Vertical::Web,
                Vertical::News,
                Vertical::Scholar,
                Vertical::Pubmed,
            ]
            .into_iter()
            .filter(|it| serves(*it))
            .filter(|it| match it {
                // A general search finds old news; who asks for new ones says so.
                Vertical::News => asks_for_news(question),
                it => !again(search, *it),
            })
            .collect(),
        }
    }

    /// Whether there is nowhere to ask.
    pub(crate) fn is_nowhere(&self) -> bool {
        !self.local && self.outside.is_empty()
    }

    /// Folders alone and the outside alone, where there are both.
    pub(crate) fn apart(&self) -> Option<(Places, Places)> {
        let outside = self.without_folders();
        (self.local && !self.outside.is_empty()).then_some((self.folders(), outside))
    }

    /// Folders alone.
    pub(crate) fn folders(&self) -> Places {
        Places {
            outside: Vec::new(),
            news: false,
            ..self.clone()
        }
    }

    /// The outside alone.
    pub(crate) fn without_folders(&self) -> Places {
        Places {
            local: false,
            ..self.clone()
        }
    }

    /// What queries may be made of.
    pub(crate) fn policy(&self) -> &QueryPolicy {
        &self.policy
    }

    /// Whether the scholarly record is asked.
    pub(crate) fn is_scholarly(&self) -> bool {
        let scholarly = |it: &Vertical| matches!(it, Vertical::Scholar | Vertical::Pubmed);
        self.outside.iter().any(scholarly)
    }

    /// Whether PubMed is asked.
    pub(crate) fn has_pubmed(&self) -> bool {
        self.outside.contains(&Vertical::Pubmed)
    }

    /// Whether news are asked for.
    pub(crate) fn has_news(&self) -> bool {
        self.outside.contains(&Vertical::News)
    }

    /// Where a search task goes: folders take all; of the outside what the endpoint names, else the first there is.
    fn of_endpoint(&self, endpoint: Endpoint) -> Vec<Vertical> {
        let named: &[Vertical] = match endpoint {
            Endpoint::Search => &[Vertical::Web],
            Endpoint::Scholar => &[Vertical::Scholar, Vertical::Pubmed],
            Endpoint::News if self.news => &[Vertical::News],
            Endpoint::News => &[Vertical::Web],
        };
        let there = |it: &&Vertical| **it == Vertical::News || self.outside.contains(it);
        let mut outside: Vec<Vertical> = named.iter().filter(there).copied().collect();
        if outside.is_empty() {
            outside.extend(self.outside.first());
        }
        let local = self.local.then_some(Vertical::Local);
        local.into_iter().chain(outside).collect()
    }

    /// Where the `nth` query for an item is asked, from 0: a folder takes all; of the outside, which is slow and counts calls,
    /// every vertical takes the first, and the first vertical the second.
    fn of_nth(&self, nth: usize) -> Vec<Vertical> {
        let local = self.local.then_some(Vertical::Local);
        let outside = match nth {
            0 => self.outside.as_slice(),
            1 => &self.outside[..self.outside.len().min(1)],
            _ => &[],
        };
        local.into_iter().chain(outside.iter().copied()).collect()
    }
}

/// Whether a question is about what has just happened.
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
    const PHRASES: &[&str] = &[
        "this week",
        "this month",
        "this year",
        "last week",
        "last month",
        "so far",
    ];
    let lower = question.to_lowercase();
    tokens(question)
        .iter()
        .any(|it| WORDS.contains(&it.text.as_str()))
        || PHRASES.iter().any(|it| lower.contains(it))
}

/// Whether a vertical would only be asked of those who are asked for the web anyway.
fn again(search: &[Arc<dyn SearchProvider>], vertical: Vertical) -> bool {
    vertical != Vertical::Web
        && search
            .iter()
            .filter(|it| it.verticals().contains(&vertical))
            .all(|it| it.verticals().contains(&Vertical::Web))
}

/// Queries for `items`, at most `breadth` for each, in the order of the plan; no two that would
/// find the same (equal stems).
pub(crate) fn first_round(
    places: &Places,
    question: &Question,
    brief: &Brief,
    plan: &Plan,
    breadth: u32,
    asked: &mut BTreeSet<Vec<String>>,
) -> Result<Vec<Query>> {
    let mut found = Vec::new();
    for item in plan.items() {
        let texts = variations(brief, item)?;
        let mut mine = Vec::new();
        for (variation, text) in texts.into_iter().take(breadth as usize) {
            push(variation, text, asked, &mut mine);
        }
        found.extend(placed(places, question, item, &Written::new(), mine));
    }
    Ok(found)
}

/// Queries for an item that is still open: what is missing, what was met while reading, and
/// each time broader (row E11).
pub(crate) fn gap_round(
    places: &Places,
    question: &Question,
    item: &Item,
    gap_query: &str,
    met: &[String],
    breadth: u32,
    asked: &mut BTreeSet<Vec<String>>,
) -> Vec<Query> {
    let mut found = Vec::new();
    let mut texts = vec![gap_query.to_owned()];
    let subject = item.terms.first().cloned().unwrap_or_default();
    texts.extend(met.iter().map(|it| format!("{subject} {it}")));
    texts.extend(item.terms.iter().cloned());
    for text in texts {
        if found.len() >= breadth as usize {
            break;
        }
        push(Variation::Gap, text, asked, &mut found);
    }
    placed(places, question, item, &Written::new(), found)
}

/// Searches in PubMed's syntax that somebody wrote, by the plain words of the same search.
type Written = BTreeMap<String, String>;

/// Words of a search that were thought of elsewhere.
pub(crate) struct Words {
    /// How they came about.
    pub(crate) variation: Variation,
    /// The words.
    pub(crate) text: String,
    /// The same in PubMed's syntax, where somebody wrote it.
    pub(crate) pubmed: Option<String>,
}

impl Words {
    /// Plain words.
    pub(crate) fn plain(variation: Variation, text: String) -> Words {
        Words {
            variation,
            text,
            pubmed: None,
        }
    }
}

/// Queries for an item in words that were thought of elsewhere, at most `most`.
pub(crate) fn given(
    places: &Places,
    question: &Question,
    item: &Item,
    texts: Vec<Words>,
    most: u32,
    asked: &mut BTreeSet<Vec<String>>,
) -> Vec<Query> {
    let mut found = Vec::new();
    let mut written = Written::new();
    for it in texts {
        if found.len() < most as usize {
            if let Some(own) = it.pubmed.filter(|it| pubmed::is_sound(it)) {
                written.insert(it.text.clone(), own);
            }
            push(it.variation, it.text, asked, &mut found);
        }
    }
    placed(places, question, item, &written, found)
}

/// The queries of a search task; none where it was asked before.
pub(crate) fn tasked(
    places: &Places,
    question: &Question,
    item: &Item,
    task: &SearchTask,
    variation: Variation,
    asked: &mut BTreeSet<Vec<String>>,
) -> Vec<Query> {
    let mut found = Vec::new();
    push(variation, task.query.clone(), asked, &mut found);
    let Some(draft) = found.pop() else {
        return Vec::new();
    };
    let verticals = places.of_endpoint(task.endpoint).into_iter();
    let asked = verticals
        .filter_map(|it| asked_of(places, question, it, item, &Written::new(), &draft))
        .map(|mut query| {
            query.limit = task.num_results;
            query
        });
    asked.collect()
}

/// The queries of these variations for an item.
pub(crate) fn varied(
    places: &Places,
    question: &Question,
    brief: &Brief,
    item: &Item,
    wanted: &[Variation],
    asked: &mut BTreeSet<Vec<String>>,
) -> Result<Vec<Query>> {
    let all = variations(brief, item)?;
    let mut found = Vec::new();
    for (variation, text) in wanted
        .iter()
        .filter_map(|it| all.iter().find(|row| row.0 == *it))
    {
        push(*variation, text.clone(), asked, &mut found);
    }
    Ok(placed(places, question, item, &Written::new(), found))
}

/// A query as this vertical is asked it: folders in any words, the outside in those that may leave, PubMed in its own syntax
/// (row B4). Nothing where no words are left.
fn asked_of(
    places: &Places,
    question: &Question,
    vertical: Vertical,
    item: &Item,
    written: &Written,
    draft: &QueryDraft,
) -> Option<Query> {
    let limit = question.method.results_per_query;
    let mut query = match vertical {
        Vertical::Local => Query::local(draft.text.clone(), item.id, draft.variation, limit),
        _ => {
            let words = match vertical {
                Vertical::Pubmed => {
                    let own = written.get(&draft.text);
                    let own = own.and_then(|it| places.policy.outbound_syntax(it));
                    own.or_else(|| {
                        let plain = places.policy.outbound(vertical, &draft.text)?;
                        Some(plain.in_pubmed_syntax(&item.terms))
                    })
                }
                _ => places.policy.outbound(vertical, &draft.text),
            };
            Query::outside(words?, vertical, item.id, draft.variation, limit)
        }
    };
    query.domains.clone_from(&question.domains);
    query.not_domains.clone_from(&question.not_domains);
    query.since.clone_from(&question.since);
    query.until.clone_from(&question.until);
    Some(query)
}

/// The words of `question` as they are, once for every place.
pub(crate) fn plainly(places: &Places, question: &Question, item: &Item) -> Vec<Query> {
    let mut found = Vec::new();
    let (text, mut asked) = (question.text.clone(), BTreeSet::new());
    push(Variation::Original, text, &mut asked, &mut found);
    placed(places, question, item, &Written::new(), found)
}

/// Words to search for, before it is known where.
struct QueryDraft {
    text: String,
    variation: Variation,
}

/// Each query of an item where it is to be asked.
fn placed(
    places: &Places,
    question: &Question,
    item: &Item,
    written: &Written,
    drafts: Vec<QueryDraft>,
) -> Vec<Query> {
    let mut found = Vec::new();
    let mut nth_outside = 0;
    let is_telling = |it: &QueryDraft| content_stems(&it.text).len() > 1;
    let any_telling = drafts.iter().any(is_telling);
    for draft in drafts {
        // One word finds everything there is outside.
        let telling = !any_telling || is_telling(&draft);
        let nth = if telling { nth_outside } else { usize::MAX };
        nth_outside += usize::from(telling);
        let verticals = places.of_nth(nth).into_iter();
        let asked =
            verticals.filter_map(|it| asked_of(places, question, it, item, written, &draft));
        found.extend(asked);
    }
    found
}

fn push(
    variation: Variation,
    text: String,
    asked: &mut BTreeSet<Vec<String>>,
    found: &mut Vec<QueryDraft>,
) {
    let mut key = content_stems(&text);
    key.sort();
    key.dedup();
    if key.is_empty() || !asked.insert(key) {
        return;
    }
    found.push(QueryDraft { text, variation });
}

/// Other wordings of an item (row D3).
const VARIATIONS: usize = 3;

/// The queries of each item, made by code, without a call (row D3).
pub(crate) fn expanded(brief: &Brief, plan: &Plan) -> Result<Vec<Expansion>> {
    let of = |item: &Item| {
        let all = variations(brief, item)?;
        let by = |wanted: Variation| {
            let found = all.iter().find(|it| it.0 == wanted);
            found.map_or_else(|| item.query.clone(), |it| it.1.clone())
        };
        let original = by(Variation::Original);
        // Of a short query some ways to vary it come to the same; the item in its own words does not.
        let asks = item.asks.trim_end_matches(['?', '.', ' ']).to_owned();
        let subject = item.terms.first().or(brief.subjects.first());
        let headed = format!(
            "{} {}",
            subject.map_or("", String::as_str),
            item.heading.to_lowercase()
        );
        let narrower = by(Variation::Narrower);
        let specific = if narrower == original {
            asks.clone()
        } else {
            narrower
        };
        let broader = by(Variation::Broader);
        let mut other: Vec<String> = Vec::new();
        for text in [
            by(Variation::Rephrased),
            asks,
            headed,
            broader.clone(),
            specific.clone(),
        ] {
            let text = text.trim().to_owned();
            if !text.is_empty() && text != original && !other.contains(&text) {
                other.push(text);
            }
        }
        other.truncate(VARIATIONS);
        Ok(Expansion {
            item: item.id,
            original_query: original,
            variations: other,
            broad_query: broader,
            specific_query: specific,
        })
    };
    plan.items().iter().map(of).collect()
}

/// The item's query, then in other words, a step back, a step closer (row D3).
fn variations(brief: &Brief, item: &Item) -> Result<Vec<(Variation, String)>> {
    let words = &prompts::phrases()?.query;
    let terms: Vec<&str> = brief
        .key_terms
        .iter()
        .map(String::as_str)
        .filter(|it| !is_weak(&it.to_lowercase()))
        .collect();
    let subject = item
        .terms
        .first()
        .or(brief.subjects.first())
        .cloned()
        .unwrap_or_default();
    let rest: Vec<&str> = tokens(&item.query)
        .into_iter()
        .map(|it| &item.query[it.span])
        .filter(|it| !subject.contains(it))
        .filter(|it| !crate::domain::words::is_stop(&it.to_lowercase()))
        .take(4)
        .collect();
    let joined = terms.join(" ");
    let narrow = rest.join(" ");
    Ok(vec![
        (Variation::Original, item.query.clone()),
        (
            Variation::Rephrased,
            fill(&words.rephrased, &[("terms", &joined)]),
        ),
        (
            Variation::Broader,
            fill(&words.broader, &[("subject", &subject)]),
        ),
        (
            Variation::Narrower,
            fill(&words.narrower, &[("subject", &subject), ("item", &narrow)]),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::asks_for_news;

    #[test]
    fn news_are_asked_for_by_questions_that_say_so() {
        assert!(asks_for_news(
            "What is the latest on the green roof ordinance?"
        ));
        assert!(asks_for_news("Which roofs failed this week?"));
        assert!(!asks_for_news("How heavy is a green roof?"));
    }
}
