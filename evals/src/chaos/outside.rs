//! One script on the real program: `ibid run` over a web that fails, stopped, killed and resumed as the script says.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::check::{self, Breach, Invariant};
use super::disk::{self, Lost, SmallDisk};
use super::left::Left;
use super::script::Chance;
use super::web::{Trouble, Web};
use super::world::QUESTION;
use crate::Fault;
use crate::program::{final_object, model_variable};

/// Sessions of a run, more than any script needs.
const SESSIONS: u32 = 8;
/// How long a session may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often the program is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long what the program started may outlive it.
const LINGER: Duration = Duration::from_secs(3);

/// What came of a script.
pub(super) struct ProgramOutcome {
    pub(super) seed: u64,
    pub(super) fired: Vec<Trouble>,
    pub(super) breaches: Vec<Breach>,
    pub(super) ending: String,
    pub(super) sessions: u32,
    /// The sessions that stopped because the store could not be written.
    pub(super) stopped: u32,
}

impl ProgramOutcome {
    /// A script that could not be played to its end.
    pub(super) fn unplayed(seed: u64, error: &Fault) -> ProgramOutcome {
        let breaches = vec![(Invariant::Resumable, error.to_string())];
        let ending = "not played to its end".to_owned();
        ProgramOutcome { seed, fired: Vec::new(), breaches, ending, sessions: 0, stopped: 0 }
    }
}

/// The troubles of `seed`, with the search or page that each comes with.
pub(super) fn troubles(seed: u64, can_mount: bool) -> Vec<(Trouble, u32)> {
    let mut chance = Chance(seed);
    let usable: Vec<Trouble> = Trouble::ALL
        .into_iter()
        .filter(|trouble| can_mount || *trouble != Trouble::DiskFull)
        .collect();
    let count = usable.len();
    // Three in turn, and others by chance, so that each kind has its share.
    let turn = seed as usize * 3;
    let mut kinds: Vec<Trouble> = (turn..turn + 3).map(|nth| usable[nth % count]).collect();
    for _ in 0..3 {
        let more = *chance.one_of(&usable);
        if !kinds.contains(&more) {
            kinds.push(more);
        }
    }
    kinds.into_iter().map(|kind| (kind, 1 + chance.below(3))).collect()
}

struct ProgramPlayer<'a> {
    binary: &'a Path,
    home: PathBuf,
    /// What the store is on; a small disk where the script fills it.
    disk_dir: PathBuf,
    data: PathBuf,
    web: Arc<Web>,
    orders: Receiver<Trouble>,
    chance: Chance,
    breaches: Vec<Breach>,
    stopped: u32,
    before: Vec<(u32, Left)>,
}

/// How a session ended: by itself with this output, or killed by the script.
enum ProgramEnd {
    Exited(std::process::Output),
    Killed,
}

/// Plays the script of `seed` in `home`.
pub(super) fn play(
    seed: u64,
    binary: &Path,
    home: &Path,
    can_mount: bool,
) -> Result<ProgramOutcome, Fault> {
    let (sender, orders) = channel();
    let troubles = troubles(seed, can_mount);
    let disk_dir = home.join("disk");
    fs::create_dir_all(&disk_dir)?;
    fs::create_dir_all(home.join("tmp"))?;
    let full = troubles.iter().any(|it| it.0 == Trouble::DiskFull);
    let _disk = if full { Some(SmallDisk::mount(&disk_dir)?) } else { None };
    let mut player = ProgramPlayer {
        binary,
        home: home.to_owned(),
        data: disk_dir.join("data"),
        disk_dir,
        web: Web::serve(troubles, sender)?,
        orders,
        chance: Chance(seed ^ 0xD15C),
        breaches: Vec::new(),
        stopped: 0,
        before: Vec::new(),
    };
    let ending = player.sessions()?;
    player.judge()?;
    let (fired, sessions) = {
        let state = player.web.state();
        (state.fired.clone(), state.session)
    };
    Ok(ProgramOutcome {
        seed,
        fired,
        breaches: player.breaches,
        ending,
        sessions,
        stopped: player.stopped,
    })
}

impl ProgramPlayer<'_> {
    fn breach(&mut self, which: Invariant, text: impl Into<String>) {
        self.breaches.push((which, text.into()));
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("TMPDIR", self.home.join("tmp"))
            .env("IBID_DATA_DIR", &self.data)
            .env("IBID_CACHE_DIR", self.home.join("cache"))
            .env("SEARXNG_URL", format!("http://127.0.0.1:{}/searxng", self.web.port))
            .env("IBID_ALLOW_NET", "127.0.0.0/8")
            .env("IBID_LOOKUPS", "false")
            .envs(model_variable())
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn sessions(&mut self) -> Result<String, Fault> {
        let mut run: Option<String> = None;
        for session in 1..=SESSIONS {
            self.web.state().session = session;
            let child = match &run {
                None => {
                    let args = [
                        "run", QUESTION, "--engine", "searxng", "--effort", "quick", "--json", "-q",
                    ];
                    self.command(&args).spawn()?
                }
                Some(run) => self.command(&["resume", run, "--json", "-q"]).spawn()?,
            };
            let end = self.session(child)?;
            disk::free(&self.disk_dir);
            self.leftovers();
            if let ProgramEnd::Exited(output) = &end
                && let Some(ending) = self.told(output)
            {
                return Ok(ending);
            }
            let Some(left) = self.left()? else {
                // Killed before the question was accepted: nothing was promised, and it is asked again.
                continue;
            };
            run = left.row["run_id"].as_str().map(str::to_owned);
            self.before.push((session + 1, left));
        }
        self.breach(Invariant::Resumable, format!("not ended after {SESSIONS} sessions"));
        Ok("never ends".to_owned())
    }

    /// Follows orders until the program has exited or is killed.
    fn session(&mut self, mut child: Child) -> Result<ProgramEnd, Fault> {
        let began = Instant::now();
        let pid = child.id();
        while child.try_wait()?.is_none() {
            if began.elapsed() > PATIENCE {
                self.breach(Invariant::Resumable, "the program hangs");
                child.kill()?;
                break;
            }
            let order = match self.orders.recv_timeout(LOOK) {
                Ok(order) => order,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err("the web is gone".into()),
            };
            let happened = match order {
                Trouble::Stopped => {
                    signal("STOP", pid)?;
                    std::thread::sleep(Duration::from_secs(2));
                    signal("CONT", pid)?;
                    true
                }
                Trouble::ChildKilled => kill_a_child_of(pid)?,
                Trouble::DiskFull => {
                    disk::fill(&self.disk_dir);
                    true
                }
                _ => {
                    if order == Trouble::PowerLoss {
                        // Stopped first, so that nothing is written while its disk is copied.
                        signal("STOP", pid)?;
                        self.power_fails()?;
                    }
                    child.kill()?;
                    child.wait()?;
                    self.web.state().fired.push(order);
                    return Ok(ProgramEnd::Killed);
                }
            };
            if happened {
                self.web.state().fired.push(order);
            }
        }
        Ok(ProgramEnd::Exited(child.wait_with_output()?))
    }

    /// Goes on with what a power loss leaves of the store.
    fn power_fails(&mut self) -> Result<(), Fault> {
        disk::free(&self.disk_dir);
        let nth = self.web.state().session;
        let after = self.disk_dir.join(format!("data-{nth}"));
        disk::copy_after_power_loss(&self.data, &after, Lost::Unsynced, &mut self.chance)?;
        self.data = after;
        Ok(())
    }

    /// Judges how the program exited; `None` if the run can be resumed.
    fn told(&mut self, output: &std::process::Output) -> Option<String> {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if !stderr.trim().is_empty()
            && let Some(why) = check::unplain(&stderr)
        {
            self.breach(Invariant::Ending, why);
        }
        let (code, object) = match final_object(output) {
            Ok(told) => told,
            Err(fault) => {
                self.breach(Invariant::Ending, fault.to_string());
                return None;
            }
        };
        let status = object["status"].as_str().unwrap_or_default().to_owned();
        match code {
            0 | 3 => Some(format!("exit {code}, {status}")),
            4 => {
                self.stopped += 1;
                // A full disk: the program says so, and the run goes on when there is room.
                if !stderr.contains("hint") && object["hint"].as_str().is_none() {
                    self.breach(Invariant::Ending, format!("exit 4 without a hint: {stderr}"));
                }
                None
            }
            code => {
                self.breach(Invariant::Ending, format!("exit {code}: {stderr:.200}"));
                Some(format!("exit {code}, {status}"))
            }
        }
    }

    fn left(&self) -> Result<Option<Left>, Fault> {
        if !self.data.join("ibid.db").exists() {
            return Ok(None);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(Left::read(&self.data))
    }

    /// No process outlives the program, however it ended.
    fn leftovers(&mut self) {
        let until = Instant::now() + LINGER;
        let home = self.home.to_string_lossy().into_owned();
        let mut alive = processes_of(&home);
        while !alive.is_empty() && Instant::now() < until {
            std::thread::sleep(LOOK);
            alive = processes_of(&home);
        }
        if !alive.is_empty() {
            self.breach(Invariant::Orphans, format!("processes are left over: {alive:?}"));
        }
    }

    fn judge(&mut self) -> Result<(), Fault> {
        let Some(left) = self.left()? else {
            self.breach(Invariant::Resumable, "no run is in the store");
            return Ok(());
        };
        self.breaches.extend(check::in_store(&left));
        let state = self.web.state();
        let mut found = check::served(&left, &state.books);
        for (session, before) in &self.before {
            found.extend(check::since(before, &left, &state.books, *session));
        }
        drop(state);
        self.breaches.extend(found);
        let places = [self.home.join("tmp"), self.data.clone()];
        for entry in
            places.iter().map(fs::read_dir).collect::<Result<Vec<_>, _>>()?.into_iter().flatten()
        {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !disk::STORE_FILES.contains(&name.as_str()) {
                self.breach(Invariant::Orphans, format!("{name} is left over"));
            }
        }
        Ok(())
    }
}

fn signal(name: &str, pid: u32) -> Result<(), Fault> {
    Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status()?;
    Ok(())
}

/// Kills the first child that `pid` has, as soon as it has one; whether there was one.
fn kill_a_child_of(pid: u32) -> Result<bool, Fault> {
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            if let Some(child) = children.split_whitespace().next() {
                signal("KILL", child.parse()?)?;
                return Ok(true);
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(false)
}

/// The processes that were started with `home` in their environment and still run.
fn processes_of(home: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            String::from_utf8_lossy(&environ).contains(home)
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
