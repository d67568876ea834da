//! Doors with nobody behind them: what they are asked, the recording has answered, or nobody can.
use std::sync::Arc;

use async_trait::async_trait;

use crate::adapters::journal::Tape;
use crate::adapters::search;
use crate::domain::{Hit, Hits, Page, Query, Vertical};
use crate::error::Result;
use crate::seams::{Completion, LanguageModel, PageReader, Prompt, Ranker, SearchProvider, Sink};

/// Stands where somebody of this name stood when a run was recorded. The journal around it answers what is
/// recorded; what comes through fails and is counted.
pub struct Silent {
    name: String,
    tape: Arc<Tape>,
    /// Whether it takes pages that nobody else reads, so that they fail by name.
    last: bool,
}

impl Silent {
    /// Nobody, in the place of `name`.
    pub fn new(name: &str, tape: &Arc<Tape>) -> Silent {
        Silent {
            name: name.to_owned(),
            tape: Arc::clone(tape),
            last: false,
        }
    }

    /// The reader after all others, who is asked for what none of them reads.
    pub fn last_reader(tape: &Arc<Tape>) -> Silent {
        Silent {
            last: true,
            ..Silent::new("recording", tape)
        }
    }
}

#[async_trait]
impl SearchProvider for Silent {
    fn name(&self) -> &str {
        &self.name
    }

    fn verticals(&self) -> &[Vertical] {
        search::verticals_of(&self.name)
    }

    async fn search(&self, query: &Query) -> Result<Hits> {
        Err(self.tape.nobody(&self.name, query.text()))
    }
}

#[async_trait]
impl PageReader for Silent {
    fn name(&self) -> &str {
        &self.name
    }

    fn reads(&self, _: &Hit) -> bool {
        self.last
    }

    async fn read(&self, hit: &Hit) -> Result<Page> {
        Err(self.tape.nobody(&self.name, &hit.url))
    }
}

#[async_trait]
impl Ranker for Silent {
    fn name(&self) -> &str {
        &self.name
    }

    async fn rank(&self, query: &str, _: &[&str]) -> Result<Vec<f32>> {
        Err(self.tape.nobody(&self.name, query))
    }
}

#[async_trait]
impl LanguageModel for Silent {
    fn name(&self) -> &str {
        &self.name
    }

    async fn complete(&self, prompt: &Prompt) -> Result<Completion> {
        Err(self.tape.nobody(&self.name, &prompt.purpose))
    }

    async fn stream(&self, prompt: &Prompt, _: Sink<'_>) -> Result<Completion> {
        self.complete(prompt).await
    }
}
