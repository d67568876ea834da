//! `ibid serve`.
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::args::{Serving, Tooling, ToolingAction};
use super::ask::folders;
use super::console::Console;
use super::exit::{Done, Exit};
use super::signals::Signals;
use super::wait;
use crate::app::App;
use crate::config::{Loaded, Surroundings};
use crate::error::{Error, Kind, Result};
use crate::surfaces::asked::Served;
use crate::surfaces::desk::Desk;
use crate::surfaces::http::{Listening, Telling};
use crate::surfaces::mcp::{Mcp, hosts};

/// Serves until SIGTERM or Ctrl-C: then runs stop where they are, and the next start goes on with them.
pub(super) fn serve(
    it: &Serving,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    serving(&it.folder, loaded, surroundings, console, |_| "".to_owned())
}

/// The same; the address that is printed goes on with what `page` says of where it listens.
pub(super) fn serving(
    folders: &[PathBuf],
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
        listening.serve(signals.next()).await;
        Ok(Exit::Delivered)
    })?
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
    let served = served(&it.folder, loaded, surroundings)?;
    wait(async {
        let app = Arc::new(App::open(loaded.settings.clone()).await?);
        let (desk, _) = Desk::open(app, surroundings.clone(), served, None).await?;
        let desk = Arc::new(desk);
        let mut signals = Signals::listen()?;
        tokio::select! {
            () = Arc::clone(&desk.queue).work() => {}
            () = signals.next() => {}
            spoken = Mcp::local(Arc::clone(&desk)).stdio() => spoken?,
        }
        Ok(Exit::Delivered)
    })?
}
