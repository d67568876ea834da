//! Bounds and orders that a reader of the report never sees: how much of a page is weighed, in which order hits are shown, what
//! a researcher is told, which form an answer must have, when a gate gives way.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use ibid_core::domain::{
    Complexity, Effort, Evidence, EvidenceGate, GateVerdict, ModelRole, OutputMode, Page, Query,
    QuestionKind, ResearchSettings, ResearcherStatus, Strategy, Vertical,
};
use ibid_core::ports::{LanguageModel, Providers, Ranker, RoleModel, RoleModels};
use ibid_core::record::Event;
use ibid_core::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use super::{FakeVerticals, asked, holds, shelf, two_places};
use crate::memory::{Pages, page, question, researched, world};
use crate::thought::Scripted;

/// Facts about cork of which each is its own.
const FACTS: [&str; 12] = [
    "Cork is a light material that is stripped from the bark of the cork oak.",
    "Cork floats because its cells are closed and filled with air.",
    "Cork is elastic because suberin makes the walls of its cells supple.",
    "Cork insulates houses against heat because air stands still in its cells.",
    "Cork burns slowly because suberin chars before it gives off gas.",
    "Cork is used for stoppers because wine does not pass through it.",
    "Cork is harvested in summer when the bark comes off the trunk easily.",
    "Cork is cut into planks that are boiled for an hour in water.",
    "Cork dust is burned for power in the mills that grind it.",
    "Cork floors are made of grains that are pressed with resin.",
    "Cork rots only after decades because few fungi can digest it.",
    "Cork weighs about 240 kilograms per cubic metre when it is dry.",
];

/// A page of so many parts of 4,000 characters; those named tell one fact each, all else is of bread.
fn long_page(parts: usize, telling: &[usize]) -> Page {
    let mut text = String::new();
    for part in 0..parts {
        let start = text.len();
        let mut fact = telling.iter().position(|it| *it == part);
        let mut loaf = 0;
        while text.len() - start < 3_900 {
            // In the middle, for the parts that are weighed begin and end where a sentence does.
            if text.len() - start > 1_900
                && let Some(nth) = fact.take()
            {
                let _ = writeln!(text, "{}", FACTS[nth]);
            }
            loaf += 1;
            let _ =
                writeln!(text, "The baker of part {part} sells loaf {loaf} of rye to the village.");
        }
    }
    page("https://long.example/cork", "Cork and bread", Some("2022-03-01"), &text)
}

fn found(events: &[Event]) -> Vec<Evidence> {
    let found = events.iter().filter_map(|it| match it {
        Event::EvidenceAdded { evidence } => Some(evidence.clone()),
        _ => None,
    });
    found.collect()
}

/// The facts that evidence was found for, by their places in [`FACTS`].
fn facts(events: &[Event]) -> BTreeSet<usize> {
    let found = found(events);
    let told = |fact: &&str| found.iter().any(|it| it.passage.text().expose().contains(*fact));
    let all = FACTS.iter().enumerate().filter(|it| told(it.1));
    all.map(|it| it.0).collect()
}

async fn facts_of(page: Page, strategy: Strategy, whole: u32, chunks: u32) -> BTreeSet<usize> {
    let mut asked = asked(strategy);
    asked.method.top_m_full_text_sources = whole;
    asked.method.top_n_chunks_per_source = chunks;
    asked.method.depth = 1;
    asked.method.max_iterations = 1;
    let world = world(Arc::new(Pages::new(vec![page])));
    let (_, events) = researched(&world, &asked).await;
    facts(&events)
}

#[tokio::test]
async fn of_a_long_page_the_parts_that_speak_of_the_matter_are_weighed_wherever_they_stand() {
    // 60,000 characters, of which the first, a middle and the last part tell something.
    let told = facts_of(long_page(15, &[0, 7, 14]), Strategy::Checklist, 3, 15).await;
    assert_eq!(told, BTreeSet::from([0, 1, 2]));
    // Read by its best part alone, it says what that says.
    let told = facts_of(long_page(15, &[0, 7, 14]), Strategy::Checklist, 0, 1).await;
    assert_eq!(told.len(), 1, "{told:?}");
}

/// Scores the texts that hold its words.
struct Likes(&'static str);

#[async_trait]
impl Ranker for Likes {
    fn name(&self) -> &str {
        "likes"
    }
    async fn rank(&self, _query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        Ok(texts.iter().map(|text| f32::from(u8::from(text.contains(self.0)))).collect())
    }
}

#[tokio::test]
async fn the_reranker_chooses_the_parts_of_a_long_page() {
    for (words, fact) in [("light material", 0), ("suberin makes", 2)] {
        let mut asked = asked(Strategy::Checklist);
        asked.method.top_m_full_text_sources = 0;
        asked.method.top_n_chunks_per_source = 1;
        asked.method.depth = 1;
        asked.method.max_iterations = 1;
        let mut world = world(Arc::new(Pages::new(vec![long_page(15, &[0, 7, 14])])));
        world.ranker = Arc::new(Likes(words));
        let (_, events) = researched(&world, &asked).await;
        assert_eq!(facts(&events), BTreeSet::from([fact]), "{words}");
    }
}

#[tokio::test]
async fn of_a_page_no_more_than_25_000_characters_are_weighed() {
    let all: Vec<usize> = (0..12).collect();
    let told = facts_of(long_page(12, &all), Strategy::Checklist, 3, 15).await;
    // Six parts of almost 4,000 characters fit, a seventh does not.
    assert!((1..=6).contains(&told.len()), "{told:?}");
    let all: Vec<usize> = (0..6).collect();
    let short = facts_of(long_page(6, &all), Strategy::Checklist, 3, 15).await;
    assert!(short.len() >= told.len(), "{short:?} {told:?}");
    // Of the same page two parts count where it is not among the best.
    let parts = facts_of(long_page(6, &all), Strategy::Checklist, 0, 2).await;
    assert!((1..=2).contains(&parts.len()), "{parts:?}");
}

#[test]
fn a_gate_of_fewer_records_asks_for_fewer_cited_ones() {
    let mut method = question("What is cork?").method;
    method.min_evidence_records = 1;
    let gate = EvidenceGate::from_settings(&method);
    assert_eq!((gate.min_evidence_records, gate.min_cited_records), (1, 1));
}

#[tokio::test]
async fn the_parts_of_one_page_are_one_result_in_the_order_of_the_page() {
    let mut asked = asked(Strategy::Coverage);
    asked.mode = OutputMode::Evidence;
    asked.method.depth = 1;
    let world = world(Arc::new(Pages::new(vec![long_page(15, &[0, 7, 14])])));
    let (report, _) = researched(&world, &asked).await;
    let results = report.unwrap().results;
    assert_eq!(results.len(), 1, "{results:?}");
    let content = &results[0].content;
    let places: Vec<usize> = (0..3).map(|nth| content.find(FACTS[nth]).unwrap()).collect();
    assert!(places.is_sorted(), "{content}");
    assert!(content.contains('…') && content.chars().count() <= 4_000);
}

#[tokio::test]
async fn a_researcher_gets_8_000_characters_of_a_page_also_of_one_that_others_weigh_whole() {
    let all: Vec<usize> = (0..5).collect();
    let whole = facts_of(long_page(5, &all), Strategy::Checklist, 3, 15).await;
    assert!(whole.len() > 2, "{whole:?}");
    let fetched = facts_of(long_page(5, &all), Strategy::Supervisor, 3, 15).await;
    assert!((1..=2).contains(&fetched.len()), "{fetched:?}");
}

fn turn(action: &str, queries: &[&str], pages: &[u32]) -> Value {
    json!({"action": action, "queries": queries, "pages": pages, "thought": "", "notes": []})
}

fn dispatch(items: &[u32]) -> Value {
    let unit = |n: &u32| json!({"item": format!("Q{n}"), "topic": format!("Find out what cork is, side {n}."), "query": "cork bark"});
    json!({"action": "ConductResearch", "thought": "", "units": items.iter().map(unit).collect::<Vec<_>>()})
}

fn led_by(model: &Arc<Scripted>, pages: Vec<Page>) -> Providers {
    let mut world = world(Arc::new(Pages::new(pages)));
    let mut models = RoleModels::default();
    for role in [ModelRole::Planner, ModelRole::Researcher] {
        let model = Arc::clone(model) as Arc<dyn LanguageModel>;
        models.insert(role, RoleModel { model, window: 8_000 });
    }
    world.models = models;
    world
}

#[tokio::test]
async fn a_researcher_finds_words_in_a_page_that_it_has_read_and_reads_on_to_its_end() {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&shown);
    let model = Scripted::new(move |step, words| {
        let tried = |action: &str| words.matches(&format!("- {action} https")).count();
        if step == "research" {
            kept.lock().unwrap().push(words.to_owned());
        }
        let says = match step {
            "supervise" if words.contains("0 waves") => dispatch(&[1]),
            "supervise" => json!({"action": "ResearchComplete", "thought": "", "units": []}),
            "research" if tried("read_on") == 4 => turn("finish", &[], &[]),
            "research" if tried("find_in_page") == 1 => turn("read_on", &[], &[1]),
            "research" if tried("fetch_url") == 1 => {
                turn("find_in_page", &["suberin walls supple"], &[1])
            }
            "research" if words.contains("search_web cork") => turn("fetch_url", &[], &[1]),
            "research" => turn("search_web", &["cork bark"], &[]),
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let mut asked = asked(Strategy::Supervisor);
    asked.method.max_iterations = 1;
    // 24,000 characters: a fetch weighs a third of them.
    let (report, events) =
        researched(&led_by(&model, vec![long_page(6, &[0, 2, 5])]), &asked).await;
    assert!(!report.unwrap().sources.is_empty());
    assert_eq!(facts(&events), BTreeSet::from([0, 1, 2]));
    let shown = shown.lock().unwrap();
    let passages = |turn: &String| {
        turn.split("<<<passages\n").nth(1).map(|it| it.split("\n>>>").next().unwrap().to_owned())
    };
    let passages: Vec<String> = shown.iter().filter_map(passages).collect();
    assert!(shown[2].contains("<<<read pages\n1. Cork and bread (https://long.example/cork), 23"));
    assert_eq!(passages[0], "none");
    assert!(passages[1].starts_with("1. (sentence "), "{}", passages[1]);
    assert!(passages[1].contains(FACTS[2]) && !passages[1].contains(FACTS[1]), "{}", passages[1]);
    assert!(passages[2].contains(FACTS[0]) && passages[2].len() < 8_100, "{}", passages[2]);
    assert_eq!(passages.last().unwrap(), "none", "the page has ended");
    let told: Vec<&Event> = events
        .iter()
        .filter(|it| matches!(it, Event::PageSearched { .. } | Event::PageContinued { .. }))
        .collect();
    assert_eq!(told.len(), 5, "{told:?}");
    // The words of a page get into no event: the question and the plan have none of them.
    let Event::PageSearched { words, found: 1, shown: 1, .. } = told[0] else {
        panic!("{:?}", told[0]);
    };
    assert_eq!(words, "");
    let mut from_before = 0;
    for it in &told[1..] {
        let Event::PageContinued { from, to, total, .. } = it else {
            panic!("{it:?}");
        };
        assert!(*from >= from_before && to <= total && to - from <= 8_000, "{it:?}");
        from_before = *to;
    }
    let calls = events.iter().rev().find_map(|it| match it {
        Event::RuntimeProgress { progress } => Some(progress.research_units[0].tool_calls),
        _ => None,
    });
    assert_eq!(calls, Some(1 + 1 + 1 + 4));
    assert_eq!(events.iter().filter(|it| it.name() == "read.completed").count(), 1);
}

#[tokio::test]
async fn hits_stand_by_address_and_the_supervisor_sees_the_words_that_notes_rest_on() {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&shown);
    let model = Scripted::new(move |step, words| {
        kept.lock().unwrap().push((step.to_owned(), words.to_owned()));
        let says = match step {
            "supervise" if words.contains("0 waves") => dispatch(&[1]),
            "supervise" => json!({"action": "ResearchComplete", "thought": "", "units": []}),
            "research" if words.contains("fetch_url http") => turn("finish", &[], &[]),
            "research" if words.contains("search_web cork") => turn("fetch_url", &[], &[1, 2, 3]),
            "research" => turn("search_web", &["cork bark"], &[]),
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let mut asked = asked(Strategy::Supervisor);
    asked.method.max_iterations = 2;
    // More are wanted than there are, so that the supervisor decides twice.
    asked.method.min_evidence_records = 100;
    let (_, events) = researched(&led_by(&model, shelf()), &asked).await;
    let shown = shown.lock().unwrap();
    let of = |step: &str| {
        shown.iter().filter(|it| it.0 == step).map(|it| it.1.clone()).collect::<Vec<_>>()
    };
    let hits = of("research").into_iter().find(|it| it.contains("<<<hits\n1. ")).unwrap();
    let urls: Vec<&str> = hits
        .lines()
        .filter(|it| it.contains(" (https://") && it.starts_with(|c: char| c.is_ascii_digit()))
        .map(|it| it.split(" (").nth(1).unwrap().split(')').next().unwrap())
        .collect();
    let mut sorted = urls.clone();
    sorted.sort_unstable();
    assert!(urls.len() >= 3, "{hits}");
    assert_eq!(urls, sorted);
    let decisions = of("supervise");
    let raw = |it: &str| {
        it.split("<<<raw notes\n").nth(1).unwrap().split("\n>>>").next().unwrap().to_owned()
    };
    assert_eq!(raw(&decisions[0]), "none");
    let quote = found(&events)[0].passage.text().expose().to_owned();
    let second = raw(&decisions[1]);
    assert!(second.contains("- researcher-1: \""), "{second}");
    assert!(second.contains(&quote) && second.contains("(https://"), "{second}");
}

#[tokio::test]
async fn a_researcher_whose_model_fails_says_so_without_its_words_and_code_goes_on() {
    let model = Scripted::new(|step, words| match step {
        "supervise" if words.contains("0 waves") => Ok(dispatch(&[1]).to_string()),
        "supervise" => {
            Ok(json!({"action": "ResearchComplete", "thought": "", "units": []}).to_string())
        }
        _ => Err(Error::new(ErrorKind::Malformed, "asking http://10.0.0.7:8080/v1 as key-77")),
    });
    let mut asked = asked(Strategy::Supervisor);
    asked.method.max_iterations = 1;
    let (report, events) = researched(&led_by(&model, shelf()), &asked).await;
    holds(&report.unwrap());
    let mut units = events.iter().filter_map(|it| match it {
        Event::RuntimeProgress { progress } => progress.research_units.last().cloned(),
        _ => None,
    });
    let last = units.next_back().unwrap();
    assert_eq!(last.status, ResearcherStatus::Failed);
    assert_eq!(last.failure.as_deref(), Some("execution failed"));
    assert!(last.evidence > 0, "code goes on: {last:?}");
    for it in events.iter().filter(|it| matches!(it, Event::RuntimeProgress { .. })) {
        let told = serde_json::to_string(it).unwrap();
        assert!(!told.contains("10.0.0.7") && !told.contains("key-77"), "{told}");
    }
}

#[tokio::test]
async fn words_of_doubt_mark_the_evidence_they_stand_in_and_no_other() {
    let sure = "Cork is a light material that is stripped from the bark of the cork oak.";
    let unsure = "Whether cork is a material that harms the lungs is disputed and remains unclear.";
    let pages = vec![
        page("https://a.example/cork", "Cork", None, sure),
        page("https://b.example/cork", "Cork", None, unsure),
    ];
    let world = world(Arc::new(Pages::new(pages)));
    let mut asked = asked(Strategy::Supervisor);
    asked.method.max_iterations = 1;
    let (_, events) = researched(&world, &asked).await;
    let mark = |words: &str| {
        let found = found(&events);
        let it = found.iter().find(|it| it.passage.text().expose() == words);
        it.unwrap_or_else(|| panic!("{words}")).contradiction_or_uncertainty
    };
    assert!(mark(unsure));
    assert!(!mark(sure));
}

#[tokio::test]
async fn a_page_that_only_leads_on_is_never_evidence() {
    let links: String = FACTS
        .iter()
        .map(|it| {
            let words: Vec<&str> = it.split(' ').take(6).collect();
            format!("- {}\n", words.join(" "))
        })
        .collect();
    let pages = vec![
        page("https://list.example/cork", "Cork", None, &links),
        page("https://oak.example/cork", "Cork", None, FACTS[0]),
    ];
    let world = world(Arc::new(Pages::new(pages)));
    let (report, events) = researched(&world, &asked(Strategy::Coverage)).await;
    let left_out = events.iter().any(|it| {
        matches!(it, Event::EvidenceRejected { url, reason, .. } if url.contains("list.example") && reason.contains("list of links"))
    });
    assert!(left_out);
    let report = report.unwrap();
    let cited: Vec<&str> = report.sources.iter().map(|it| it.url.as_str()).collect();
    assert!(cited.contains(&"https://oak.example/cork"), "{cited:?}");
    assert!(found(&events).iter().all(|it| it.passage.text().expose() == FACTS[0]));
}

/// Searches the outside, and remembers what it was asked.
struct Remembering(FakeVerticals, Arc<Mutex<Vec<Query>>>);

#[async_trait::async_trait]
impl ibid_core::ports::SearchProvider for Remembering {
    fn name(&self) -> &str {
        "outside"
    }
    fn verticals(&self) -> &[Vertical] {
        self.0.verticals()
    }
    async fn search(&self, query: &Query) -> ibid_core::Result<ibid_core::domain::Hits> {
        self.1.lock().unwrap().push(query.clone());
        self.0.search(query).await
    }
}

#[tokio::test]
async fn where_one_site_says_everything_the_next_search_leaves_it_out() {
    let pages: Vec<Page> = (0..6)
        .map(|nth| page(&format!("https://oak.example/{nth}"), "Cork", None, FACTS[nth]))
        .collect();
    // A second site is named by every search, and cannot be read.
    let mut named = pages.clone();
    named.push(page("https://other.example/cork", "Cork", None, FACTS[6]));
    let mut world = two_places(Vec::new(), pages, &[Vertical::Web]);
    let queries = Arc::new(Mutex::new(Vec::new()));
    let outside = FakeVerticals(Pages::new(named), vec![Vertical::Web]);
    world.search = vec![Arc::new(Remembering(outside, Arc::clone(&queries)))];
    let mut asked = asked(Strategy::Coverage);
    asked.method.depth = 3;
    asked.method.results_per_query = 10;
    asked.method.completeness_threshold = 1.0;
    let (_, events) = researched(&world, &asked).await;
    let asked_for = queries.lock().unwrap();
    let first: Vec<&Query> = asked_for.iter().filter(|it| it.not_domains.is_empty()).collect();
    let without: Vec<&Query> =
        asked_for.iter().filter(|it| it.not_domains == ["oak.example"]).collect();
    assert!(!first.is_empty() && !without.is_empty(), "{asked_for:?}");
    assert!(asked_for[0].not_domains.is_empty());
    // No search has named a third voice, so the gate asks for two and says that it gave way.
    let verdicts: Vec<&GateVerdict> = events
        .iter()
        .filter_map(|it| match it {
            Event::GateJudged { verdict } => Some(verdict),
            _ => None,
        })
        .collect();
    let last = verdicts.last().unwrap();
    assert!(last.lowered, "{last:?}");
    assert!(last.gate.min_source_domains < 3, "{last:?}");
}

#[tokio::test]
async fn of_two_that_disagree_the_newer_weighs_more_and_all_weigh_one() {
    let pages = vec![
        page(
            "https://old.example/cork",
            "Cork",
            Some("2004-03-01"),
            "Cork oak forests cover 1.4 million hectares of land.",
        ),
        page(
            "https://new.example/cork",
            "Cork",
            Some("2025-03-01"),
            "Cork oak forests cover 2.1 million hectares of land.",
        ),
    ];
    let world = world(Arc::new(Pages::new(pages)));
    let (report, _) =
        researched(&world, &question("How much land do cork oak forests cover?")).await;
    let report = report.unwrap();
    let sides = &report.conflicts[0].sides;
    let weight = |says: &str| sides.iter().find(|it| it.says.contains(says)).unwrap().weight;
    assert!(weight("2.1") > weight("1.4"), "{} {}", weight("2.1"), weight("1.4"));
    let sum: f32 = sides.iter().map(|it| it.weight).sum();
    assert!((sum - 1.0).abs() < 0.02, "{sum}");
}

#[tokio::test]
async fn pubmed_is_asked_in_its_own_syntax_and_everybody_else_in_plain_words() {
    let mut world = two_places(Vec::new(), shelf(), &[Vertical::Web]);
    world.search.remove(0);
    world.search.push(Arc::new(FakeVerticals(Pages::new(shelf()), vec![Vertical::Pubmed])));
    let mut asked = question("Does cork oak bark prevent skin cancer in farm workers?");
    asked.method.strategy = Some(Strategy::Checklist);
    let (_, events) = researched(&world, &asked).await;
    let sent = |wanted: Vertical| -> Vec<String> {
        let own = events.iter().filter_map(|it| match it {
            Event::SearchStarted { query, vertical, .. } if *vertical == wanted => {
                Some(query.clone())
            }
            _ => None,
        });
        own.collect()
    };
    let (plain, strict) = (sent(Vertical::Web), sent(Vertical::Pubmed));
    assert!(plain.iter().all(|it| !it.contains("[tiab]") && !it.contains(" AND ")), "{plain:?}");
    assert!(strict.iter().any(|it| it.contains("[mh] OR ") && it.contains(" AND ")), "{strict:?}");
}

#[tokio::test]
async fn a_models_own_query_for_pubmed_goes_there_and_one_that_is_broken_does_not() {
    const OWN: &str = "(\"cork oak\"[tiab] OR quercus[mh]) AND harvest";
    let model = Scripted::new(|step, words| {
        let says = match step {
            "queries" => {
                assert!(words.contains("PubMed's syntax"), "{words}");
                let open = words.lines().filter_map(|it| it.strip_prefix("- Q"));
                let row = |(id, query, pubmed): (&str, &str, &str)| {
                    let id = id.split(':').next().unwrap();
                    json!({"item": format!("Q{id}"), "variation": "gap", "query": query, "pubmed": pubmed})
                };
                let own =
                    [("cork oak stripping yield", OWN), ("cork buoyancy physics", "(cork AND")];
                let rows: Vec<Value> =
                    open.zip(own).map(|(id, own)| row((id, own.0, own.1))).collect();
                json!({"queries": rows})
            }
            _ => json!({}),
        };
        Ok(says.to_string())
    });
    let pages: Vec<Page> = (0..6)
        .map(|nth| page(&format!("https://oak.example/{nth}"), "Cork", None, FACTS[nth]))
        .collect();
    let mut world = led_by(&model, pages.clone());
    let pubmed = FakeVerticals(Pages::new(pages), vec![Vertical::Pubmed]);
    world.search = vec![Arc::new(pubmed)];
    let mut asked = asked(Strategy::Checklist);
    asked.method.completeness_threshold = 1.0;
    asked.method.min_evidence_records = 100;
    let (_, events) = researched(&world, &asked).await;
    let sent: Vec<String> = events
        .iter()
        .filter_map(|it| match it {
            Event::SearchStarted { query, .. } => Some(query.clone()),
            _ => None,
        })
        .collect();
    assert!(sent.iter().any(|it| it == OWN), "{sent:?}");
    assert!(!sent.iter().any(|it| it == "(cork AND"), "{sent:?}");
}

#[test]
fn a_team_is_as_large_as_the_question_deserves_and_no_larger_than_it_is_set() {
    use QuestionKind::{Comparison, HowTo};
    let mut method = crate::memory::method();
    let of = |method: &ResearchSettings, kind, complexity| {
        let it = method.team_for(kind, complexity);
        (it.max_concurrent_research_units, it.max_researcher_iterations, it.max_react_tool_calls)
    };
    assert_eq!(of(&method, HowTo, Complexity::Simple), (1, 1, 10));
    assert_eq!(of(&method, Comparison, Complexity::Moderate), (4, 4, 15));
    assert_eq!(of(&method, Comparison, Complexity::Complex), (4, 4, 15));
    assert_eq!(of(&method, HowTo, Complexity::Moderate), (4, 10, 15));
    assert_eq!(of(&method, HowTo, Complexity::Complex), (4, 60, 40));
    method.team.max_concurrent_research_units = 2;
    method.team.max_react_tool_calls = 3;
    assert_eq!(of(&method, Comparison, Complexity::Moderate), (2, 4, 3));
}

#[tokio::test]
async fn auto_sends_few_researchers_for_a_comparison_and_a_named_effort_as_many_as_are_set() {
    let sent = async |effort: Effort| -> u32 {
        let mut asked = question("Is cork or rye bread better for stoppers?");
        asked.method.strategy = Some(Strategy::Supervisor);
        asked.method.effort = effort;
        // More than there is, so that researchers are sent out as long as any may be.
        asked.method.min_evidence_records = 100;
        let (_, events) = researched(&led_by(&tireless(), shelf()), &asked).await;
        let told = events.iter().filter_map(|it| match it {
            Event::RuntimeProgress { progress } => Some(progress.dispatched_research_units),
            _ => None,
        });
        told.max().unwrap()
    };
    let few = sent(Effort::Auto).await;
    assert!((1..=4).contains(&few), "{few}");
    let more = sent(Effort::Standard).await;
    assert!(more > 4, "{more}");
}

/// A model that sends out four researchers at every turn; what they do, code does.
fn tireless() -> Arc<Scripted> {
    let count = AtomicU32::new(0);
    Scripted::new(move |step, _| {
        let nth = count.fetch_add(1, Ordering::Relaxed);
        let unit = |n: u32| {
            let query = format!("cork matter {nth} {n}");
            json!({"item": format!("Q{n}"), "topic": format!("Find out more of {query}."), "query": query})
        };
        let says = match step {
            "supervise" => {
                let units: Vec<Value> = (1..=3).map(unit).collect();
                json!({"action": "ConductResearch", "thought": "", "units": units})
            }
            _ => json!({}),
        };
        Ok(says.to_string())
    })
}

#[tokio::test]
async fn where_all_hits_are_of_one_site_another_is_looked_for_once() {
    let pages: Vec<Page> = (0..6)
        .map(|nth| page(&format!("https://oak.example/{nth}"), "Cork", None, FACTS[nth]))
        .collect();
    let mut world = two_places(Vec::new(), pages.clone(), &[Vertical::Web]);
    let queries = Arc::new(Mutex::new(Vec::new()));
    let outside = FakeVerticals(Pages::new(pages), vec![Vertical::Web]);
    world.search = vec![Arc::new(Remembering(outside, Arc::clone(&queries)))];
    let mut asked = asked(Strategy::Coverage);
    asked.method.depth = 4;
    asked.method.results_per_query = 10;
    researched(&world, &asked).await.0.unwrap();
    let asked_for = queries.lock().unwrap();
    let without = asked_for.iter().filter(|it| it.not_domains == ["oak.example"]);
    assert_eq!(without.count(), 1, "{asked_for:?}");
}
