//! `ibid read … --task "…"`: what documents say to one task (row E6).
use super::args::Read;
use super::console::Console;
use super::documents::{shown, web};
use super::exit::{Done, Exit};
use super::with_app;
use crate::app::spending::SpendGrant;
use crate::app::{App, Errand};
use crate::config::Loaded;
use crate::domain::Question;
use crate::error::{Error, Kind, Result};
use crate::surfaces::export::escape::line;

/// One object or one passage a document, in the order of the command line. The exit is 0 as long as any page was read; what could
/// not be read is told on stderr, and in JSON by its status.
pub(super) fn read(asked: &Read, task: &str, loaded: &Loaded, console: Console) -> Done {
    let settings = &loaded.settings;
    let today = jiff::Zoned::now().date().to_string();
    let question = Question {
        models: settings.models.clone(),
        budget: settings.budget,
        ..Question::new(task, today, settings.method.clone())
    };
    with_app(loaded, async |app| {
        let mut read = 0;
        for path in &asked.paths {
            for it in errands(app, path, &question).await? {
                read += u32::from(it.message.is_none());
                tell(&it, asked.json || asked.jsonl, console)?;
            }
        }
        Ok(match read {
            0 => Exit::Failure,
            _ => Exit::Delivered,
        })
    })
}

async fn errands(app: &App, path: &std::path::Path, task: &Question) -> Result<Vec<Errand>> {
    let grant = SpendGrant::of_operator(&task.budget);
    if let Some(url) = web(path) {
        return Ok(vec![app.errand(url, task, &grant).await?]);
    }
    if path.is_dir() || path.as_os_str() == "-" {
        let doing = format!("reading {} for a task", path.display());
        return Err(Error::new(Kind::Usage, doing)
            .hint("name files or addresses; for a folder ask: ibid \"…\" --folder DIR"));
    }
    app.errand_of_file(path, task, &grant).await
}

fn tell(it: &Errand, json: bool, console: Console) -> std::result::Result<(), super::exit::Stop> {
    if let Some(message) = &it.message {
        console.fault(&Error::new(Kind::Malformed, message.clone()));
    }
    if let Some(reason) = &it.unaided {
        console.tell(&format!(
            "{} {}",
            console.err.yellow("without the model:"),
            line(reason)
        ));
    }
    if json {
        let row = serde_json::to_string(it);
        let row =
            row.map_err(|fault| Error::new(Kind::Internal, "writing a row").because(fault))?;
        return console.line(&row);
    }
    match it.status.as_str() {
        "nothing" => console.tell(&format!(
            "{}: nothing in it speaks to the task",
            line(&it.url)
        )),
        "ok" => console.print(&format!("{}\n{}\n", shown(&it.title), shown(&it.summary)))?,
        _ => {}
    }
    Ok(())
}
