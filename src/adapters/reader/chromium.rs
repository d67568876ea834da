//! A Chromium that is on the machine already, for pages that have no words until their scripts have run.
//!
//! It runs without a window, with a profile of its own that is thrown away, and knows one name alone: that of the page, at the
//! address that the guard has judged. Every other name is unknown to it, also those in redirects and scripts. Its sandbox stays
//! on, so that it does not start for root.
use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::{Host, Url};

use super::{Drafts, addresses, is_outside, soft, unparsed, unread};
use crate::adapters::documents::{self, Limits, Origin};
use crate::adapters::web::fetch::{Fetcher, Unfetched};
use crate::domain::{Hit, Page, PageDraft};
use crate::error::{Error, Kind, Result};
use crate::record::FailReason;
use crate::seams::{Egress, PageReader, host_of};

/// Names under which it is on the search path.
const PROGRAMS: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome-headless-shell",
];
/// The longest that a page may take, with the start of the browser.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest wait for a browser that is busy with other pages.
const TURN: Duration = Duration::from_secs(90);
/// What stands in Chromium's own page in place of one that could not be reached, in every language.
const ITS_OWN: &[u8] = b"<div id=\"main-frame-error\"";
/// The most of a page that is taken, bytes.
const LARGEST: u64 = 8 << 20;
/// A page without a server, whose word is there once its script has run.
const TRIAL: &str =
    "data:text/html,<p id=a></p><script>a.textContent='ran'+'its'+'script'</script>";
const WORD: &str = "ranitsscript";
/// No name is known and no address reached.
const NOWHERE: &str = "MAP * ~NOTFOUND";
/// Browsers at once: each takes a few hundred megabytes.
const AT_ONCE: usize = 2;

/// Reads pages with a browser.
pub struct Chromium {
    program: PathBuf,
    gate: Arc<Fetcher>,
    limits: Limits,
    drafts: Drafts,
    egress: Egress,
    places: Semaphore,
    patience: Duration,
}

impl Chromium {
    /// The browser `program`, a name or a path; empty for the first that is on the search path. It goes only where `gate` would.
    ///
    /// # Errors
    /// `Setup` where there is none.
    pub fn open(
        program: &str,
        gate: Arc<Fetcher>,
        limits: Limits,
        egress: &Egress,
    ) -> Result<Chromium> {
        let program = Chromium::find(program).ok_or_else(|| {
            Error::new(Kind::Setup, "no Chromium was found for the reader chromium")
                .hint("install chromium, set chromium to its path, or take it out of readers")
        })?;
        Ok(Chromium {
            program,
            gate,
            limits,
            drafts: Drafts::default(),
            egress: egress.clone(),
            places: Semaphore::new(AT_ONCE),
            patience: PATIENCE,
        })
    }

    /// The same, that keeps what it reads in `drafts` and uses it again.
    #[must_use]
    pub fn keeping(mut self, drafts: Drafts) -> Chromium {
        self.drafts = drafts;
        self
    }

    /// Where the browser `program` is, a name or a path; empty for the first that is on the search path.
    pub fn find(program: &str) -> Option<PathBuf> {
        match program {
            "" => PROGRAMS.iter().find_map(|it| on_path(it)),
            path if path.contains('/') => Some(PathBuf::from(path)).filter(|it| runs(it)),
            name => on_path(name),
        }
    }

    /// The browser's program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Starts it on a page of a word that comes from nowhere, to see that it runs here.
    ///
    /// # Errors
    /// `Setup` where it does not, with what mostly stands in the way as the hint.
    pub async fn trial(&self) -> Result<()> {
        let amiss = |why: String| {
            let hint = match rustix::process::geteuid().is_root() {
                true => {
                    "run ibid as a user that is not root: a browser's sandbox does not start for root"
                }
                false => {
                    "start it by hand to see why; in a container its sandbox wants user namespaces (--security-opt seccomp=unconfined)"
                }
            };
            let doing = format!("trying the browser {}", self.program.display());
            Error::new(Kind::Setup, doing).because(why).hint(hint)
        };
        let url = Url::parse(TRIAL).map_err(|it| amiss(it.to_string()))?;
        let dom = timeout(self.patience, self.dom(&url, NOWHERE)).await;
        let dom =
            dom.map_err(|_| amiss(format!("it took more than {} s", self.patience.as_secs())))?;
        let dom = dom.map_err(|it| amiss(it.to_string()))?;
        match String::from_utf8_lossy(&dom).contains(WORD) {
            true => Ok(()),
            false => Err(amiss("it gave back no page".to_owned())),
        }
    }

    async fn at(&self, url: &str) -> Result<PageDraft> {
        let fault = |reason, why: &str| unread(url, reason, why);
        let judged = self.gate.guard().target(url).map_err(Unfetched::from);
        judged.map_err(|it| fault(it.reason, &it.why))?;
        if let Some(draft) = self.drafts.get(self.name(), url).await {
            return Ok(draft);
        }
        let leave = self.gate.may_ask(url).await;
        let (target, addresses) = leave.map_err(|it| fault(it.reason, &it.why))?;
        let rules = rules(&target, &addresses)
            .ok_or_else(|| fault(FailReason::Unsupported, "its host is an address of IPv6"))?;
        // A page that never ends must not use up the time of those behind it.
        let _place = timeout(TURN, self.places.acquire())
            .await
            .map_err(|_| fault(FailReason::Timeout, "no browser was free in time"))?;
        self.egress.sent(&host_of(target.as_str()), 0);
        let dom = timeout(self.patience, self.dom(&target, &rules)).await;
        let late = format!("the browser took more than {} s", self.patience.as_secs());
        let dom = dom
            .map_err(|_| fault(FailReason::Timeout, &late))?
            .map_err(|it| {
                fault(
                    FailReason::Unsupported,
                    &format!("the browser failed: {it}"),
                )
            })?;
        if dom.len() as u64 > LARGEST {
            return Err(fault(
                FailReason::TooLarge,
                "it is larger than what is read",
            ));
        }
        self.egress.received(&host_of(target.as_str()), dom.len());
        if dom.windows(ITS_OWN.len()).any(|it| it == ITS_OWN) {
            let why = "the browser did not reach it, or where its scripts led";
            return Err(fault(FailReason::Broken, why));
        }
        let html = "text/html; charset=utf-8".to_owned();
        let origin = Origin::fetched(target.as_str(), Some(html));
        let read = documents::fetched(dom, origin, &self.limits).await;
        let mut draft = read.map_err(|it| unparsed(url, target.as_str(), &it))?;
        draft
            .warnings
            .push("read after its scripts had run".to_owned());
        if let Some((reason, said)) = soft::amiss(&draft) {
            return Err(fault(reason, &format!("the page says `{said}`")));
        }
        self.drafts.put(self.name(), url, &draft).await;
        Ok(draft)
    }

    /// The page's elements when its scripts have run, as HTML; a byte more than [`LARGEST`] of them at most.
    async fn dom(&self, url: &Url, rules: &str) -> std::io::Result<Vec<u8>> {
        let profile = Profile::new()?;
        let mut child = Command::new(&self.program)
            .args(arguments(&profile.0, rules, self.gate.agent()))
            .arg(url.as_str())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &profile.0)
            .env("TMPDIR", &profile.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let _group = Group(child.id().and_then(|it| Pid::from_raw(it.cast_signed())));
        let mut dom = Vec::new();
        if let Some(said) = child.stdout.take() {
            said.take(LARGEST + 1).read_to_end(&mut dom).await?;
        }
        if dom.len() as u64 > LARGEST {
            return Ok(dom);
        }
        let status = child.wait().await?;
        match status.success() {
            true => Ok(dom),
            false => Err(std::io::Error::other(status.to_string())),
        }
    }
}

#[async_trait]
impl PageReader for Chromium {
    fn name(&self) -> &str {
        "chromium"
    }

    fn reads(&self, hit: &Hit) -> bool {
        is_outside(hit) && !addresses(hit).is_empty()
    }

    fn reads_after(&self, _: &Hit, reason: FailReason) -> bool {
        reason == FailReason::Empty
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let url = addresses(hit).first().map_or(hit.url.as_str(), |it| it.0);
        self.at(url).await.map(Page::new)
    }
}

/// Where the browser may go: the page's host at its checked address and port, and nowhere else. The first rule that fits counts.
fn rules(url: &Url, checked: &[SocketAddr]) -> Option<String> {
    let port = url.port_or_known_default()?;
    let (host, at) = match (url.host()?, checked.first()) {
        (Host::Domain(name), Some(at)) => (name.to_owned(), at.to_string()),
        (Host::Ipv4(it), _) => (it.to_string(), format!("{it}:{port}")),
        _ => return None,
    };
    Some(format!("MAP {host} {at}, {NOWHERE}"))
}

fn arguments(profile: &Path, rules: &str, agent: &str) -> Vec<OsString> {
    let mut folder = OsString::from("--user-data-dir=");
    folder.push(profile);
    let told = [
        "--headless",
        "--dump-dom",
        // Clocks of the page run ahead, and end where it has nothing more to do.
        "--virtual-time-budget=10000",
        "--timeout=25000",
        "--no-proxy-server",
        "--disable-quic",
        // Nothing goes past the rules above by UDP.
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-extensions",
        "--disable-gpu",
        "--disable-sync",
        "--blink-settings=imagesEnabled=false",
        "--deny-permission-prompts",
        "--metrics-recording-only",
        "--mute-audio",
        "--no-default-browser-check",
        "--no-first-run",
        "--no-pings",
    ];
    let mut all: Vec<OsString> = told.iter().map(OsString::from).collect();
    all.push(format!("--host-resolver-rules={rules}").into());
    all.push(format!("--user-agent={agent}").into());
    all.push(folder);
    all
}

/// A directory that goes when it is no longer needed.
struct Profile(PathBuf);

impl Profile {
    fn new() -> std::io::Result<Profile> {
        let name = format!("ibid-chromium-{:016x}", rand::random::<u64>());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Profile(path))
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The processes that the browser has started, ended with it.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

fn runs(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|it| it.is_absolute())
        .map(|it| it.join(name))
        .find(|it| runs(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::web::fetch::{Bounds, SystemNames};
    use crate::adapters::web::guard::Guard;

    /// A program in place of the browser: what it does is tested where there is one, here how it is called and ended.
    fn browser(dir: &Path, script: &str, patience: Duration) -> Chromium {
        let program = dir.join("browser");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let guard = Guard::allowing(vec!["127.0.0.0/8".parse().unwrap()]);
        let gate = Fetcher::new(guard, Arc::new(SystemNames), Bounds::default(), "ibid-test");
        let (limits, egress) = (Limits::default(), Egress::default());
        let program = program.to_string_lossy().into_owned();
        let opened = Chromium::open(&program, Arc::new(gate), limits, &egress).unwrap();
        Chromium { patience, ..opened }
    }

    fn hit(url: &str) -> Hit {
        Hit::new("web", url, "", "")
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn the_browser_knows_the_pages_host_alone_and_its_profile_is_thrown_away() {
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("told");
        let script = format!(
            "printf '%s\\n' \"$@\" > {}\necho '<html><body><main><p>Cork floats because its cells are closed and filled with air, and fishermen have known it for long.</p></main></body></html>'",
            told.display()
        );
        let it = browser(dir.path(), &script, LONG);
        let page = it.read(&hit("http://127.0.0.1:8080/app")).await.unwrap();
        assert!(page.text().expose().contains("Cork floats"));
        assert_eq!(page.url, "http://127.0.0.1:8080/app");
        let told = std::fs::read_to_string(told).unwrap();
        assert!(
            told.contains("--host-resolver-rules=MAP 127.0.0.1 127.0.0.1:8080, MAP * ~NOTFOUND\n")
        );
        assert!(told.ends_with("http://127.0.0.1:8080/app\n") && !told.contains("--no-sandbox"));
        let profile = told
            .lines()
            .find_map(|it| it.strip_prefix("--user-data-dir="));
        assert!(!Path::new(profile.unwrap()).exists());
    }

    #[tokio::test]
    async fn the_browsers_own_page_of_an_error_is_no_page() {
        let dir = tempfile::tempdir().unwrap();
        let script = "echo '<html><body class=\"neterror\"><div id=\"main-frame-error\"><p>This site cannot be reached, says the browser, and it may be moved or be gone for good.</p></div></body></html>'";
        let it = browser(dir.path(), script, LONG);
        let fault = it.read(&hit("http://127.0.0.1/")).await.unwrap_err();
        assert_eq!(
            FailReason::told_in(&fault.chain()),
            Some(FailReason::Broken)
        );
    }

    #[tokio::test]
    async fn pages_that_never_end_leave_the_one_behind_them_its_time() {
        let dir = tempfile::tempdir().unwrap();
        let script = "case \"$*\" in *slow*) sleep 30;; esac\necho '<p>Cork floats because its cells are closed and filled with air, and has long been known to.</p>'";
        let it = browser(dir.path(), script, Duration::from_secs(2));
        let (a, b, last) = (
            hit("http://127.0.0.1/slow/1"),
            hit("http://127.0.0.2/slow/2"),
            hit("http://127.0.0.3/"),
        );
        let (a, b, last) = tokio::join!(it.read(&a), it.read(&b), it.read(&last));
        assert!(a.is_err() && b.is_err());
        assert!(last.unwrap().text().expose().contains("Cork floats"));
    }

    #[tokio::test]
    async fn a_browser_that_does_not_end_is_ended_with_all_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let alive = dir.path().join("alive");
        let script = format!("(sleep 2; touch {}) & sleep 30", alive.display());
        let it = browser(dir.path(), &script, Duration::from_millis(500));
        let fault = it.read(&hit("http://127.0.0.1/")).await.unwrap_err();
        assert_eq!(
            FailReason::told_in(&fault.chain()),
            Some(FailReason::Timeout)
        );
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(!alive.exists());
    }

    #[tokio::test]
    async fn too_much_is_cut_off_and_what_may_not_be_asked_starts_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let begun = dir.path().join("begun");
        let it = browser(
            dir.path(),
            &format!("touch {}; exec yes", begun.display()),
            LONG,
        );
        let reason = async |url| {
            let fault = it.read(&hit(url)).await.unwrap_err();
            FailReason::told_in(&fault.chain())
        };
        assert_eq!(
            reason("http://10.0.0.1/").await,
            Some(FailReason::BlockedAddress)
        );
        assert!(!begun.exists());
        assert_eq!(
            reason("http://127.0.0.1/").await,
            Some(FailReason::TooLarge)
        );
        assert!(it.reads_after(&hit("http://127.0.0.1/"), FailReason::Empty));
        assert!(!it.reads_after(&hit("http://127.0.0.1/"), FailReason::Paywall));
    }
}
