//! Documents without a run: `read`, `search`, `check`, `index`.
use std::io::{IsTerminal as _, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::args::{IndexAction, Search};
use super::ask::folders;
use super::console::Console;
use super::exit::{Done, Exit, Stop};
use super::progress::clip;
use super::signals::unless_stopped;
use super::{indexing, wait, with_app};
use crate::app::{App, Filter, Found, Heard, Refreshed, check_row, reading};
use crate::config::{Loaded, Settings, Surroundings};
use crate::error::{Error, Kind, Result};
use crate::surfaces::export::escape::line;
use crate::surfaces::export::markdown::{counted, local};
use crate::surfaces::folder::folder;

/// `ibid read PATH…`. What could not be read is told on stderr. In JSON every document has its row,
/// also one that could not be read, so the exit is 0 as long as any could; as text, where a missing
/// document leaves no trace on stdout, it is 0 only when all could.
pub(super) fn read(loaded: &Loaded, paths: &[PathBuf], json: bool, console: Console) -> Done {
    let settings = &loaded.settings;
    let mut failed = 0;
    let mut rows = 0;
    let mut hand_over = |it: reading::Reading| -> std::result::Result<(), Stop> {
        rows += 1;
        if let Some(fault) = &it.fault {
            failed += 1;
            console.fault(&Error::new(Kind::Malformed, fault.clone()));
        }
        if json {
            console.line(&it.row.to_string())
        } else if it.fault.is_none() {
            let text = it.row["markdown"].as_str().unwrap_or_default();
            let gap = if rows > 1 { "\n" } else { "" };
            console.print(&format!("{gap}{}", shown(text)))
        } else {
            Ok(())
        }
    };
    for path in paths {
        if path.as_os_str() == "-" {
            hand_over(reading::read_bytes(settings, &stdin_bytes(settings)?))?;
            continue;
        }
        if let Some(url) = web(path) {
            hand_over(wait(reading::read_url(settings, url))??)?;
            continue;
        }
        let mut stop = Ok(());
        let unread = reading::read_path(settings, path, &mut |it| {
            stop = hand_over(it);
            match stop {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        stop?;
        if let Some(remark) = unread.remark() {
            console.tell(&format!(
                "{} {}: {remark}",
                console.err.yellow("not read:"),
                line(&path.to_string_lossy())
            ));
        }
    }
    if rows == 0 {
        return Err(
            Error::new(Kind::NotFound, "there is no document in what was named")
                .hint("name a file of words, or a folder with some")
                .into(),
        );
    }
    let delivered = match json {
        true => failed < rows,
        false => failed == 0,
    };
    Ok(if delivered {
        Exit::Delivered
    } else {
        Exit::Failure
    })
}

/// The address that a word of the command line is, if it is one of the web.
pub(super) fn web(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let beginning = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    (beginning.starts_with("http://") || beginning == "https://").then_some(text)
}

fn stdin_bytes(settings: &Settings) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(settings.max_document_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|fault| Error::new(Kind::Malformed, "reading standard input").because(fault))?;
    Ok(bytes)
}

/// A document's text as it is, unless it would drive the terminal of the person reading it.
pub(super) fn shown(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    text.chars()
        .filter(|it| *it == '\n' || *it == '\t' || !it.is_control())
        .collect()
}

/// `ibid search`.
pub(super) fn search(
    search: &Search,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let folders = folders(&search.folder, loaded, surroundings)?;
    let folders: Vec<PathBuf> = folders.into_iter().map(PathBuf::from).collect();
    let rows = match (&search.queries, &search.query) {
        (Some(file), _) => queries(&surroundings.cwd.join(file), file)?,
        (None, Some(query)) if query.trim().is_empty() => {
            return Err(Error::new(Kind::Usage, "QUERY is empty").into());
        }
        (None, query) => vec![(Value::Null, query.clone().unwrap_or_default())],
    };
    let many = search.queries.is_some();
    with_app(loaded, async |app| {
        unless_stopped(console, async {
            // A few hundred at a time: answers carry text, and memory is not without end.
            let mut heard: Heard = indexing::told(console);
            for batch in rows.chunks(256) {
                let texts: Vec<String> = batch.iter().map(|it| it.1.clone()).collect();
                let found = app
                    .search(
                        &folders,
                        &texts,
                        search.n as usize,
                        &Filter::default(),
                        &heard,
                    )
                    .await?;
                heard = Arc::new(|_| {});
                for ((id, query), found) in batch.iter().zip(found) {
                    if !search.json {
                        if many {
                            console.line(&console.out.bold(&format!(
                                "{}  {}",
                                plain(id),
                                line(query)
                            )))?;
                        }
                        console.print(&listed(&found, console))?;
                    } else if many {
                        console.line(&json!({"id": id, "results": found}).to_string())?;
                    } else {
                        console.line(&json!({"query": query, "results": found}).to_string())?;
                    }
                }
            }
            Ok(Exit::Delivered)
        })
        .await
    })
}

fn plain(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), line)
}

fn listed(found: &[Found], console: Console) -> String {
    if found.is_empty() {
        return "nothing found\n".to_owned();
    }
    let mut out = String::new();
    for (nth, it) in found.iter().enumerate() {
        let date = it
            .date
            .as_deref()
            .map_or_else(String::new, |it| format!(" · {it}"));
        let read = it.file.as_deref().map_or_else(String::new, |it| {
            format!(" · read from {}", line(&local(it)))
        });
        out += &format!(
            "{} {}\n   {}\n   {}\n\n",
            console.out.cyan(&format!("{}.", nth + 1)),
            console.out.bold(&clip(&line(&it.title), 96)),
            console
                .out
                .dim(&format!("{}{read}{date} · {:.2}", line(&it.url), it.score)),
            clip(&line(&it.content), 240),
        );
    }
    out
}

/// The lines of a JSONL file as JSON, with their numbers; `-` is stdin.
pub(super) fn json_lines(flag: &str, path: &Path, shown: &Path) -> Result<Vec<(usize, Value)>> {
    let doing = || format!("reading {flag} {}", shown.display());
    let bytes = if shown.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|fault| {
        Error::new(Kind::Usage, doing())
            .because(fault)
            .hint("name a file of one JSON object a line")
    })?;
    let mut rows = Vec::new();
    for (nth, text) in bytes.split(|it| *it == b'\n').enumerate() {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let row = serde_json::from_slice(text).map_err(|fault| {
            Error::new(Kind::Usage, format!("{} line {}", doing(), nth + 1))
                .because(format!("this is not JSON: {fault}"))
                .hint("write one JSON object a line")
        })?;
        rows.push((nth + 1, row));
    }
    Ok(rows)
}

/// Rows `{id, query}`; all are looked at before the first is searched.
fn queries(path: &Path, shown: &Path) -> Result<Vec<(Value, String)>> {
    json_lines("--queries", path, shown)?
        .into_iter()
        .map(|(nth, row)| match row["query"].as_str() {
            Some(query) if !query.trim().is_empty() => Ok((row["id"].clone(), query.to_owned())),
            _ => Err(Error::new(
                Kind::Usage,
                format!(
                    "reading --queries {} line {nth}: field `query` is missing, empty or no text",
                    shown.display()
                ),
            )
            .hint("write rows {\"id\": …, \"query\": \"…\"}")),
        })
        .collect()
}

/// `ibid check --claims FILE`.
pub(super) fn check(
    file: &Path,
    as_json: bool,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let rows = json_lines("--claims", &surroundings.cwd.join(file), file)?;
    for (nth, row) in rows {
        let found = check_row(&row).map_err(|fault| {
            let hint = fault.help().unwrap_or_default().to_owned();
            Error::new(
                fault.kind(),
                format!("reading --claims {} line {nth}", file.display()),
            )
            .because(fault)
            .hint(hint)
        })?;
        if as_json {
            console.line(&found.to_string())?;
        } else {
            console.print(&judged(&row, &found, console))?;
        }
    }
    Ok(Exit::Delivered)
}

fn judged(row: &Value, found: &Value, console: Console) -> String {
    let verdict = found["verdict"].as_str().unwrap_or_default();
    let padded = format!("{verdict:<12}");
    let painted = match verdict {
        "supported" => console.out.green(&padded),
        "partly" => console.out.yellow(&padded),
        "contradicted" => console.out.magenta(&padded),
        _ => console.out.red(&padded),
    };
    let score = found["score"].as_f64().unwrap_or_default();
    let claim = line(row["claim"].as_str().unwrap_or_default());
    let mut out = format!("{painted} {score:.2}  {claim}\n");
    if let Some(quote) = found["quote"].as_str() {
        out += &format!(
            "{:18} {}\n",
            "",
            console.out.dim(&format!("“{}”", line(quote)))
        );
    }
    out
}

/// `ibid index …`.
pub(super) fn index(
    action: &IndexAction,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let settings = loaded.settings.clone();
    wait(async move {
        let app = App::open(settings).await?;
        match action {
            IndexAction::Add { folder: path } => {
                let path = PathBuf::from(folder("DIR", &surroundings.cwd.join(path))?);
                let heard = indexing::told(console);
                let adding = async { Ok(app.index_add(&path, &heard).await?) };
                let found = unless_stopped(console, adding).await?;
                added(&path, &found, console)
            }
            IndexAction::Ls { json } => {
                for (path, documents, bytes) in app.folders().await? {
                    let text = if *json {
                        json!({"path": path, "documents": documents, "bytes": bytes}).to_string()
                    } else {
                        format!(
                            "{:>8}  {:>9}  {}",
                            documents,
                            size(bytes),
                            line(&path.to_string_lossy())
                        )
                    };
                    console.line(&text)?;
                }
                Ok(Exit::Delivered)
            }
            IndexAction::Rm { folder } => {
                let path = surroundings.cwd.join(folder);
                // A folder that is gone has an index all the same, under the path it had.
                let path = path.canonicalize().unwrap_or(path);
                if app.index_remove(&path).await? {
                    console.tell(&format!("forgot the index of {}", path.display()));
                    Ok(Exit::Delivered)
                } else {
                    Err(Error::new(
                        Kind::NotFound,
                        format!("there is no index of {}", path.display()),
                    )
                    .hint("see `ibid index ls`")
                    .into())
                }
            }
        }
    })?
}

fn added(path: &Path, found: &Refreshed, console: Console) -> Done {
    if let Some(remark) = found.unread.remark() {
        console.tell(&format!("{} {remark}", console.err.yellow("not read:")));
    }
    for fault in &found.faults {
        let place = fault
            .place
            .as_deref()
            .map_or_else(String::new, |it| format!(" {it}"));
        console.tell(&format!(
            "{} {}{place}: {}",
            console.err.yellow("not read:"),
            line(&fault.path.to_string_lossy()),
            line(&fault.message)
        ));
    }
    if found.busy {
        console.tell("another process is writing this index; nothing was changed");
    }
    console.line(&format!(
        "{} in {}: {} new, {} changed, {} gone, {} as before",
        counted(found.documents, "document"),
        path.display(),
        found.added,
        found.changed,
        found.removed,
        found.unchanged
    ))?;
    Ok(Exit::Delivered)
}

/// `1.4 MB`.
fn size(bytes: u64) -> String {
    let mut amount = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if amount < 1000.0 {
            return if unit == "B" {
                format!("{bytes} B")
            } else {
                format!("{amount:.1} {unit}")
            };
        }
        amount /= 1000.0;
    }
    format!("{amount:.1} TB")
}
