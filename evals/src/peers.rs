//! Other extractors over the same pages in the same run, each through its own interface.
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// What to say where no peer was asked.
pub(crate) const HOW: &str = "no peers: install them with `python3 -m venv VENV && VENV/bin/pip install trafilatura htmldate \
     readability-lxml lxml_html_clean resiliparse` and name `--python VENV/bin/python`";

/// What one peer said of each page, and the processor seconds it took for all.
#[derive(Default)]
pub(crate) struct PeerResult {
    pub(crate) said: Vec<String>,
    pub(crate) seconds: f64,
}

/// Runs all peers that `python` has over the pages; `kind` is `text` or `dates`.
pub(crate) fn ask(
    python: &str,
    kind: &str,
    pages: &[(String, String)],
) -> Result<BTreeMap<String, PeerResult>, String> {
    let fault = |error: std::io::Error| format!("{python}: {error}");
    let mut child = Command::new(python)
        .args(["-c", include_str!("peers.py"), kind])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(fault)?;
    // It reads all of its input before it says anything.
    if let Some(mut input) = child.stdin.take() {
        for (path, url) in pages {
            writeln!(input, "{}", json!({"path": path, "url": url})).map_err(fault)?;
        }
    }
    let output = child.wait_with_output().map_err(fault)?;
    let mut peers: BTreeMap<String, PeerResult> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("{python}: {error}"))?;
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let peer = peers.entry(text("peer")).or_default();
        peer.said.push(text("said"));
        peer.seconds += value["seconds"].as_f64().unwrap_or(0.0);
    }
    peers.retain(|_, it| it.said.len() == pages.len());
    if peers.is_empty() { Err(format!("{python} has none of the peers\n{HOW}")) } else { Ok(peers) }
}

/// Seconds of processor time that this thread has used; wall-clock where the kernel does not tell.
pub(crate) fn processor_seconds(since: std::time::Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|it| it.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| since.elapsed().as_secs_f64(), |it| it / 1e9)
}
