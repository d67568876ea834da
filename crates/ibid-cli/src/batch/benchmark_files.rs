//! The articles of OUT in the form that the repository of a benchmark reads.
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::output::beside;
use crate::args::BatchFormat;
use crate::jsonl::json_lines;
use ibid_core::{Error, ErrorKind, Result};

impl BatchFormat {
    /// The fields of a row that may hold its ID, in order.
    pub(super) fn id_fields(self) -> &'static [&'static str] {
        match self {
            BatchFormat::Drb => &["id"],
            BatchFormat::Drb2 => &["idx", "id"],
            BatchFormat::Researchrubrics => &["sample_id", "id"],
            BatchFormat::Reportbench => &["arxiv_id", "id"],
            BatchFormat::Scholarqa => &["case_id", "id"],
        }
    }

    /// Whether every article becomes a file with the row's ID in its name.
    fn has_files(self) -> bool {
        !matches!(self, BatchFormat::Drb | BatchFormat::Scholarqa)
    }

    /// Says what is wrong with `id`, if it cannot be written.
    pub(super) fn id_problem(self, id: &Value) -> Option<String> {
        let text = id_text(id);
        if self == BatchFormat::Drb2 && text.parse::<u64>().is_err() {
            return Some(format!("is {id}, and drb2 wants whole numbers"));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        let is_name = text.chars().all(plain) && !text.starts_with('.') && text.len() <= 100;
        (self.has_files() && !is_name)
            .then(|| format!("is {id}, which cannot be the name of a file"))
    }
}

/// Writes every article of `out` for the benchmark, and returns where. Nothing is to be written for DeepResearch Bench, which reads OUT.
///
/// # Errors
/// `Setup` if a file cannot be written.
pub(super) fn write_benchmark_files(format: BatchFormat, out: &Path) -> Result<Option<PathBuf>> {
    let to = match format {
        BatchFormat::Drb => return Ok(None),
        BatchFormat::Drb2 => beside(out, "drb2"),
        BatchFormat::Researchrubrics => beside(out, "researchrubrics"),
        BatchFormat::Reportbench => beside(out, "reportbench"),
        BatchFormat::Scholarqa => beside(out, "scholarqa.jsonl"),
    };
    let rows = json_lines("-o", out, out)?;
    let texts = rows.iter().map(|(_, row)| {
        let id = id_text(&row["id"]);
        let article = row["article"].as_str().unwrap_or_default();
        match format {
            BatchFormat::Drb2 => (format!("idx-{id}.md"), article.to_owned()),
            BatchFormat::Reportbench => {
                let row = json!({"arxiv_id": id, "query": row["prompt"], "response": article});
                (format!("{id}.json"), row.to_string())
            }
            BatchFormat::Scholarqa => {
                (String::new(), json!({"case_id": id, "answer_text": article}).to_string())
            }
            BatchFormat::Drb | BatchFormat::Researchrubrics => {
                (format!("{id}.md"), article.to_owned())
            }
        }
    });
    if format.has_files() {
        fs::create_dir_all(&to).map_err(|fault| write_error(&to, fault))?;
        for (name, text) in texts {
            let path = to.join(name);
            fs::write(&path, text).map_err(|fault| write_error(&path, fault))?;
        }
    } else {
        let text: String = texts.map(|(_, line)| format!("{line}\n")).collect();
        fs::write(&to, text).map_err(|fault| write_error(&to, fault))?;
    }
    Ok(Some(to))
}

fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

fn write_error(path: &Path, fault: std::io::Error) -> Error {
    Error::new(ErrorKind::Setup, format!("writing {}", path.display()))
        .with_source(fault)
        .with_hint(
            "free the path or disk space and run the same command again; nothing is asked again",
        )
}
