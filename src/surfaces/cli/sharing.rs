//! `ibid share`: a report for somebody else, as one HTML file or as a link.
use super::args::Sharing;
use super::console::Console;
use super::exit::{Done, Exit};
use super::runs::with_report;
use super::{follow, with_app};
use crate::config::{Loaded, Surroundings};
use crate::domain::ShareMaker;
use crate::surfaces::export::markdown::counted;
use crate::surfaces::export::{self, html};

/// `ibid share R`.
pub(super) fn share(
    it: &Sharing,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    with_app(loaded, async |app| {
        let (run, report) = with_report(app, &it.run).await?;
        if it.revoke {
            let count = app.unshare(&run.id).await?;
            console.tell(&format!(
                "{} to run {} ended",
                counted(count as u64, "link"),
                run.id
            ));
            return Ok(Exit::Delivered);
        }
        let kept_back = !it.include_private && html::has_local(&report);
        if it.link {
            let (token, share) = app
                .share(&run.id, it.days, it.include_private, ShareMaker::Operator)
                .await?;
            console.line(&format!("http://{}/s/{token}", loaded.settings.serve.addr))?;
            console.tell(&format!(
                "reads the report of run {} until {}, where `ibid serve` serves this store; it is shown this once (ibid share {} --revoke ends it)",
                run.id, share.until, run.id
            ));
        } else {
            let pages = export::pages(app, Some(&report)).await?;
            let to = it.output.as_deref().unwrap_or(&surroundings.cwd);
            let path = follow::place(&surroundings.cwd.join(to), &format!("{}.html", run.id))?;
            follow::put(&path, &html::shared(&report, &pages, it.include_private)?)?;
            console.line(&path.display().to_string())?;
        }
        if kept_back && !console.quiet {
            console.tell("the quotes of local documents are kept back (--include-private shows them); the sentences of the report stay");
        }
        Ok(Exit::Delivered)
    })
}
