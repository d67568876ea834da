//! A recording from its text. Whatever is off is told with its line, and nothing is mended: what was recorded is
//! evidence of what happened.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::write::sum;
use super::{Counts, FORMAT, Head, Line, Recording, VERSION, cast_of};
use crate::adapters::journal::{is_of_its_words, is_read};
use crate::domain::{Page, PageHash};
use crate::error::{Error, Kind, Result};
use crate::record::{Envelope, Event, VERSION as EVENTS};
use crate::seams::{Cast, Step, StepState};

const WHOLE: &str =
    "use the file as `ibid export RUN -f recording` wrote it, or record the run again";

impl Recording {
    /// The recording in `bytes`; `name` is what errors call it.
    ///
    /// # Errors
    /// `Usage` for what is no recording, or is torn or edited; `Setup` for one that a newer Ibid made. Each names
    /// the line.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Recording> {
        let place = Place { name };
        let text = std::str::from_utf8(bytes).map_err(|fault| {
            let before = &bytes[..fault.valid_up_to()];
            let line = before.iter().filter(|it| **it == b'\n').count() + 1;
            place.wrong(line, "these are no words").because(fault)
        })?;
        let mut lines = (1..).zip(text.lines());
        let Some((_, first)) = lines.next() else {
            return Err(place.wrong(1, "the file is empty"));
        };
        let head = head(place, first)?;
        let mut body = Body::default();
        let mut last = 1;
        for (at, line) in lines {
            last = at;
            if body.end.is_some() {
                return Err(place.wrong(at, "it goes on after its end"));
            }
            body.take(place, &head, at, line)?;
        }
        body.close(place, head, last)
    }
}

/// Which file is read.
#[derive(Clone, Copy)]
struct Place<'a> {
    name: &'a str,
}

impl Place<'_> {
    fn wrong(self, line: usize, what: impl std::fmt::Display) -> Error {
        let doing = format!("reading recording {} line {line}: {what}", self.name);
        Error::new(Kind::Usage, doing).hint(WHOLE)
    }

    /// The line without its checksum, if that is its.
    fn checked(self, at: usize, line: &str) -> Result<String> {
        let parts = line
            .strip_prefix("{\"sum\":\"")
            .and_then(|it| it.split_once("\","));
        let Some((told, rest)) = parts else {
            return Err(self.wrong(at, "this is no line of a recording"));
        };
        let body = format!("{{{rest}");
        match sum(&body) == told {
            true => Ok(body),
            false => Err(self.wrong(at, "this is not what was written: it was edited or torn")),
        }
    }
}

/// The first line. Its version is looked at before anything that a version may change.
fn head(place: Place<'_>, line: &str) -> Result<Head> {
    let value: Value = serde_json::from_str(line)
        .map_err(|it| place.wrong(1, "this is no recording").because(it))?;
    let told = &value["recording"];
    if told["format"] != FORMAT {
        return Err(place
            .wrong(1, "this is no recording")
            .hint("make one with `ibid export RUN -f recording -o FILE`"));
    }
    match told["version"].as_u64() {
        Some(version) if version == u64::from(VERSION) => {}
        version => {
            let version = version.map_or_else(|| "unknown".to_owned(), |it| it.to_string());
            return Err(Error::new(
                Kind::Setup,
                format!(
                    "reading recording {} line 1: its version is {version}, and this Ibid reads {VERSION}",
                    place.name
                ),
            )
            .hint("replay it with the Ibid that recorded it"));
        }
    }
    match serde_json::from_str(&place.checked(1, line)?) {
        Ok(Line::Recording(head)) => Ok(head),
        Ok(_) => Err(place.wrong(1, "this is no recording")),
        Err(fault) => Err(place.wrong(1, "its head cannot be read").because(fault)),
    }
}

/// What stands between the first line and the last.
#[derive(Default)]
struct Body {
    steps: Vec<(usize, Step)>,
    pages: BTreeMap<PageHash, Page>,
    events: Vec<Envelope>,
    end: Option<Counts>,
}

impl Body {
    fn take(&mut self, place: Place<'_>, head: &Head, at: usize, line: &str) -> Result<()> {
        let body = place.checked(at, line)?;
        let line: Line = serde_json::from_str(&body)
            .map_err(|it| place.wrong(at, "this line cannot be read").because(it))?;
        match line {
            Line::Recording(_) => return Err(place.wrong(at, "it begins again")),
            Line::Call(step) => self.steps.push((at, step)),
            Line::Page(page) if !page.is_untouched() => {
                let what = format!(
                    "the words of page {} are not those it is known by",
                    page.hash()
                );
                return Err(place.wrong(at, what));
            }
            Line::Page(page) => {
                self.pages.insert(page.hash().clone(), page);
            }
            Line::Event(event) => {
                let next = self.events.len() as u64 + 1;
                if event.seq != next || event.run != head.run {
                    let what = format!("event {next} of run {} belongs here", head.run);
                    return Err(place.wrong(at, what));
                }
                self.events.push(event);
            }
            Line::End(counts) => self.end = Some(counts),
        }
        Ok(())
    }

    /// The whole, if nothing is missing and all fits together.
    fn close(self, place: Place<'_>, head: Head, last: usize) -> Result<Recording> {
        let found = Counts {
            calls: self.steps.len(),
            pages: self.pages.len(),
            events: self.events.len(),
        };
        match self.end {
            None => return Err(place.wrong(last, "it is torn: its last line is missing")),
            Some(told) if told != found => {
                let what = format!(
                    "{} calls, {} pages and {} events belong before it; there are {}, {} and {}",
                    told.calls, told.pages, told.events, found.calls, found.pages, found.events
                );
                return Err(place.wrong(last, what));
            }
            Some(_) => {}
        }
        match self.events.first().map(|it| &it.event) {
            Some(Event::RunCreated {
                question, version, ..
            }) if *question == head.question && *version <= EVENTS => {}
            _ => return Err(place.wrong(1, "its question is not the one its events begin with")),
        }
        let plain: Vec<Step> = self.steps.iter().map(|it| it.1.clone()).collect();
        let cast = cast_of(&plain)
            .ok_or_else(|| place.wrong(last, "no line says who stood behind the doors"))?;
        for (at, step) in &self.steps {
            fits(place, *at, step, &cast, &self.pages)?;
        }
        Ok(Recording {
            name: place.name.to_owned(),
            run: head.run,
            question: head.question,
            cast,
            steps: plain,
            pages: Arc::new(self.pages),
            events: self.events,
        })
    }
}

/// Whether a call is known by what it asks, and the page that answers it is there.
fn fits(
    place: Place<'_>,
    at: usize,
    step: &Step,
    cast: &Cast,
    pages: &BTreeMap<PageHash, Page>,
) -> Result<()> {
    if !is_of_its_words(step, cast.search.len().max(cast.readers.len())) {
        return Err(place.wrong(
            at,
            format!("call {} does not ask what its key says", step.key),
        ));
    }
    if let StepState::Answered(it) = &step.state
        && is_read(&step.door)
    {
        let hash = it.answer.as_str().unwrap_or_default();
        if !pages.keys().any(|page| page.as_str() == hash) {
            return Err(place.wrong(at, format!("page {hash} that answers it is not here")));
        }
    }
    Ok(())
}
