//! A small deterministic method over a small shelf of documents, so that runs can be tested
//! without the real ones.
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use ibid::app::{App, AppComponents, RunProviders};
use ibid::config::{McpConfig, SecretString, Settings};
use ibid_core::domain::{
    Block, BlockKind, Budget, Citation, Claim, ClaimId, Confidence, ConfidenceMark, Evidence,
    EvidenceGate, EvidenceId, GateVerdict, Hit, Hits, ItemId, MethodNote, OutputMode, Page,
    PageDraft, Query, Question, Report, ReportChecks, ResearchSettings, RunId, Source, SourceId,
    SourceKind, Stance, StopReason, Untrusted, Usage, Variation, Work,
};
use ibid_core::ports::{
    CheckpointDecision, EventLog, FrozenClock, PageReader, Providers, Ranker, SearchProvider,
    SeededRng,
};
use ibid_core::record::{Event, Phase, SearchOutcome};
use ibid_core::{Error, ErrorKind, Result};

pub(crate) const WAVES: u32 = 3;
pub(crate) const QUERIES: u32 = 4;

/// Documents that count how often they are asked for.
#[derive(Default)]
pub(crate) struct FakePages {
    /// Every call that was really sent, in order.
    pub(crate) sent: Mutex<Vec<String>>,
    /// Calls that are out now, and the most that ever were.
    pub(crate) out: AtomicU64,
    pub(crate) most_out: AtomicU64,
    /// What each call takes.
    pub(crate) latency: Duration,
    /// The first so many calls fail.
    pub(crate) failing: AtomicU64,
    /// A file that hears of every call too, so that a killed process leaves its count.
    pub(crate) bill: Option<PathBuf>,
}

impl FakePages {
    async fn answer(&self, call: String) -> Result<()> {
        self.sent.lock().unwrap().push(call.clone());
        if let Some(bill) = &self.bill {
            let mut bill = File::options().append(true).create(true).open(bill).unwrap();
            bill.write_all(format!("{call}\n").as_bytes()).unwrap();
        }
        let out = self.out.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_out.fetch_max(out, Ordering::SeqCst);
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        self.out.fetch_sub(1, Ordering::SeqCst);
        let failing = &self.failing;
        let fail = failing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |it| it.checked_sub(1));
        match fail {
            Ok(_) => {
                Err(Error::new(ErrorKind::Transient, format!("asking {call}")).with_source("no"))
            }
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.sent.lock().unwrap().len()
    }
}

#[async_trait]
impl SearchProvider for FakePages {
    fn name(&self) -> &str {
        "shelf"
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        self.answer(format!("search {}", query.text())).await?;
        let hit = |n: u32| Hit {
            url: format!("https://shelf.test/{}/{n}", query.text().replace(' ', "-")),
            file: None,
            doc_id: None,
            title: format!("Document {n} about {}", query.text()),
            snippet: Untrusted::new("a snippet"),
            rank: n,
            score: 1.0 / (n as f32 + 0.1),
            provider: "shelf".to_owned(),
            vertical: query.vertical(),
            date: None,
            work: Work::default(),
            text: None,
        };
        Ok((1..=query.limit).map(hit).collect::<Vec<Hit>>().into())
    }
}

#[async_trait]
impl PageReader for FakePages {
    fn name(&self) -> &str {
        "shelf"
    }

    fn can_read(&self, _: &Hit) -> bool {
        true
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        self.answer(format!("read {}", hit.url)).await?;
        Ok(page(&hit.url, &format!("{} is told here. It goes on.", hit.title)))
    }
}

/// A clock that stands where it is put.
pub(crate) struct Wall(pub(crate) std::sync::atomic::AtomicU64);

impl Wall {
    pub(crate) fn at(unix_ms: u64) -> Arc<Wall> {
        Arc::new(Wall(unix_ms.into()))
    }

    pub(crate) fn put_on(&self, ms: u64) {
        self.0.fetch_add(ms, std::sync::atomic::Ordering::Relaxed);
    }
}

impl ibid_core::ports::Clock for Wall {
    fn unix_ms(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

pub(crate) fn page(url: &str, text: &str) -> Page {
    Page::new(PageDraft {
        url: url.to_owned(),
        title: "A page".to_owned(),
        blocks: vec![Block { kind: BlockKind::Prose, text: text.to_owned(), page: None, level: 0 }],
        ..PageDraft::default()
    })
}

struct Unranked;

#[async_trait]
impl Ranker for Unranked {
    fn name(&self) -> &str {
        "none"
    }

    async fn rank(&self, _: &str, texts: &[&str]) -> Result<Vec<f32>> {
        Ok(vec![0.0; texts.len()])
    }
}

/// Searches and reads in waves, several calls at a time, and reports one claim a page.
pub(crate) async fn research(
    world: &Providers,
    log: &EventLog,
    run: &RunId,
    question: &Question,
) -> Result<Report> {
    let mut evidence: Vec<Evidence> = Vec::new();
    let mut sources: Vec<Source> = Vec::new();
    let mut failed = Vec::new();
    let mut usage = Usage::default();
    let mut stop = StopReason::CoverageReached;
    for round in 1..=WAVES {
        log.set_phase(Phase::Research, Some(round));
        if let CheckpointDecision::Finish(reason) =
            world.steering.checkpoint(&format!("wave-{round}")).await?
        {
            stop = reason;
            break;
        }
        let queries: Vec<Query> =
            (1..=QUERIES).map(|n| query(&format!("{} {round} {n}", question.text))).collect();
        for query in &queries {
            log.emit(Event::SearchStarted {
                engine: "shelf".to_owned(),
                query: query.text().to_owned(),
                vertical: query.vertical(),
                item: query.item,
                variation: query.variation,
                origin: query.origins().to_vec(),
            });
        }
        let found = join_all(queries.iter().map(|it| world.search[0].search(it))).await;
        let mut hits = Vec::new();
        for (query, answer) in queries.iter().zip(found) {
            usage.searches += 1;
            log.emit(searched(query, &answer));
            match answer {
                Ok(it) => hits.extend(it.hits),
                Err(fault) => failed.push((query.text().to_owned(), fault.chain())),
            }
        }
        let pages = join_all(hits.iter().map(|it| world.readers[0].read(it))).await;
        for (hit, page) in hits.iter().zip(pages) {
            usage.pages += 1;
            let page = match page {
                Ok(page) => page,
                Err(fault) => {
                    failed.push((hit.url.clone(), fault.chain()));
                    continue;
                }
            };
            let id = SourceId::new(sources.len() as u32 + 1);
            let source = Source::from_page(id, SourceKind::Local, &page, None);
            let found = Evidence {
                id: EvidenceId::new(evidence.len() as u32 + 1),
                items: vec![ItemId::new(1)],
                source: id,
                passage: page.passage(0, 0).unwrap(),
                table_header: None,
                heading: None,
                claim: page.sentence(0).to_owned(),
                stance: Stance::For,
                score: hit.score,
                confidence: 0.5,
                contradiction_or_uncertainty: false,
                round,
            };
            log.emit(Event::EvidenceAdded { evidence: found.clone() });
            sources.push(source);
            evidence.push(found);
        }
        log.emit(Event::BudgetUpdated { usage });
    }
    let mut report = report(run, question, &evidence, sources, stop);
    report.method.pages_failed = failed;
    report.usage = usage;
    log.emit(Event::ReportReady { report: Box::new(report.clone()) });
    Ok(report)
}

pub(crate) fn query(text: &str) -> Query {
    Query::local(text, ItemId::new(1), Variation::Original, 4)
}

fn searched(query: &Query, answer: &Result<Hits>) -> Event {
    Event::SearchCompleted {
        engine: "shelf".to_owned(),
        query: query.text().to_owned(),
        item: query.item,
        hits: answer.as_ref().map_or(0, |it| it.hits.len() as u32),
        new: 0,
        ms: 0,
        cost_usd: 0.0,
        outcome: match answer {
            Ok(_) => SearchOutcome::Ok,
            Err(_) => SearchOutcome::Error,
        },
        error: answer.as_ref().err().map(Error::chain),
        reason: None,
        status: None,
    }
}

fn report(
    run: &RunId,
    question: &Question,
    evidence: &[Evidence],
    sources: Vec<Source>,
    stop: StopReason,
) -> Report {
    let claim = |(n, it): (usize, &Evidence)| {
        let citation = Citation { n: n as u32 + 1, evidence: it.id, passage: it.passage.clone() };
        Claim::new(ClaimId::new(n as u32 + 1), it.claim.clone(), vec![citation]).unwrap()
    };
    Report {
        run: run.clone(),
        question: question.text.clone(),
        mode: OutputMode::Report,
        date: question.asked_on.clone(),
        depth: "standard".to_owned(),
        title: question.text.clone(),
        lang: "en".to_owned(),
        short: evidence.iter().enumerate().map(claim).collect(),
        verdict: None,
        nearest_only: false,
        short_converted: Vec::new(),
        short_is_list: false,
        short_is_steps: false,
        confidence: ConfidenceMark { level: Confidence::Low, why: Vec::new() },
        introduction: Vec::new(),
        conclusion: Vec::new(),
        answer: None,
        comparison: None,
        chart: None,
        findings: Vec::new(),
        sections: Vec::new(),
        conflicts: Vec::new(),
        results: Vec::new(),
        unlisted: false,
        open: Vec::new(),
        method: MethodNote {
            engines: vec!["shelf".to_owned()],
            queries: Vec::new(),
            rounds: WAVES,
            pages_read: sources.len() as u32,
            pages_known: 0,
            pages_failed: Vec::new(),
            followed: None,
            clarified: Vec::new(),
            models: Vec::new(),
            unaided_because: Vec::new(),
            strategy: None,
            unaided: Vec::new(),
            stop,
            gate: GateVerdict {
                pass: true,
                reason: None,
                evidence_records: evidence.len() as u32,
                cited_records: evidence.len() as u32,
                source_domains: 1,
                gate: EvidenceGate::from_settings(&question.method),
                lowered: false,
            },
        },
        sources,
        coverage: Vec::new(),
        checks: ReportChecks::default(),
        usage: Usage::default(),
    }
}

pub(crate) fn question(text: &str) -> Question {
    Question::new(text, "2026-11-21", method())
}

fn method() -> ResearchSettings {
    ResearchSettings {
        max_iterations: 5,
        max_initial_search_tasks: 5,
        top_m_full_text_sources: 5,
        next_k_chunked_sources: 5,
        top_n_chunks_per_source: 5,
        completeness_threshold: 0.8,
        ..crate::memory::method()
    }
}

pub(crate) fn settings(data_dir: &Path) -> Settings {
    Settings {
        mcp_sources: Vec::new(),
        engines: Vec::new(),
        model_table: Default::default(),
        contact: String::new(),
        models_by_key: None,
        judging: Default::default(),
        telemetry: Default::default(),
        mcp: McpConfig { agentic_search: true, ..McpConfig::default() },
        serve: Default::default(),
        fleet: Default::default(),
        endpoints: Default::default(),
        data_dir: data_dir.to_owned(),
        store_url: None,
        store_pooler_url: None,
        pages_url: String::new(),
        retention_days: None,
        cache_dir: data_dir.join("cache"),
        models_dir: Default::default(),
        folders: Vec::new(),
        allow_net: Vec::new(),
        web: Default::default(),
        globs: Vec::new(),
        method: method(),
        budget: Budget::default(),
        max_document_bytes: 1 << 20,
        pdf_seconds: 10,
        pdf_memory_bytes: 1 << 28,
        concurrency: 8,
        model_concurrency: 8,
        model_tokens_per_minute: None,
        models: Default::default(),
        embedding: Default::default(),
        rerank: Default::default(),
        vectors: Default::default(),
        model_window: 16_384,
        price: String::new(),
        variables: Default::default(),
        search_path: std::env::var_os("PATH").unwrap_or_default(),
    }
}

/// Parts around `shelf` with a frozen clock and seeded chance.
pub(crate) fn parts(shelf: &Arc<FakePages>) -> AppComponents {
    let shelf = Arc::clone(shelf);
    AppComponents {
        fleet: None,
        clock: Arc::new(FrozenClock::at(1_790_000_000_000)),
        chance: Arc::new(SeededRng::new(7)),
        models: Arc::default(),
        rates: Arc::default(),
        open: Arc::new(move |_, _, _| {
            let shelf = Arc::clone(&shelf);
            Box::pin(async move {
                Ok(RunProviders {
                    egress: Default::default(),
                    models: Default::default(),
                    prior_spend: None,
                    search: vec![Arc::clone(&shelf) as _],
                    readers: vec![shelf as _],
                    ranker: Arc::new(Unranked),
                    prepare: None,
                    background: None,
                })
            })
        }),
        research: Arc::new(|world, log, run, question| {
            Box::pin(research(world, log, run, question))
        }),
        plan: Arc::new(|_| Err(Error::new(ErrorKind::Internal, "no plan here"))),
    }
}

/// The same on the PostgreSQL behind `url`.
pub(crate) fn app_on(data_dir: &Path, shelf: &Arc<FakePages>, url: &str) -> App {
    let settings = Settings { store_url: Some(SecretString::new(url)), ..settings(data_dir) };
    App::with_components(settings, parts(shelf))
}

pub(crate) fn app(data_dir: &Path, shelf: &Arc<FakePages>) -> App {
    App::with_components(settings(data_dir), parts(shelf))
}
