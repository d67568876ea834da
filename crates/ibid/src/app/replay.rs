//! Recordings: an ended run with all of its calls, replayed offline or forked with other settings.
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use super::App;
use super::components::RunProviders;
use super::run_handle::RunHandle;
use super::runs::RunSetup;
use ibid_core::domain::{Question, RunId};
use ibid_core::files::new_private_dir;
use ibid_core::ports::{
    JournalCallState, PageReader, ProviderManifest, Ranker, RoleModel, RoleModels, SearchProvider,
};
use ibid_core::record::{Envelope, Run, RunStatus};
use ibid_core::{Error, ErrorKind, Result};
use ibid_index::folder;
use ibid_index::ranker::LexicalRanker;
use ibid_sources::search;
use ibid_store::journal::{ReplayCounts, ReplayLog, is_reader_call};
use ibid_store::recording::{OfflineProvider, Recording, ReplayDiff, diff_replay};

/// The result of a replay.
#[derive(Debug)]
pub struct ReplayResult {
    /// The run. Where nothing differs it is the recorded one, with its times.
    pub run: Run,
    /// Its events, for which the same is true.
    pub events: Vec<Envelope>,
    /// Where it differs from the recording.
    pub differences: ReplayDiff,
    /// Calls that were answered from the recording.
    pub calls: u64,
}

/// A run whose recorded calls are answered from a recording, and the others live.
pub struct ForkedRun {
    /// The run.
    pub running: RunHandle,
    replay_log: Arc<ReplayLog>,
}

impl ForkedRun {
    /// The run, and a function that counts the recorded and live answers so far.
    pub fn into_parts(self) -> (RunHandle, impl Fn() -> ReplayCounts + Send + use<>) {
        let replay_log = self.replay_log;
        (self.running, move || replay_log.counts())
    }
}

impl App {
    /// The recording of an ended run: its events, its calls with their answers, and its pages.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has not ended.
    pub async fn recording(&self, run: &RunId) -> Result<Recording> {
        let store = self.existing_store(run).await?;
        let events = store.events(run, 0).await?;
        let steps = store.steps(run).await?;
        let mut pages = BTreeMap::new();
        for step in steps.iter().filter(|step| is_reader_call(&step.provider)) {
            let JournalCallState::Answered(answered) = &step.state else {
                continue;
            };
            let hash = serde_json::from_value(answered.answer.clone()).map_err(|cause| {
                Error::new(ErrorKind::Internal, format!("reading call {}", step.key))
                    .with_source(cause)
            })?;
            let page = store.page(&hash).await?.ok_or_else(|| {
                let what = format!("page {hash} of run {run} is not in the store");
                Error::new(ErrorKind::Internal, what)
            })?;
            pages.insert(hash, page);
        }
        pages.extend(self.inherited_pages(&steps).await?);
        Recording::from_steps(run, events, steps, pages)
    }

    /// Replays a recording in a temporary store. No call goes out: the replay needs no network, folder or key, and ignores the settings of
    /// this machine.
    ///
    /// # Errors
    /// `NotFound` for a call that was not recorded, `Usage` for the recording of a cancelled run, `Setup` if no temporary store can be
    /// created.
    pub async fn replay(&self, recording: &Recording) -> Result<ReplayResult> {
        let recorded = Run::from_events(recording.run.clone(), &recording.events);
        if recorded.status == RunStatus::Cancelled {
            return Err(Error::new(
                ErrorKind::Usage,
                format!(
                    "recording {}: the run was cancelled, so there is no result to compare",
                    recording.name
                ),
            )
            .with_hint(
                "fork it with a changed setting, as in `ibid replay FILE --effort standard`",
            ));
        }
        let replay_log = Arc::new(recording.replay_log(true));
        let providers = replay_providers(recording, &replay_log)?;
        let scratch = ScratchDir::create(self.components.chance.next_u128())?;
        let mut settings = (*self.settings).clone();
        settings.store_url = None;
        settings.store_pooler_url = None;
        settings.pages_url = String::new();
        settings.data_dir.clone_from(&scratch.0);
        let app = App::with_components(settings, self.components.clone());
        let setup = RunSetup {
            run: recording.run.clone(),
            owner: recorded.owner.clone(),
            question: recording.question.clone(),
            past: Vec::new(),
            providers,
            replay_log: Some(Arc::clone(&replay_log)),
        };
        let replayed = app.create_run(setup).await?.wait().await?;
        let events = app.events(&recording.run, 0).await?;
        let differences = diff_replay(recording, &events);
        let (run, events) = if differences.is_empty() {
            (recorded, recording.events.clone())
        } else {
            (replayed, events)
        };
        Ok(ReplayResult { run, events, differences, calls: replay_log.counts().recorded })
    }

    /// Starts a new run for `question` whose recorded calls are answered from `recording`. Live are the folders that only `question` names,
    /// and those folders and models of the recording that are in the settings: a recording from another machine must not read the folders
    /// of this one or use its keys. The other folders and models answer what is recorded and nothing else.
    ///
    /// # Errors
    /// Those of [`App::start`].
    pub async fn fork(&self, recording: &Recording, mut question: Question) -> Result<ForkedRun> {
        let replay_log = Arc::new(recording.replay_log(false));
        question.folders = self.live_folders(&recording.question.folders, question.folders);
        let configured = &self.settings.models;
        question.models.retain(|role, spec| configured.get(&role).is_some_and(|own| own == spec));
        let live = (self.components.open)(&self.settings, &question, self.owner.as_ref()).await?;
        let providers = fork_providers(recording, &question.folders, live, &replay_log);
        let setup = RunSetup {
            run: self.new_run_id(),
            owner: None,
            question,
            past: Vec::new(),
            providers,
            replay_log: Some(Arc::clone(&replay_log)),
        };
        let running = self.create_run(setup).await?;
        Ok(ForkedRun { running, replay_log })
    }

    /// The folders that a fork searches live: those of the recording first, in its order.
    fn live_folders(&self, recorded: &[String], named: Vec<String>) -> Vec<String> {
        let configured = |text: &String| self.settings.folders.iter().any(|own| *own == **text);
        let kept = recorded.iter().filter(|text| named.contains(text) || configured(text));
        let mut live: Vec<String> = kept.cloned().collect();
        live.extend(named.into_iter().filter(|text| !recorded.contains(text)));
        live
    }
}

/// Providers that answer from a recording alone.
fn replay_providers(recording: &Recording, replay_log: &Arc<ReplayLog>) -> Result<RunProviders> {
    let manifest = &recording.cast;
    let reader = |name: &String| offline_reader(name, replay_log);
    let mut readers: Vec<Arc<dyn PageReader>> = manifest.readers.iter().map(reader).collect();
    readers.push(Arc::new(OfflineProvider::fallback_reader(replay_log)));
    let index_events = recording.index_events();
    Ok(RunProviders {
        egress: Default::default(),
        search: manifest.search.iter().map(|name| offline_search(name, replay_log)).collect(),
        readers,
        ranker: replay_ranker(&manifest.ranker, replay_log),
        models: offline_models(manifest, replay_log),
        prior_spend: None,
        prepare: Some(Box::new(move |_| Box::pin(async move { Ok(index_events) }))),
        background: None,
    })
}

/// The lexical ranker runs again: it makes no call and ranks the same texts the same way. Other rankers answer from the recording.
fn replay_ranker(name: &str, replay_log: &Arc<ReplayLog>) -> Arc<dyn Ranker> {
    if name == LexicalRanker.name() {
        Arc::new(LexicalRanker)
    } else {
        Arc::new(OfflineProvider::new(name, replay_log))
    }
}

fn offline_search(name: &str, replay_log: &Arc<ReplayLog>) -> Arc<dyn SearchProvider> {
    Arc::new(OfflineProvider::new(name, replay_log).searching(search::verticals_of(name)))
}

fn offline_reader(name: &str, replay_log: &Arc<ReplayLog>) -> Arc<dyn PageReader> {
    Arc::new(OfflineProvider::new(name, replay_log))
}

fn offline_models(manifest: &ProviderManifest, replay_log: &Arc<ReplayLog>) -> RoleModels {
    let mut models = RoleModels::default();
    for (role, info) in &manifest.models {
        let model = Arc::new(OfflineProvider::new(&info.name, replay_log));
        let window = info.window;
        models.insert(*role, RoleModel { model, window });
    }
    models
}

/// The providers of a fork: the recorded ones in their order, so that their calls have the same keys, then those that the recording does
/// not have.
fn fork_providers(
    recording: &Recording,
    folders: &[String],
    live: RunProviders,
    replay_log: &Arc<ReplayLog>,
) -> RunProviders {
    let manifest = &recording.cast;
    let recorded = recording.question.folders.iter();
    let is_live: Vec<bool> = recorded.map(|text| folders.contains(text)).collect();
    let search = merge_by_name(
        &manifest.search,
        &is_live,
        live.search,
        |it| it.name(),
        |name| offline_search(name, replay_log),
    );
    let mut readers = merge_by_name(
        &manifest.readers,
        &is_live,
        live.readers,
        |it| it.name(),
        |name| offline_reader(name, replay_log),
    );
    readers.push(Arc::new(OfflineProvider::fallback_reader(replay_log)));
    let mut models = live.models;
    for (role, info) in &manifest.models {
        let model = match models.get(*role) {
            Some(own) if own.model.name() == info.name => Arc::clone(&own.model),
            Some(_) => continue,
            None => Arc::new(OfflineProvider::new(&info.name, replay_log)),
        };
        // Prompts are cut to the window, so with another window none would match the recording.
        let window = info.window;
        models.insert(*role, RoleModel { model, window });
    }
    RunProviders { egress: live.egress, search, readers, models, ..live }
}

/// The recorded providers in their order: each live where there is a live one of its name, else offline. A folder is live only where
/// `is_live` says so. Live providers that were not recorded come last.
fn merge_by_name<T: ?Sized>(
    recorded: &[String],
    is_live: &[bool],
    live: Vec<Arc<T>>,
    name_of: impl Fn(&T) -> &str,
    offline: impl Fn(&str) -> Arc<T>,
) -> Vec<Arc<T>> {
    let mut live: VecDeque<Arc<T>> = live.into();
    let mut folders = is_live.iter();
    let mut merged = Vec::new();
    for name in recorded {
        let is_offline = name == folder::NAME && folders.next() != Some(&true);
        let found = live.iter().position(|provider| name_of(provider) == name);
        let provider = found.filter(|_| !is_offline).and_then(|at| live.remove(at));
        merged.push(provider.unwrap_or_else(|| offline(name)));
    }
    merged.extend(live);
    merged
}

/// A temporary directory for one replay, removed on drop.
struct ScratchDir(PathBuf);

impl ScratchDir {
    fn create(chance: u128) -> Result<ScratchDir> {
        let name = format!("ibid-replay-{}-{:x}", std::process::id(), chance as u64);
        let path = std::env::temp_dir().join(name);
        new_private_dir(&path).map_err(|fault| {
            Error::new(ErrorKind::Setup, format!("creating {}", path.display()))
                .with_source(fault)
                .with_hint("set TMPDIR to a writable directory")
        })?;
        Ok(ScratchDir(path))
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // Best effort: the system clears its temporary directory.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
