//! The notice that names a model which an API key selected.
use crate::console::Console;
use ibid::config::Settings;

/// Prints the model and its maximum cost if an API key selected it: its use must not be a surprise.
pub(super) fn print_model(settings: &Settings, console: Console) {
    let (Some(variable), Some(model)) = (settings.models_by_key, settings.models.values().next())
    else {
        return;
    };
    if !console.quiet {
        let usd = settings.budget.usd.unwrap_or_default();
        console.eprint_line(&format!(
            "using model {model} because {variable} is set, for at most ${usd:.2} (change with --model none or --budget)"
        ));
    }
}
