//! Arguments of the commands that set up and check the installation: `config`, `doctor`.
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub enum ConfigAction {
    /// Show one setting, or all of them
    Get {
        /// Name of the setting
        name: Option<String>,
        /// Show where each value comes from
        #[arg(long, visible_alias = "show-origin")]
        origins: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a setting to the user's configuration file
    Set {
        /// Name of the setting
        name: String,
        /// Value of the setting; write lists as in environment variables
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Print where settings and data are stored
    Path {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `ibid doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print as JSON whether the SSRF guard allows this address; sends no request, looks up no name
    #[arg(long, value_name = "URL", conflicts_with = "json")]
    pub guard: Option<String>,
    /// The same for lines of {id, url}, with known names (dns) and redirects (chain); `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "guard"], value_hint = ValueHint::FilePath)]
    pub guard_file: Option<PathBuf>,
}
