//! The commands on documents, without a run: `read`, `search`, `check --claims`, `index`.
use std::io::{IsTerminal as _, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::args::{IndexAction, SearchArgs};
use crate::console::Console;
use crate::exit::{CommandError, CommandResult, ExitStatus};
use crate::indexing;
use crate::jsonl::json_lines;
use crate::progress::clip;
use crate::runtime::{block_on, with_app};
use crate::signals::unless_stopped;
use crate::sources::all_folders;
use ibid::app::{
    ProgressFn, RefreshSummary, SearchHit, VectorCount, check_row, document_reader, semantic,
};
use ibid::config::{LoadedConfig, ProcessEnv, Settings};
use ibid_core::domain::Synonym;
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;
use ibid_report::markdown::{local_path, pluralize};
use ibid_server::folder::resolve_folder;

/// How many queries are searched at once. Results carry text, so memory sets the limit.
const QUERIES_AT_ONCE: usize = 256;

/// `ibid read PATH…`. Documents that cannot be read are reported on stderr. With JSON each of them also has a row, so the
/// exit code is 0 if at least one document was read. As text they leave no trace on stdout, so the exit code is 0 only
/// if all were read.
pub(super) fn read(
    loaded: &LoadedConfig,
    paths: &[PathBuf],
    json: bool,
    console: Console,
) -> CommandResult {
    let settings = &loaded.settings;
    let mut failed = 0;
    let mut rows = 0;
    let mut print =
        |outcome: document_reader::ReadOutcome| -> std::result::Result<(), CommandError> {
            rows += 1;
            if let Some(fault) = &outcome.fault {
                failed += 1;
                console.print_error(&Error::new(ErrorKind::Malformed, fault.clone()));
            }
            if json {
                console.print_line(&outcome.row.to_string())
            } else if outcome.fault.is_none() {
                let text = outcome.row["markdown"].as_str().unwrap_or_default();
                let gap = if rows > 1 { "\n" } else { "" };
                console.print(&format!("{gap}{}", terminal_safe(text)))
            } else {
                Ok(())
            }
        };
    for path in paths {
        if path.as_os_str() == "-" {
            print(document_reader::read_bytes(settings, &stdin_bytes(settings)?))?;
            continue;
        }
        if let Some(url) = as_url(path) {
            print(block_on(document_reader::read_url(settings, url))??)?;
            continue;
        }
        let mut stop = Ok(());
        let unread = document_reader::read_path(settings, path, &mut |outcome| {
            stop = print(outcome);
            match stop {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        stop?;
        if let Some(remark) = unread.summary() {
            console.eprint_line(&format!(
                "{} {}: {remark}",
                console.err.yellow("not read:"),
                single_line(&path.to_string_lossy())
            ));
        }
    }
    if rows == 0 {
        return Err(Error::new(ErrorKind::NotFound, "found no document to read")
            .with_hint("name a file with text, or a folder with such files")
            .into());
    }
    let delivered = if json { failed < rows } else { failed == 0 };
    Ok(if delivered { ExitStatus::Delivered } else { ExitStatus::Failure })
}

/// The web address that an argument is, if it begins with `http://` or `https://`.
pub(super) fn as_url(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let prefix = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    (prefix.starts_with("http://") || prefix == "https://").then_some(text)
}

fn stdin_bytes(settings: &Settings) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(settings.max_document_bytes + 1).read_to_end(&mut bytes).map_err(
        |fault| Error::new(ErrorKind::Malformed, "reading standard input").with_source(fault),
    )?;
    Ok(bytes)
}

/// The text of a document; without control characters if stdout is a terminal.
pub(super) fn terminal_safe(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    text.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect()
}

/// `ibid search`.
pub(super) fn search(
    args: &SearchArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let folders = all_folders(&args.folder, loaded, env)?;
    let folders: Vec<PathBuf> = folders.into_iter().map(PathBuf::from).collect();
    let rows = match (&args.queries, &args.query) {
        (Some(file), _) => queries(&env.cwd.join(file), file)?,
        (None, Some(query)) if query.trim().is_empty() => {
            return Err(Error::new(ErrorKind::Usage, "QUERY is empty").into());
        }
        (None, query) => vec![(Value::Null, query.clone().unwrap_or_default())],
    };
    with_app(loaded, async |app| {
        unless_stopped(console, async {
            let mut progress: ProgressFn = indexing::progress_fn(console);
            for batch in rows.chunks(QUERIES_AT_ONCE) {
                let texts: Vec<String> = batch.iter().map(|row| row.1.clone()).collect();
                let found = app.search(&folders, &texts, args.n as usize, &progress).await?;
                // Only the first search indexes the folders.
                progress = Arc::new(|_| {});
                for (row, found) in batch.iter().zip(found) {
                    print_results(row, &found, args, console)?;
                }
            }
            Ok(ExitStatus::Delivered)
        })
        .await
    })
}

/// Prints what one query found; as text and from a file of queries, below a line with the query.
fn print_results(
    (id, query): &(Value, String),
    found: &[SearchHit],
    args: &SearchArgs,
    console: Console,
) -> std::result::Result<(), CommandError> {
    let many = args.queries.is_some();
    if args.json {
        let row = if many {
            json!({"id": id, "results": found})
        } else {
            json!({"query": query, "results": found})
        };
        return console.print_line(&row.to_string());
    }
    if many {
        let heading = format!("{}  {}", id_text(id), single_line(query));
        console.print_line(&console.out.bold(&heading))?;
    }
    console.print(&format_hits(found, console))
}

fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), single_line)
}

fn format_hits(hits: &[SearchHit], console: Console) -> String {
    if hits.is_empty() {
        return "nothing found\n".to_owned();
    }
    let mut out = String::new();
    for (nth, hit) in hits.iter().enumerate() {
        let date = hit.date.as_deref().map_or_else(String::new, |date| format!(" · {date}"));
        let read = hit.file.as_deref().map_or_else(String::new, |file| {
            format!(" · read from {}", single_line(&local_path(file)))
        });
        out += &format!(
            "{} {}\n   {}\n   {}\n\n",
            console.out.cyan(&format!("{}.", nth + 1)),
            console.out.bold(&clip(&single_line(&hit.title), 96)),
            console.out.dim(&format!("{}{read}{date} · {:.2}", single_line(&hit.url), hit.score)),
            clip(&single_line(&hit.content), 240),
        );
    }
    out
}

/// The rows `{id, query}` of the file of `--queries`. All are read before the first search.
fn queries(path: &Path, shown: &Path) -> Result<Vec<(Value, String)>> {
    json_lines("--queries", path, shown)?
        .into_iter()
        .map(|(nth, row)| match row["query"].as_str() {
            Some(query) if !query.trim().is_empty() => Ok((row["id"].clone(), query.to_owned())),
            _ => Err(Error::new(
                ErrorKind::Usage,
                format!(
                    "reading --queries {} line {nth}: field `query` is missing, empty or not a string",
                    shown.display()
                ),
            )
            .with_hint("write rows {\"id\": …, \"query\": \"…\"}")),
        })
        .collect()
}

/// `ibid check --claims FILE`.
pub(super) fn check(
    file: &Path,
    as_json: bool,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let scorer = semantic::bundled_pair_scorer(&loaded.settings)?;
    let rows = json_lines("--claims", &env.cwd.join(file), file)?;
    let (all, mut faults) = (rows.len(), 0);
    for (nth, row) in rows {
        let found = match check_row(&row, scorer.as_deref()) {
            Ok(found) => found,
            // The others are checked all the same.
            Err(fault) => {
                faults += 1;
                let hint = fault.hint().unwrap_or_default();
                let line = format!("{} line {nth}: {}; {hint}", file.display(), fault.chain());
                console.eprint_line(&format!("{} {line}", console.err.red("✗")));
                continue;
            }
        };
        if as_json {
            console.print_line(&found.to_string())?;
        } else {
            console.print(&format_verdict(&row, &found, console))?;
        }
    }
    if faults > 0 {
        let doing = format!("reading --claims {}", file.display());
        return Err(Error::new(ErrorKind::Usage, doing)
            .with_source(format!("{faults} of {all} rows are not claims"))
            .with_hint("write one object {id, claim, source} per line")
            .into());
    }
    Ok(ExitStatus::Delivered)
}

fn format_verdict(row: &Value, found: &Value, console: Console) -> String {
    let verdict = found["verdict"].as_str().unwrap_or_default();
    let padded = format!("{verdict:<12}");
    let painted = match verdict {
        "supported" => console.out.green(&padded),
        "partly" => console.out.yellow(&padded),
        "contradicted" => console.out.magenta(&padded),
        _ => console.out.red(&padded),
    };
    let score = found["score"].as_f64().unwrap_or_default();
    let claim = single_line(row["claim"].as_str().unwrap_or_default());
    let mut out = format!("{painted} {score:.2}  {claim}\n");
    if let Some(quote) = found["quote"].as_str() {
        out += &format!("{:18} {}\n", "", console.out.dim(&format!("“{}”", single_line(quote))));
    }
    out
}

/// `ibid index …`.
pub(super) fn index(
    action: &IndexAction,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    with_app(loaded, async |app| match action {
        IndexAction::Add { folder: path, json } => {
            let path = PathBuf::from(resolve_folder("DIR", &env.cwd.join(path))?);
            let progress = indexing::progress_fn(console);
            let adding = async { Ok(app.index_add(&path, &progress).await?) };
            let (summary, vectors) = unless_stopped(console, adding).await?;
            // The line of progress ends before the result is printed.
            drop(progress);
            print_faults(&summary, console);
            console.print_line(&match json {
                true => indexed_json(&path, &summary, vectors),
                false => indexed_text(&path, &summary, vectors),
            })?;
            Ok(ExitStatus::Delivered)
        }
        IndexAction::Ls { json } => {
            for (path, documents, bytes) in app.indexed_folders().await? {
                let text = if *json {
                    json!({"path": path, "documents": documents, "bytes": bytes}).to_string()
                } else {
                    format!(
                        "{:>8}  {:>9}  {}",
                        documents,
                        size(bytes),
                        single_line(&path.to_string_lossy())
                    )
                };
                console.print_line(&text)?;
            }
            Ok(ExitStatus::Delivered)
        }
        IndexAction::Show { folder: path, json } => {
            let path = PathBuf::from(resolve_folder("DIR", &env.cwd.join(path))?);
            let progress = indexing::progress_fn(console);
            let showing = async { Ok(app.index_synonyms(&path, &progress).await?) };
            let (summary, synonyms) = unless_stopped(console, showing).await?;
            print_index(&path, &summary, &synonyms, (*json, console))
        }
        IndexAction::Rm { folder } => {
            let path = env.cwd.join(folder);
            // A deleted folder may still have an index, under its old path.
            let path = path.canonicalize().unwrap_or(path);
            if app.index_remove(&path).await? {
                console.eprint_line(&format!("deleted the index of {}", path.display()));
                Ok(ExitStatus::Delivered)
            } else {
                Err(Error::new(
                    ErrorKind::NotFound,
                    format!("there is no index of {}", path.display()),
                )
                .with_hint("see `ibid index ls`")
                .into())
            }
        }
    })
}

/// Prints the documents that could not be read.
fn print_faults(summary: &RefreshSummary, console: Console) {
    if let Some(remark) = summary.unread.summary() {
        console.eprint_line(&format!("{} {remark}", console.err.yellow("not read:")));
    }
    for fault in &summary.faults {
        let place = fault.place.as_deref().map_or_else(String::new, |place| format!(" {place}"));
        console.eprint_line(&format!(
            "{} {}{place}: {}",
            console.err.yellow("not read:"),
            single_line(&fault.path.to_string_lossy()),
            single_line(&fault.message)
        ));
    }
    if summary.busy {
        console.eprint_line("another process is updating this index; nothing was changed");
    }
}

fn indexed_json(path: &Path, summary: &RefreshSummary, vectors: VectorCount) -> String {
    let mut row = json!(summary);
    row["path"] = json!(path);
    row["vectors"] = json!(vectors);
    row.to_string()
}

fn indexed_text(path: &Path, summary: &RefreshSummary, vectors: VectorCount) -> String {
    let documents = format!(
        "{} in {}: {} new, {} changed, {} gone, {} as before",
        pluralize(summary.documents, "document"),
        path.display(),
        summary.added,
        summary.changed,
        summary.removed,
        summary.unchanged
    );
    let VectorCount { passages, with_vector, made, too_many } = vectors;
    match passages {
        0 => documents,
        _ if too_many => format!(
            "{documents}\n{passages} passages are more than `vectors.max_passages`: meaning ranks what the words find"
        ),
        _ => format!("{documents}\n{with_vector} of {passages} passages have a vector: {made} new"),
    }
}

/// Prints how large an index is and the names that it has learned, as JSON or as text.
fn print_index(
    path: &Path,
    summary: &RefreshSummary,
    synonyms: &[Synonym],
    (as_json, console): (bool, Console),
) -> CommandResult {
    let RefreshSummary { documents, bytes, .. } = summary;
    if as_json {
        let row =
            json!({"path": path, "documents": documents, "bytes": bytes, "synonyms": synonyms});
        console.print_line(&row.to_string())?;
        return Ok(ExitStatus::Delivered);
    }
    let shown = single_line(&path.to_string_lossy());
    console.print_line(&format!(
        "{}, {} in {shown}",
        pluralize(*documents, "document"),
        size(*bytes)
    ))?;
    if synonyms.is_empty() {
        console.print_line("no names learned")?;
    } else {
        console.print_line("names learned, with the documents that explain each:")?;
    }
    for Synonym { name, other, documents, .. } in synonyms {
        let line = format!("{documents:>8}  {} = {}", single_line(other), single_line(name));
        console.print_line(&line)?;
    }
    Ok(ExitStatus::Delivered)
}

/// A size such as `1.4 MB`.
pub(super) fn size(bytes: u64) -> String {
    let mut amount = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if amount < 1000.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{amount:.1} {unit}") };
        }
        amount /= 1000.0;
    }
    format!("{amount:.1} TB")
}
