//! `ibid export R`: the report, the plan or the recording of a run, in a file or on stdout.
use crate::args::{ExportArgs, ExportKind};
use crate::console::Console;
use crate::exit::CommandResult;
use crate::{plan, replay, runs};
use ibid::config::{LoadedConfig, ProcessEnv};

/// `ibid export R`.
pub(super) fn export(
    args: &ExportArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let path = args.output.as_ref().map(|output| env.cwd.join(output));
    let path = path.as_deref();
    match args.format {
        Some(ExportKind::Plan) => plan::export(loaded, &args.run, path, console),
        Some(ExportKind::Recording) => replay::export(loaded, &args.run, path, console),
        Some(ExportKind::Report(_)) | None => {
            runs::export(loaded, &args.run, &args.render_args(), path, console)
        }
    }
}
