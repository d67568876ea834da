//! A bounded pool of confined parser processes, shared fairly among owners.
//!
//! Each process has a worker thread. The thread starts the process when the first document comes, passes it one document at a
//! time, enforces the deadline, and ends the process when it has been idle for a while or another owner needs the slot. A
//! process never parses for two owners, so a document that exploits a parser can reach only documents of the same owner.
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::child::find_program;
use crate::format::{self, Format};
use crate::ipc::{ParseReply, ParseRequest};
use crate::parse_error::ParseError;
use crate::parsed_document::{DocumentOrigin, ParsedDocument};
use crate::process::{ChildLimits, JobControl, ParserProcess, SLOW_DOCUMENT, start_error};
use crate::sandbox::{Confinement, SandboxEscapes};
use crate::{parse, pdf_tables, poppler};
use ibid_core::ReadFailure;

/// How long an idle process is kept.
const MAX_IDLE: Duration = Duration::from_secs(10);
/// Documents of one owner that may wait: more than all runs of one owner can have in flight.
const MAX_WAITING: usize = 4_096;
/// How often a blocking call checks whether it was stopped.
const STOP_CHECK: Duration = Duration::from_millis(50);
/// Documents that are parsed at once for one owner: one per core, within these bounds.
const MIN_CONCURRENCY: usize = 3;
const MAX_CONCURRENCY: usize = 8;

/// Parses documents in child processes on behalf of one owner. Cloning is cheap; all clones share the same processes.
///
/// The child is a program that calls `ibid::app::run_confined_parser` first in its `main`, as `ibid` does. A program that embeds this
/// library and does not do so has no parser: it parses HTML, Markdown, JSON and text itself, on separate threads, and does
/// not read PDF, DOCX and EPUB files.
#[derive(Debug, Clone)]
pub struct Parser {
    pool: Arc<ParsePool>,
    owner: Arc<str>,
}

/// The processes, and the documents that wait for them.
#[derive(Debug)]
struct ParsePool {
    program: PathBuf,
    /// Documents that are parsed at once for one owner.
    max_per_owner: usize,
    /// Documents that are parsed at once in all.
    max_total: usize,
    state: Mutex<PoolState>,
}

#[derive(Debug, Default)]
struct PoolState {
    /// The worker threads by number.
    workers: BTreeMap<u64, Sender<Job>>,
    /// The workers without a job and the owner of each one's process; the one that worked last is at the end.
    idle: Vec<(u64, Arc<str>)>,
    /// Documents being parsed, by owner.
    busy: BTreeMap<Arc<str>, usize>,
    /// Documents that wait, by owner.
    waiting: BTreeMap<Arc<str>, VecDeque<Job>>,
    /// The owners of waiting documents; the next in turn comes first.
    turns: VecDeque<Arc<str>>,
    /// The number of the worker started last.
    last_worker: u64,
}

/// One document to parse.
struct Job {
    owner: Arc<str>,
    kind: JobKind,
    limits: ChildLimits,
    control: Arc<JobControl>,
}

enum JobKind {
    Parse {
        bytes: Vec<u8>,
        origin: DocumentOrigin,
        reply: Box<dyn FnOnce(Result<ParsedDocument, ParseError>) + Send>,
    },
    Probe(Sender<Result<(Confinement, SandboxEscapes), ParseError>>),
    /// Start the process: a document is being fetched.
    WarmUp,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "Job of {:?}", self.owner)
    }
}

/// Cancels a job when it is dropped.
struct CancelOnDrop {
    pool: Arc<ParsePool>,
    control: Arc<JobControl>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.control.cancel();
        let mut state = self.pool.state();
        for jobs in state.waiting.values_mut() {
            jobs.retain(|job| !job.control.is_cancelled());
        }
    }
}

/// The parser of this process, if its program can be started as the child.
static CURRENT: OnceLock<Parser> = OnceLock::new();

impl Parser {
    /// A parser that starts the program at `path` as the child. The program must call `ibid::app::run_confined_parser` first in its
    /// `main`.
    pub fn from_program(path: impl Into<PathBuf>) -> Parser {
        let cores = available_parallelism().map_or(1, usize::from);
        Parser::with_concurrency(path, cores.clamp(MIN_CONCURRENCY, MAX_CONCURRENCY))
    }

    /// Like [`Parser::from_program`], but parses `max_per_owner` documents of one owner at once, and twice as many in all.
    pub fn with_concurrency(path: impl Into<PathBuf>, max_per_owner: usize) -> Parser {
        let path = path.into();
        let max_per_owner = max_per_owner.max(1);
        Parser {
            owner: Arc::from(""),
            pool: Arc::new(ParsePool {
                program: std::path::absolute(&path).unwrap_or(path),
                max_per_owner,
                max_total: 2 * max_per_owner,
                state: Mutex::default(),
            }),
        }
    }

    /// Registers the program of this process as one that can be started as the child. [`Parser::current`] uses it.
    pub fn register_current() {
        // This is the running program, even if its file has been replaced since it was started.
        let own = PathBuf::from("/proc/self/exe");
        let program = if own.exists() { own } else { std::env::current_exe().unwrap_or_default() };
        CURRENT.get_or_init(|| Parser::from_program(program));
    }

    /// The parser of this process; `None` if its program is not registered.
    pub fn current() -> Option<Parser> {
        CURRENT.get().cloned()
    }

    /// A parser for `owner` that shares these processes.
    #[must_use]
    pub fn for_owner(&self, owner: &str) -> Parser {
        Parser { pool: Arc::clone(&self.pool), owner: Arc::from(owner) }
    }

    /// Starts a process for this owner if there is none.
    pub(crate) fn warm_up(&self, limits: &ChildLimits) {
        let mut state = self.pool.state();
        let has_none = !state.busy.contains_key(&self.owner)
            && !state.waiting.contains_key(&self.owner)
            && !state.idle.iter().any(|pair| pair.1 == self.owner);
        if has_none && state.workers.len() < self.pool.max_total {
            let job = self.job(JobKind::WarmUp, limits.clone());
            self.pool.start_job(&mut state, job);
        }
    }

    /// Parses one document in a child. Dropping the future ends the child that works on it.
    pub(crate) async fn parse(
        &self,
        bytes: Vec<u8>,
        origin: DocumentOrigin,
        limits: ChildLimits,
    ) -> Result<ParsedDocument, ParseError> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let reply = Box::new(move |parsed| {
            let _ = sender.send(parsed);
        });
        let kind = JobKind::Parse { bytes, origin, reply };
        let _cancel = self.submit(kind, limits)?;
        receiver.await.unwrap_or_else(|_| Err(ParseError::parser_failed()))
    }

    /// Like [`Parser::parse`], but blocks the thread until the document is parsed or `stop` is set.
    pub(crate) fn parse_blocking(
        &self,
        bytes: Vec<u8>,
        origin: DocumentOrigin,
        limits: ChildLimits,
        stop: &AtomicBool,
    ) -> Result<ParsedDocument, ParseError> {
        let is_stopped = || stop.load(Ordering::Relaxed);
        if is_stopped() {
            return Err(cancelled_error());
        }
        let (sender, receiver) = sync_channel(1);
        let reply = Box::new(move |parsed| {
            let _ = sender.send(parsed);
        });
        let kind = JobKind::Parse { bytes, origin, reply };
        let _cancel = self.submit(kind, limits)?;
        loop {
            match receiver.recv_timeout(STOP_CHECK) {
                Ok(parsed) => return parsed,
                Err(RecvTimeoutError::Disconnected) => return Err(ParseError::parser_failed()),
                Err(RecvTimeoutError::Timeout) if is_stopped() => return Err(cancelled_error()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The sandbox in force in a child, and the escapes from it that succeeded.
    pub(crate) fn probe(
        &self,
        limits: ChildLimits,
    ) -> Result<(Confinement, SandboxEscapes), ParseError> {
        let (sender, receiver) = channel();
        let _cancel = self.submit(JobKind::Probe(sender), limits)?;
        receiver.recv().unwrap_or_else(|_| Err(ParseError::parser_failed()))
    }

    fn job(&self, kind: JobKind, limits: ChildLimits) -> Job {
        Job { owner: Arc::clone(&self.owner), kind, limits, control: Arc::default() }
    }

    fn submit(&self, kind: JobKind, limits: ChildLimits) -> Result<CancelOnDrop, ParseError> {
        let job = self.job(kind, limits);
        let control = Arc::clone(&job.control);
        let mut state = self.pool.state();
        let jobs = state.waiting.entry(Arc::clone(&self.owner)).or_default();
        if jobs.len() >= MAX_WAITING {
            let why = "too many documents are waiting to be parsed";
            return Err(ParseError::new(ReadFailure::Timeout, why));
        }
        jobs.push_back(job);
        if jobs.len() == 1 && !state.turns.contains(&self.owner) {
            state.turns.push_back(Arc::clone(&self.owner));
        }
        self.pool.dispatch(&mut state);
        drop(state);
        Ok(CancelOnDrop { pool: Arc::clone(&self.pool), control })
    }
}

fn cancelled_error() -> ParseError {
    ParseError::new(ReadFailure::Timeout, "parsing was cancelled")
}

impl ParsePool {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a document of `owner` may start: no owner takes more than its share, and the last slot is for an owner that
    /// has none.
    fn has_slot(&self, state: &PoolState, owner: &Arc<str>) -> bool {
        let own = state.busy.get(owner).copied().unwrap_or(0);
        let taken: usize = state.busy.values().sum();
        taken < self.max_total
            && own < self.max_per_owner
            && (own == 0 || taken + 1 < self.max_total)
    }

    /// Starts as many waiting documents as there are slots, one of each owner in turn.
    fn dispatch(self: &Arc<Self>, state: &mut PoolState) {
        // Owners in a row that could not start a document. When all could not, the round is over.
        let mut passed = 0;
        while passed < state.turns.len() {
            let Some(owner) = state.turns.pop_front() else {
                return;
            };
            let has_slot = self.has_slot(state, &owner);
            let Some(jobs) = state.waiting.get_mut(&owner) else {
                continue;
            };
            let job = if has_slot { jobs.pop_front() } else { None };
            let more = !jobs.is_empty();
            if more {
                state.turns.push_back(owner);
            } else {
                state.waiting.remove(&owner);
            }
            match job {
                Some(job) => {
                    self.start_job(state, job);
                    passed = 0;
                }
                None => passed += usize::from(more),
            }
        }
    }

    /// Gives a document to a worker: an idle one with a process of this owner, else a new one, else the one idle longest.
    fn start_job(self: &Arc<Self>, state: &mut PoolState, job: Job) {
        let own = state.idle.iter().rposition(|pair| pair.1 == job.owner);
        let found = match own {
            Some(at) => Some(state.idle.remove(at).0),
            None if state.workers.len() < self.max_total => self.spawn_worker(state),
            None if state.idle.is_empty() => None,
            None => Some(state.idle.remove(0).0),
        };
        let Some(number) = found else {
            // No thread could be started. Dropping the job closes the caller's channel, which reports the failure.
            return;
        };
        let owner = Arc::clone(&job.owner);
        if state.workers.get(&number).is_some_and(|worker| worker.send(job).is_ok()) {
            *state.busy.entry(owner).or_default() += 1;
        } else {
            state.workers.remove(&number);
        }
    }

    /// Starts a worker thread; `None` if that fails.
    fn spawn_worker(self: &Arc<Self>, state: &mut PoolState) -> Option<u64> {
        state.last_worker += 1;
        let (number, pool) = (state.last_worker, Arc::downgrade(self));
        let (sender, jobs) = channel();
        let thread = std::thread::Builder::new().name("parser".to_owned());
        thread.spawn(move || run_worker(number, &pool, &jobs)).ok()?;
        state.workers.insert(number, sender);
        Some(number)
    }

    /// Marks a worker as idle and starts the next documents.
    fn finish_job(self: &Arc<Self>, number: u64, owner: Arc<str>) {
        let mut state = self.state();
        if let Some(busy) = state.busy.get_mut(&owner) {
            *busy -= 1;
            if *busy == 0 {
                state.busy.remove(&owner);
            }
        }
        state.idle.push((number, owner));
        self.dispatch(&mut state);
    }

    /// Removes a worker that is idle. Returns false if it has been given a job in the meantime.
    fn retire_worker(&self, number: u64) -> bool {
        let mut state = self.state();
        let before = state.idle.len();
        state.idle.retain(|pair| pair.0 != number);
        let idle = state.idle.len() < before;
        if idle {
            state.workers.remove(&number);
        }
        idle
    }
}

/// A worker thread: runs jobs in one process until it has been idle for [`IDLE`].
fn run_worker(number: u64, pool: &Weak<ParsePool>, jobs: &Receiver<Job>) {
    let mut process = None;
    loop {
        let job = match jobs.recv_timeout(MAX_IDLE) {
            Ok(job) => job,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => match pool.upgrade() {
                Some(pool) if !pool.retire_worker(number) => continue,
                _ => return,
            },
        };
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let owner = Arc::clone(&job.owner);
        if !job.control.is_cancelled() {
            let work = AssertUnwindSafe(|| run_job(job, &pool.program, &mut process));
            // A panic drops the job, which closes the caller's channel and so reports the failure.
            if catch_unwind(work).is_err() {
                process = None;
            }
        }
        pool.finish_job(number, owner);
    }
}

fn run_job(job: Job, program: &Path, process: &mut Option<ParserProcess>) {
    let Job { owner, kind, limits, control } = job;
    let mut context = JobContext {
        program,
        process,
        owner: &owner,
        limits: &limits,
        control: &control,
        until: Instant::now() + Duration::from_secs(limits.seconds),
    };
    match kind {
        JobKind::WarmUp => drop(context.ready_process()),
        JobKind::Probe(sender) => {
            let reply = context.request(&ParseRequest::Probe, &[]);
            let _ = sender.send(match (reply, context.confinement()) {
                (Ok(ParseReply::Probed(escapes)), Some(confinement)) => Ok((confinement, escapes)),
                (Err(error), _) => Err(error),
                _ => Err(ParseError::parser_failed()),
            });
        }
        JobKind::Parse { bytes, origin, reply } => {
            let parsed = context.parse(&bytes, &origin);
            control.detach();
            reply(parsed);
        }
    }
}

/// A job and the process to run it in.
struct JobContext<'a> {
    program: &'a Path,
    process: &'a mut Option<ParserProcess>,
    owner: &'a Arc<str>,
    limits: &'a ChildLimits,
    control: &'a JobControl,
    until: Instant,
}

impl JobContext<'_> {
    fn parse(
        &mut self,
        bytes: &[u8],
        origin: &DocumentOrigin,
    ) -> Result<ParsedDocument, ParseError> {
        let format = format::detect(bytes, origin);
        let path = &self.limits.path;
        match format {
            Format::Unknown => Err(ParseError::unsupported_format()),
            Format::Pdf if find_program("pdftotext", path).is_some() => {
                let mut parsed = self.parse_by_poppler(bytes, origin)?;
                // If the other parser fails, the text stays as it is.
                if pdf_tables::may_have_table(&parsed)
                    && let Ok(with_tables) = self.parse_as(format, bytes, origin)
                {
                    pdf_tables::insert_tables(&mut parsed, &with_tables);
                }
                Ok(parsed)
            }
            format => self.parse_as(format, bytes, origin),
        }
    }

    /// Parses a PDF by the programs of poppler.
    fn parse_by_poppler(
        &mut self,
        bytes: &[u8],
        origin: &DocumentOrigin,
    ) -> Result<ParsedDocument, ParseError> {
        let (until, control) = (self.until, self.control);
        let output = poppler::read_pdf(self.program, bytes, self.limits, until, control)?;
        let request = ParseRequest::PdfText {
            name: origin.name().into_owned(),
            text: output.text.len(),
            dictionary: output.dictionary.len(),
            cut: output.cut,
        };
        parsed_document(
            self.request(&request, &[&output.text, &output.dictionary, &output.packet])?,
        )
    }

    /// Parses a document by the parser of this program for its format.
    fn parse_as(
        &mut self,
        format: Format,
        bytes: &[u8],
        origin: &DocumentOrigin,
    ) -> Result<ParsedDocument, ParseError> {
        let request = ParseRequest::Parse {
            format,
            name: origin.name().into_owned(),
            content_type: origin.content_type().map(str::to_owned),
        };
        parsed_document(self.request(&request, &[bytes])?)
    }

    /// The worker's process if it can serve this job, else a new one.
    fn ready_process(&mut self) -> Result<&mut ParserProcess, ParseError> {
        let fits = |process: &ParserProcess| process.can_serve(self.owner, self.limits);
        if !self.process.as_ref().is_some_and(fits) {
            // The old process is ended before the new one starts: their number is bounded.
            *self.process = None;
        }
        match &mut *self.process {
            Some(process) => Ok(process),
            none => {
                let started = ParserProcess::start(self.program, self.owner, self.limits);
                Ok(none.insert(started.map_err(|error| start_error(&error))?))
            }
        }
    }

    /// Sends a request to the process, and once more to a new process if the first was killed from outside.
    fn request(
        &mut self,
        request: &ParseRequest,
        bytes: &[&[u8]],
    ) -> Result<ParseReply, ParseError> {
        let (until, control) = (self.until, self.control);
        let mut first = true;
        loop {
            let started = Instant::now();
            let process = self.ready_process()?;
            control.attach(&process.handle());
            let result = process.request(request, bytes, until);
            control.detach();
            // A process that had worked for long may have been killed by its time limit, and would be again.
            let killed = matches!(&result, Err(failure) if failure.is_kill());
            let again =
                first && killed && started.elapsed() < SLOW_DOCUMENT && !control.is_cancelled();
            if !again {
                return result.map_err(|failure| failure.to_parse_error(self.limits));
            }
            first = false;
        }
    }

    fn confinement(&self) -> Option<Confinement> {
        self.process.as_ref().and_then(ParserProcess::confinement)
    }
}

/// The document of a reply, if it is one that a parser can return.
fn parsed_document(reply: ParseReply) -> Result<ParsedDocument, ParseError> {
    match reply {
        ParseReply::Parsed(parsed) => parse::validate_reply(parsed),
        ParseReply::Ready(_) | ParseReply::Probed(_) => Err(ParseError::parser_failed()),
    }
}
