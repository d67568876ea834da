//! An installed Chromium, for pages that have no text until their scripts have run.
//!
//! It runs headless with a temporary profile. It can resolve only the host of the page, to the address that the SSRF guard
//! has checked; every other name fails, also in redirects and scripts. Its sandbox stays on, so it does not start for root.
use std::ffi::{OsStr, OsString};
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

use super::addresses::{addresses, is_outside};
use super::draft_cache::DraftCache;
use super::read_error::{parse_error, read_error};
use super::soft_404;
use ibid_core::domain::{Hit, Page, PageDraft};
use ibid_core::ports::{PageReader, host_and_port};
use ibid_core::{Error, ErrorKind, ReadFailure, Result};
use ibid_extract::{DocumentOrigin, ExtractLimits};
use ibid_net::web::fetch::{FetchError, Fetcher};

/// The names of the program.
const PROGRAMS: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome-headless-shell",
];
/// Maximum time for a page, with the start of the browser.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum wait for a browser that is busy with other pages.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(90);
/// Occurs in Chromium's own page for an address that it could not reach, in every language.
const ERROR_PAGE_MARKER: &[u8] = b"<div id=\"main-frame-error\"";
/// The largest page, in bytes.
const MAX_BYTES: u64 = 8 << 20;
/// A page without a server that contains [`HEALTH_CHECK_WORD`] when its script has run.
const HEALTH_CHECK_PAGE: &str =
    "data:text/html,<p id=a></p><script>a.textContent='ran'+'its'+'script'</script>";
const HEALTH_CHECK_WORD: &str = "ranitsscript";
/// The rule by which no host can be resolved.
const RESOLVE_NOTHING: &str = "MAP * ~NOTFOUND";
/// Maximum number of browsers at once. Each takes a few hundred megabytes.
const MAX_BROWSERS: usize = 2;

/// Reads pages with a browser.
pub struct Chromium {
    program: PathBuf,
    fetcher: Arc<Fetcher>,
    limits: ExtractLimits,
    drafts: DraftCache,
    permits: Semaphore,
    timeout: Duration,
}

impl Chromium {
    /// Uses the browser `program`, a name or a path; if empty, the first that is on the search path of `limits`. It reads only
    /// addresses that `fetcher` would fetch.
    ///
    /// # Errors
    /// `Setup` when there is no such program.
    pub fn open(program: &str, fetcher: Arc<Fetcher>, limits: ExtractLimits) -> Result<Chromium> {
        let program = Chromium::find(program, &limits.path).ok_or_else(|| {
            Error::new(ErrorKind::Setup, "no Chromium was found for the reader chromium")
                .with_hint("install chromium, set chromium to its path, or take it out of readers")
        })?;
        Ok(Chromium {
            program,
            fetcher,
            limits,
            drafts: DraftCache::default(),
            permits: Semaphore::new(MAX_BROWSERS),
            timeout: TIMEOUT,
        })
    }

    /// Caches pages in `drafts`.
    #[must_use]
    pub fn with_cache(mut self, drafts: DraftCache) -> Chromium {
        self.drafts = drafts;
        self
    }

    /// Finds the browser `program`, a name or a path; if empty, the first that is on the search path `path`.
    pub fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
        match program {
            "" => PROGRAMS.iter().find_map(|name| on_path(name, path)),
            file if file.contains('/') => {
                Some(PathBuf::from(file)).filter(|file| is_executable(file))
            }
            name => on_path(name, path),
        }
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Reads a page without a server, to check that the browser works.
    ///
    /// # Errors
    /// `Setup` when it does not, with the usual cause as the hint.
    pub async fn health_check(&self) -> Result<()> {
        let broken = |why: String| {
            let hint = if rustix::process::geteuid().is_root() {
                "run ibid as a user other than root: the sandbox of a browser does not start for root"
            } else {
                "start it by hand to see why; in a container its sandbox needs user namespaces (--security-opt seccomp=unconfined)"
            };
            let doing = format!("checking the browser {}", self.program.display());
            Error::new(ErrorKind::Setup, doing).with_source(why).with_hint(hint)
        };
        let url = Url::parse(HEALTH_CHECK_PAGE).map_err(|cause| broken(cause.to_string()))?;
        let dom = timeout(self.timeout, self.dom(&url, RESOLVE_NOTHING)).await;
        let dom =
            dom.map_err(|_| broken(format!("it took more than {} s", self.timeout.as_secs())))?;
        let dom = dom.map_err(|cause| broken(cause.to_string()))?;
        if String::from_utf8_lossy(&dom).contains(HEALTH_CHECK_WORD) {
            Ok(())
        } else {
            Err(broken("it returned no page".to_owned()))
        }
    }

    async fn read_url(&self, url: &str) -> Result<PageDraft> {
        let fault = |reason, why: &str| read_error(url, reason, why);
        let checked = self.fetcher.guard().check(url).map_err(FetchError::from);
        checked.map_err(|error| fault(error.reason, &error.why))?;
        if let Some(draft) = self.drafts.get(self.name(), url).await {
            return Ok(draft);
        }
        let allowed = self.fetcher.check_allowed(url).await;
        let (target, addresses) = allowed.map_err(|error| fault(error.reason, &error.why))?;
        let rules = resolver_rules(&target, &addresses)
            .ok_or_else(|| fault(ReadFailure::Unsupported, "its host is an IPv6 address"))?;
        // Waiting for a browser does not use up the time of the page.
        let _permit = timeout(QUEUE_TIMEOUT, self.permits.acquire())
            .await
            .map_err(|_| fault(ReadFailure::Timeout, "no browser was free in time"))?;
        self.fetcher.egress().record_sent(&host_and_port(target.as_str()), 0);
        let dom = timeout(self.timeout, self.dom(&target, &rules)).await;
        let late = format!("the browser took more than {} s", self.timeout.as_secs());
        let dom = dom.map_err(|_| fault(ReadFailure::Timeout, &late))?.map_err(|cause| {
            fault(ReadFailure::Unsupported, &format!("the browser failed: {cause}"))
        })?;
        if dom.len() as u64 > MAX_BYTES {
            return Err(fault(ReadFailure::TooLarge, "it is larger than the size limit"));
        }
        self.fetcher.egress().record_received(&host_and_port(target.as_str()), dom.len());
        if dom.windows(ERROR_PAGE_MARKER.len()).any(|window| window == ERROR_PAGE_MARKER) {
            let why = "the browser did not reach it, or where its scripts led";
            return Err(fault(ReadFailure::Broken, why));
        }
        let html = "text/html; charset=utf-8".to_owned();
        let origin = DocumentOrigin::from_url(target.as_str(), Some(html));
        let parsed = ibid_extract::fetched(dom, origin, &self.limits).await;
        let mut draft = parsed.map_err(|error| parse_error(url, target.as_str(), &error))?;
        draft.warnings.push("read after its scripts had run".to_owned());
        if let Some((reason, phrase)) = soft_404::detect(&draft) {
            return Err(fault(reason, &format!("the page says `{phrase}`")));
        }
        self.drafts.put(self.name(), url, &draft).await;
        Ok(draft)
    }

    /// Returns the HTML of a page after its scripts have run, cut after `MAX_BYTES + 1` bytes.
    async fn dom(&self, url: &Url, rules: &str) -> std::io::Result<Vec<u8>> {
        let profile = TempProfile::new()?;
        let mut child = Command::new(&self.program)
            .args(arguments(&profile.0, rules, self.fetcher.agent()))
            .arg(url.as_str())
            .env_clear()
            .env("PATH", &self.limits.path)
            .env("HOME", &profile.0)
            .env("TMPDIR", &profile.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let _group = ProcessGroup(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        let mut dom = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout.take(MAX_BYTES + 1).read_to_end(&mut dom).await?;
        }
        if dom.len() as u64 > MAX_BYTES {
            return Ok(dom);
        }
        let status = child.wait().await?;
        if status.success() { Ok(dom) } else { Err(std::io::Error::other(status.to_string())) }
    }
}

#[async_trait]
impl PageReader for Chromium {
    fn name(&self) -> &str {
        "chromium"
    }

    fn can_read(&self, hit: &Hit) -> bool {
        is_outside(hit) && !addresses(hit).is_empty()
    }

    fn can_read_after(&self, _: &Hit, reason: ReadFailure) -> bool {
        reason == ReadFailure::Empty
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        let url = addresses(hit).first().map_or(hit.url.as_str(), |address| address.url);
        self.read_url(url).await.map(Page::new)
    }
}

/// The resolver rules for a page: its host at its checked address and port, and no other host. The first rule that matches
/// counts. `None` for an IPv6 address as host.
fn resolver_rules(url: &Url, checked: &[SocketAddr]) -> Option<String> {
    let port = url.port_or_known_default()?;
    let (host, at) = match (url.host()?, checked.first()) {
        (Host::Domain(name), Some(at)) => (name.to_owned(), at.to_string()),
        (Host::Ipv4(ip), _) => (ip.to_string(), format!("{ip}:{port}")),
        _ => return None,
    };
    Some(format!("MAP {host} {at}, {RESOLVE_NOTHING}"))
}

fn arguments(profile: &Path, rules: &str, agent: &str) -> Vec<OsString> {
    let mut profile_flag = OsString::from("--user-data-dir=");
    profile_flag.push(profile);
    let flags = [
        "--headless",
        "--dump-dom",
        // The clock of the page runs ahead when the page has nothing to do.
        "--virtual-time-budget=10000",
        "--timeout=25000",
        "--no-proxy-server",
        "--disable-quic",
        // UDP must not bypass the resolver rules.
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
    let mut all: Vec<OsString> = flags.iter().map(OsString::from).collect();
    all.push(format!("--host-resolver-rules={rules}").into());
    all.push(format!("--user-agent={agent}").into());
    all.push(profile_flag);
    all
}

/// A directory that is removed when dropped.
struct TempProfile(PathBuf);

impl TempProfile {
    fn new() -> std::io::Result<TempProfile> {
        let name = format!("ibid-chromium-{:016x}", rand::random::<u64>());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(TempProfile(path))
    }
}

impl Drop for TempProfile {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The processes that the browser has started. They are killed when dropped.
struct ProcessGroup(Option<Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|path| is_executable(path))
}

#[cfg(test)]
mod tests {
    use ibid_core::FailureReason;

    use super::*;
    use ibid_net::web::fetch::{FetchLimits, SystemResolver};
    use ibid_net::web::guard::SsrfGuard;

    /// A program in place of the browser: what it does is tested where there is one, here how it is called and ended.
    fn browser(dir: &Path, script: &str, patience: Duration) -> Chromium {
        let program = dir.join("browser");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let guard = SsrfGuard::with_allowed(vec!["127.0.0.0/8".parse().unwrap()]);
        let gate =
            Fetcher::new(guard, Arc::new(SystemResolver), FetchLimits::default(), "ibid-test");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let limits = ExtractLimits { path, ..ExtractLimits::default() };
        let program = program.to_string_lossy().into_owned();
        let opened = Chromium::open(&program, Arc::new(gate), limits).unwrap();
        Chromium { timeout: patience, ..opened }
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
        let profile = told.lines().find_map(|line| line.strip_prefix("--user-data-dir="));
        assert!(!Path::new(profile.unwrap()).exists());
    }

    #[tokio::test]
    async fn the_browsers_own_page_of_an_error_is_no_page() {
        let dir = tempfile::tempdir().unwrap();
        let script = "echo '<html><body class=\"neterror\"><div id=\"main-frame-error\"><p>This site cannot be reached, says the browser, and it may be moved or be gone for good.</p></div></body></html>'";
        let it = browser(dir.path(), script, LONG);
        let fault = it.read(&hit("http://127.0.0.1/")).await.unwrap_err();
        assert_eq!(fault.reason(), Some(&FailureReason::Read(ReadFailure::Broken)));
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
        let pids = dir.path().join("pids");
        let script = format!("sleep 30 & echo $! $$ > {}; wait", pids.display());
        let it = browser(dir.path(), &script, Duration::from_millis(500));
        let fault = it.read(&hit("http://127.0.0.1/")).await.unwrap_err();
        assert_eq!(fault.reason(), Some(&FailureReason::Read(ReadFailure::Timeout)));
        let pids = std::fs::read_to_string(&pids).unwrap();
        let runs = |pid: &str| {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z")
        };
        // The kernel delivers the signals in its own time.
        let ended = async {
            while pids.split_whitespace().any(runs) {
                tokio::task::yield_now().await;
            }
        };
        let ended = tokio::time::timeout(LONG, ended).await;
        assert!(ended.is_ok(), "one of {pids} goes on");
    }

    #[tokio::test]
    async fn too_much_is_cut_off_and_what_may_not_be_asked_starts_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let begun = dir.path().join("begun");
        let it = browser(dir.path(), &format!("touch {}; exec yes", begun.display()), LONG);
        let reason = async |url| {
            let fault = it.read(&hit(url)).await.unwrap_err();
            fault.reason().cloned()
        };
        assert_eq!(
            reason("http://10.0.0.1/").await,
            Some(FailureReason::Read(ReadFailure::BlockedAddress))
        );
        assert!(!begun.exists());
        assert_eq!(
            reason("http://127.0.0.1/").await,
            Some(FailureReason::Read(ReadFailure::TooLarge))
        );
        assert!(it.can_read_after(&hit("http://127.0.0.1/"), ReadFailure::Empty));
        assert!(!it.can_read_after(&hit("http://127.0.0.1/"), ReadFailure::Paywall));
    }
}
