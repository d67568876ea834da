//! Reading a recording. An error names its line, and nothing is repaired: a recording is evidence of what happened.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::file::{
    FORMAT, Recording, RecordingCounts, RecordingHeader, RecordingLine, VERSION, find_manifest,
};
use super::write::checksum;
use crate::journal::{has_matching_key, is_reader_call};
use ibid_core::domain::{Page, PageHash};
use ibid_core::ports::{JournalCall, JournalCallState, ProviderManifest};
use ibid_core::record::{EVENT_VERSION, Envelope, Event};
use ibid_core::{Error, ErrorKind, Result};

const HINT: &str =
    "use the unchanged file of `ibid export RUN -f recording`, or record the run again";

impl Recording {
    /// Parses the recording in `bytes`; errors call it `name`.
    ///
    /// # Errors
    /// `Usage` when it is not a recording, or is truncated or edited; `Setup` when a newer Ibid wrote it. Each names the
    /// line.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Recording> {
        let place = RecordingName { name };
        let text = std::str::from_utf8(bytes).map_err(|fault| {
            let before = &bytes[..fault.valid_up_to()];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            place.error_at(line, "not valid UTF-8").with_source(fault)
        })?;
        let mut lines = (1..).zip(text.lines());
        let Some((_, first)) = lines.next() else {
            return Err(place.error_at(1, "the file is empty"));
        };
        let head = parse_header(place, first)?;
        let mut body = RecordingBody::default();
        let mut last = 1;
        for (at, line) in lines {
            last = at;
            if body.end.is_some() {
                return Err(place.error_at(at, "the recording continues after its last line"));
            }
            body.take(place, &head, at, line)?;
        }
        body.finish(place, head, last)
    }
}

/// The name of the file, for errors.
#[derive(Clone, Copy)]
struct RecordingName<'a> {
    name: &'a str,
}

impl RecordingName<'_> {
    fn error_at(self, line: usize, what: impl std::fmt::Display) -> Error {
        let doing = format!("reading recording {} line {line}: {what}", self.name);
        Error::new(ErrorKind::Usage, doing).with_hint(HINT)
    }

    /// Checks the checksum of a line and returns the line without it.
    fn verify_checksum(self, at: usize, line: &str) -> Result<String> {
        let parts = line.strip_prefix("{\"sum\":\"").and_then(|line| line.split_once("\","));
        let Some((sum, rest)) = parts else {
            return Err(self.error_at(at, "not a line of a recording"));
        };
        let body = format!("{{{rest}");
        if checksum(&body) == sum {
            Ok(body)
        } else {
            Err(self.error_at(at, "the checksum is wrong: the line was edited or truncated"))
        }
    }
}

/// Parses the first line. The version is checked before anything that it may change.
fn parse_header(place: RecordingName<'_>, line: &str) -> Result<RecordingHeader> {
    let value: Value = serde_json::from_str(line)
        .map_err(|cause| place.error_at(1, "not a recording").with_source(cause))?;
    let header = &value["recording"];
    if header["format"] != FORMAT {
        return Err(place
            .error_at(1, "not a recording")
            .with_hint("make one with `ibid export RUN -f recording -o FILE`"));
    }
    match header["version"].as_u64() {
        Some(version) if version == u64::from(VERSION) => {}
        version => {
            let version =
                version.map_or_else(|| "unknown".to_owned(), |version| version.to_string());
            return Err(Error::new(
                ErrorKind::Setup,
                format!(
                    "reading recording {} line 1: version {version} is not supported; this Ibid reads version {VERSION}",
                    place.name
                ),
            )
            .with_hint("replay it with the Ibid that recorded it"));
        }
    }
    match serde_json::from_str(&place.verify_checksum(1, line)?) {
        Ok(RecordingLine::Recording(head)) => Ok(head),
        Ok(_) => Err(place.error_at(1, "not a recording")),
        Err(fault) => Err(place.error_at(1, "the header cannot be read").with_source(fault)),
    }
}

/// The lines after the first.
#[derive(Default)]
struct RecordingBody {
    steps: Vec<(usize, JournalCall)>,
    pages: BTreeMap<PageHash, Page>,
    events: Vec<Envelope>,
    end: Option<RecordingCounts>,
}

impl RecordingBody {
    fn take(
        &mut self,
        place: RecordingName<'_>,
        head: &RecordingHeader,
        at: usize,
        line: &str,
    ) -> Result<()> {
        let body = place.verify_checksum(at, line)?;
        let line: RecordingLine = serde_json::from_str(&body)
            .map_err(|cause| place.error_at(at, "the line cannot be read").with_source(cause))?;
        match line {
            RecordingLine::Recording(_) => return Err(place.error_at(at, "a second header")),
            RecordingLine::Call(step) => self.steps.push((at, step)),
            RecordingLine::Page(page) if !page.is_intact() => {
                let what = format!("the text of page {} does not match its hash", page.hash());
                return Err(place.error_at(at, what));
            }
            RecordingLine::Page(page) => {
                self.pages.insert(page.hash().clone(), page);
            }
            RecordingLine::Event(event) => {
                let next = self.events.len() as u64 + 1;
                if event.seq != next || event.run != head.run {
                    let what = format!("event {next} of run {} was expected here", head.run);
                    return Err(place.error_at(at, what));
                }
                self.events.push(event);
            }
            RecordingLine::End(counts) => self.end = Some(counts),
        }
        Ok(())
    }

    /// Checks that nothing is missing and that the parts fit together.
    fn finish(
        self,
        place: RecordingName<'_>,
        head: RecordingHeader,
        last: usize,
    ) -> Result<Recording> {
        let found = RecordingCounts {
            calls: self.steps.len(),
            pages: self.pages.len(),
            events: self.events.len(),
        };
        match self.end {
            None => {
                return Err(
                    place.error_at(last, "the recording is truncated: its last line is missing")
                );
            }
            Some(counts) if counts != found => {
                let what = format!(
                    "expected {} calls, {} pages and {} events before this line, found {}, {} and {}",
                    counts.calls,
                    counts.pages,
                    counts.events,
                    found.calls,
                    found.pages,
                    found.events
                );
                return Err(place.error_at(last, what));
            }
            Some(_) => {}
        }
        match self.events.first().map(|event| &event.event) {
            Some(Event::RunCreated { question, version, .. })
                if *question == head.question && *version <= EVENT_VERSION => {}
            _ => return Err(place.error_at(1, "the question differs from that of the first event")),
        }
        let steps: Vec<JournalCall> = self.steps.iter().map(|(_, step)| step.clone()).collect();
        let cast = find_manifest(&steps)
            .ok_or_else(|| place.error_at(last, "no line names the providers"))?;
        for (at, step) in &self.steps {
            check_step(place, *at, step, &cast, &self.pages)?;
        }
        Ok(Recording {
            name: place.name.to_owned(),
            run: head.run,
            question: head.question,
            cast,
            steps,
            pages: Arc::new(self.pages),
            events: self.events,
        })
    }
}

/// Checks that the key of a call matches its request, and that the page that answers it is present.
fn check_step(
    place: RecordingName<'_>,
    at: usize,
    step: &JournalCall,
    cast: &ProviderManifest,
    pages: &BTreeMap<PageHash, Page>,
) -> Result<()> {
    if !has_matching_key(step, cast.search.len().max(cast.readers.len())) {
        return Err(
            place.error_at(at, format!("the request of call {} does not match its key", step.key))
        );
    }
    if let JournalCallState::Answered(answered) = &step.state
        && is_reader_call(&step.provider)
    {
        let hash = answered.answer.as_str().unwrap_or_default();
        if !pages.keys().any(|page| page.as_str() == hash) {
            return Err(
                place.error_at(at, format!("page {hash}, which answers the call, is missing"))
            );
        }
    }
    Ok(())
}
