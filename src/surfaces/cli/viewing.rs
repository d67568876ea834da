//! `ibid view`: runs in the browser, served on this machine, or as a folder of pages.
use std::ffi::OsStr;
use std::path::Path;

use super::args::{ViewAction, Viewing};
use super::console::Console;
use super::exit::{Done, Exit};
use super::follow::put;
use super::runs::{find, shown_by_desktop, with_report};
use super::{serve, with_app};
use crate::config::{Loaded, Surroundings};
use crate::error::{Error, Kind};
use crate::surfaces::export::{self, html};
use crate::surfaces::view::site::{ROBOTS, Site};
use crate::surfaces::view::{page, runs::Glance, runs::Line};

/// `ibid view [R]`: serves until Ctrl-C, and opens the page where a person is looking.
pub(super) fn view(
    it: &Viewing,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    if let Some(ViewAction::Bundle { runs, output }) = &it.action {
        return bundle(runs, &surroundings.cwd.join(output), loaded, console);
    }
    let mut place = "/".to_owned();
    if let Some(name) = &it.run {
        with_app(loaded, async |app| {
            let run = app.run(&find(app, name).await?).await?;
            place = match run.report {
                Some(_) => format!("/r/{}/report", run.id),
                None => format!("/r/{}", run.id),
            };
            Ok(Exit::Delivered)
        })?;
    }
    serve::serving(&it.folder, &[], loaded, surroundings, console, |at| {
        if console.live {
            shown_by_desktop(OsStr::new(&format!("{at}{place}")), console);
        }
        place
    })
}

/// `ibid view bundle`: one page a report, a page that lists them, and a word to search engines.
fn bundle(names: &[String], to: &Path, loaded: &Loaded, console: Console) -> Done {
    with_app(loaded, async |app| {
        let mut wanted = Vec::new();
        for name in names {
            wanted.push(with_report(app, name).await?.0.id);
        }
        std::fs::create_dir_all(to).map_err(|fault| {
            Error::new(Kind::Setup, format!("making -o {}", to.display()))
                .because(fault)
                .hint("name a directory that you may write")
        })?;
        let now = jiff::Timestamp::now();
        let mut lines = Vec::new();
        for row in app.runs().await? {
            if !row.status.ended() || !wanted.is_empty() && !wanted.contains(&row.run_id) {
                continue;
            }
            let run = app.run(&row.run_id).await?;
            let Some(report) = &run.report else { continue };
            let pages = export::pages(app, Some(report)).await?;
            let name = format!("{}.html", run.id);
            put(&to.join(&name), &html::whole(report, &pages)?)?;
            lines.push(Line {
                href: name,
                ..Line::of(&row, &Glance::of(&run, &[]), now)
            });
        }
        if lines.is_empty() {
            return Err(Error::new(Kind::NotFound, "no run has a report")
                .hint("ask something first, as in `ibid \"what is cork?\" --folder DIR`")
                .into());
        }
        let count = lines.len();
        put(&to.join("index.html"), &page(&Site::of(lines))?)?;
        put(&to.join("robots.txt"), ROBOTS)?;
        console.line(&to.join("index.html").display().to_string())?;
        console.tell(&format!(
            "wrote {}",
            export::markdown::counted(count as u64, "report")
        ));
        Ok(Exit::Delivered)
    })
}
