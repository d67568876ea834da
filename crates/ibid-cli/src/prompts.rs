//! The questions of a run to the user at the terminal: asked on stderr, answered by lines on stdin.
use std::io::{BufRead as _, IsTerminal as _};
use std::ops::ControlFlow;

use tokio::sync::oneshot;

use crate::approval::PendingPlan;
use crate::console::Console;
use ibid::app::App;
use ibid::config::ProcessEnv;
use ibid_core::Result;
use ibid_core::domain::RunId;
use ibid_core::ports::RunCommand;
use ibid_core::record::Event;
use ibid_report::escape::single_line;

/// What a run asks, and the answers so far.
#[derive(Default)]
pub(super) struct Prompter {
    /// The clarifying questions that are not all answered yet.
    questions: Vec<String>,
    answers: Vec<String>,
    /// The plan that may await approval.
    plan: PendingPlan,
    /// The line being read, if any. Only one is read at a time, so that an editor can use stdin.
    line: Option<oneshot::Receiver<Option<String>>>,
}

impl Prompter {
    /// Takes in one more event.
    pub(super) fn observe(&mut self, event: &Event) {
        self.plan.observe(event);
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

    /// Whether a line is being read.
    pub(super) fn is_open(&self) -> bool {
        self.line.is_some()
    }

    /// Whether a plan awaits approval.
    pub(super) fn is_approval_pending(&self) -> bool {
        self.plan.is_pending()
    }

    /// Whether there is a question that was not asked yet. A resumed run repeats its events, so earlier questions are
    /// already answered when this is called.
    pub(super) fn has_pending(&self) -> bool {
        !self.is_open()
            && (!self.questions.is_empty()
                || self.plan.should_prompt(std::io::stdin().is_terminal()))
    }

    /// Asks what is due and starts to read the answer.
    ///
    /// # Errors
    /// Those of [`PendingPlan::show`].
    pub(super) fn begin(&mut self, app: &App, console: Console) -> Result<()> {
        if self.questions.is_empty() {
            self.plan.show(app, console)?;
        } else {
            let how = "An empty line skips a question; Ctrl-D skips all.";
            console.eprint_line(&format!("Before the research begins: {}", console.err.dim(how)));
            self.prompt(console);
        }
        self.read_line();
        Ok(())
    }

    fn prompt(&self, console: Console) {
        if let Some(question) = self.questions.get(self.answers.len()) {
            console.eprint(&format!("{} {} ", console.err.cyan("?"), single_line(question)));
        }
    }

    /// Starts to read a line.
    fn read_line(&mut self) {
        let (send, line) = oneshot::channel();
        // A read of stdin cannot be cancelled: the thread ends with the line or with the process.
        std::thread::spawn(move || {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_line(&mut text);
            // If the receiver is gone, the line is dropped.
            let _ = send.send(read.is_ok_and(|bytes| bytes > 0).then_some(text));
        });
        self.line = Some(line);
    }

    /// The next line, or `None` at the end of input. Never resolves while no line is being read.
    pub(super) async fn next_line(&mut self) -> Option<String> {
        match &mut self.line {
            Some(line) => line.await.unwrap_or_default(),
            None => std::future::pending().await,
        }
    }

    /// Takes a line. Returns the command to send to the run once the answers are complete. Breaks if input ended at a plan, which
    /// then keeps waiting.
    pub(super) fn accept_answer(
        &mut self,
        reply: Option<String>,
        run: &RunId,
        env: &ProcessEnv,
        console: Console,
    ) -> ControlFlow<(), Option<RunCommand>> {
        self.line = None;
        if !console.live || reply.is_none() {
            // No echoed Enter has ended the line of the prompt.
            console.eprint_line("");
        }
        if self.questions.is_empty() {
            let Some(reply) = reply else {
                return ControlFlow::Break(());
            };
            let command = self.plan.parse_reply(reply.trim(), run, env, console);
            if command.is_some() {
                self.plan.clear();
            } else {
                self.plan.prompt(console);
                self.read_line();
            }
            return ControlFlow::Continue(command);
        }
        match reply {
            Some(text) => self.answers.push(text.trim().to_owned()),
            None => self.answers.resize(self.questions.len(), String::new()),
        }
        if self.answers.len() < self.questions.len() {
            self.prompt(console);
            self.read_line();
            return ControlFlow::Continue(None);
        }
        self.questions.clear();
        ControlFlow::Continue(Some(RunCommand::Reply(std::mem::take(&mut self.answers))))
    }
}
