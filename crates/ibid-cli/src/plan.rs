//! `ibid plan "…"`, and `ibid export R -f plan`.
use std::path::Path;

use crate::args::{OutputArgs, PlanArgs, ReportFormat};
use crate::console::{Console, Palette};
use crate::exit::{CommandError, CommandResult, ExitStatus};
use crate::find_run::find;
use crate::input_files;
use crate::plan_view::PlanView;
use crate::question::build_question;
use crate::report_output::{output_path, write_or_print, write_text};
use crate::runtime::with_app;
use crate::signals::until_stopped;
use ibid::app::App;
use ibid::app::models::{budgeted_estimate, reasoning_steps};
use ibid::app::spending::SpendGrant;
use ibid::config::{LoadedConfig, ProcessEnv, layers};
use ibid_core::domain::{OutputMode, Question};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::plan::{PlanDetails, PlannerAttempt};

/// `ibid plan "…"`.
pub(super) fn plan(args: PlanArgs, env: &ProcessEnv, console: Console) -> CommandResult {
    let by_model = args.model_plan;
    let args = input_files::read_input(args.ask, env)?;
    if args.turns.follows.is_some() {
        let what = "follows is not supported by `ibid plan`";
        return Err(Error::new(ErrorKind::Usage, what).with_hint("use it with `ibid run`").into());
    }
    let loaded = layers::load(env, &args.work.flags()?)?;
    let output = &args.output;
    check_plan_format(output)?;
    let question = build_question(&args, OutputMode::Report, &loaded, env)?;
    with_app(&loaded, async |app| {
        let view = make_plan(app, question, by_model).await?;
        let as_json = wants_json(output);
        let object = view.0.to_json()?;
        let text = |paint: Palette| {
            if as_json { format!("{object}\n") } else { view.text(paint) }
        };
        match &output.output {
            Some(path) => {
                let name = if as_json { "plan.json" } else { "plan.txt" };
                let path = output_path(&env.cwd.join(path), name)?;
                write_text(&path, &text(Palette(false)))?;
                if !console.quiet {
                    console.eprint_line(&format!("wrote {}", path.display()));
                }
            }
            None => console.print(&text(console.out))?,
        }
        Ok(ExitStatus::Delivered)
    })
}

/// Makes the plan, with the planner model if `by_model`.
async fn make_plan(
    app: &App,
    question: Question,
    by_model: bool,
) -> std::result::Result<PlanView, CommandError> {
    let (brief, plan, attempt) = if by_model {
        let grant = SpendGrant::for_operator(&question.budget);
        let made = until_stopped(app.plan_by_model(&question, &grant)).await?;
        let attempt = PlannerAttempt { failed: made.unaided, usd: made.usage.usd };
        (made.brief, made.plan, Some(attempt))
    } else {
        let (brief, plan) = app.plan(&question).await?;
        (brief, plan, None)
    };
    let strategy = question.strategy(plan.complexity);
    Ok(PlanView(PlanDetails {
        reasoning: reasoning_steps(app.settings(), &question, strategy)?,
        models: budgeted_estimate(app.settings(), &question)?,
        question,
        brief,
        plan,
        attempt,
    }))
}

/// `ibid export R -f plan`.
pub(super) fn export(
    loaded: &LoadedConfig,
    name: &str,
    path: Option<&Path>,
    console: Console,
) -> CommandResult {
    with_app(loaded, async |app| {
        let run = app.run(&find(app, name).await?).await?;
        let (Some(question), Some(brief), Some(plan)) = (run.question, run.brief, run.plan) else {
            let what = format!("run {} has no plan", run.id);
            return Err(Error::new(ErrorKind::NotFound, what)
                .with_hint("the run ended before its plan was ready; ask again")
                .into());
        };
        let view = PlanView(PlanDetails {
            models: None,
            reasoning: Vec::new(),
            question,
            brief,
            plan,
            attempt: None,
        });
        write_or_print(&view.file(), path, "plan.json", console)
    })
}

/// Refuses, before anything is spent, formats that only reports have.
fn check_plan_format(output: &OutputArgs) -> Result<()> {
    let ending = output.output.as_ref().and_then(|path| ReportFormat::from_path(path));
    match output.format.or(ending) {
        None | Some(ReportFormat::Md | ReportFormat::Json) => Ok(()),
        Some(form) => Err(Error::new(
            ErrorKind::Usage,
            format!("format `{}` is for reports, not for plans", form.info().name),
        )
        .with_hint("write -f md (text to read) or -f json (for `ibid run --plan`)")),
    }
}

/// Whether a flag or the name of the output file asks for JSON.
fn wants_json(output: &OutputArgs) -> bool {
    let named = || {
        let to = output.output.as_ref()?;
        Some(to.extension()? == "json")
    };
    match output.format {
        Some(form) => form == ReportFormat::Json,
        None => output.json || output.jsonl || named().unwrap_or(false),
    }
}
