//! `ibid serve`.
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::args::Serving;
use super::ask::folders;
use super::console::Console;
use super::exit::{Done, Exit};
use super::signals::Signals;
use super::wait;
use crate::app::App;
use crate::config::{Loaded, Surroundings};
use crate::surfaces::asked::Served;
use crate::surfaces::http::{Listening, Telling};

/// Serves until SIGTERM or Ctrl-C: then runs stop where they are, and the next start goes on with them.
pub(super) fn serve(
    it: &Serving,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let served = Served {
        folders: folders(&it.folder, loaded, surroundings)?
            .into_iter()
            .map(PathBuf::from)
            .collect(),
        models: loaded.settings.serve.models.clone(),
    };
    let telling = Telling::new(console.verbose, move |line| console.tell(line));
    wait(async {
        let app = Arc::new(App::open(loaded.settings.clone()).await?);
        let listening = Listening::open(app, surroundings.clone(), served, telling.clone()).await?;
        let addr = listening.addr()?;
        console.line(&format!("http://{addr}"))?;
        if !console.quiet {
            telling.note("listening", &[("addr", json!(addr.to_string()))]);
        }
        let mut signals = Signals::listen()?;
        listening.serve(signals.next()).await;
        Ok(Exit::Delivered)
    })?
}
