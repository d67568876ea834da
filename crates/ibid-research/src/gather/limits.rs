//! Limits on how far a run gathers.
use ibid_core::domain::{
    Brief, Complexity, Effort, OutputMode, Plan, Question, SupervisorSettings,
};

/// The limits of one run.
pub(super) struct GatherLimits {
    /// Rounds of search, read and weigh.
    pub(super) rounds: u32,
    /// Queries per item and round.
    pub(super) breadth: u32,
    /// The settings of a supervisor and its researchers.
    pub(super) team: SupervisorSettings,
}

impl GatherLimits {
    /// Takes the limits from the settings. A short answer gets one round, and effort `auto` adapts to
    /// complexity and kind.
    pub(super) fn from_question(question: &Question, brief: &Brief, plan: &Plan) -> GatherLimits {
        let method = &question.method;
        let mut rounds = method.depth.min(method.max_iterations).max(1);
        let mut breadth = method.breadth.max(1);
        let mut team = method.team;
        if method.effort == Effort::Auto {
            team = method.team_for(brief.kind, plan.complexity);
            (rounds, breadth) = match plan.complexity {
                Complexity::Simple => (rounds.min(1), breadth.min(3)),
                Complexity::Moderate => (rounds.min(2), breadth),
                Complexity::Complex => (rounds, breadth),
            };
        }
        if question.mode == OutputMode::Answer {
            (rounds, breadth) = (1, breadth.min(2));
        }
        GatherLimits { rounds, breadth, team }
    }
}
