//! The four ways to gather: what each promises, that none goes past its bounds whatever a model says, and that all
//! tell one kind of evidence.
mod bounds;
mod cited;
mod compared;
mod found;
mod held;
mod supervisor;

use std::fmt::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::domain::{
    Complexity, Coverage, Effort, Hits, ItemStatus, ModelRole, Page, Query, Question, Report,
    SearchEndpoint, StopReason, Strategy, Variation, Vertical,
};
use ibid_core::ports::{CheckpointDecision, Providers, SearchProvider, Steering};
use ibid_core::record::Event;
use ibid_core::{Error, ErrorKind, Result};

use crate::memory::{Pages, page, question, researched, world};
use crate::thought::{Scripted, run_over, well};

/// Pages of several sites about one matter, and one that is about another.
pub(crate) fn shelf() -> Vec<Page> {
    let about = |site: &str, title: &str, text: &str| {
        page(&format!("https://{site}.example/cork"), title, Some("2022-03-01"), text)
    };
    vec![
        about(
            "oak",
            "Cork",
            "Cork is a light material that is stripped from the bark of the cork oak.\n\
             Cork oak forests cover 2.1 million hectares of land.\n\
             Cork floats because its cells are closed and filled with air.",
        ),
        about(
            "bark",
            "Cork harvest",
            "Cork is stripped from the living tree every nine years without felling it.\n\
             Cork workers cut the bark with an axe in summer.",
        ),
        about(
            "stopper",
            "Cork stoppers",
            "Cork is used for stoppers because it is elastic and keeps wine from air.\n\
             About 70 percent of cork by value goes into stoppers.",
        ),
        about(
            "floor",
            "Cork floors",
            "Cork is used in floors because it insulates against heat and sound.\n\
             Cork types include natural cork, agglomerated cork and expanded cork.",
        ),
        about(
            "forest",
            "Cork forests",
            "Cork forests in Portugal and Spain are protected by law.\n\
             However, cork cannot be harvested from trees younger than 25 years.",
        ),
        page(
            "https://bread.example/rye",
            "Rye bread",
            None,
            "Rye bread keeps for a week because its crumb holds much water.",
        ),
    ]
}

pub(crate) fn asked(strategy: Strategy) -> Question {
    let mut asked = question("What is cork?");
    asked.method.strategy = Some(strategy);
    asked
}

pub(crate) fn small_world() -> Providers {
    world(Arc::new(Pages::new(shelf())))
}

fn stop(events: &[Event]) -> Option<StopReason> {
    events.iter().find_map(|it| match it {
        Event::ReportReady { report } => Some(report.method.stop),
        _ => None,
    })
}

pub(crate) fn holds(report: &Report) {
    let pages = shelf();
    let mut any = false;
    for cited in report.claims().flat_map(|it| it.citations()) {
        any = true;
        let home = pages.iter().find(|it| it.hash() == cited.passage.page());
        assert!(cited.passage.is_found_in(home.unwrap()));
    }
    assert!(any, "a report cites");
}

/// What happened, in words that a reader of the golden file understands.
fn story(events: &[Event]) -> String {
    let mut out = String::new();
    for it in events {
        let name = it.name();
        let more = match it {
            Event::StrategyChosen { strategy, reason } => {
                format!("{} ({reason})", strategy.as_str())
            }
            Event::ItemUpdated { item, status } => format!("{item} {status:?}"),
            Event::RoundStarted { items, queries } => {
                format!("{} items, {queries} queries", items.len())
            }
            Event::SearchStarted { query, item, variation, .. } => {
                format!("{item} {variation:?}: {query}")
            }
            Event::SearchPrepared { found, shown, .. } => format!("{shown} of {found}"),
            Event::ReadStarted { url } => url.clone(),
            Event::EvidenceAdded { evidence } => {
                let items: Vec<String> = evidence.items.iter().map(ToString::to_string).collect();
                format!("{} for {}: {}", evidence.id, items.join(", "), evidence.claim)
            }
            Event::GateJudged { verdict } => if verdict.pass { "pass" } else { "retry" }.to_owned(),
            Event::CoverageUpdated { ratio, .. } => format!("{ratio:.2}"),
            Event::GapFound { item, gap_query, .. } => format!("{item}: {gap_query}"),
            Event::RuntimeProgress { progress } => format!(
                "decision {}, {} sent out, {} skipped, gate {:?}, {} records, units {}",
                progress.supervisor_iteration,
                progress.dispatched_research_units,
                progress.skipped_research_units,
                progress.quality_gate_status,
                progress.evidence_record_count,
                progress.research_units.len(),
            ),
            Event::ReportReady { report } => format!("{:?}", report.method.stop),
            _ => String::new(),
        };
        let _ = writeln!(out, "{name} {more}");
    }
    out
}

#[tokio::test]
async fn every_strategy_ends_with_a_report_that_holds_and_tells_its_story() {
    for strategy in Strategy::ALL {
        let (report, events) = researched(&small_world(), &asked(strategy)).await;
        let report = report.unwrap();
        holds(&report);
        assert_eq!(report.method.strategy, Some(strategy));
        assert!(report.short[0].text().contains("light material"), "{strategy:?}");
        let chosen = events.iter().filter(|it| it.name() == "strategy.chosen").count();
        assert_eq!(chosen, 1);
        insta::with_settings!({snapshot_path => "../golden/strategies", prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(strategy.as_str(), story(&events));
        });
    }
}

#[tokio::test]
async fn the_same_question_tells_the_same_story_twice() {
    for strategy in Strategy::ALL {
        let (_, one) = researched(&small_world(), &asked(strategy)).await;
        let (_, two) = researched(&small_world(), &asked(strategy)).await;
        assert_eq!(one, two, "{strategy:?}");
    }
}

#[tokio::test]
async fn an_effort_has_its_strategy_and_a_named_one_comes_first() {
    let mut asked = question("What is cork?");
    let (_, events) = researched(&small_world(), &asked).await;
    let chosen = |events: &[Event]| {
        events.iter().find_map(|it| match it {
            Event::StrategyChosen { strategy, reason } => Some((*strategy, reason.clone())),
            _ => None,
        })
    };
    let (strategy, reason) = chosen(&events).unwrap();
    assert_eq!(strategy, Strategy::Checklist);
    assert!(reason.starts_with("effort standard"), "{reason}");
    asked.method.strategy = Some(Strategy::Coverage);
    let (_, events) = researched(&small_world(), &asked).await;
    assert_eq!(chosen(&events).unwrap(), (Strategy::Coverage, "as asked".to_owned()));
}

#[tokio::test]
async fn a_planned_report_sends_few_tasks_and_reads_m_and_k_sources() {
    let mut asked = asked(Strategy::Planned);
    asked.method.max_initial_search_tasks = 2;
    asked.method.top_m_full_text_sources = 2;
    asked.method.next_k_chunked_sources = 1;
    asked.method.max_refinement_iterations = 0;
    asked.method.min_evidence_records = 100;
    let (report, events) = researched(&small_world(), &asked).await;
    report.unwrap();
    let count = |name: &str| events.iter().filter(|it| it.name() == name).count();
    assert_eq!(count("search.started"), 2);
    assert_eq!(count("read.started"), 3);
    assert_eq!(stop(&events), Some(StopReason::MaxIterations));
}

#[tokio::test]
async fn without_a_writer_the_gaps_of_a_planned_report_are_searched_for_and_few_pages_read() {
    let mut asked = asked(Strategy::Planned);
    asked.method.max_initial_search_tasks = 1;
    asked.method.top_m_full_text_sources = 1;
    asked.method.next_k_chunked_sources = 0;
    let (_, events) = researched(&small_world(), &asked).await;
    let mut rounds = events.split(|it| matches!(it, Event::RoundStarted { .. })).skip(1);
    let reads = |it: &[Event]| it.iter().filter(|it| it.name() == "read.started").count();
    assert_eq!(reads(rounds.next().unwrap()), 1);
    let refined = rounds.next().unwrap();
    assert!(reads(refined) <= 3);
    let queries: Vec<&Event> = refined.iter().filter(|it| it.name() == "search.started").collect();
    assert!((1..=2).contains(&queries.len()), "{queries:?}");
}

#[test]
fn auto_goes_by_how_much_is_asked_and_by_whether_somebody_leads() {
    let of = |asked, led| Effort::Auto.strategy(asked, led);
    assert_eq!(of(Complexity::Simple, false), Strategy::Planned);
    assert_eq!(of(Complexity::Simple, true), Strategy::Planned);
    assert_eq!(of(Complexity::Moderate, true), Strategy::Supervisor);
    assert_eq!(of(Complexity::Moderate, false), Strategy::Checklist);
    assert_eq!(of(Complexity::Complex, true), Strategy::Supervisor);
    assert_eq!(of(Complexity::Complex, false), Strategy::Coverage);
    assert_eq!(Effort::Max.strategy(Complexity::Simple, true), Strategy::Supervisor);
}

/// Searches pages, as a place of this kind.
struct FakeVerticals(Pages, Vec<Vertical>);

#[async_trait]
impl SearchProvider for FakeVerticals {
    fn name(&self) -> &str {
        "outside"
    }
    fn verticals(&self) -> &[Vertical] {
        &self.1
    }
    async fn search(&self, query: &Query) -> Result<Hits> {
        let mut hits = self.0.search(query).await?;
        let left_out = |url: &str| query.not_domains.iter().any(|it| url.contains(it.as_str()));
        hits.hits.retain(|it| !left_out(&it.url));
        for hit in &mut hits.hits {
            hit.vertical = query.vertical();
        }
        Ok(hits)
    }
}

fn two_places(local: Vec<Page>, outside: Vec<Page>, kinds: &[Vertical]) -> Providers {
    let all: Vec<Page> = local.iter().chain(&outside).cloned().collect();
    let mut world = world(Arc::new(Pages::new(local)));
    world.readers = vec![Arc::new(Pages::new(all))];
    world.search.push(Arc::new(FakeVerticals(Pages::new(outside), kinds.to_vec())));
    world
}

#[tokio::test]
async fn the_outside_is_asked_where_folders_are_poor_and_not_where_they_are_good() {
    let asked = asked(Strategy::Coverage);
    let engines = |events: &[Event]| -> Vec<String> {
        let engine = |it: &Event| match it {
            Event::SearchStarted { engine, .. } => Some(engine.clone()),
            _ => None,
        };
        let mut all: Vec<String> = events.iter().filter_map(engine).collect();
        all.dedup();
        all
    };
    let poor = two_places(shelf()[4..].to_vec(), shelf()[..4].to_vec(), &[Vertical::Web]);
    let (report, events) = researched(&poor, &asked).await;
    assert!(engines(&events).contains(&"outside".to_owned()));
    assert_eq!(engines(&events)[0], "local");
    holds(&report.unwrap());
    let mut easy = asked.clone();
    easy.method.completeness_threshold = 0.0;
    easy.method.min_evidence_records = 1;
    easy.method.min_cited_records = 1;
    let good = two_places(shelf(), shelf(), &[Vertical::Web]);
    let (report, events) = researched(&good, &easy).await;
    if report.unwrap().method.stop == StopReason::CoverageReached {
        let first = events.iter().position(|it| it.name() == "gate.judged").unwrap();
        assert_eq!(engines(&events[..first]), ["local"]);
    }
}

#[tokio::test]
async fn tasks_go_where_their_endpoint_says() {
    let mut world = two_places(Vec::new(), shelf(), &[Vertical::Web, Vertical::Scholar]);
    world.search.remove(0);
    world.search.push(Arc::new(FakeVerticals(Pages::new(shelf()), vec![Vertical::Scholar])));
    let (report, events) = researched(&world, &asked(Strategy::Planned)).await;
    report.unwrap();
    let asked_of: Vec<Vertical> = events
        .iter()
        .filter_map(|it| match it {
            Event::SearchStarted { vertical, .. } => Some(*vertical),
            _ => None,
        })
        .collect();
    assert!(
        asked_of.contains(&Vertical::Web) && asked_of.contains(&Vertical::Scholar),
        "{asked_of:?}"
    );
    assert_eq!(serde_json::to_string(&SearchEndpoint::Scholar).unwrap(), "\"/scholar\"");
}

#[tokio::test]
async fn breadth_adds_queries_when_topics_are_covered() {
    let mut asked = asked(Strategy::Coverage);
    asked.method.depth = 1;
    let mut counts = Vec::new();
    for breadth in [2, 4, 8] {
        asked.method.breadth = breadth;
        let (_, events) = researched(&world(Arc::new(Pages::new(shelf()))), &asked).await;
        let first = events.iter().find_map(|it| match it {
            Event::RoundStarted { queries, .. } => Some(*queries),
            _ => None,
        });
        counts.push(first.unwrap());
    }
    assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
}

#[tokio::test]
async fn a_how_to_that_tells_no_steps_is_not_covered() {
    let pages = |text: &str| {
        let sites = ["one", "two", "three"];
        let pages = sites.map(|it| {
            page(&format!("https://{it}.example/"), "Cork harvest", None, &text.replace("SITE", it))
        });
        world(Arc::new(Pages::new(pages.to_vec())))
    };
    let mut asked = question("How to harvest cork?");
    asked.method.strategy = Some(Strategy::Coverage);
    asked.method.depth = 1;
    let prose = pages(
        "In SITE to harvest cork is an old craft of the harvest of cork.\nTo harvest cork matters to cork villages in SITE.",
    );
    let heart = |events: &[Event]| {
        events.iter().rev().find_map(|it| match it {
            Event::CoverageUpdated { rows, .. } => Some((rows[0].state, rows[0].gap.clone())),
            _ => None,
        })
    };
    let (_, events) = researched(&prose, &asked).await;
    let (state, gap) = heart(&events).unwrap();
    assert_ne!(state, Coverage::Covered);
    assert!(gap.is_some());
    let steps = pages(
        "# Harvest cork\n- To harvest cork in SITE, cut the cork bark with an axe.\n- To harvest the cork in SITE, then strip the cork plank.\n- Finally harvest cork planks in SITE and dry the cork.",
    );
    let (_, events) = researched(&steps, &asked).await;
    let told = heart(&events).unwrap();
    assert_ne!(told.1, gap, "{told:?}");
}

#[tokio::test]
async fn an_item_that_a_level_finds_nothing_for_is_blocked_and_comes_back_broader() {
    let mut asked = asked(Strategy::Checklist);
    asked.method.completeness_threshold = 1.0;
    asked.method.depth = 3;
    let only = vec![shelf()[1].clone(), shelf()[5].clone()];
    let world = world(Arc::new(Pages::new(only)));
    let (_, events) = researched(&world, &asked).await;
    let statuses = |item: &str| -> Vec<ItemStatus> {
        let of = |it: &Event| match it {
            Event::ItemUpdated { item: id, status } if id.to_string() == item => Some(*status),
            _ => None,
        };
        events.iter().filter_map(of).collect()
    };
    let blocked = (1..=6)
        .map(|it| statuses(&format!("Q{it}")))
        .find(|it| it.contains(&ItemStatus::Blocked))
        .expect("an item is blocked");
    assert_eq!(blocked[..3], [ItemStatus::Todo, ItemStatus::InProgress, ItemStatus::Blocked]);
    let again = events
        .iter()
        .any(|it| matches!(it, Event::SearchStarted { variation: Variation::Gap, .. }));
    assert!(again);
}

#[tokio::test]
async fn breadth_is_how_many_ways_an_item_is_asked_in() {
    let mut counts = Vec::new();
    for breadth in [1, 2, 10] {
        let mut asked = asked(Strategy::Checklist);
        asked.method.breadth = breadth;
        asked.method.depth = 1;
        let (_, events) = researched(&small_world(), &asked).await;
        let queries = events.iter().filter(|it| matches!(it, Event::SearchStarted { .. }));
        counts.push(queries.count());
    }
    assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
}

#[tokio::test]
async fn trust_ends_research_where_that_is_wanted() {
    // Whoever judges coverage is never quite content.
    let model = Scripted::new(|step, words| {
        Ok(match step {
            "cover" => serde_json::json!({"state": "partial", "gap": "More is wanted.", "gap_query": "cork more"}),
            step => well(step, words),
        }
        .to_string())
    });
    let mut asked = asked(Strategy::Checklist);
    asked.method.min_evidence_records = 1;
    asked.method.min_cited_records = 1;
    asked.method.min_source_domains = 1;
    asked.method.depth = 5;
    let roles = [ModelRole::Planner, ModelRole::Researcher];
    let (report, _) = run_over(shelf(), &model, &roles, &asked).await;
    assert_ne!(report.unwrap().method.stop, StopReason::TrustReached);
    asked.method.trust_threshold = 0.05;
    let (report, _) = run_over(shelf(), &model, &roles, &asked).await;
    let report = report.unwrap();
    assert_eq!(report.method.stop, StopReason::TrustReached, "{:?}", report.coverage);
}

/// Says to finish at one point.
struct EndsAt(&'static str, StopReason);

#[async_trait]
impl Steering for EndsAt {
    async fn checkpoint(&self, at: &str) -> Result<CheckpointDecision> {
        Ok(match at.starts_with(self.0) {
            true => CheckpointDecision::Finish(self.1),
            false => CheckpointDecision::Continue,
        })
    }
}

#[tokio::test]
async fn every_bound_ends_every_strategy_with_a_report_and_its_reason() {
    for strategy in Strategy::ALL {
        for reason in [StopReason::BudgetTime, StopReason::BudgetUsd, StopReason::UserFinish] {
            let mut world = small_world();
            world.steering = Arc::new(EndsAt("wave-2", reason));
            let mut asked = asked(strategy);
            asked.method.completeness_threshold = 1.0;
            asked.method.min_evidence_records = 100;
            asked.method.max_initial_search_tasks = 1;
            let (report, events) = researched(&world, &asked).await;
            holds(&report.unwrap());
            let finishing = events.iter().any(|it| matches!(it, Event::RunFinishing { .. }));
            assert!(!finishing || stop(&events) == Some(reason), "{strategy:?} {reason:?}");
            assert!(finishing || stop(&events) == Some(StopReason::NoNewEvidence), "{strategy:?}");
        }
        let mut asked = asked(strategy);
        asked.budget.calls = Some(4);
        asked.method.min_evidence_records = 100;
        let (report, _) = researched(&small_world(), &asked).await;
        let report = report.unwrap();
        assert_eq!(report.method.stop, StopReason::BudgetCalls, "{strategy:?}");
        assert!(report.usage.calls() <= 4, "{strategy:?} {:?}", report.usage);
    }
}

#[tokio::test]
async fn no_provider_that_answers_ends_a_run_with_what_it_failed_with() {
    struct Down;
    #[async_trait]
    impl SearchProvider for Down {
        fn name(&self) -> &str {
            "down"
        }
        async fn search(&self, _: &Query) -> Result<Hits> {
            Err(Error::new(ErrorKind::Transient, "searching down: no route"))
        }
    }
    for strategy in Strategy::ALL {
        let mut world = small_world();
        world.search = vec![Arc::new(Down)];
        let (report, _) = researched(&world, &asked(strategy)).await;
        let fault = report.unwrap_err();
        assert!(fault.chain().contains("no route"), "{strategy:?}: {}", fault.chain());
    }
}
