//! `ibid serve`.
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::args::{Serving, Tooling, ToolingAction};
use super::ask::folders;
use super::console::Console;
use super::exit::{Done, Exit};
use super::signals::Signals;
use super::wait;
use crate::app::App;
use crate::app::queue::Queue;
use crate::config::{Flag, Loaded, Settings, Surroundings, layers};
use crate::error::{Error, Kind, Result};
use crate::surfaces::asked::Served;
use crate::surfaces::desk::{self, Desk};
use crate::surfaces::health::{State, sandbox};
use crate::surfaces::http::{Listening, Telling};
use crate::surfaces::mcp::{Mcp, hosts};

/// Serves until SIGTERM or Ctrl-C: then runs stop where they are, and the next start goes on with them.
pub(super) fn serve(
    it: &Serving,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let flags = it.flags();
    serving(&it.folder, &flags, loaded, surroundings, console, |_| {
        "".to_owned()
    })
}

/// The same; the address that is printed goes on with what `page` says of where it listens.
pub(super) fn serving(
    folders: &[PathBuf],
    flags: &[Flag],
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
    page: impl FnOnce(&str) -> String,
) -> Done {
    let served = served(folders, loaded, surroundings)?;
    let telling = Telling::new(console.verbose, move |line| console.tell(line));
    wait(async {
        let app = Arc::new(App::open(loaded.settings.clone()).await?);
        let listening = Listening::open(app, surroundings.clone(), served, telling.clone()).await?;
        let addr = listening.addr()?;
        let at = format!("http://{addr}");
        console.line(&format!("{at}{}", page(&at)))?;
        if !console.quiet {
            telling.note("listening", &[("addr", json!(addr.to_string()))]);
        }
        let mut signals = Signals::listen()?;
        let reloads = reloads(listening.queue(), surroundings, flags, &telling);
        tokio::select! {
            () = listening.serve(signals.next()) => Ok(Exit::Delivered),
            fault = reloads => Err(fault.into()),
            () = tell_walls(loaded.settings.clone(), &telling) => Ok(Exit::Delivered),
        }
    })?
}

/// Tells once what is missing of the walls around the parsers of documents, and rests.
async fn tell_walls(settings: Settings, telling: &Telling) {
    let looked = tokio::task::spawn_blocking(move || sandbox(&settings)).await;
    if let Ok(it) = looked
        && it.state != State::Good
    {
        let hint = it.fix.unwrap_or_default();
        let told = [("found", it.found.into()), ("hint", hint.into())];
        telling.note("document_sandbox", &told);
    }
    std::future::pending().await
}

/// Reads the settings again at each SIGHUP, and takes on as much as they say from then on; ends only where it cannot hear.
async fn reloads(
    queue: Arc<Queue>,
    surroundings: &Surroundings,
    flags: &[Flag],
    telling: &Telling,
) -> Error {
    let heard = signal(SignalKind::hangup());
    let mut heard = match heard {
        Ok(it) => it,
        Err(fault) => return Error::new(Kind::Setup, "listening for SIGHUP").because(fault),
    };
    while heard.recv().await.is_some() {
        match layers::load(surroundings, flags) {
            Ok(loaded) => {
                let limits = desk::limits(&loaded.settings.serve);
                queue.bound(limits);
                let told = [
                    ("concurrency", limits.working.into()),
                    ("queue", limits.waiting.into()),
                ];
                telling.note("reloaded", &told);
            }
            // What was in force stays.
            Err(fault) => telling.note("not_reloaded", &[("why", fault.chain().into())]),
        }
    }
    std::future::pending().await
}

/// What is offered to those who ask: the folders of the settings, those that are named, and models.
fn served(named: &[PathBuf], loaded: &Loaded, surroundings: &Surroundings) -> Result<Served> {
    Ok(Served {
        folders: folders(named, loaded, surroundings)?
            .into_iter()
            .map(PathBuf::from)
            .collect(),
        models: loaded.settings.serve.models.clone(),
    })
}

/// `ibid mcp`: until stdin ends. Runs that have not ended by then are gone on with by the next start.
pub(super) fn tools(
    it: &Tooling,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    if let Some(ToolingAction::Config { client }) = &it.action {
        let Some((place, what)) = hosts::of(client) else {
            let names: Vec<&str> = hosts::names().collect();
            let fault = Error::new(Kind::Usage, format!("there is no client `{client}`"));
            return Err(fault
                .hint(format!("name one of {}", names.join(", ")))
                .into());
        };
        console.tell(&console.err.dim(place));
        console.line(what)?;
        return Ok(Exit::Delivered);
    }
    if loaded.settings.mcp_over_http {
        let same = Serving {
            addr: None,
            folder: it.folder.clone(),
            concurrency: None,
        };
        return serve(&same, loaded, surroundings, console);
    }
    let served = served(&it.folder, loaded, surroundings)?;
    wait(async {
        let app = Arc::new(App::open(loaded.settings.clone()).await?);
        let (desk, operator, _) = Desk::open(app, surroundings.clone(), served, None).await?;
        let desk = Arc::new(desk);
        let mut signals = Signals::listen()?;
        tokio::select! {
            () = Arc::clone(operator.queue()).work() => {}
            () = signals.next() => {}
            spoken = Mcp::local(Arc::clone(&desk)).stdio() => spoken?,
        }
        Ok(Exit::Delivered)
    })?
}
