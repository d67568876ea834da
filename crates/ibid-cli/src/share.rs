//! `ibid share`: a report for other people, as one HTML file or as a link.
use crate::args::ShareArgs;
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::find_run::with_report;
use crate::report_output::{output_path, write_text};
use crate::runtime::with_app;
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::domain::ShareCreator;
use ibid_report::html;
use ibid_report::markdown::pluralize;

/// `ibid share R`.
pub(super) fn share(
    args: &ShareArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    with_app(loaded, async |app| {
        let (run, report) = with_report(app, &args.run).await?;
        if args.revoke {
            let count = app.unshare(&run.id).await?;
            console.eprint_line(&format!(
                "revoked {} to run {}",
                pluralize(count as u64, "link"),
                run.id
            ));
            return Ok(ExitStatus::Delivered);
        }
        let has_left_out = !args.include_private && html::has_local(&report);
        if args.link {
            let (token, share) =
                app.share(&run.id, args.days, args.include_private, ShareCreator::Operator).await?;
            console.print_line(&format!("http://{}/s/{token}", loaded.settings.serve.addr))?;
            console.eprint_line(&format!(
                "this link opens the report of run {} until {} while `ibid serve` serves this store; it is not shown again (to revoke it: ibid share {} --revoke)",
                run.id, share.until, run.id
            ));
        } else {
            let pages = app.report_pages(Some(&report)).await?;
            let target = args.output.as_deref().unwrap_or(&env.cwd);
            let path = output_path(&env.cwd.join(target), &format!("{}.html", run.id))?;
            write_text(&path, &html::render_shared(&report, &pages, args.include_private)?)?;
            console.print_line(&path.display().to_string())?;
        }
        if has_left_out && !console.quiet {
            console.eprint_line("quotes from local documents are left out (--include-private includes them); the sentences of the report stay");
        }
        Ok(ExitStatus::Delivered)
    })
}
