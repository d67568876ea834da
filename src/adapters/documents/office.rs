//! Word documents and books, unpacked and parsed in a child process: both are containers, and a
//! container of a few kilobytes can hold gigabytes.
use super::child::Task;
use super::confined::{ask, deadline};
use super::{Limits, ParsedDocument, Trouble};
use crate::record::FailReason;

/// Has a child read a container.
pub(super) fn read(task: Task, bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, Trouble> {
    // What is no container at all needs no process to say so.
    if !bytes.starts_with(b"PK") {
        return Err(Trouble::new(
            FailReason::Broken,
            "damaged container: it is no zip file",
        ));
    }
    let said = ask(task, bytes, limits, deadline(limits))?;
    said.verdict("container")?;
    serde_json::from_slice::<Result<ParsedDocument, Trouble>>(&said.text).unwrap_or_else(|_| {
        Err(Trouble::new(
            FailReason::TooLarge,
            "its text is larger than a document may be",
        ))
    })
}
