//! One script in this process: a run over ports that fail, by a clock that jumps, killed and resumed as the script says.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ibid::app::{App, AppComponents, PriorSpendFn, RunHandle, RunProviders, TotalCostFn};
use ibid::config::Settings;
use ibid_core::domain::{Budget, Effort, ModelRole, Question, RunId, Usage};
use ibid_core::ports::{
    LanguageModel, Prompt, Ranker, RoleModel, RoleModels, RunCommand, SeededRng,
};
use ibid_core::record::Run;
use ibid_core::retry::RetryPolicy;
use ibid_core::{Error, ErrorKind};
use ibid_index::ranker::LexicalRanker;
use ibid_llm::metered::max_input_tokens;
use ibid_llm::stack::{self, DEFAULT_MAX_OUTPUT, ModelContext, ModelSpec, SharedModels};
use ibid_llm::{BudgetCaps, ConcurrencyLimits, CostBudget, ModelSpend, ModelTable, ModelTarget};
use ibid_net::http::Timeouts;
use ibid_report::{json, markdown};
use tokio::sync::mpsc;

use super::check::{self, Bounds, Breach, Invariant};
use super::disk::{self, Lost, SmallDisk};
use super::left::Left;
use super::ports::{BillingModel, Engine, PRICE, Reader, Reranker};
use super::script::{Chance, FaultEffect, Kind, Script};
use super::world::{Order, QUESTION, World};
use crate::Fault;

/// Sessions of a run, more than any script needs.
const SESSIONS: u32 = 16;
/// How long a script may take by the clock on the wall. Nothing in it waits for more than a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the store is locked.
const LOCKED: Duration = Duration::from_millis(300);
/// Tokens that the model takes.
const WINDOW: u32 = 16_384;

/// What came of a script.
pub(super) struct ScriptOutcome {
    pub(super) script: Script,
    /// The faults that happened.
    pub(super) fired: Vec<Kind>,
    pub(super) breaches: Vec<Breach>,
    /// How the run ended: its status, or that nothing was left of it.
    pub(super) ending: String,
    pub(super) sessions: u32,
    /// The sessions that stopped because the store could not be written.
    pub(super) stopped: u32,
    pub(super) quotes: usize,
}

impl ScriptOutcome {
    /// A script that could not be played to its end.
    pub(super) fn unplayed(script: Script, error: &Fault) -> ScriptOutcome {
        ScriptOutcome {
            script,
            fired: Vec::new(),
            breaches: vec![(Invariant::Resumable, error.to_string())],
            ending: "not played to its end".to_owned(),
            sessions: 0,
            stopped: 0,
            quotes: 0,
        }
    }
}

/// How a session ended.
enum SessionOutcome {
    Ended(Box<Run>),
    Stopped(Error),
    Died(Order),
}

/// A script at work.
struct ScriptPlayer {
    world: Arc<World>,
    orders: mpsc::UnboundedReceiver<Order>,
    home: PathBuf,
    /// What the store is on; a small disk where the script fills it.
    disk_dir: PathBuf,
    /// The data directory of the session; a power loss moves it.
    data: PathBuf,
    /// Unmounted with the player.
    _disk: Option<SmallDisk>,
    chance: Chance,
    breaches: Vec<Breach>,
    stopped: u32,
    /// What the run had left when a session began, by its number.
    before: Vec<(u32, Left)>,
    /// Whether a disk lost what was synced.
    forgot: bool,
}

/// Plays `script` in `home`, an empty folder.
pub(super) async fn play(script: Script, home: &Path) -> Result<ScriptOutcome, Fault> {
    let disk_dir = home.join("disk");
    std::fs::create_dir_all(&disk_dir)?;
    let full = script.faults.iter().any(|it| it.kind.effect == FaultEffect::DiskFull);
    let disk = if full { Some(SmallDisk::mount(&disk_dir)?) } else { None };
    let (sender, orders) = mpsc::unbounded_channel();
    let filled = disk_dir.clone();
    let world = World::new(script.clone(), sender, Box::new(move || disk::fill(&filled)));
    let mut player = ScriptPlayer {
        world: Arc::clone(&world),
        orders,
        home: home.to_owned(),
        data: disk_dir.join("data"),
        disk_dir,
        _disk: disk,
        chance: Chance(script.seed ^ 0xD15C),
        breaches: Vec::new(),
        stopped: 0,
        before: Vec::new(),
        forgot: false,
    };
    let ending = match tokio::time::timeout(PATIENCE, player.sessions()).await {
        Ok(ending) => ending?,
        Err(_) => {
            player.breach(Invariant::Resumable, "the run hangs");
            "hangs".to_owned()
        }
    };
    let quotes = player.judge().await?;
    let books = world.books();
    let happened = script.faults.iter().zip(&books.fired).filter(|it| *it.1 > 0);
    Ok(ScriptOutcome {
        fired: happened.map(|it| it.0.kind).collect(),
        breaches: player.breaches,
        stopped: player.stopped,
        ending,
        sessions: world.session.load(Ordering::Relaxed),
        quotes,
        script,
    })
}

impl ScriptPlayer {
    fn breach(&mut self, which: Invariant, text: impl Into<String>) {
        self.breaches.push((which, text.into()));
    }

    /// Works on the run, over as many sessions as it takes, and says how it ended.
    async fn sessions(&mut self) -> Result<String, Fault> {
        let mut run: Option<RunId> = None;
        for session in 1..=SESSIONS {
            self.world.session.store(session, Ordering::Relaxed);
            let app = self.app()?;
            let handle = match &run {
                None => app.start(question(&self.world.script, app.settings())).await?,
                Some(run) => self.resumed(&app, run).await?,
            };
            run = Some(handle.id.clone());
            let end = self.session(&app, handle).await?;
            if let SessionOutcome::Ended(run) = &end {
                self.render(run);
                return Ok(format!("{:?}", run.status));
            }
            self.interrupted(&end).await?;
            drop(app);
            disk::free(&self.disk_dir);
            match Left::read(&self.data).await {
                Ok(Some(left)) => self.before.push((session + 1, left)),
                Ok(None) if self.forgot => return Ok("nothing was left".to_owned()),
                Ok(None) => {
                    self.breach(Invariant::Resumable, "an accepted run is gone");
                    return Ok("gone".to_owned());
                }
                Err(fault) => return Err(format!("after session {session}: {fault}").into()),
            }
        }
        self.breach(Invariant::Resumable, format!("not ended after {SESSIONS} sessions"));
        Ok("never ends".to_owned())
    }

    /// Follows orders until the session ends.
    async fn session(&mut self, app: &App, handle: RunHandle) -> Result<SessionOutcome, Fault> {
        let run = handle.id.clone();
        let mut work = Box::pin(handle.wait());
        loop {
            let order = tokio::select! {
                ended = &mut work => return Ok(match ended {
                    Ok(run) => SessionOutcome::Ended(Box::new(run)),
                    Err(error) => SessionOutcome::Stopped(error),
                }),
                Some(order) = self.orders.recv() => order,
            };
            match order {
                Order::Kill | Order::PowerLoss | Order::LyingDisk => {
                    return Ok(SessionOutcome::Died(order));
                }
                Order::Cancel => ignore_full(app.send_command(&run, RunCommand::Cancel).await)?,
                Order::Finish => ignore_full(app.send_command(&run, RunCommand::Finish).await)?,
                Order::Lock => {
                    let wait = async {
                        tokio::time::sleep(LOCKED).await;
                        Ok(())
                    };
                    disk::locked(&self.data, wait).await?;
                }
            }
        }
    }

    /// Leaves the disk as the end of the session does.
    async fn interrupted(&mut self, end: &SessionOutcome) -> Result<(), Fault> {
        let lost = match end {
            SessionOutcome::Died(Order::PowerLoss) => Lost::Unsynced,
            SessionOutcome::Died(Order::LyingDisk) => Lost::Synced,
            SessionOutcome::Stopped(error) => {
                self.stopped += 1;
                self.told(error);
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.forgot |= lost == Lost::Synced;
        disk::free(&self.disk_dir);
        let nth = self.world.session.load(Ordering::Relaxed);
        let after = self.disk_dir.join(format!("data-{nth}"));
        disk::power_loss(&self.data, &after, lost, &mut self.chance).await?;
        self.data = after;
        Ok(())
    }

    /// Resumes `run`, as soon as the worker of the last session has let go of it, and of the disk.
    async fn resumed(&mut self, app: &App, run: &RunId) -> Result<RunHandle, Fault> {
        let policy = RetryPolicy::fixed(250, Duration::from_millis(20));
        let mut backoff = policy.begin();
        loop {
            let error = match app.resume(run).await {
                Ok(handle) => return Ok(handle),
                Err(error) => error,
            };
            // The last worker may have filled the disk while it was being stopped.
            self.told(&error);
            disk::free(&self.disk_dir);
            let delay = backoff.next_delay(None, None);
            let delay = delay.ok_or_else(|| format!("resuming: {}", error.chain()))?;
            tokio::time::sleep(delay).await;
        }
    }

    /// Judges the words of a session that stopped.
    fn told(&mut self, error: &Error) {
        if ![ErrorKind::Setup, ErrorKind::Transient].contains(&error.kind()) {
            self.breach(Invariant::Ending, format!("stopped as {error:?}"));
        }
        if let Some(why) = check::unplain(&error.chain()) {
            self.breach(Invariant::Ending, why);
        }
        if error.hint().is_none() {
            self.breach(Invariant::Ending, format!("no hint what to do: {}", error.chain()));
        }
    }

    /// Every form of the report can be made.
    fn render(&mut self, run: &Run) {
        let subtype = match &run.report {
            Some(_) => json::ResultSubtype::Success,
            None => json::ResultSubtype::NoAnswer,
        };
        let object = json::result(run, subtype, &ibid_report::PagesByHash::new(), true);
        let text = run.report.as_ref().map(|report| markdown::report(report, true));
        if object["status"].as_str().is_none_or(str::is_empty) {
            self.breach(Invariant::Ending, "the final object has no status");
        }
        if text.is_some_and(|text| text.trim().is_empty()) {
            self.breach(Invariant::Ending, "the report is empty");
        }
    }

    /// Holds what is left against every invariant; returns the number of quotes.
    async fn judge(&mut self) -> Result<usize, Fault> {
        let Some(left) = Left::read(&self.data).await? else {
            return Ok(0);
        };
        self.breaches.extend(check::in_store(&left));
        let script = &self.world.script;
        let bounds = Bounds { usd: script.usd, calls: script.calls };
        let books = self.world.books();
        let mut found = check::in_world(&left, &books, bounds, self.forgot);
        for (session, before) in &self.before {
            // What was stored before a disk forgot it cannot hold after.
            if !self.forgot {
                found.extend(check::since(before, &left, &books, *session));
            }
        }
        drop(books);
        found.extend(orphans(&self.disk_dir)?.into_iter().map(|it| (Invariant::Orphans, it)));
        self.breaches.extend(found);
        Ok(check::count_quotes(&left))
    }

    fn app(&self) -> Result<App, Fault> {
        let mut settings = Settings::defaults_in(&self.home)?;
        settings.data_dir.clone_from(&self.data);
        let world = Arc::clone(&self.world);
        let seed = world.script.seed ^ u64::from(world.session.load(Ordering::Relaxed)) << 48;
        let clock = Arc::clone(&self.world);
        let parts = AppComponents {
            clock,
            chance: Arc::new(SeededRng::new(seed)),
            open: Arc::new(move |_, _, _| {
                let opened = providers(&world);
                Box::pin(async move { opened })
            }),
            ..AppComponents::local()
        };
        Ok(App::with_components(settings, parts))
    }
}

/// A user's word that meets a full disk is refused, and that is all.
fn ignore_full(sent: ibid_core::Result<()>) -> Result<(), Fault> {
    match sent {
        Err(error) if error.kind() != ErrorKind::Setup => Err(error.chain().into()),
        _ => Ok(()),
    }
}

/// Files on the disk that nobody needs after a run.
fn orphans(disk: &Path) -> Result<Vec<String>, Fault> {
    let mut found = Vec::new();
    for dir in std::fs::read_dir(disk)? {
        let dir = dir?.path();
        if !dir.is_dir() {
            found.push(format!("{} is left over", dir.display()));
            continue;
        }
        for entry in std::fs::read_dir(&dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !disk::STORE_FILES.contains(&name.as_str()) {
                found.push(format!("{name} is left over"));
            }
        }
    }
    Ok(found)
}

fn question(script: &Script, settings: &Settings) -> Question {
    let mut method = settings.method.clone();
    method.effort = script.effort;
    method.strategy = Some(script.strategy);
    (method.depth, method.breadth, method.critique_rounds) = match script.effort {
        Effort::Quick => (1, 3, 0),
        Effort::Deep => (3, 6, 1),
        _ => (2, 4, 0),
    };
    let budget = Budget {
        usd: script.usd,
        seconds: Some(script.seconds),
        calls: script.calls,
        ..Budget::default()
    };
    Question { mode: script.mode, budget, ..Question::new(QUESTION, "2026-11-27", method) }
}

/// The ports of `world`, with the program's own wrappers around its models.
fn providers(world: &Arc<World>) -> ibid_core::Result<RunProviders> {
    let script = &world.script;
    let caps = BudgetCaps { usd: script.usd, ..BudgetCaps::default() };
    let budget = CostBudget::new(caps, ModelSpend::default());
    let mut models = RoleModels::default();
    let mut prior_spend = None;
    if script.has_model {
        let shared = Arc::new(SharedModels::default());
        let spec = spec()?;
        let context = ModelContext {
            budget: budget.clone(),
            shared: Arc::clone(&shared),
            limits: ConcurrencyLimits::default(),
            retry: RetryPolicy::fixed(3, Duration::from_millis(1)),
            timeouts: Timeouts::default(),
            chance: Arc::new(SeededRng::new(script.seed)),
            egress: Default::default(),
        };
        let model = stack::wrap(Arc::new(BillingModel(Arc::clone(world))), &spec, &context);
        for role in ModelRole::ALL {
            let model: Arc<dyn LanguageModel> = Arc::clone(&model);
            models.insert(role, RoleModel { model, window: WINDOW });
        }
        prior_spend = Some(prior(budget, spec, shared));
    }
    let ranker: Arc<dyn Ranker> = if script.has_reranker {
        Arc::new(Reranker(Arc::clone(world)))
    } else {
        Arc::new(LexicalRanker)
    };
    Ok(RunProviders {
        search: ["alpha", "beta"].map(|name| Arc::new(Engine(Arc::clone(world), name)) as _).into(),
        readers: vec![Arc::new(Reader(Arc::clone(world)))],
        ranker,
        models,
        egress: Default::default(),
        prior_spend,
        prepare: None,
        background: None,
    })
}

fn spec() -> ibid_core::Result<ModelSpec> {
    let key = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-none".to_owned());
    let target = ModelTarget::resolve("openai:chaos-1", &key)?;
    Ok(ModelSpec {
        price: Some(PRICE),
        window: Some(WINDOW.into()),
        max_output: DEFAULT_MAX_OUTPUT,
        ..ModelSpec::from_table(target, ModelTable::embedded())
    })
}

/// Adds what earlier sessions spent, and the most that their lost calls may have cost, as the program does.
fn prior(budget: CostBudget, spec: ModelSpec, shared: Arc<SharedModels>) -> PriorSpendFn {
    Box::new(move |earlier: &Usage, in_doubt: &[Prompt], reasoned: u32| {
        budget.add_earlier(ModelSpend {
            calls: earlier.model_calls,
            tokens_in: earlier.tokens_in,
            tokens_out: earlier.tokens_out,
            usd: Some(earlier.usd.unwrap_or(0.0)),
        });
        for prompt in in_doubt {
            let sent = max_input_tokens(prompt);
            let received = u64::from(spec.most_output(prompt, reasoned, &shared));
            budget.add_earlier(ModelSpend {
                calls: 1,
                tokens_in: sent,
                tokens_out: received,
                usd: Some(PRICE.max_cost(sent, received)),
            });
        }
        Box::new(move || budget.spent().usd) as TotalCostFn
    })
}
