//! Reports to judge: Markdown files named after their task, or JSON lines as `ibid batch` writes them.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::tasks::{BenchmarkTask, ID_FIELDS, id_text, json_lines};
use crate::Fault;

/// Fields that may hold the text of a report, in the formats of the benchmarks.
const TEXT_FIELDS: &[&str] = &["article", "answer_text", "response", "output"];

/// Reports by the id of their task.
#[derive(Debug, Default)]
pub(crate) struct ReportSet {
    reports: BTreeMap<String, ReportText>,
    /// What could not be used, and why.
    pub(crate) wrong: Vec<String>,
}

#[derive(Debug)]
struct ReportText {
    article: String,
    /// The question, where the report says it.
    prompt: Option<String>,
    place: String,
}

/// A task with its report.
#[derive(Debug, Clone)]
pub(crate) struct JudgedReport {
    pub(crate) task: BenchmarkTask,
    pub(crate) article: String,
}

/// Which tasks have a report.
#[derive(Debug, Default)]
pub(crate) struct MatchedReports {
    /// The reports to judge, in the order of the tasks.
    pub(crate) reports: Vec<JudgedReport>,
    /// What is not judged, in figures.
    pub(crate) counts: Vec<(String, usize)>,
}

impl ReportSet {
    /// Reads a folder or a file.
    pub(crate) fn read(path: &Path) -> Result<ReportSet, Fault> {
        let mut set = ReportSet::default();
        let files = match path.is_dir() {
            true => files_of(path)?,
            false => vec![path.to_owned()],
        };
        for file in &files {
            set.read_file(file)?;
        }
        if set.reports.is_empty() && set.wrong.is_empty() {
            return Err(format!(
                "{}: there are no reports (*.md, *.jsonl, *.json)",
                path.display()
            )
            .into());
        }
        Ok(set)
    }

    fn read_file(&mut self, path: &Path) -> Result<(), Fault> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let place = path.display().to_string();
        if let Some(stem) = name.strip_suffix(".md") {
            let text = fs::read(path).map_err(|error| format!("{place}: {error}"))?;
            match String::from_utf8(text) {
                Ok(text) => self.add(stem.trim_start_matches("idx-"), &text, None, place),
                Err(_) => self.wrong.push(format!("{place}: it is not UTF-8")),
            }
        } else if name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
            for (nth, row) in json_lines(path)? {
                self.add_row(row, None, format!("{place}, line {nth}"));
            }
        } else if let Some(stem) = name.strip_suffix(".json") {
            let bytes = fs::read(path).map_err(|error| format!("{place}: {error}"))?;
            let row = serde_json::from_slice(&bytes)
                .map_err(|error| format!("this is not JSON: {error}"));
            self.add_row(row, Some(stem), place);
        } else {
            return Err(format!("{place}: reports are *.md, *.jsonl, *.jsonl.gz or *.json").into());
        }
        Ok(())
    }

    fn add_row(&mut self, row: Result<Value, String>, stem: Option<&str>, place: String) {
        let row = match row {
            Ok(row) => row,
            Err(why) => return self.wrong.push(format!("{place}: {why}")),
        };
        let id = ID_FIELDS.iter().find_map(|name| id_text(&row[*name])).or(stem.map(str::to_owned));
        let text = TEXT_FIELDS.iter().find_map(|name| row[*name].as_str());
        match (id, text) {
            (Some(id), Some(text)) => self.add(&id, text, row["prompt"].as_str(), place),
            (None, _) => self.wrong.push(format!("{place}: it has no id")),
            (_, None) => self.wrong.push(format!("{place}: it has no field `article`")),
        }
    }

    fn add(&mut self, id: &str, text: &str, prompt: Option<&str>, place: String) {
        let article = without_front_matter(text).trim();
        if article.is_empty() {
            return self.wrong.push(format!("{place}: the report is empty"));
        }
        if let Some(first) = self.reports.get(id) {
            return self
                .wrong
                .push(format!("{place}: {} has a report of task {id} too", first.place));
        }
        let prompt = prompt.map(str::to_owned);
        self.reports
            .insert(id.to_owned(), ReportText { article: article.to_owned(), prompt, place });
    }

    /// The article of a task, whatever was asked.
    pub(crate) fn article(&self, task: &BenchmarkTask) -> Option<&str> {
        self.find(task).map(|report| report.article.as_str())
    }

    fn find(&self, task: &BenchmarkTask) -> Option<&ReportText> {
        task.ids.iter().find_map(|id| self.reports.get(id))
    }

    /// The reports of `tasks`, the first `limit` of them; what is wrong with the others is said on stderr and counted.
    pub(crate) fn matched(
        mut self,
        tasks: &[BenchmarkTask],
        limit: Option<usize>,
    ) -> MatchedReports {
        let (mut reports, mut missing, mut beyond) = (Vec::new(), 0, 0);
        let mut wrong = std::mem::take(&mut self.wrong);
        for task in tasks {
            match self.find(task) {
                None => missing += 1,
                Some(it)
                    if it.prompt.as_ref().is_some_and(|said| said.trim() != task.prompt.trim()) =>
                {
                    wrong.push(format!(
                        "{}: its prompt is not that of task {}",
                        it.place,
                        task.id()
                    ));
                }
                Some(_) if limit.is_some_and(|limit| reports.len() >= limit) => beyond += 1,
                Some(it) => {
                    reports.push(JudgedReport { task: task.clone(), article: it.article.clone() });
                }
            }
        }
        let known: BTreeSet<&String> = tasks.iter().flat_map(|task| &task.ids).collect();
        let strangers = self.reports.keys().filter(|id| !known.contains(id)).count();
        for why in &wrong {
            eprintln!("wrong report: {why}");
        }
        let counts = vec![
            ("tasks".to_owned(), tasks.len()),
            ("reports judged".to_owned(), reports.len()),
            ("reports beyond --limit".to_owned(), beyond),
            ("tasks without a report".to_owned(), missing),
            ("reports that are wrong".to_owned(), wrong.len()),
            ("reports of no task".to_owned(), strangers),
        ];
        MatchedReports { reports, counts }
    }
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_report =
            [".md", ".jsonl", ".jsonl.gz", ".json"].iter().any(|end| name.ends_with(end));
        if path.is_file() && is_report {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A Markdown text without the block between `---` lines at its beginning.
fn without_front_matter(text: &str) -> &str {
    let body = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    body.map_or(text, |(_, body)| body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reports_are_matched_by_id_and_what_cannot_be_used_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("1.md", "---\ntitle: x\n---\n# One\n");
        write("idx-2.md", "# Two");
        write(
            "batch.jsonl",
            "{\"id\": 3, \"prompt\": \"other\", \"article\": \"# Three\"}\n{\"id\": 4, \"art\n\
             {\"id\": 1, \"article\": \"again\"}\n{\"id\": 5, \"article\": \" \"}\n{\"id\": 9, \"article\": \"x\"}\n",
        );
        let tasks: Vec<BenchmarkTask> = (1..=6)
            .map(|id| BenchmarkTask::of(json!({"id": id, "prompt": format!("p{id}")})).unwrap())
            .collect();
        let set = ReportSet::read(dir.path()).unwrap();
        assert_eq!(set.article(&tasks[0]), Some("# One"));
        let matched = set.matched(&tasks, Some(1));
        assert_eq!(matched.reports.len(), 1);
        let counts: Vec<usize> = matched.counts.iter().map(|count| count.1).collect();
        // Of 3 the prompt is another, 4 is torn, 1 is there twice, 5 is empty, 6 is missing, 9 is no task.
        assert_eq!(counts, [6, 1, 1, 3, 4, 1]);
        assert!(ReportSet::read(&dir.path().join("none")).is_err());
    }
}
