//! `ibid traces`: the traces of runs and of other tools.
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::args::TracesArgs;
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::find_run::find;
use crate::progress::clip;
use crate::runtime::with_app;
use ibid::app::App;
use ibid::config::LoadedConfig;
use ibid_core::domain::RunId;
use ibid_core::ports::TraceFilter;
use ibid_core::record::{ToolTrace, TraceSummary};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;

/// How much of an ID the table shows: the part that contains the milliseconds. With whole IDs it would not fit into 80 columns.
const SHOWN_ID_CHARS: usize = 13;
/// Maximum width of the names of tools and stages in the table.
const MAX_NAME_COLUMNS: usize = 14;

/// `ibid traces [ID]`.
pub(super) fn traces(args: &TracesArgs, loaded: &LoadedConfig, console: Console) -> CommandResult {
    with_app(loaded, async |app| {
        let Some(name) = &args.id else {
            return list(app, args, console).await;
        };
        let trace = app.trace(&find_trace(app, name).await?).await?;
        if args.json {
            console.print_line(&json!(trace).to_string())?;
        } else {
            console.print(&format_trace(&trace, console))?;
        }
        Ok(ExitStatus::Delivered)
    })
}

async fn list(app: &App, args: &TracesArgs, console: Console) -> CommandResult {
    let filter =
        TraceFilter { tool: args.tool.clone(), limit: Some(args.limit), ..TraceFilter::default() };
    let traces = app.traces(&filter).await?;
    if args.json {
        for trace in &traces {
            console.print_line(&json!(trace).to_string())?;
        }
    } else if traces.is_empty() {
        console.eprint_line("no traces; a run leaves one: ibid \"…\" --folder DIR");
    } else {
        console.print(&table(&traces, console))?;
    }
    Ok(ExitStatus::Delivered)
}

/// The ID of the trace that `name` means: an ID of a trace or of a run, the unique beginning of one, or `last` for the newest run.
async fn find_trace(app: &App, name: &str) -> Result<String> {
    let prefix = name.to_lowercase();
    if prefix != "last" && !prefix.starts_with("r_") && !prefix.is_empty() {
        let all = app.traces(&TraceFilter::default()).await?;
        let mut found = all.iter().filter(|trace| trace.id.starts_with(&prefix));
        match (found.next(), found.next()) {
            (Some(only), None) => return Ok(only.id.clone()),
            (Some(one), Some(other)) => {
                let what = format!("trace `{prefix}` is ambiguous: {}, {}, …", one.id, other.id);
                return Err(Error::new(ErrorKind::Usage, what).with_hint("write more of the ID"));
            }
            (None, _) => {}
        }
    }
    match find(app, name).await {
        Err(fault) if fault.kind() == ErrorKind::NotFound && name != "last" => {
            let what = format!("there is no trace `{}`", single_line(name));
            Err(Error::new(ErrorKind::NotFound, what).with_hint("see `ibid traces`"))
        }
        run => Ok(run?.uuid()),
    }
}

fn table(traces: &[TraceSummary], console: Console) -> String {
    let name = |text: &str| clip(&single_line(text), MAX_NAME_COLUMNS);
    let rows: Vec<[String; 6]> = traces
        .iter()
        .map(|trace| {
            let stage = trace.current_stage.as_deref().map_or_else(|| "–".to_owned(), name);
            [
                trace.id.chars().take(SHOWN_ID_CHARS).collect(),
                name(&trace.tool_name),
                trace.status.clone(),
                percent(trace.progress),
                stage,
                minute(&trace.created_at),
            ]
        })
        .collect();
    let head = ["id", "tool", "status", "done", "stage", "created"].map(str::to_owned);
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let all = rows.iter().chain([&head]);
        all.map(|row| row[column].width()).max().unwrap_or_default()
    });
    let line = |row: &[String; 6], paint: &dyn Fn(usize, &str) -> String| {
        let mut out = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let pad = " ".repeat(width - cell.width());
            let cell = paint(column, cell);
            // Numbers are aligned at their end.
            out += &if column == 3 { format!("{pad}{cell}  ") } else { format!("{cell}{pad}  ") };
        }
        out.trim_end().to_owned() + "\n"
    };
    let mut out = line(&head, &|_, cell| console.out.bold(cell));
    for row in &rows {
        out += &line(row, &|column, cell| match (column, &*row[2]) {
            (0, _) => console.out.cyan(cell),
            (2, "completed") => console.out.green(cell),
            (2, "failed" | "cancelled") => console.out.red(cell),
            (2, _) => console.out.yellow(cell),
            (5, _) => console.out.dim(cell),
            _ => cell.to_owned(),
        });
    }
    out
}

/// Progress as whole percent; 100% only for what is complete.
fn percent(progress: f64) -> String {
    format!("{}%", (progress * 100.0).floor())
}

/// A time without its seconds.
fn minute(time: &str) -> String {
    time.chars().take(16).collect::<String>().replace('T', " ")
}

fn format_trace(trace: &ToolTrace, console: Console) -> String {
    let run = RunId::from_uuid(&trace.id).filter(|_| trace.is_of_run());
    let some = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    let rows = [
        ("id", json!(trace.id)),
        ("run", json!(run)),
        ("tool", json!(trace.tool_name)),
        ("user", json!(Some(&trace.user_id).filter(|user| !user.is_empty()))),
        ("status", json!(trace.status)),
        ("progress", json!(percent(trace.progress))),
        ("stage", some(&trace.current_stage)),
        ("created", json!(trace.created_at)),
        ("started", some(&trace.started_at)),
        ("completed", some(&trace.completed_at)),
        ("error", some(&trace.error_message)),
        ("input", trace.input_params.clone()),
        ("state", trace.state.clone()),
        ("result", json!(trace.result)),
        ("metrics", trace.metrics.clone()),
    ];
    let mut out = String::new();
    for (name, value) in rows.iter().filter(|row| !is_empty(&row.1)) {
        push_field(&mut out, name, value, 0, console);
    }
    out
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => false,
    }
}

/// Appends `name: value`, with the parts of the value below it, indented.
fn push_field(out: &mut String, name: &str, value: &Value, depth: usize, console: Console) {
    *out += &"  ".repeat(depth);
    *out += &console.out.cyan(&single_line(name));
    *out += ":";
    push_value(out, value, depth, console);
}

fn push_value(out: &mut String, value: &Value, depth: usize, console: Console) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            *out += "\n";
            for item in items {
                *out += &"  ".repeat(depth + 1);
                *out += "-";
                let mut part = String::new();
                push_value(&mut part, item, depth + 1, console);
                // The first field of an object stands beside the dash.
                match part.trim_start() {
                    first if item.is_object() && !first.is_empty() => *out += &format!(" {first}"),
                    _ => *out += &part,
                }
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            *out += "\n";
            for (name, field) in fields {
                push_field(out, name, field, depth + 1, console);
            }
        }
        Value::String(text) if text.contains('\n') => {
            *out += "\n";
            for line in text.lines() {
                let line = format!("{}{}", "  ".repeat(depth + 1), single_line(line));
                *out += line.trim_end();
                *out += "\n";
            }
        }
        Value::String(text) => *out += &format!(" {}\n", single_line(text)),
        Value::Null => *out += " –\n",
        other => *out += &format!(" {other}\n"),
    }
}
