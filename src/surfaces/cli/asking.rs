//! Whatever a run asks the person at the terminal: on stderr, answered by lines on stdin.
use std::io::{BufRead as _, IsTerminal as _};

use tokio::sync::oneshot;

use super::approving::{Heard, Word};
use super::console::Console;
use crate::app::App;
use crate::domain::RunId;
use crate::error::Result;
use crate::record::Event;
use crate::seams::Order;
use crate::surfaces::export::escape::line;

/// The questions of a run to the person who follows it.
#[derive(Default)]
pub(super) struct Asking {
    /// What is asked, as long as it is not answered.
    questions: Vec<String>,
    answers: Vec<String>,
    /// The plan, as long as it waits for a word.
    plan: Heard,
    /// The line that is waited for. One at a time, so that an editor has stdin for itself.
    line: Option<oneshot::Receiver<Option<String>>>,
}

impl Asking {
    /// Takes note of what is asked, and that it is answered.
    pub(super) fn heard(&mut self, event: &Event) {
        self.plan.heard(event);
        match event {
            Event::ClarifyAsked { questions } => self.questions.clone_from(questions),
            Event::ClarifyAnswered { .. } => {
                self.questions.clear();
                self.answers.clear();
                self.line = None;
            }
            Event::PlanChanged { .. } | Event::PlanApproved { .. } => self.line = None,
            _ => {}
        }
    }

    /// Whether the person is being asked.
    pub(super) fn open(&self) -> bool {
        self.line.is_some()
    }

    /// Whether the plan waits for their word.
    pub(super) fn approving(&self) -> bool {
        self.plan.waits()
    }

    /// Whether there is something to ask that is not asked yet. What a resumed run tells again was answered before this is
    /// called.
    pub(super) fn due(&self) -> bool {
        !self.open()
            && (!self.questions.is_empty() || self.plan.due(std::io::stdin().is_terminal()))
    }

    /// Asks what is due.
    pub(super) fn begin(&mut self, app: &App, console: Console) -> Result<()> {
        if self.questions.is_empty() {
            self.plan.show(app, console)?;
        } else {
            let how = "An empty line passes; Ctrl-D goes on without.";
            console.tell(&format!(
                "Before the research begins: {}",
                console.err.dim(how)
            ));
            self.put(console);
        }
        self.read();
        Ok(())
    }

    fn put(&self, console: Console) {
        if let Some(asked) = self.questions.get(self.answers.len()) {
            console.put(&format!("{} {} ", console.err.cyan("?"), line(asked)));
        }
    }

    /// Begins to wait for a line.
    fn read(&mut self) {
        let (send, line) = oneshot::channel();
        // A read of stdin cannot be broken off: the thread ends with the line or with the process.
        std::thread::spawn(move || {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_line(&mut text);
            // Nobody may wait any more; the line is lost then.
            let _ = send.send(read.is_ok_and(|it| it > 0).then_some(text));
        });
        self.line = Some(line);
    }

    /// The next line of the person; `None` at the end of input. Waits for ever while nobody is asked.
    pub(super) async fn next(&mut self) -> Option<String> {
        match &mut self.line {
            Some(line) => line.await.unwrap_or_default(),
            None => std::future::pending().await,
        }
    }

    /// Takes an answer, and leaves it for the run where it is whole. Gives whether the person has left the run to wait.
    pub(super) async fn take(
        &mut self,
        said: Option<String>,
        app: &App,
        run: &RunId,
        console: Console,
    ) -> Result<bool> {
        self.line = None;
        if !console.live || said.is_none() {
            // Nobody's Enter ended the line.
            console.tell("");
        }
        if self.questions.is_empty() {
            return self.take_word(said, app, run, console).await;
        }
        match said {
            Some(text) => self.answers.push(text.trim().to_owned()),
            None => self.answers.resize(self.questions.len(), String::new()),
        }
        if self.answers.len() < self.questions.len() {
            self.put(console);
            self.read();
            return Ok(false);
        }
        self.questions.clear();
        let answers = std::mem::take(&mut self.answers);
        app.order(run, Order::Reply(answers)).await?;
        Ok(false)
    }

    async fn take_word(
        &mut self,
        said: Option<String>,
        app: &App,
        run: &RunId,
        console: Console,
    ) -> Result<bool> {
        let Some(said) = said else {
            return Ok(true);
        };
        match self.plan.word(said.trim(), run, console)? {
            Word::Order(order) => {
                self.plan.answered();
                app.order(run, order).await?;
            }
            Word::Again => {
                self.plan.put(console);
                self.read();
            }
        }
        Ok(false)
    }
}
