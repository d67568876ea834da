//! The quality of runs: `judge`, `rate`, `stats`.
use crate::args::{JudgeArgs, RateArgs};
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::find_run::find;
use crate::model_notice::print_model;
use crate::runtime::with_app;
use crate::signals::until_stopped;
use ibid::config::LoadedConfig;
use ibid_core::domain::Rating;
use ibid_report::judgement;

/// `ibid judge R`.
pub(super) fn judge(args: &JudgeArgs, loaded: &LoadedConfig, console: Console) -> CommandResult {
    print_model(&loaded.settings, console);
    with_app(loaded, async |app| {
        let run = find(app, &args.run).await?;
        let found = until_stopped(app.judge(&run, &app.settings().budget)).await?;
        if args.json {
            console.print_line(&judgement::to_json(&run, &found).to_string())?
        } else {
            console.print(&judgement::to_text(&found))?
        }
        Ok(ExitStatus::Delivered)
    })
}

/// `ibid rate R up|down`.
pub(super) fn rate(args: &RateArgs, loaded: &LoadedConfig, console: Console) -> CommandResult {
    with_app(loaded, async |app| {
        let run = find(app, &args.run).await?;
        let note = args.note.as_ref().map(|note| note.trim().to_owned());
        let note = note.filter(|note| !note.is_empty());
        app.rate(&run, Rating { vote: args.vote, note }).await?;
        if !console.quiet {
            console.eprint_line(&format!("rated run {run} {}", args.vote.as_str()));
        }
        Ok(ExitStatus::Delivered)
    })
}

/// `ibid stats`.
pub(super) fn stats(loaded: &LoadedConfig, json: bool, console: Console) -> CommandResult {
    with_app(loaded, async |app| {
        let tally = app.tally().await?;
        if json {
            console.print_line(&judgement::tally_json(&tally).to_string())?
        } else {
            console.print(&judgement::tally_text(&tally))?
        }
        Ok(ExitStatus::Delivered)
    })
}
