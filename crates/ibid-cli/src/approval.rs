//! Approving a plan: at the terminal, or with `ibid approve`.
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::ApproveArgs;
use crate::console::Console;
use crate::exit::{CommandResult, ExitStatus};
use crate::find_run::find;
use crate::fleet;
use crate::input_files;
use crate::plan_view::PlanView;
use crate::runtime::with_app;
use ibid::app::App;
use ibid::app::models::{budgeted_estimate, reasoning_steps};
use ibid::app::plan_file::PlanFile;
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::domain::{Approval, Brief, Plan, Question, RunId};
use ibid_core::ports::RunCommand;
use ibid_core::record::Event;
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;
use ibid_report::plan::{PlanDetails, PlannerAttempt};

/// Maximum length of a requested change, in characters.
const MAX_CHANGE_CHARS: usize = 2_000;

/// `ibid approve R`.
pub(super) fn approve(
    args: &ApproveArgs,
    loaded: &LoadedConfig,
    env: &ProcessEnv,
    console: Console,
) -> CommandResult {
    let file = input_files::plan_file(args.plan.as_deref(), env)?;
    with_app(loaded, async |app| {
        let id = find(app, &args.run).await?;
        let approval = match (&file, &args.change) {
            (Some(file), _) => {
                Approval::ReplacePlan(Box::new(file.provided_plan(&run_question(app, &id).await?)?))
            }
            (None, Some(words)) => Approval::RequestChanges(validate_change(words)?),
            (None, None) => Approval::Approve,
        };
        let then = match &approval {
            Approval::Approve => "will follow its plan",
            Approval::ReplacePlan(_) => "will follow your plan",
            Approval::RequestChanges(_) => "will make a new plan",
        };
        fleet::send_command(app, &loaded.settings, &id, RunCommand::Approve(approval)).await?;
        console.eprint_line(&format!("run {id} {then}"));
        Ok(ExitStatus::Delivered)
    })
}

async fn run_question(app: &App, id: &RunId) -> Result<Question> {
    let question = app.run(id).await?.question;
    question.ok_or_else(|| Error::new(ErrorKind::Internal, format!("run {id} has no question")))
}

fn validate_change(words: &str) -> Result<String> {
    let words = words.trim();
    let length = words.chars().count();
    if (1..=MAX_CHANGE_CHARS).contains(&length) {
        Ok(words.to_owned())
    } else {
        Err(Error::new(
            ErrorKind::Usage,
            format!("--change is {length} characters long; allowed are 1 to {MAX_CHANGE_CHARS}"),
        )
        .with_hint("say in a sentence what the plan should include or leave out"))
    }
}

/// A plan that may await approval, gathered from events.
#[derive(Default)]
pub(super) struct PendingPlan {
    question: Option<Question>,
    brief: Option<Brief>,
    plan: Option<Plan>,
    /// Why the planner model made no plan.
    failed: Option<String>,
    /// Warnings to print after the plan.
    notes: Vec<String>,
    /// Whether the plan awaits approval.
    pending: bool,
    view: Option<PlanView>,
    /// The file that the user edits, kept until it can be parsed.
    draft: Option<PathBuf>,
}

impl PendingPlan {
    /// Takes in one more event.
    pub(super) fn observe(&mut self, event: &Event) {
        match event {
            Event::RunCreated { question, .. } => self.question = Some(question.clone()),
            Event::BriefReady { brief } => self.brief = Some(brief.clone()),
            Event::PlanProposed { plan } => self.plan = Some(plan.clone()),
            Event::StepUnaided { step, reason, .. } if step == "plan" => {
                self.failed = Some(reason.clone());
            }
            Event::PlanWaiting { .. } => self.pending = true,
            Event::PlanChanged { .. } => {
                // Later failures concern the change; the earlier plan stays valid.
                self.failed = None;
                self.clear();
            }
            Event::PlanApproved { .. } => self.clear(),
            Event::Log { level, message, .. }
                if level == "warn"
                    && self.question.as_ref().is_some_and(|question| question.approve) =>
            {
                self.failed = None;
                self.notes.push(message.clone());
            }
            _ => {}
        }
    }

    /// Whether the plan awaits approval.
    pub(super) fn is_pending(&self) -> bool {
        self.pending
    }

    /// Whether to ask for approval here. Without a terminal, `ibid approve` gives it.
    pub(super) fn should_prompt(&self, terminal: bool) -> bool {
        self.pending && terminal
    }

    /// Forgets the plan: it no longer awaits approval.
    pub(super) fn clear(&mut self) {
        self.pending = false;
        self.view = None;
    }

    /// Prints the plan and the prompt.
    ///
    /// # Errors
    /// Those of `budgeted_estimate`.
    pub(super) fn show(&mut self, app: &App, console: Console) -> Result<()> {
        let (Some(question), Some(brief), Some(plan)) =
            (self.question.clone(), self.brief.clone(), self.plan.clone())
        else {
            return Ok(());
        };
        let attempt = match (&self.failed, question.given.is_some() || question.models.is_empty()) {
            (None, true) => None,
            (failed, _) => Some(PlannerAttempt { failed: failed.clone(), usd: None }),
        };
        let strategy = question.strategy(plan.complexity);
        let view = PlanView(PlanDetails {
            reasoning: reasoning_steps(app.settings(), &question, strategy)?,
            models: budgeted_estimate(app.settings(), &question)?,
            question,
            brief,
            plan,
            attempt,
        });
        console.eprint_line(&format!("\n{}", view.text(console.err)));
        for note in std::mem::take(&mut self.notes) {
            console.eprint_line(&console.err.yellow(&single_line(&note)));
        }
        self.view = Some(view);
        self.prompt(console);
        Ok(())
    }

    /// Prints the prompt.
    pub(super) fn prompt(&self, console: Console) {
        let show =
            if self.view.as_ref().is_some_and(PlanView::failed) { "p to show it, " } else { "" };
        let how = format!("Enter to approve, {show}e to edit, n to stop, or type what to change");
        console.eprint(&format!(
            "{} Approve this plan? {} ",
            console.err.cyan("?"),
            console.err.dim(&format!("({how})"))
        ));
    }

    /// The command that the line `reply` means; `None` to ask again. Prints what the line asks to see, and faults.
    pub(super) fn parse_reply(
        &mut self,
        reply: &str,
        run: &RunId,
        env: &ProcessEnv,
        console: Console,
    ) -> Option<RunCommand> {
        let approval = match reply.to_lowercase().as_str() {
            "" | "y" | "yes" | "go" | "ok" => Ok(Approval::Approve),
            "n" | "no" | "stop" => {
                console.eprint_line(&format!(
                    "stopped before anything was spent on this plan; to use it later: ibid export {run} -f plan -o plan.json, then ibid run --plan plan.json"
                ));
                return Some(RunCommand::Cancel);
            }
            "p" | "plan" => {
                if let Some(view) = &self.view {
                    console.eprint_line(&view.full_text(console.err));
                }
                return None;
            }
            "e" | "edit" => self.edit(run, env),
            _ => validate_change(reply).map(Approval::RequestChanges),
        };
        match approval {
            Ok(approval) => Some(RunCommand::Approve(approval)),
            Err(fault) => {
                console.print_error(&fault);
                None
            }
        }
    }

    /// Opens the plan in the editor and returns it as edited.
    fn edit(&mut self, run: &RunId, env: &ProcessEnv) -> Result<Approval> {
        let Some(view) = &self.view else {
            return Err(Error::new(ErrorKind::Internal, "there is no plan to edit"));
        };
        let editor = ["VISUAL", "EDITOR"]
            .into_iter()
            .filter_map(|name| env.var(name))
            .find(|editor| !editor.trim().is_empty());
        let Some(editor) = editor else {
            return Err(Error::new(ErrorKind::Setup, "no editor is set").with_hint(format!(
                "set EDITOR and resume the run, or in another terminal: ibid export {run} -f plan -o plan.json; ibid approve {run} --plan plan.json"
            )));
        };
        let path = match &self.draft {
            Some(path) => path.clone(),
            None => {
                let path = std::env::temp_dir()
                    .join(format!("ibid-{run}-{}.plan.json", std::process::id()));
                write_private(&path, &view.file())?;
                self.draft = Some(path.clone());
                path
            }
        };
        open_editor(editor, &path)?;
        let text = std::fs::read_to_string(&path).map_err(|fault| {
            Error::new(ErrorKind::Usage, format!("reading {}", path.display()))
                .with_source(fault)
                .with_hint("press e to edit again")
        })?;
        let edited = PlanFile::parse("as edited", &text)?.provided_plan(&view.0.question)?;
        // The file is no longer needed; if it cannot be deleted, it stays in the temporary directory.
        let _ = std::fs::remove_file(&path);
        self.draft = None;
        Ok(Approval::ReplacePlan(Box::new(edited)))
    }
}

/// Runs the editor on `path` in a shell, because `$EDITOR` may contain arguments.
fn open_editor(editor: &str, path: &Path) -> Result<()> {
    let run = || {
        Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path).status()
    };
    let ended = tokio::task::block_in_place(run).map_err(|fault| {
        Error::new(ErrorKind::Setup, format!("running {editor}")).with_source(fault)
    })?;
    if ended.success() {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Setup, format!("{editor} ended with {ended}"))
            .with_hint("press e to edit again, or Enter to approve the plan as it is"))
    }
}

/// Writes a new file that only its owner may read, because a question may be private.
fn write_private(path: &Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    let opened = ibid_core::files::private_options().create_new(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|fault| {
        Error::new(ErrorKind::Setup, format!("writing {}", path.display()))
            .with_source(fault)
            .with_hint("set TMPDIR to a writable directory")
    })
}
