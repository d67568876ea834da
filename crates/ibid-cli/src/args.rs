//! The arguments of the command line.
mod admin;
mod cli;
mod command;
mod documents;
mod engines;
mod export;
mod flags;
mod interaction;
mod output;
mod question;
mod review;
mod schedule;
mod serve;
mod setup;

pub use admin::{AdminAction, NewUserArgs, OrgAction, StoreAction, UserAction};
pub use cli::{Cli, ColorMode, GlobalArgs};
pub use command::Command;
pub use documents::{CheckArgs, IndexAction, ReadArgs, SearchArgs};
pub use engines::{AddMcpArgs, AddedSource, EnginesAction, EnginesChange};
pub use export::{ExportArgs, ExportKind, RenderArgs};
pub use interaction::{ApproveArgs, InteractionArgs};
pub use output::{OutputArgs, ReportFormat};
pub use question::{AskArgs, FollowUpArgs, MethodArgs, PlanArgs, SourceArgs};
pub use review::{
    BatchArgs, BatchFormat, DiffArgs, JudgeArgs, RateArgs, ReplayArgs, RerunArgs, ShareArgs,
    ShowArgs, TracesArgs,
};
pub use schedule::{AddScheduleArgs, NamedSchedule, ScheduleAction};
pub use serve::{McpAction, McpArgs, ServeArgs, ViewAction, ViewArgs};
pub use setup::{ConfigAction, DoctorArgs, ModelsAction};
