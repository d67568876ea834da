//! Deep research with citations that are checked: every quote in a report is compared with the stored page.
//!
//! This crate is what a program embeds. [`Settings`] configures it, [`App`] starts and follows runs, and a [`RunHandle`] is one of them.
//! The command line and the server are built on it. The method is in `ibid-research`, the domain types and events are in `ibid-core`.
//!
//! A question over a folder of documents, without a language model and without the network:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ibid::{App, Question, Settings};
//!
//! let data = tempfile::tempdir()?;
//! let settings = Settings::defaults_in(data.path())?;
//! let mut question = Question::new("What does a green roof cost?", "2026-11-24", settings.method.clone());
//! question.folders = vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/library").to_owned()];
//!
//! let app = App::open(settings).await?;
//! let run = app.start(question).await?.wait().await?;
//! let report = run.report.ok_or("the run has no report")?;
//! for claim in &report.short {
//!     println!("{}", claim.text());
//!     for citation in claim.citations() {
//!         let source = &report.sources[citation.n as usize - 1];
//!         println!("  [{}] {}: “{}”", citation.n, source.title, citation.passage.text().expose());
//!     }
//! }
//! # assert!(!report.short.is_empty() && report.short.iter().all(|claim| !claim.citations().is_empty()));
//! # Ok(())
//! # }
//! ```
//!
//! Text of pages is [`Untrusted`](domain::Untrusted): a caller of `expose` must not treat it as instructions or markup.
//!
//! A program that reads PDF, Word or EPUB files, or pages of the web, must call [`run_confined_parser`] first in `main`: these are parsed
//! in confined child processes of the same program.
pub mod app;
pub mod config;
pub mod telemetry;

pub use app::{App, AppComponents, RunHandle, run_confined_parser};
pub use config::Settings;
pub use ibid_core::domain::{Question, Report, RunId};
pub use ibid_core::record::{Envelope, Event, Run};
pub use ibid_core::{Error, ErrorKind, Result, domain, ports, record};
