//! The steps of a run that ask a model, and how much the model should reason in each.
use super::ask::shapes::step_effort;
use super::llm_session::LlmStep;
use ibid_core::domain::{ModelRole, OutputMode, Question, ReasoningEffort, Strategy};

/// A step of a run that asks a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelStep {
    /// Its name as in events, or `answer` for the short answer, which is part of `write` there.
    pub name: &'static str,
    /// The role of the model that is asked.
    pub role: ModelRole,
    /// How much the model should reason.
    pub effort: ReasoningEffort,
}

/// The steps that ask a model in a run of `question` with `strategy`, in the order of the flow.
pub fn model_steps(question: &Question, strategy: Strategy) -> Vec<ModelStep> {
    let mode = question.mode;
    let criticizes = mode == OutputMode::Report && question.method.critique_rounds > 0;
    let supervised = strategy == Strategy::Supervisor;
    let writes = mode != OutputMode::Evidence;
    let all = [
        (true, LlmStep::Intake.as_str(), ModelRole::Planner, "refine"),
        (true, LlmStep::Plan.as_str(), ModelRole::Planner, "plan"),
        (supervised, LlmStep::Supervise.as_str(), ModelRole::Planner, "supervise"),
        (supervised, LlmStep::Research.as_str(), ModelRole::Researcher, "research"),
        (true, LlmStep::Weigh.as_str(), ModelRole::Summarizer, "weigh"),
        (true, LlmStep::Cover.as_str(), ModelRole::Researcher, "cover"),
        (writes, "answer", ModelRole::Writer, "answer"),
        (mode == OutputMode::Report, LlmStep::Write.as_str(), ModelRole::Writer, "write"),
        (writes, LlmStep::Verify.as_str(), ModelRole::Verifier, "verify"),
        (criticizes, LlmStep::Critique.as_str(), ModelRole::Verifier, "critique"),
    ];
    let asked = all.into_iter().filter(|row| row.0);
    asked
        .map(|(_, name, role, prompt)| ModelStep { name, role, effort: step_effort(prompt) })
        .collect()
}
