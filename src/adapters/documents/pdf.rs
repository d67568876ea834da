//! PDF to text through a child process, and the mending of what comes out.
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Limits, Trouble, child, dates, prose};
use crate::domain::{Block, BlockKind, PageDraft};
use crate::record::FailReason;

/// The most text one PDF may give.
const MAX_OUTPUT: u64 = 32 << 20;

/// Reads a PDF.
pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<PageDraft, Trouble> {
    let (output, status) = converse(bytes, limits)?;
    let text = String::from_utf8_lossy(&output.text);
    if !status.success() {
        return Err(verdict(status, &output.complaint));
    }
    let mut draft = PageDraft::default();
    let mut pages = if text.starts_with("{\"title\"") {
        from_json(&text, &mut draft)
    } else {
        from_plain(&text)
    };
    if output.cut {
        draft
            .warnings
            .push(format!("truncated at {} MiB of text", MAX_OUTPUT >> 20));
    }
    drop_running_lines(&mut pages);
    for (number, mut blocks) in pages {
        blocks.iter_mut().for_each(|it| it.page = Some(number));
        join_pages(&mut draft.blocks, blocks);
    }
    if draft.blocks.is_empty() {
        return Err(Trouble::new(
            FailReason::Empty,
            "no text layer: its pages are images or empty",
        ));
    }
    Ok(draft)
}

struct Output {
    text: Vec<u8>,
    complaint: String,
    cut: bool,
}

/// Runs the child on `bytes` within the limits.
fn converse(bytes: &[u8], limits: &Limits) -> Result<(Output, ExitStatus), Trouble> {
    let mut child = Command::new(&limits.child)
        .arg(child::COMMAND)
        .arg("pdf")
        .arg(limits.pdf_memory_bytes.to_string())
        .arg(limits.pdf_seconds.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|it| {
            Trouble::new(
                FailReason::Unsupported,
                format!("the PDF reader cannot be started: {it}"),
            )
        })?;
    let until = Instant::now() + Duration::from_secs(limits.pdf_seconds);
    let (tell, told) = mpsc::channel();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A child that stops reading early has its reasons; its status tells them.
            stdin.map(|mut it| it.write_all(bytes))
        });
        let complaint = scope.spawn(move || {
            let mut said = String::new();
            if let Some(it) = stderr {
                let _ = it.take(4_000).read_to_string(&mut said);
            }
            said
        });
        scope.spawn(move || {
            let mut text = Vec::new();
            if let Some(it) = stdout {
                let _ = it.take(MAX_OUTPUT + 1).read_to_end(&mut text);
            }
            let _ = tell.send(text);
        });
        let left = until.saturating_duration_since(Instant::now());
        let text = told.recv_timeout(left);
        let in_time = text.is_ok();
        let mut text = text.unwrap_or_default();
        let cut = text.len() as u64 > MAX_OUTPUT;
        let ended = end(&mut child, in_time && !cut, until);
        if cut {
            text.truncate(usize::try_from(MAX_OUTPUT).unwrap_or(usize::MAX));
        }
        let complaint = complaint.join().unwrap_or_default();
        match ended {
            // Ended by us, for it had said enough.
            Some(_) if cut => Ok((
                Output {
                    text,
                    complaint,
                    cut,
                },
                ExitStatus::default(),
            )),
            Some(status) if in_time => Ok((
                Output {
                    text,
                    complaint,
                    cut,
                },
                status,
            )),
            _ => Err(Trouble::new(
                FailReason::Timeout,
                format!("reading it took more than {} seconds", limits.pdf_seconds),
            )),
        }
    })
}

/// Waits for the child, or ends it.
fn end(child: &mut Child, wait: bool, until: Instant) -> Option<ExitStatus> {
    while wait && Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    child.wait().ok()
}

fn verdict(status: ExitStatus, complaint: &str) -> Trouble {
    let said = complaint.to_lowercase();
    let first = complaint.lines().next().unwrap_or_default().trim();
    let code = status.code();
    if code == Some(i32::from(child::ENCRYPTED)) || said.contains("incorrect password") {
        return Trouble::new(
            FailReason::Unsupported,
            "it is encrypted and needs a password",
        );
    }
    if let Some(signal) = status.signal() {
        // SIGXCPU and SIGKILL: the CPU limit.
        return if matches!(signal, 24 | 9) {
            Trouble::new(
                FailReason::Timeout,
                "reading it took too much processor time",
            )
        } else {
            Trouble::new(
                FailReason::Broken,
                "damaged PDF: its reader gave up within its memory",
            )
        };
    }
    let why = if first.is_empty() || first.len() > 300 {
        String::new()
    } else {
        format!(": {first}")
    };
    Trouble::new(FailReason::Broken, format!("damaged PDF{why}"))
}

type Pages = Vec<(u32, Vec<Block>)>;

fn from_json(text: &str, draft: &mut PageDraft) -> Pages {
    let mut pages = Pages::new();
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if let Some(number) = value.get("page").and_then(Value::as_u64) {
            let blocks = value.get("blocks").and_then(Value::as_array);
            let blocks = blocks.into_iter().flatten().flat_map(piece).collect();
            pages.push((u32::try_from(number).unwrap_or(u32::MAX), blocks));
        } else {
            let said = |name: &str| {
                let text = value.get(name)?.as_str()?.trim();
                (!text.is_empty()).then(|| text.to_owned())
            };
            draft.title = said("title").filter(|it| is_title(it)).unwrap_or_default();
            draft.author = said("author");
            draft.date = said("created").and_then(|it| dates::normalise(&it));
            draft.date_source = draft.date.as_ref().map(|_| "file".to_owned());
        }
    }
    pages
}

/// Many PDFs are titled after the file they were made from.
fn is_title(text: &str) -> bool {
    let lower = text.to_lowercase();
    let file = [
        ".doc", ".docx", ".tex", ".dvi", ".indd", ".qxd", ".pdf", ".ppt", ".pptx", ".xls",
    ]
    .iter()
    .any(|it| lower.ends_with(it));
    !file
        && !lower.starts_with("microsoft word")
        && !lower.starts_with("untitled")
        && lower.len() > 2
}

fn piece(value: &Value) -> Option<Block> {
    let kind: BlockKind = serde_json::from_value(value.get(0)?.clone()).ok()?;
    let raw = value.get(2)?.as_str()?;
    let text = if kind == BlockKind::Code {
        raw.trim_matches('\n').to_owned()
    } else {
        mend(raw)
    };
    if !text.chars().any(char::is_alphanumeric) {
        return None;
    }
    let mut block = Block::new(kind, text);
    block.level = u8::try_from(value.get(1)?.as_u64()?).unwrap_or(0);
    Some(block)
}

/// Pages of plain text with a form feed after each.
fn from_plain(text: &str) -> Pages {
    (1_u32..)
        .zip(text.split('\u{c}'))
        .map(|(number, page)| {
            let blocks = page
                .split("\n\n")
                .flat_map(|it| prose::blocks(&hyphens_joined(&ligatures_undone(it))))
                .collect();
            (number, blocks)
        })
        .collect()
}

/// One paragraph on one line: ligatures undone, words put together again over line ends.
fn mend(text: &str) -> String {
    let joined = hyphens_joined(&ligatures_undone(text));
    let mut out = String::with_capacity(joined.len());
    prose::fold_into(&mut out, &joined);
    out
}

fn ligatures_undone(text: &str) -> String {
    if !text.contains(['ﬀ', 'ﬁ', 'ﬂ', 'ﬃ', 'ﬄ', 'ﬅ', 'ﬆ']) {
        return text.to_owned();
    }
    text.replace('ﬀ', "ff")
        .replace('ﬁ', "fi")
        .replace('ﬂ', "fl")
        .replace('ﬃ', "ffi")
        .replace('ﬄ', "ffl")
        .replace(['ﬅ', 'ﬆ'], "st")
}

/// Joins `exam-\nple` to `example`; a hyphen between a letter and a capital or digit stays.
fn hyphens_joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        let next = lines.peek().and_then(|it| it.trim_start().chars().next());
        let stem = line.strip_suffix(['-', '\u{ad}', '‐']);
        match (stem, next) {
            (Some(stem), Some(next))
                if next.is_lowercase() && stem.ends_with(char::is_alphabetic) =>
            {
                out.push_str(stem);
                if let Some(rest) = lines.next() {
                    let rest = rest.trim_start();
                    let (word, more) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
                    out.push_str(word);
                    out.push('\n');
                    out.push_str(more.trim_start());
                    if !more.is_empty() {
                        out.push('\n');
                    }
                }
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// Drops lines that stand at the top or foot of many pages, and bare page numbers there.
fn drop_running_lines(pages: &mut Pages) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for (_, blocks) in pages.iter() {
        let mut edge: Vec<String> = edges(blocks.len())
            .map(|at| shape(&blocks[at].text))
            .collect();
        edge.sort();
        edge.dedup();
        for it in edge {
            *seen.entry(it).or_default() += 1;
        }
    }
    let many = (u32::try_from(pages.len()).unwrap_or(u32::MAX) / 3).max(3);
    for (number, blocks) in pages.iter_mut() {
        let at_edge: Vec<usize> = edges(blocks.len()).collect();
        let mut nth = 0;
        blocks.retain(|it| {
            let edge = at_edge.contains(&nth);
            nth += 1;
            let bare = it.text.trim_matches(|c: char| !c.is_alphanumeric());
            let numbered = bare == number.to_string();
            let running =
                it.text.len() < 160 && seen.get(&shape(&it.text)).is_some_and(|it| *it >= many);
            !(edge && (numbered || running))
        });
    }
}

/// The first two and the last two blocks.
fn edges(len: usize) -> impl Iterator<Item = usize> {
    (0..len).filter(move |it| *it < 2 || *it + 2 >= len)
}

/// A line with its numbers made alike.
fn shape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() {
            if !out.ends_with('#') {
                out.push('#');
            }
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out
}

/// Appends a page; a paragraph that runs over the page's end is put together again.
fn join_pages(all: &mut Vec<Block>, page: Vec<Block>) {
    let mut page = page.into_iter();
    if let Some(first) = page.next() {
        match all.last_mut() {
            Some(last)
                if last.kind == BlockKind::Prose
                    && first.kind == BlockKind::Prose
                    && last
                        .text
                        .ends_with(|c: char| c.is_lowercase() || c == ',' || c == '-')
                    && first.text.starts_with(char::is_lowercase) =>
            {
                match last.text.strip_suffix('-') {
                    Some(stem) => last.text = stem.to_owned(),
                    None => last.text.push(' '),
                }
                last.text.push_str(&first.text);
            }
            _ => all.push(first),
        }
    }
    all.extend(page);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_and_ligatures_of_the_printer_are_undone() {
        assert_eq!(
            mend("an exam-\nple of ﬁne print in the COVID-\n19 time"),
            "an example of fine print in the COVID- 19 time"
        );
    }

    #[test]
    fn running_heads_and_page_numbers_are_dropped() {
        let page = |n: u32| {
            (
                n,
                vec![
                    Block::new(BlockKind::Prose, format!("Journal of Tea {n}")),
                    Block::new(BlockKind::Prose, format!("Body of page {n} with words.")),
                    Block::new(BlockKind::Prose, n.to_string()),
                ],
            )
        };
        let mut pages: Pages = (1..=6).map(page).collect();
        drop_running_lines(&mut pages);
        assert!(
            pages
                .iter()
                .all(|(_, it)| it.iter().all(|it| !it.text.starts_with("Journal"))),
            "{pages:?}"
        );
    }

    #[test]
    fn a_paragraph_over_two_pages_is_one_block_on_the_first() {
        let mut all = vec![Block::new(BlockKind::Prose, "It was a very")];
        all[0].page = Some(1);
        join_pages(&mut all, vec![Block::new(BlockKind::Prose, "long day.")]);
        assert_eq!(all.len(), 1);
        assert_eq!(
            (all[0].text.as_str(), all[0].page),
            ("It was a very long day.", Some(1))
        );
    }
}
