//! What is thought of runs: `judge`, `rate`, `stats`.
use super::args::{Judge, Rate, Thumb};
use super::ask::tell_model;
use super::console::Console;
use super::exit::{Done, Exit};
use super::runs::find;
use super::signals::until_stopped;
use super::with_app;
use crate::config::Loaded;
use crate::domain::{Rating, Vote};
use crate::surfaces::export::judgement;

/// `ibid judge R`.
pub(super) fn judge(it: &Judge, loaded: &Loaded, console: Console) -> Done {
    tell_model(&loaded.settings, console);
    with_app(loaded, async |app| {
        let run = find(app, &it.run).await?;
        let found = until_stopped(app.judge(&run, &app.settings().budget)).await?;
        match it.json {
            true => console.line(&judgement::json(&run, &found).to_string())?,
            false => console.print(&judgement::text(&found))?,
        }
        Ok(Exit::Delivered)
    })
}

/// `ibid rate R up|down`.
pub(super) fn rate(it: &Rate, loaded: &Loaded, console: Console) -> Done {
    with_app(loaded, async |app| {
        let run = find(app, &it.run).await?;
        let vote = match it.thumb {
            Thumb::Up => Vote::Up,
            Thumb::Down => Vote::Down,
        };
        let note = it.note.as_ref().map(|it| it.trim().to_owned());
        let note = note.filter(|it| !it.is_empty());
        app.rate(&run, Rating { vote, note }).await?;
        if !console.quiet {
            console.tell(&format!("run {run} is rated {}", vote.word()));
        }
        Ok(Exit::Delivered)
    })
}

/// `ibid stats`.
pub(super) fn stats(loaded: &Loaded, json: bool, console: Console) -> Done {
    with_app(loaded, async |app| {
        let tally = app.tally().await?;
        match json {
            true => console.line(&judgement::tally_json(&tally).to_string())?,
            false => console.print(&judgement::tally_text(&tally))?,
        }
        Ok(Exit::Delivered)
    })
}
