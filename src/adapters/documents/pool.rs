//! Who parses for whom: a bounded number of confined processes, shared fairly among owners.
//!
//! Each process has a thread that keeps it: it starts the process when the first document comes, hands over one document at a
//! time, holds it to its deadline, and ends it when nothing has come for a while or another owner needs the place. A process
//! never parses for two owners, so that a document that takes one over meets only documents of the same owner.
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use super::child::program;
use super::process::{JobControl, ParserProcess, SLOW, unstarted};
use super::sandbox::{Confinement, Escapes};
use super::wire::{ParseReply, ParseRequest};
use super::{Format, Limits, Origin, ParsedDocument, Trouble, format, parse, programs};
use crate::record::FailReason;

/// How long a process waits for a next document before it is ended.
const IDLE: Duration = Duration::from_secs(10);
/// Documents of one owner that may wait: more than all runs of one owner can have on their way.
const WAITING: usize = 4_096;
/// How often who waits on a thread looks whether it is still to wait.
const LOOK: Duration = Duration::from_millis(50);

/// Who has documents parsed, and for which owner. Cloning it is cheap; all clones share the same processes.
///
/// Parsing takes a child process of a program that calls [`crate::app::confined`] first of all in its `main`, as `ibid` does.
/// A program that embeds this library and does not has no parser: HTML, Markdown, JSON and text are then parsed in the program
/// itself, on a thread beside what waits for the network, and PDFs, Word documents and books are not read.
#[derive(Debug, Clone)]
pub struct Parser {
    pool: Arc<ParsePool>,
    owner: Arc<str>,
}

/// Processes that parse, and the documents that wait for them.
#[derive(Debug)]
struct ParsePool {
    program: PathBuf,
    /// Documents that are parsed at once for one owner, and for all.
    each: usize,
    all: usize,
    state: Mutex<PoolState>,
}

#[derive(Debug, Default)]
struct PoolState {
    /// Threads with a process, by number.
    keepers: BTreeMap<u64, Sender<Job>>,
    /// Those without work, the one that worked last at the end, and whose process each has.
    idle: Vec<(u64, Arc<str>)>,
    /// Documents being parsed, by owner.
    busy: BTreeMap<Arc<str>, usize>,
    /// Documents that wait, by owner.
    waiting: BTreeMap<Arc<str>, VecDeque<Job>>,
    /// Owners of what waits, whose turn is next first.
    turns: VecDeque<Arc<str>>,
    begun: u64,
}

/// One document on its way.
struct Job {
    owner: Arc<str>,
    kind: JobKind,
    limits: Limits,
    control: Arc<JobControl>,
}

enum JobKind {
    Parse {
        bytes: Vec<u8>,
        origin: Origin,
        tell: Box<dyn FnOnce(Result<ParsedDocument, Trouble>) + Send>,
    },
    Probe(Sender<Result<(Confinement, Escapes), Trouble>>),
    /// Start the process: a document is being fetched.
    Warm,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "Job of {:?}", self.owner)
    }
}

/// Cancels a job when it is dropped.
struct Waiter {
    pool: Arc<ParsePool>,
    control: Arc<JobControl>,
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.control.cancel();
        let mut state = self.pool.state();
        for jobs in state.waiting.values_mut() {
            jobs.retain(|it| !it.control.is_cancelled());
        }
    }
}

/// The parser of this process, where its program can be started as a child.
static OF_THIS_PROCESS: OnceLock<Parser> = OnceLock::new();

impl Parser {
    /// Has the program at `path` started as the child: one that calls [`crate::app::confined`] first of all in its `main`.
    pub fn of_program(path: impl Into<PathBuf>) -> Parser {
        let cores = available_parallelism().map_or(1, usize::from);
        Parser::with_places(path, cores.clamp(3, 8))
    }

    /// The same that parses `each` documents of one owner at once, and twice as many in all.
    pub fn with_places(path: impl Into<PathBuf>, each: usize) -> Parser {
        let path = path.into();
        let each = each.max(1);
        Parser {
            owner: Arc::from(""),
            pool: Arc::new(ParsePool {
                program: std::path::absolute(&path).unwrap_or(path),
                each,
                all: 2 * each,
                state: Mutex::default(),
            }),
        }
    }

    /// Says that this process is of a program that can be started as the child: its own parser from now on.
    pub(crate) fn declare() {
        // Also where the file of the program has been replaced since it was started, this is the same program.
        let own = PathBuf::from("/proc/self/exe");
        let program = match own.exists() {
            true => own,
            false => std::env::current_exe().unwrap_or_default(),
        };
        OF_THIS_PROCESS.get_or_init(|| Parser::of_program(program));
    }

    /// The parser of this process; `None` where its program did not say that it can be the child.
    pub fn of_this_process() -> Option<Parser> {
        OF_THIS_PROCESS.get().cloned()
    }

    /// The same processes for `owner`, who has a share of them.
    #[must_use]
    pub fn for_owner(&self, owner: &str) -> Parser {
        Parser {
            pool: Arc::clone(&self.pool),
            owner: Arc::from(owner),
        }
    }

    /// Starts a process for this owner, where there is none: a document is on its way.
    pub(super) fn warm(&self, limits: &Limits) {
        let mut state = self.pool.state();
        let none = !state.busy.contains_key(&self.owner)
            && !state.waiting.contains_key(&self.owner)
            && !state.idle.iter().any(|it| it.1 == self.owner);
        if none && state.keepers.len() < self.pool.all {
            let job = self.job(JobKind::Warm, limits);
            self.pool.begin(&mut state, job);
        }
    }

    /// Parses one document in a child. Dropped, it ends the child that works on it.
    pub(super) async fn parse(
        &self,
        bytes: Vec<u8>,
        origin: Origin,
        limits: &Limits,
    ) -> Result<ParsedDocument, Trouble> {
        let (tell, told) = tokio::sync::oneshot::channel();
        let tell = Box::new(move |it| {
            let _ = tell.send(it);
        });
        let _waiter = self.submit(
            JobKind::Parse {
                bytes,
                origin,
                tell,
            },
            limits,
        )?;
        told.await.unwrap_or_else(|_| Err(given_up()))
    }

    /// The same for who waits on a thread, until `stop` is set.
    pub(super) fn parse_blocking(
        &self,
        bytes: Vec<u8>,
        origin: Origin,
        limits: &Limits,
        stop: &AtomicBool,
    ) -> Result<ParsedDocument, Trouble> {
        let is_stopped = || stop.load(Ordering::Relaxed);
        if is_stopped() {
            return Err(stopped());
        }
        let (tell, told) = sync_channel(1);
        let tell = Box::new(move |it| {
            let _ = tell.send(it);
        });
        let _waiter = self.submit(
            JobKind::Parse {
                bytes,
                origin,
                tell,
            },
            limits,
        )?;
        loop {
            match told.recv_timeout(LOOK) {
                Ok(parsed) => return parsed,
                Err(RecvTimeoutError::Disconnected) => return Err(given_up()),
                Err(RecvTimeoutError::Timeout) if is_stopped() => return Err(stopped()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// What a child has taken from itself, and what it could do all the same when it tried.
    pub(super) fn probe(&self, limits: &Limits) -> Result<(Confinement, Escapes), Trouble> {
        let (tell, told) = channel();
        let _waiter = self.submit(JobKind::Probe(tell), limits)?;
        told.recv().unwrap_or_else(|_| Err(given_up()))
    }

    fn job(&self, kind: JobKind, limits: &Limits) -> Job {
        Job {
            owner: Arc::clone(&self.owner),
            kind,
            limits: Limits {
                parser: None,
                ..limits.clone()
            },
            control: Arc::default(),
        }
    }

    fn submit(&self, kind: JobKind, limits: &Limits) -> Result<Waiter, Trouble> {
        let job = self.job(kind, limits);
        let control = Arc::clone(&job.control);
        let mut state = self.pool.state();
        let jobs = state.waiting.entry(Arc::clone(&self.owner)).or_default();
        if jobs.len() >= WAITING {
            let why = "too many documents wait to be read";
            return Err(Trouble::new(FailReason::Timeout, why));
        }
        jobs.push_back(job);
        if jobs.len() == 1 && !state.turns.contains(&self.owner) {
            state.turns.push_back(Arc::clone(&self.owner));
        }
        self.pool.pump(&mut state);
        drop(state);
        Ok(Waiter {
            pool: Arc::clone(&self.pool),
            control,
        })
    }
}

fn given_up() -> Trouble {
    Trouble::new(FailReason::Broken, "its reader gave up")
}

fn stopped() -> Trouble {
    Trouble::new(FailReason::Timeout, "nobody waits for it any more")
}

impl ParsePool {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a document of `owner` may be begun: nobody has more than their share, and the last place is for who has none.
    fn has_place(&self, state: &PoolState, owner: &Arc<str>) -> bool {
        let own = state.busy.get(owner).copied().unwrap_or(0);
        let taken: usize = state.busy.values().sum();
        taken < self.all && own < self.each && (own == 0 || taken + 1 < self.all)
    }

    /// Begins what can be begun, one document of each owner after the other.
    fn pump(self: &Arc<Self>, state: &mut PoolState) {
        let mut passed = 0;
        while passed < state.turns.len() {
            let Some(owner) = state.turns.pop_front() else {
                return;
            };
            let place = self.has_place(state, &owner);
            let Some(jobs) = state.waiting.get_mut(&owner) else {
                continue;
            };
            let job = match place {
                true => jobs.pop_front(),
                false => None,
            };
            let more = !jobs.is_empty();
            match more {
                true => state.turns.push_back(owner),
                false => drop(state.waiting.remove(&owner)),
            }
            match job {
                Some(job) => {
                    self.begin(state, job);
                    passed = 0;
                }
                None => passed += usize::from(more),
            }
        }
    }

    /// Gives a document to a thread: one whose process is this owner's, else a new one, else the one that is idle longest.
    fn begin(self: &Arc<Self>, state: &mut PoolState, job: Job) {
        let own = state.idle.iter().rposition(|it| it.1 == job.owner);
        let found = match own {
            Some(at) => Some(state.idle.remove(at).0),
            None if state.keepers.len() < self.all => self.keeper(state),
            None if state.idle.is_empty() => None,
            None => Some(state.idle.remove(0).0),
        };
        let Some(number) = found else {
            // No thread could be started: whoever waits is told so, for the channel closes.
            return;
        };
        let owner = Arc::clone(&job.owner);
        if state
            .keepers
            .get(&number)
            .is_some_and(|it| it.send(job).is_ok())
        {
            *state.busy.entry(owner).or_default() += 1;
        } else {
            state.keepers.remove(&number);
        }
    }

    /// Starts a thread that will keep a process.
    fn keeper(self: &Arc<Self>, state: &mut PoolState) -> Option<u64> {
        state.begun += 1;
        let (number, pool) = (state.begun, Arc::downgrade(self));
        let (give, jobs) = channel();
        let keep = move || keep(number, &pool, &jobs);
        let thread = std::thread::Builder::new().name("parser".to_owned());
        thread.spawn(keep).ok()?;
        state.keepers.insert(number, give);
        Some(number)
    }

    /// Says that a thread has nothing to do any more.
    fn done(self: &Arc<Self>, number: u64, owner: Arc<str>) {
        let mut state = self.state();
        if let Some(busy) = state.busy.get_mut(&owner) {
            *busy -= 1;
            if *busy == 0 {
                state.busy.remove(&owner);
            }
        }
        state.idle.push((number, owner));
        self.pump(&mut state);
    }

    /// Lets a thread go that has been idle for long; not one that was given something a moment ago.
    fn retire(&self, number: u64) -> bool {
        let mut state = self.state();
        let before = state.idle.len();
        state.idle.retain(|it| it.0 != number);
        let idle = state.idle.len() < before;
        if idle {
            state.keepers.remove(&number);
        }
        idle
    }
}

/// Keeps one process: does what comes for as long as something does.
fn keep(number: u64, pool: &Weak<ParsePool>, jobs: &Receiver<Job>) {
    let mut process = None;
    loop {
        let job = match jobs.recv_timeout(IDLE) {
            Ok(job) => job,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => match pool.upgrade() {
                Some(pool) if !pool.retire(number) => continue,
                _ => return,
            },
        };
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let owner = Arc::clone(&job.owner);
        if !job.control.is_cancelled() {
            let work = AssertUnwindSafe(|| work(job, &pool.program, &mut process));
            // What fails inside closes the channel on which somebody waits, and they are told.
            if catch_unwind(work).is_err() {
                process = None;
            }
        }
        pool.done(number, owner);
    }
}

fn work(job: Job, program: &Path, process: &mut Option<ParserProcess>) {
    let Job {
        owner,
        kind,
        limits,
        control,
    } = job;
    let mut context = JobContext {
        program,
        process,
        owner: &owner,
        limits: &limits,
        control: &control,
        until: Instant::now() + Duration::from_secs(limits.pdf_seconds),
    };
    match kind {
        JobKind::Warm => drop(context.ready()),
        JobKind::Probe(tell) => {
            let reply = context.ask(&ParseRequest::Probe, &[]);
            let _ = tell.send(match (reply, context.confinement()) {
                (Ok(ParseReply::Probed(escapes)), Some(confinement)) => Ok((confinement, escapes)),
                (Err(trouble), _) => Err(trouble),
                _ => Err(given_up()),
            });
        }
        JobKind::Parse {
            bytes,
            origin,
            tell,
        } => {
            let parsed = context.parse(&bytes, &origin);
            control.detach();
            tell(parsed);
        }
    }
}

/// One document, and the process to parse it.
struct JobContext<'a> {
    program: &'a Path,
    process: &'a mut Option<ParserProcess>,
    owner: &'a Arc<str>,
    limits: &'a Limits,
    control: &'a JobControl,
    until: Instant,
}

impl JobContext<'_> {
    fn parse(&mut self, bytes: &[u8], origin: &Origin) -> Result<ParsedDocument, Trouble> {
        let format = format::detect(bytes, origin);
        let path: &OsString = &self.limits.path;
        let reply = match format {
            Format::Unknown => return Err(super::not_read()),
            Format::Pdf if program("pdftotext", path).is_some() => {
                let (until, control) = (self.until, self.control);
                let pieces = programs::read_pdf(self.program, bytes, self.limits, until, control)?;
                let request = ParseRequest::PdfText {
                    name: origin.name().into_owned(),
                    text: pieces.text.len(),
                    dictionary: pieces.dictionary.len(),
                    cut: pieces.cut,
                };
                self.ask(
                    &request,
                    &[&pieces.text, &pieces.dictionary, &pieces.packet],
                )?
            }
            format => {
                let request = ParseRequest::Parse {
                    format,
                    name: origin.name().into_owned(),
                    content_type: origin.content_type().map(str::to_owned),
                };
                self.ask(&request, &[bytes])?
            }
        };
        match reply {
            ParseReply::Parsed(parsed) => parse::admitted(parsed),
            ParseReply::Ready(_) | ParseReply::Probed(_) => Err(given_up()),
        }
    }

    /// A process for this owner, started where there is none.
    fn ready(&mut self) -> Result<&mut ParserProcess, Trouble> {
        let fits = |it: &ParserProcess| it.serves(self.owner, self.limits);
        if !self.process.as_ref().is_some_and(fits) {
            // The one before it is ended first: places are bounded.
            *self.process = None;
        }
        match &mut *self.process {
            Some(process) => Ok(process),
            none => {
                let started = ParserProcess::start(self.program, self.owner, self.limits);
                Ok(none.insert(started.map_err(|it| unstarted(&it))?))
            }
        }
    }

    /// Asks the process; another one where somebody ended the first from outside.
    fn ask(&mut self, request: &ParseRequest, bytes: &[&[u8]]) -> Result<ParseReply, Trouble> {
        let (until, control) = (self.until, self.control);
        let mut first = true;
        loop {
            let begun = Instant::now();
            let process = self.ready()?;
            control.attach(&process.handle());
            let asked = process.ask(request, bytes, until);
            control.detach();
            // One that had worked for long may have come to the limit of its time, and would again.
            let killed = matches!(&asked, Err(failure) if failure.is_kill());
            let again = first && killed && begun.elapsed() < SLOW && !control.is_cancelled();
            if !again {
                return asked.map_err(|it| it.trouble(self.limits));
            }
            first = false;
        }
    }

    fn confinement(&self) -> Option<Confinement> {
        self.process.as_ref().and_then(ParserProcess::confinement)
    }
}
