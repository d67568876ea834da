//! A browser, driven over a pipe by the DevTools protocol. Source: <https://chromedevtools.github.io/devtools-protocol/>.
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The browser of this machine.
fn installed() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    std::env::split_paths(&path)
        .flat_map(|dir| names.map(|it| dir.join(it)))
        .find(|it| it.is_file())
        .expect("no Chromium is installed; `cargo xtask test` installs it")
}

/// A browser with one page, until this is dropped.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    last: u64,
    /// What it did that no page of ours does: dialogs, errors, requests elsewhere.
    pub(crate) amiss: Vec<String>,
    /// Where it may ask.
    home: String,
    dir: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Starts the browser of this machine on a page of its own; every request but to `home` is noted.
    pub(crate) fn start(home: &str) -> Browser {
        let dir = tempfile::tempdir().unwrap();
        let (orders, answers) = (dir.path().join("orders"), dir.path().join("answers"));
        for pipe in [&orders, &answers] {
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        let script = "exec \"$0\" --headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
             --disable-component-update --disable-sync --user-data-dir=\"$1\" --window-size=1280,900 --remote-debugging-pipe about:blank \
             3<\"$2\" 4>\"$3\"";
        let child = Command::new("sh")
            .args(["-c", script])
            .arg(installed())
            .arg(dir.path().join("profile"))
            .args([&orders, &answers])
            .env("HOME", dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Each end waits here for the other to be opened.
        let to = OpenOptions::new().write(true).open(&orders).unwrap();
        let mut pipe = File::open(&answers).unwrap();
        let (tell, from) = channel();
        std::thread::spawn(move || {
            let (mut held, mut piece) = (Vec::new(), vec![0; 1 << 16]);
            while let Ok(n @ 1..) = pipe.read(&mut piece) {
                held.extend_from_slice(&piece[..n]);
                while let Some(end) = held.iter().position(|it| *it == 0) {
                    let message: Vec<u8> = held.drain(..=end).collect();
                    let Ok(value) = serde_json::from_slice(&message[..end]) else {
                        return;
                    };
                    if tell.send(value).is_err() {
                        return;
                    }
                }
            }
        });
        let mut browser = Browser {
            child,
            to,
            from,
            session: String::new(),
            last: 0,
            amiss: Vec::new(),
            home: home.to_owned(),
            dir,
        };
        let target = browser.order("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.order(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        );
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.order(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// A folder that goes with the browser.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn order(&mut self, method: &str, params: Value) -> Value {
        self.try_order(method, params).unwrap_or_else(|fault| panic!("{method}: {fault}"))
    }

    /// Sends a command. Returns the browser's error, if there is one.
    fn try_order(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let heard = match self.from.recv_timeout(left) {
                Ok(it) => it,
                Err(RecvTimeoutError::Timeout) => panic!("{method} was not answered"),
                Err(RecvTimeoutError::Disconnected) => panic!("the browser is gone"),
            };
            if heard["id"] == id {
                let fault = &heard["error"];
                return if fault.is_null() {
                    Ok(heard["result"].clone())
                } else {
                    Err(fault.clone())
                };
            }
            self.note(&heard);
        }
    }

    fn note(&mut self, heard: &Value) {
        let it = &heard["params"];
        match heard["method"].as_str().unwrap_or_default() {
            "Page.javascriptDialogOpening" => {
                self.amiss.push(format!("dialog: {}", it["message"]));
                // Nothing else is answered while it is open.
                let close = json!({"id": 0, "sessionId": self.session, "method": "Page.handleJavaScriptDialog", "params": {"accept": false}});
                self.to.write_all(format!("{close}\0").as_bytes()).unwrap();
            }
            "Runtime.exceptionThrown" => self.amiss.push(format!("exception: {it}")),
            "Log.entryAdded" if it["entry"]["level"] == "error" => {
                self.amiss.push(format!("log: {} {}", it["entry"]["text"], it["entry"]["url"]));
            }
            "Network.requestWillBeSent" => {
                let url = it["request"]["url"].as_str().unwrap_or_default();
                if !url.starts_with(&self.home)
                    && !url.starts_with("data:")
                    && !url.starts_with("about:")
                {
                    self.amiss.push(format!("request: {url}"));
                }
            }
            _ => {}
        }
    }

    /// What `script` gives; promises are waited for.
    pub(crate) fn eval(&mut self, script: &str) -> Value {
        let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let it = self.order("Runtime.evaluate", params);
        assert!(it["exceptionDetails"].is_null(), "{script}: {it}");
        it["result"]["value"].clone()
    }

    /// Goes to an address, and waits until all of it is there.
    pub(crate) fn go(&mut self, url: &str) {
        let it = self.order("Page.navigate", json!({"url": url}));
        assert!(it["errorText"].is_null(), "{url}: {it}");
        self.until(&format!(
            "document.readyState === 'complete' && location.href.split('#')[0] === {}",
            json!(url.split('#').next())
        ));
    }

    /// Waits until `script` holds, over navigations too.
    pub(crate) fn until(&mut self, script: &str) {
        let since = Instant::now();
        loop {
            let params = json!({"expression": format!("!!({script})"), "returnByValue": true});
            match self.try_order("Runtime.evaluate", params) {
                Ok(it) if it["result"]["value"] == true => return,
                // The page was left while the script ran.
                Err(fault) if fault["message"] != "Inspected target navigated or closed" => {
                    panic!("{script}: {fault}")
                }
                _ => {}
            }
            if since.elapsed() > PATIENCE {
                let at =
                    self.eval("location.href + '\\n' + document.body.innerText.slice(0, 2000)");
                panic!("{script} never held at {at}");
            }
            // The browser paints and runs meanwhile.
            std::thread::sleep(Duration::from_millis(40));
        }
    }

    /// Clicks what the selector finds and waits for the page it leads to.
    pub(crate) fn follow(&mut self, selector: &str) {
        let stamp = self.eval("window.stamp = performance.timeOrigin");
        self.eval(&format!("document.querySelector({}).click()", json!(selector)));
        self.until(&format!(
            "document.readyState === 'complete' && performance.timeOrigin !== {stamp}"
        ));
    }

    /// A key, as if somebody pressed it.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let text = match key {
                "Enter" => "\r",
                "Space" => " ",
                _ => "",
            };
            let mut it = json!({"type": kind, "key": if key == "Space" { " " } else { key }, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                it["text"] = text.into();
            }
            self.order("Input.dispatchKeyEvent", it);
        }
    }

    /// Words, as if somebody typed them.
    pub(crate) fn write(&mut self, text: &str) {
        self.order("Input.insertText", json!({"text": text}));
    }

    /// How it looks: light or dark, how wide, whether scripts run.
    pub(crate) fn look(&mut self, scheme: &str, width: u32, scripts: bool) {
        self.order(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]}),
        );
        self.order(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}),
        );
        self.order("Emulation.setScriptExecutionDisabled", json!({"value": !scripts}));
    }
}
