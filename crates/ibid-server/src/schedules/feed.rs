//! The reruns of a schedule as an Atom feed (RFC 4287).
use std::fmt::Write as _;

use super::rerun_result::RerunResult;
use crate::request_service::CallerService;
use ibid_core::ports::Schedule;
use ibid_core::{ErrorKind, Result};
use ibid_report::escape::single_line;

/// Maximum number of entries of a feed.
const MAX_ENTRIES: u32 = 20;

/// The feed of `schedule`: an entry for each rerun with a report that still exists, newest first.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn atom(service: &CallerService, schedule: &Schedule) -> Result<String> {
    let reruns = service.ended_reruns(&schedule.id, MAX_ENTRIES).await?;
    let question = schedule.question();
    let updated = reruns.first().map_or(&schedule.created_at, |rerun| &rerun.at);
    let id = xml(&schedule.id);
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>urn:ibid:schedule:{id}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
         <author><name>Ibid</name></author>\n<link rel=\"self\" href=\"/v1/schedules/{id}/feed.atom\"/>\n",
        xml(&single_line(question)),
        xml(updated),
    );
    for rerun in reruns.iter().filter(|rerun| rerun.has_report) {
        let before = rerun.compared_with.as_ref();
        let result = match RerunResult::load(service, &rerun.run, before).await {
            Err(fault) if fault.kind() == ErrorKind::NotFound => continue,
            result => result?,
        };
        let run = xml(rerun.run.as_str());
        let title = format!("{}: {question}", result.summary());
        let _ = write!(
            out,
            "<entry>\n<id>urn:ibid:schedule:{id}:{}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
             <link href=\"/v1/runs/{run}/report.html\"/>\n<content type=\"text\">{}</content>\n</entry>\n",
            rerun.nth,
            xml(&single_line(&title)),
            xml(&rerun.at),
            xml(&result.to_text()),
        );
    }
    out += "</feed>\n";
    Ok(out)
}

/// Text of XML 1.0, without the characters that it cannot hold.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\u{FFFE}' | '\u{FFFF}' => {}
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => out.push(c),
        }
    }
    out
}
