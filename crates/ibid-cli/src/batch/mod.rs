//! `ibid batch FILE -o OUT`: many questions, each a run of its own; one line per article.
mod benchmark_files;
mod output;
mod progress;
mod rows;
mod runner;

use crate::args::BatchArgs;
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::model_notice::print_model;
use crate::runtime::with_app;
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_report::markdown::pluralize;

use benchmark_files::write_benchmark_files;
use output::BatchOutput;
use runner::BatchRunner;

/// `ibid batch FILE -o OUT`.
pub(super) fn batch(
    args: &BatchArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    // Every row is checked before anything is spent.
    let rows = rows::read_rows(args, loaded, env)?;
    let output = BatchOutput::open(&env.cwd.join(&args.output), console)?;
    let mut todo = Vec::new();
    for row in &rows {
        if !output.is_answered(&row.id, &row.prompt)? {
            todo.push(row);
        }
    }
    let done = rows.len() - todo.len();
    if !console.quiet {
        let answered = match done {
            0 => String::new(),
            n => format!(", {n} answered already"),
        };
        console.eprint_line(&format!("{}{answered}", pluralize(rows.len() as u64, "row")));
    }
    let status = if todo.is_empty() {
        ExitStatus::Delivered
    } else {
        print_model(&loaded.settings, console);
        with_app(loaded, async |app| {
            let runner =
                BatchRunner { app, output, quotes: !args.no_quotes, strict: args.strict, console };
            runner.run_rows(&todo, args.jobs as usize, rows.len()).await
        })?
    };
    let written = write_benchmark_files(args.format, &env.cwd.join(&args.output))?;
    if let Some(path) = written.filter(|_| !console.quiet) {
        console.eprint_line(&format!("written for the benchmark: {}", path.display()));
    }
    Ok(status)
}
