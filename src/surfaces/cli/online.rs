//! Judging beside a run: after its report is out, and never in its way.
use super::console::Console;
use super::exit::Stop;
use super::signals::until_stopped;
use crate::app::App;
use crate::domain::{Budget, Usage};
use crate::error::Error;
use crate::record::Run;
use crate::surfaces::export::escape::line;
use crate::surfaces::export::judgement;

/// Judges a run whose report is out, where the settings ask for it, within what it left of its budget. The run has
/// ended well whatever comes of this.
pub(super) async fn online(app: &App, run: &Run, console: Console) {
    let (Some(report), None) = (&run.report, &run.judgement) else {
        return;
    };
    if !app.settings().judging.online {
        return;
    }
    let asked = run.question.as_ref().map(|it| it.budget);
    let left = left(&asked.unwrap_or_default(), &report.usage);
    let warn = |why: &str| {
        console.tell(&format!(
            "{} not judged: {why}",
            console.err.yellow("warning:")
        ));
    };
    match until_stopped(app.judge(&run.id, &left)).await {
        Ok(found) if !console.quiet => console.tell(&format!(
            "quality {:.2} (answer {:.2}, process {:.2}); {}",
            found.composite,
            found.answer.score,
            found.process.score,
            judgement::judge(&found)
        )),
        Ok(_) => {}
        Err(Stop::Fault(fault)) => warn(&told(&fault)),
        Err(Stop::Told(_) | Stop::PipeClosed) => warn("stopped"),
    }
}

fn told(fault: &Error) -> String {
    let why = line(&fault.chain());
    match fault.help() {
        Some(hint) => format!("{why} ({hint})"),
        None => why,
    }
}

/// What is left of a budget for a judge. Its time is its own: a run that used all of its own has ended all the same.
fn left(budget: &Budget, spent: &Usage) -> Budget {
    Budget {
        usd: budget
            .usd
            .map(|it| (it - spent.usd.unwrap_or(0.0)).max(0.0)),
        tokens: budget
            .tokens
            .map(|it| it.saturating_sub(spent.tokens_in + spent.tokens_out)),
        ..*budget
    }
}
