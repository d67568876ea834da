//! The person's word on a plan: asked for at the terminal, or given by `ibid approve`.
use std::path::{Path, PathBuf};
use std::process::Command;

use super::args::Approve;
use super::console::Console;
use super::exit::{Done, Exit};
use super::plan::{Made, Shown};
use super::runs::find;
use super::{turns, with_app};
use crate::app::App;
use crate::app::given::PlanFile;
use crate::app::models::bounded;
use crate::config::{Loaded, Surroundings};
use crate::domain::{Approval, Brief, Plan, Question, RunId};
use crate::error::{Error, Kind, Result};
use crate::record::Event;
use crate::seams::Order;
use crate::surfaces::export::escape::line;

/// Longest words that say what to change, characters.
const LONGEST: usize = 2_000;

/// `ibid approve R`.
pub(super) fn approve(
    it: &Approve,
    loaded: &Loaded,
    surroundings: &Surroundings,
    console: Console,
) -> Done {
    let file = turns::plan_file(it.plan.as_deref(), surroundings)?;
    with_app(loaded, async |app| {
        let id = find(app, &it.run).await?;
        let word = match (&file, &it.change) {
            (Some(file), _) => Approval::Plan(Box::new(file.given(&asked(app, &id).await?)?)),
            (None, Some(words)) => Approval::Words(checked(words)?),
            (None, None) => Approval::Go,
        };
        let then = match &word {
            Approval::Go => "goes by its plan",
            Approval::Plan(_) => "goes by yours",
            Approval::Words(_) => "makes its plan anew",
        };
        app.order(&id, Order::Approve(word)).await?;
        console.tell(&format!("run {id} {then}"));
        Ok(Exit::Delivered)
    })
}

async fn asked(app: &App, id: &RunId) -> Result<Question> {
    let question = app.run(id).await?.question;
    question.ok_or_else(|| Error::new(Kind::Internal, format!("run {id} has no question")))
}

fn checked(words: &str) -> Result<String> {
    let words = words.trim();
    let length = words.chars().count();
    match (1..=LONGEST).contains(&length) {
        true => Ok(words.to_owned()),
        false => Err(Error::new(
            Kind::Usage,
            format!("--change is {length} characters long; allowed are 1 to {LONGEST}"),
        )
        .hint("say in a sentence what the plan should have or leave out")),
    }
}

/// What a line of the person comes to.
pub(super) enum Word {
    /// Something for the run.
    Order(Order),
    /// Nothing yet: they are asked again.
    Again,
}

/// What was heard of a plan that waits.
#[derive(Default)]
pub(super) struct Heard {
    question: Option<Question>,
    brief: Option<Brief>,
    plan: Option<Plan>,
    /// Why the planner made none.
    failed: Option<String>,
    /// What there is to say before the plan is shown again.
    notes: Vec<String>,
    waits: bool,
    shown: Option<Shown>,
    /// Where it is being edited: kept until what is written there can be read.
    draft: Option<PathBuf>,
}

impl Heard {
    pub(super) fn heard(&mut self, event: &Event) {
        match event {
            Event::RunCreated { question, .. } => self.question = Some(question.clone()),
            Event::BriefReady { brief } => self.brief = Some(brief.clone()),
            Event::PlanProposed { plan } => self.plan = Some(plan.clone()),
            Event::StepUnaided { step, reason, .. } if step == "plan" => {
                self.failed = Some(reason.clone());
            }
            Event::PlanWaiting { .. } => self.waits = true,
            Event::PlanChanged { .. } => {
                // What fails from here on is the change: the plan before it stands.
                self.failed = None;
                self.answered();
            }
            Event::PlanApproved { .. } => self.answered(),
            Event::Log { level, message }
                if level == "warn" && self.question.as_ref().is_some_and(|it| it.approve) =>
            {
                self.failed = None;
                self.notes.push(message.clone());
            }
            _ => {}
        }
    }

    /// Whether a word is waited for.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Whether it is to be asked for now; a run that nobody sits before is answered by `ibid approve`.
    pub(super) fn due(&self, terminal: bool) -> bool {
        self.waits && terminal
    }

    pub(super) fn answered(&mut self) {
        self.waits = false;
        self.shown = None;
    }

    /// Shows the plan and asks.
    pub(super) fn show(&mut self, app: &App, console: Console) -> Result<()> {
        let (Some(question), Some(brief), Some(plan)) =
            (self.question.clone(), self.brief.clone(), self.plan.clone())
        else {
            return Ok(());
        };
        let made = match (
            &self.failed,
            question.given.is_some() || question.models.is_empty(),
        ) {
            (None, true) => None,
            (failed, _) => Some(Made {
                failed: failed.clone(),
                usd: None,
            }),
        };
        let shown = Shown {
            models: bounded(app.settings(), &question)?,
            question,
            brief,
            plan,
            made,
        };
        console.tell(&format!("\n{}", shown.text(console.err)));
        for it in std::mem::take(&mut self.notes) {
            console.tell(&console.err.yellow(&line(&it)));
        }
        self.shown = Some(shown);
        self.put(console);
        Ok(())
    }

    /// Asks.
    pub(super) fn put(&self, console: Console) {
        let whole = match self.shown.as_ref().is_some_and(|it| it.failed()) {
            true => "p shows its plan, ",
            false => "",
        };
        let how = format!("Enter goes, {whole}e edits, n stops; or say what to change");
        console.put(&format!(
            "{} Research by this plan? {} ",
            console.err.cyan("?"),
            console.err.dim(&format!("({how})"))
        ));
    }

    /// What the person's line means.
    pub(super) fn word(&mut self, said: &str, run: &RunId, console: Console) -> Result<Word> {
        let order = |it| Ok(Word::Order(Order::Approve(it)));
        match said.to_lowercase().as_str() {
            "" | "y" | "yes" | "go" | "ok" => order(Approval::Go),
            "n" | "no" | "stop" => {
                console.tell(&format!(
                    "stopped before anything was spent on it; to come back: ibid export {run} -f plan -o plan.json, then ibid run --plan plan.json"
                ));
                Ok(Word::Order(Order::Cancel))
            }
            "p" | "plan" => {
                if let Some(it) = &self.shown {
                    console.tell(&it.whole(console.err));
                }
                Ok(Word::Again)
            }
            "e" | "edit" => match self.edited(run) {
                Ok(it) => order(it),
                Err(fault) => {
                    console.fault(&fault);
                    Ok(Word::Again)
                }
            },
            _ => match checked(said) {
                Ok(words) => order(Approval::Words(words)),
                Err(fault) => {
                    console.fault(&fault);
                    Ok(Word::Again)
                }
            },
        }
    }

    /// The plan as the person leaves it in their editor.
    fn edited(&mut self, run: &RunId) -> Result<Approval> {
        let Some(shown) = &self.shown else {
            return Err(Error::new(Kind::Internal, "there is no plan to edit"));
        };
        let editor = ["VISUAL", "EDITOR"]
            .into_iter()
            .filter_map(|it| std::env::var(it).ok())
            .find(|it| !it.trim().is_empty());
        let Some(editor) = editor else {
            return Err(Error::new(Kind::Setup, "no editor is set").hint(format!(
                "set EDITOR and resume, or from another terminal: ibid export {run} -f plan -o plan.json; ibid approve {run} --plan plan.json"
            )));
        };
        let path = match &self.draft {
            Some(path) => path.clone(),
            None => {
                let path = std::env::temp_dir()
                    .join(format!("ibid-{run}-{}.plan.json", std::process::id()));
                private(&path, &shown.file())?;
                self.draft = Some(path.clone());
                path
            }
        };
        open(&editor, &path)?;
        let text = std::fs::read_to_string(&path).map_err(|fault| {
            Error::new(Kind::Usage, format!("reading {}", path.display()))
                .because(fault)
                .hint("edit again with e")
        })?;
        let given = PlanFile::parse("as edited", &text)?.given(&shown.question)?;
        // It has been read; what cannot be removed is left to whoever clears the temporary directory.
        let _ = std::fs::remove_file(&path);
        self.draft = None;
        Ok(Approval::Plan(Box::new(given)))
    }
}

/// Runs the editor on `path`, as a shell would: it may have arguments of its own.
fn open(editor: &str, path: &Path) -> Result<()> {
    let run = || {
        Command::new("sh")
            .arg("-c")
            .arg(format!("{editor} \"$1\""))
            .arg("sh")
            .arg(path)
            .status()
    };
    let ended = tokio::task::block_in_place(run)
        .map_err(|fault| Error::new(Kind::Setup, format!("running {editor}")).because(fault))?;
    match ended.success() {
        true => Ok(()),
        false => Err(
            Error::new(Kind::Setup, format!("{editor} ended with {ended}"))
                .hint("edit again with e, or go on as it is with Enter"),
        ),
    }
}

/// Writes a new file that only its owner reads: a question may be private.
fn private(path: &Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut it| it.write_all(text.as_bytes()));
    written.map_err(|fault| {
        Error::new(Kind::Setup, format!("writing {}", path.display()))
            .because(fault)
            .hint("name a directory that can be written with TMPDIR")
    })
}
