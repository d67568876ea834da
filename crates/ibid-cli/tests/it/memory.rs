//! A world in memory: pages in a list, search by shared words, a store that only keeps events.
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ibid_core::domain::words::content_stems;
use ibid_core::domain::{
    Block, BlockKind, Effort, Hit, Hits, Owner, Page, PageDraft, PageHash, Query, Question, Report,
    ResearchSettings, RunId, SupervisorSettings, Traffic, Untrusted, Vertical, Work,
};
use ibid_core::ports::{
    CheckpointDecision, EndedRerun, EventLog, FrozenClock, JournalCall, JournalCallState,
    PageReader, Providers, Ranker, RunCommand, RunRow, Schedule, Schedules, SearchProvider,
    StartedRerun, Steering, Store, ToolTraces, TraceFilter,
};
use ibid_core::record::{Envelope, Event, ToolTrace, TraceSummary};
use ibid_core::{Error, ErrorKind, Result};

/// Documents, searched by BM25 over stems.
pub(crate) struct Pages {
    pages: Vec<Page>,
    postings: BTreeMap<String, Vec<(u32, f32)>>,
    lengths: Vec<f32>,
}

impl Pages {
    pub(crate) fn new(pages: Vec<Page>) -> Pages {
        let mut postings: BTreeMap<String, Vec<(u32, f32)>> = BTreeMap::new();
        let mut lengths = Vec::new();
        for (nth, page) in pages.iter().enumerate() {
            let mut counts: BTreeMap<String, f32> = BTreeMap::new();
            let stems = content_stems(&format!("{} {}", page.title, page.text().expose()));
            lengths.push(stems.len() as f32);
            for stem in stems {
                *counts.entry(stem).or_default() += 1.0;
            }
            for (stem, tf) in counts {
                postings.entry(stem).or_default().push((nth as u32, tf));
            }
        }
        Pages { pages, postings, lengths }
    }
}

#[async_trait]
impl SearchProvider for Pages {
    fn name(&self) -> &str {
        "local"
    }
    async fn search(&self, query: &Query) -> Result<Hits> {
        let n = self.pages.len() as f32;
        let average = self.lengths.iter().sum::<f32>() / n.max(1.0);
        let mut scores: BTreeMap<u32, f32> = BTreeMap::new();
        let mut stems = content_stems(query.text());
        stems.sort();
        stems.dedup();
        for stem in stems {
            let Some(list) = self.postings.get(&stem) else {
                continue;
            };
            let df = list.len() as f32;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            for (doc, tf) in list {
                let norm = tf + 1.2 * (0.25 + 0.75 * self.lengths[*doc as usize] / average);
                *scores.entry(*doc).or_default() += idf * tf * 2.2 / norm;
            }
        }
        let mut ranked: Vec<(u32, f32)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(ranked
            .into_iter()
            .take(query.limit as usize)
            .enumerate()
            .map(|(rank, (doc, score))| {
                let page = &self.pages[doc as usize];
                Hit {
                    url: page.url.clone(),
                    file: None,
                    doc_id: page.doc_id.clone(),
                    title: page.title.clone(),
                    snippet: Untrusted::new(
                        page.text().expose().chars().take(300).collect::<String>(),
                    ),
                    rank: rank as u32 + 1,
                    score,
                    provider: "local".to_owned(),
                    vertical: Vertical::Local,
                    date: page.date.clone(),
                    work: Work::default(),
                    text: None,
                }
            })
            .collect::<Vec<Hit>>()
            .into())
    }
}

#[async_trait]
impl PageReader for Pages {
    fn name(&self) -> &str {
        "memory"
    }
    fn can_read(&self, _hit: &Hit) -> bool {
        true
    }
    async fn read(&self, hit: &Hit) -> Result<Page> {
        self.pages
            .iter()
            .find(|it| it.key() == hit.key())
            .cloned()
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("reading {}", hit.url)))
    }
}

/// Share of the query's words in each text.
pub(crate) struct Overlap;

#[async_trait]
impl Ranker for Overlap {
    fn name(&self) -> &str {
        "overlap"
    }
    async fn rank(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        let wanted = content_stems(query);
        Ok(texts
            .iter()
            .map(|it| {
                let there = content_stems(it);
                wanted.iter().filter(|it| there.contains(it)).count() as f32
                    / wanted.len().max(1) as f32
            })
            .collect())
    }
}

pub(crate) struct Onward;

#[async_trait]
impl Steering for Onward {
    async fn checkpoint(&self, _at: &str) -> Result<CheckpointDecision> {
        Ok(CheckpointDecision::Continue)
    }
}

/// Keeps events, nothing else.
#[derive(Default)]
pub(crate) struct Events(pub(crate) Mutex<Vec<Envelope>>);

#[async_trait]
impl Store for Events {
    async fn append(&self, _run: &RunId, events: &[Envelope]) -> Result<()> {
        self.0.lock().unwrap().extend_from_slice(events);
        Ok(())
    }
    async fn events(&self, _run: &RunId, after: u64) -> Result<Vec<Envelope>> {
        Ok(self.0.lock().unwrap().iter().filter(|it| it.seq > after).cloned().collect())
    }
    async fn run_row(&self, run: &RunId) -> Result<RunRow> {
        Err(Error::new(ErrorKind::NotFound, format!("no run {run}")))
    }
    async fn runs(&self) -> Result<Vec<RunRow>> {
        Ok(Vec::new())
    }
    async fn latest_runs(&self, _most: u32) -> Result<Vec<RunRow>> {
        Ok(Vec::new())
    }
    async fn remove_run(&self, _run: &RunId) -> Result<()> {
        Ok(())
    }
    async fn add_traffic(&self, _: &RunId, _: &BTreeMap<String, Traffic>) -> Result<()> {
        Ok(())
    }
    async fn traffic(&self, _: &RunId) -> Result<BTreeMap<String, Traffic>> {
        Ok(BTreeMap::new())
    }
    async fn begin_call(&self, _run: &RunId, _step: &JournalCall) -> Result<()> {
        Ok(())
    }
    async fn finish_call(&self, _run: &RunId, _key: &str, _state: &JournalCallState) -> Result<()> {
        Ok(())
    }
    async fn finish_call_with_page(
        &self,
        _run: &RunId,
        _key: &str,
        _state: &JournalCallState,
        _page: &Page,
    ) -> Result<()> {
        Ok(())
    }
    async fn steps(&self, _run: &RunId) -> Result<Vec<JournalCall>> {
        Ok(Vec::new())
    }
    async fn save_page(&self, _run: &RunId, _page: &Page) -> Result<()> {
        Ok(())
    }
    async fn page(&self, _hash: &PageHash) -> Result<Option<Page>> {
        Ok(None)
    }
    async fn charge(&self, _: &RunId, _: Option<f64>) -> Result<()> {
        Ok(())
    }

    async fn send_command(&self, _run: &RunId, _order: RunCommand) -> Result<()> {
        Ok(())
    }
    async fn commands(&self, _run: &RunId) -> Result<Vec<RunCommand>> {
        Ok(Vec::new())
    }
    async fn run_pages(&self, _run: &RunId) -> Result<Vec<PageHash>> {
        Ok(Vec::new())
    }
    async fn page_urls(&self) -> Result<Vec<(PageHash, String)>> {
        Ok(Vec::new())
    }
    async fn drain(&self) -> Result<()> {
        Ok(())
    }
    async fn check_integrity(&self) -> Result<()> {
        Ok(())
    }
    fn location(&self) -> String {
        "memory".to_owned()
    }
    fn for_owner(&self, _: &Owner) -> Arc<dyn Store> {
        let events = self.0.lock().unwrap().clone();
        Arc::new(Events(Mutex::new(events)))
    }
}

#[async_trait]
impl ToolTraces for Events {
    async fn create_trace(&self, _: &ToolTrace) -> Result<()> {
        Ok(())
    }
    async fn write_trace(&self, _: &ToolTrace) -> Result<()> {
        Ok(())
    }
    async fn trace(&self, id: &str) -> Result<ToolTrace> {
        Err(Error::new(ErrorKind::NotFound, id))
    }
    async fn traces(&self, _: &TraceFilter) -> Result<Vec<TraceSummary>> {
        Ok(Vec::new())
    }
    async fn remove_traces_ended_before(&self, _: &str) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl Schedules for Events {
    async fn add_schedule(&self, _: &Schedule) -> Result<()> {
        Ok(())
    }
    async fn schedule(&self, _: &str) -> Result<Option<Schedule>> {
        Ok(None)
    }
    async fn schedules(&self) -> Result<Vec<Schedule>> {
        Ok(Vec::new())
    }
    async fn remove_schedule(&self, _: &str) -> Result<bool> {
        Ok(false)
    }
    async fn set_schedule_paused(&self, _: &str, _: bool) -> Result<bool> {
        Ok(false)
    }
    async fn set_schedule_time(&self, _: &str, _: &str) -> Result<bool> {
        Ok(false)
    }
    async fn pending_schedules(&self, _: &str) -> Result<Vec<Schedule>> {
        Ok(Vec::new())
    }
    async fn record_rerun_start(&self, _: &StartedRerun) -> Result<bool> {
        Ok(false)
    }
    async fn postpone_rerun(&self, _: &str, _: u64, _: &str, _: &str) -> Result<bool> {
        Ok(false)
    }
    async fn claim_delivery(&self, _: &str, _: u64, _: &str, _: &str) -> Result<bool> {
        Ok(false)
    }
    async fn record_delivery(&self, _: &EndedRerun, _: Option<&str>) -> Result<()> {
        Ok(())
    }
    async fn ended_reruns(&self, _: &str, _: u32) -> Result<Vec<EndedRerun>> {
        Ok(Vec::new())
    }
}

pub(crate) fn world(pages: Arc<Pages>) -> Providers {
    Providers {
        models: Default::default(),
        unreadable: Vec::new(),
        known: Vec::new(),
        search: vec![pages.clone()],
        readers: vec![pages],
        ranker: Arc::new(Overlap),
        steering: Arc::new(Onward),
        clock: Arc::new(FrozenClock::at(0)),
    }
}

pub(crate) fn run_id() -> RunId {
    RunId::new(1, 1)
}

pub(crate) fn log(store: Arc<Events>) -> EventLog {
    EventLog::resume(run_id(), store, Arc::new(FrozenClock::at(0)), &[])
}

pub(crate) fn question(text: &str) -> Question {
    Question::new(text, "2026-01-15", method())
}

/// The numbers of a small run.
pub(crate) fn method() -> ResearchSettings {
    ResearchSettings {
        effort: Effort::Standard,
        breadth: 4,
        depth: 2,
        max_iterations: 10,
        results_per_query: 5,
        max_initial_search_tasks: 3,
        top_m_full_text_sources: 3,
        next_k_chunked_sources: 4,
        top_n_chunks_per_source: 15,
        max_refinement_iterations: 2,
        drafts: 1,
        critique_rounds: 0,
        final_report_max_length: 0,
        summary_tokens: 500,
        max_sources: 20,
        min_evidence_records: 5,
        min_cited_records: 5,
        min_source_domains: 3,
        completeness_threshold: 0.7,
        trust_threshold: 1.0,
        team: SupervisorSettings::default(),
        strategy: None,
        urls_per_query: 5,
    }
}

fn blocks(text: &str) -> Vec<Block> {
    text.lines()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(|line| match (line.strip_prefix("# "), line.strip_prefix("- ")) {
            (Some(heading), _) => Block::new(BlockKind::Heading, heading),
            (_, Some(item)) => Block::new(BlockKind::ListItem, item),
            _ => Block::new(BlockKind::Prose, line),
        })
        .collect()
}

/// A page of prose paragraphs; a line that begins with `# ` is a heading.
pub(crate) fn page(url: &str, title: &str, date: Option<&str>, text: &str) -> Page {
    let blocks = blocks(text);
    Page::new(PageDraft {
        url: url.to_owned(),
        title: title.to_owned(),
        date: date.map(str::to_owned),
        lang: Some("en".to_owned()),
        blocks,
        ..PageDraft::default()
    })
}

/// Researches in `world`: the report, and everything that was told.
pub(crate) async fn researched(
    world: &Providers,
    asked: &Question,
) -> (Result<Report>, Vec<Event>) {
    let events = Arc::new(Events::default());
    let report = ibid_research::research(world, &log(events.clone()), &run_id(), asked).await;
    let told = events.0.lock().unwrap();
    let told = told.iter().map(|it| it.event.clone()).collect();
    (report, told)
}

/// A ZIP archive of these files.
pub(crate) fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
