//! Recordings: a run written down whole, told again offline, and forked with other settings.
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use super::{App, Doors, Running};
use crate::adapters::folder;
use crate::adapters::journal::{Taken, Tape, is_read};
use crate::adapters::ranker::Lexical;
use crate::adapters::recording::{Differences, Recording, Silent, differences};
use crate::adapters::store::new_private_dir;
use crate::domain::{Question, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Run, RunStatus};
use crate::seams::{Cast, Mind, Models, PageReader, Ranker, SearchProvider, StepState};

/// A recording told again.
#[derive(Debug)]
pub struct Replayed {
    /// The run. Where nothing differs, the clock's part of it is the recording's.
    pub run: Run,
    /// Its story, of which the same is true.
    pub events: Vec<Envelope>,
    /// Where it parts from the recording.
    pub differences: Differences,
    /// Calls that the recording answered.
    pub calls: u64,
}

/// A run that answers from a recording what is recorded, and asks the rest live.
pub struct Fork {
    /// The run.
    pub running: Running,
    tape: Arc<Tape>,
}

impl Fork {
    /// The run, and what tells where its answers came from so far.
    pub fn parts(self) -> (Running, impl Fn() -> Taken + Send + use<>) {
        let tape = self.tape;
        (self.running, move || tape.taken())
    }
}

impl App {
    /// Everything that an ended run was asked and answered.
    ///
    /// # Errors
    /// `NotFound` for an unknown run, `Usage` for one that has not ended.
    pub async fn record(&self, run: &RunId) -> Result<Recording> {
        let store = self.known(run).await?;
        let events = store.events(run, 0).await?;
        let steps = store.steps(run).await?;
        let mut pages = BTreeMap::new();
        for step in steps.iter().filter(|it| is_read(&it.door)) {
            let StepState::Answered(it) = &step.state else {
                continue;
            };
            let hash = serde_json::from_value(it.answer.clone()).map_err(|it| {
                Error::new(Kind::Internal, format!("reading call {}", step.key)).because(it)
            })?;
            let page = store.page(&hash).await?.ok_or_else(|| {
                let what = format!("page {hash} of run {run} is not in the store");
                Error::new(Kind::Internal, what)
            })?;
            pages.insert(hash, page);
        }
        pages.extend(self.known_pages(&steps).await?);
        Recording::of(run, events, steps, pages)
    }

    /// Tells a recording again, in a store of its own that is gone afterwards. Nobody is asked anything: no
    /// network, no folder and no key is needed, and nothing of this machine's settings counts.
    ///
    /// # Errors
    /// `NotFound` for a call that was not recorded, `Usage` for a run that was stopped before its end, `Setup`
    /// where no temporary store can be made.
    pub async fn replay(&self, recording: &Recording) -> Result<Replayed> {
        let recorded = Run::of(recording.run.clone(), &recording.events);
        if recorded.status == RunStatus::Cancelled {
            return Err(Error::new(
                Kind::Usage,
                format!(
                    "recording {}: the run was cancelled, so there is no end to compare",
                    recording.name
                ),
            )
            .hint(
                "fork it: name a setting to change, as in `ibid replay FILE --effort standard`",
            ));
        }
        let tape = Arc::new(recording.tape(true));
        let doors = told_again(recording, &tape)?;
        let scratch = Scratch::make(self.parts.chance.bits())?;
        let mut settings = (*self.settings).clone();
        settings.store_url = None;
        settings.data_dir.clone_from(&scratch.0);
        let app = App::with(settings, self.parts.clone());
        let (run, question) = (recording.run.clone(), recording.question.clone());
        let running = app
            .accept(
                recorded.owner.clone(),
                run.clone(),
                question,
                doors,
                Some(Arc::clone(&tape)),
            )
            .await?;
        let told = running.wait().await?;
        let events = app.events(&run, 0).await?;
        let differences = differences(recording, &events);
        let calls = tape.taken().recorded;
        Ok(match differences.none() {
            true => Replayed {
                run: recorded,
                events: recording.events.clone(),
                differences,
                calls,
            },
            false => Replayed {
                run: told,
                events,
                differences,
                calls,
            },
        })
    }

    /// Asks `question` anew, where what `recording` holds is answered from it. Live are the folders that
    /// `question` names, and of the recording's folders and models those that are in the settings: a file
    /// from elsewhere must not have this machine's folders read or its keys used. The other folders and
    /// models of the recording answer what is recorded and nothing else.
    ///
    /// # Errors
    /// Those of [`App::start`].
    pub async fn fork(&self, recording: &Recording, mut question: Question) -> Result<Fork> {
        let tape = Arc::new(recording.tape(false));
        question.folders = self.live_folders(&recording.question.folders, question.folders);
        let ours = &self.settings.models;
        question
            .models
            .retain(|role, spec| ours.get(&role).is_some_and(|it| it == spec));
        let live = (self.parts.open)(&self.settings, &question, self.owner.as_ref()).await?;
        let doors = joined(recording, &question.folders, live, &tape);
        let run = RunId::new(self.parts.clock.unix_ms(), self.parts.chance.bits());
        let running = self
            .accept(None, run, question, doors, Some(Arc::clone(&tape)))
            .await?;
        Ok(Fork { running, tape })
    }

    /// The folders of a fork that are searched live, those of the recording first and in its order.
    fn live_folders(&self, recorded: &[String], named: Vec<String>) -> Vec<String> {
        let configured = |it: &String| self.settings.folders.iter().any(|own| *own == **it);
        let kept = recorded
            .iter()
            .filter(|it| named.contains(it) || configured(it));
        let mut live: Vec<String> = kept.cloned().collect();
        live.extend(named.into_iter().filter(|it| !recorded.contains(it)));
        live
    }
}

/// Doors that only a recording answers.
fn told_again(recording: &Recording, tape: &Arc<Tape>) -> Result<Doors> {
    let cast = &recording.cast;
    let mut readers = silent_readers(&cast.readers, tape);
    readers.push(Arc::new(Silent::last_reader(tape)));
    let prepared = recording.prepared();
    Ok(Doors {
        egress: Default::default(),
        search: cast
            .search
            .iter()
            .map(|it| silent_search(it, tape))
            .collect(),
        readers,
        ranker: ranker(&cast.ranker, tape),
        models: silent_models(cast, tape),
        spent_before: None,
        prepare: Some(Box::new(move |_| Box::pin(async move { Ok(prepared) }))),
    })
}

/// The lexical ranker is no door to the outside: it ranks the same texts the same wherever it is. What others said is
/// recorded.
fn ranker(name: &str, tape: &Arc<Tape>) -> Arc<dyn Ranker> {
    match name == Lexical.name() {
        true => Arc::new(Lexical),
        false => Arc::new(Silent::new(name, tape)),
    }
}

fn silent_search(name: &str, tape: &Arc<Tape>) -> Arc<dyn SearchProvider> {
    Arc::new(Silent::new(name, tape))
}

fn silent_reader(name: &str, tape: &Arc<Tape>) -> Arc<dyn PageReader> {
    Arc::new(Silent::new(name, tape))
}

fn silent_readers(names: &[String], tape: &Arc<Tape>) -> Vec<Arc<dyn PageReader>> {
    names.iter().map(|it| silent_reader(it, tape)).collect()
}

fn silent_models(cast: &Cast, tape: &Arc<Tape>) -> Models {
    let mut models = Models::default();
    for (role, player) in &cast.models {
        let model = Arc::new(Silent::new(&player.name, tape));
        let window = player.window;
        models.give(*role, Mind { model, window });
    }
    models
}

/// The doors of a fork: each recorded one in its place, so that it is asked by the same key, then those that
/// the recording does not have.
fn joined(recording: &Recording, folders: &[String], live: Doors, tape: &Arc<Tape>) -> Doors {
    let cast = &recording.cast;
    let recorded = recording.question.folders.iter();
    let here: Vec<bool> = recorded.map(|it| folders.contains(it)).collect();
    let search = seated(
        &cast.search,
        &here,
        live.search,
        |it| it.name(),
        |name| silent_search(name, tape),
    );
    let mut readers = seated(
        &cast.readers,
        &here,
        live.readers,
        |it| it.name(),
        |name| silent_reader(name, tape),
    );
    readers.push(Arc::new(Silent::last_reader(tape)));
    let mut models = live.models;
    for (role, player) in &cast.models {
        let model = match models.of(*role) {
            Some(mind) if mind.model.name() == player.name => Arc::clone(&mind.model),
            Some(_) => continue,
            None => Arc::new(Silent::new(&player.name, tape)),
        };
        // Prompts are cut to the window: with another one, none would be the one recorded.
        let window = player.window;
        models.give(*role, Mind { model, window });
    }
    Doors {
        egress: live.egress,
        search,
        readers,
        models,
        ..live
    }
}

/// Puts who is live in the place of the recorded one of that name; of folders, only those that are `here`.
/// Who is not live is silent, and who was not recorded comes after.
fn seated<T: ?Sized>(
    cast: &[String],
    here: &[bool],
    live: Vec<Arc<T>>,
    name_of: impl Fn(&T) -> &str,
    silent: impl Fn(&str) -> Arc<T>,
) -> Vec<Arc<T>> {
    let mut live: VecDeque<Arc<T>> = live.into();
    let mut folders = here.iter();
    let mut seats = Vec::new();
    for name in cast {
        let gone = name == folder::NAME && folders.next() != Some(&true);
        let found = live.iter().position(|it| name_of(it) == name);
        let seat = found.filter(|_| !gone).and_then(|at| live.remove(at));
        seats.push(seat.unwrap_or_else(|| silent(name)));
    }
    seats.extend(live);
    seats
}

/// A directory for one replay, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn make(chance: u128) -> Result<Scratch> {
        let name = format!("ibid-replay-{}-{:x}", std::process::id(), chance as u64);
        let path = std::env::temp_dir().join(name);
        new_private_dir(&path).map_err(|fault| {
            Error::new(Kind::Setup, format!("making {}", path.display()))
                .because(fault)
                .hint("name a directory that can be written with TMPDIR")
        })?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever clears the temporary directory.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
