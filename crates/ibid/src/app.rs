//! The application: opens providers, then starts, resumes and follows runs. It is the only module that knows both the adapters and the
//! method.
mod accounts;
mod check;
mod clock_rng;
pub mod commands;
mod components;
mod confined_parser;
mod container;
mod deadline_model;
pub mod discover;
pub mod document_reader;
pub mod embedding_models;
pub mod engines;
mod evaluation;
mod folders;
mod follow_up;
pub mod health_checks;
mod indexes;
mod internal_hosts;
mod known_models;
mod local;
mod lookup;
mod model_source;
pub mod models;
mod page_bodies;
mod page_summary;
pub mod plan_file;
pub mod queue;
mod readers;
mod replay;
pub mod retention;
mod run_handle;
mod run_worker;
mod runs;
pub mod schedules;
pub mod semantic;
mod server_load;
pub mod sharing;
pub mod spending;
mod state;
mod store_access;
pub mod store_copy;
mod store_handle;
mod telemetry;
pub mod traces;
pub mod web;
mod webhook;

pub use check::{AuditTask, NamedFiles};
pub use components::{
    AppComponents, OpenProvidersFn, PlanFn, PrepareFn, PriorSpendFn, ProgressFn, ResearchFn,
    RunProviders, TotalCostFn,
};
pub use confined_parser::run_confined_parser;
pub use follow_up::PlannerOutput;
pub use replay::{ForkedRun, ReplayResult};
pub use run_handle::RunHandle;
pub use server_load::ServerLoad;
pub use state::App;

pub use ibid_core::record::{AggregateMetrics, MetricTarget};
pub use ibid_index::folder::{Filter, IndexProgress, RefreshSummary, SearchHit, VectorCount};
pub use ibid_research::attribution::check_row;
pub use ibid_research::audit;
pub use ibid_research::audit::Audit;
pub use ibid_research::changes;
pub use ibid_research::changes::{ReportDiff, diff_reports};
pub use ibid_research::{LookupResult, PageSummary, SummarySentence, expand_queries};
pub use ibid_store::journal::ReplayCounts;
pub use ibid_store::recording::{Recording, ReplayDiff};
