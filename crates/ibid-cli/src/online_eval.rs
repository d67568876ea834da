//! Judging a run right after its report, if the settings ask for it.
use crate::console::Console;
use crate::exit::CommandError;
use crate::signals::until_stopped;
use ibid::app::App;
use ibid_core::Error;
use ibid_core::domain::{Budget, Usage};
use ibid_core::record::Run;
use ibid_report::escape::single_line;
use ibid_report::judgement;

/// Judges a run with a report if `judging.online` is set, within the rest of the run's budget. A failure is only a warning,
/// because the run itself has succeeded.
pub(super) async fn judge_online(app: &App, run: &Run, console: Console) {
    let (Some(report), None) = (&run.report, &run.judgement) else {
        return;
    };
    if !app.settings().judging.online {
        return;
    }
    let budget = run.question.as_ref().map(|question| question.budget);
    let left = remaining_budget(&budget.unwrap_or_default(), &report.usage);
    let warn = |why: &str| {
        console.eprint_line(&format!("{} not judged: {why}", console.err.yellow("warning:")));
    };
    match until_stopped(app.judge(&run.id, &left)).await {
        Ok(found) if !console.quiet => console.eprint_line(&format!(
            "quality {:.2} (answer {:.2}, process {:.2}); {}",
            found.composite,
            found.answer.score,
            found.process.score,
            judgement::judge_line(&found)
        )),
        Ok(_) => {}
        Err(CommandError::Fault(fault)) => warn(&error_text(&fault)),
        Err(CommandError::Reported(_) | CommandError::PipeClosed) => warn("stopped"),
    }
}

fn error_text(fault: &Error) -> String {
    let why = single_line(&fault.chain());
    match fault.hint() {
        Some(hint) => format!("{why} ({hint})"),
        None => why,
    }
}

/// The money and tokens that a run left for its judge. The limit on time applies to the judge anew.
fn remaining_budget(budget: &Budget, spent: &Usage) -> Budget {
    Budget {
        usd: budget.usd.map(|usd| (usd - spent.usd.unwrap_or(0.0)).max(0.0)),
        tokens: budget
            .tokens
            .map(|tokens| tokens.saturating_sub(spent.tokens_in + spent.tokens_out)),
        ..*budget
    }
}
