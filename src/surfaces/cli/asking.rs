//! Clarifying questions at the terminal: asked on stderr, answered by lines on stdin.
use std::io::BufRead;

use tokio::sync::mpsc;

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
    lines: Option<mpsc::Receiver<String>>,
}

impl Asking {
    /// Takes note of what is asked, and that it is answered.
    pub(super) fn heard(&mut self, event: &Event) {
        match event {
            Event::ClarifyAsked { questions } => self.questions.clone_from(questions),
            Event::ClarifyAnswered { .. } => *self = Asking::default(),
            _ => {}
        }
    }

    /// Whether the person is being asked.
    pub(super) fn open(&self) -> bool {
        self.lines.is_some()
    }

    /// Puts the first question, if it is not put yet. What a resumed run tells again was answered before this is called.
    pub(super) fn begin(&mut self, console: Console) {
        if self.questions.is_empty() || self.open() {
            return;
        }
        let (send, lines) = mpsc::channel(1);
        // A read of stdin cannot be broken off: the thread ends with the input or with the process.
        std::thread::spawn(move || {
            let mut lines = std::io::stdin().lock().lines();
            while let Some(Ok(text)) = lines.next() {
                if send.blocking_send(text).is_err() {
                    break;
                }
            }
        });
        self.lines = Some(lines);
        let how = "An empty line passes; Ctrl-D goes on without.";
        console.tell(&format!(
            "Before the research begins: {}",
            console.err.dim(how)
        ));
        self.put(console);
    }

    fn put(&self, console: Console) {
        if let Some(asked) = self.questions.get(self.answers.len()) {
            console.put(&format!("{} {} ", console.err.cyan("?"), line(asked)));
        }
    }

    /// The next line of the person; `None` at the end of input. Waits for ever while nobody is asked.
    pub(super) async fn next(&mut self) -> Option<String> {
        match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => std::future::pending().await,
        }
    }

    /// Takes an answer, and leaves them all for the run after the last.
    pub(super) async fn take(
        &mut self,
        said: Option<String>,
        app: &App,
        run: &RunId,
        console: Console,
    ) -> Result<()> {
        if !console.live {
            // Nobody's Enter ended the line.
            console.tell("");
        }
        match said {
            Some(text) => self.answers.push(text.trim().to_owned()),
            None => {
                if console.live {
                    console.tell("");
                }
                self.answers.resize(self.questions.len(), String::new());
            }
        }
        if self.answers.len() < self.questions.len() {
            self.put(console);
            return Ok(());
        }
        let answers = std::mem::take(self).answers;
        app.order(run, Order::Reply(answers)).await
    }
}
