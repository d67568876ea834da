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

/// What to do with embedding models.
#[derive(Debug, Subcommand)]
pub enum ModelsAction {
    /// List the embedding models that Ibid knows and those that are installed
    Ls {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Install a model after checking its SHA-256 and embedding a sentence with it
    Get {
        /// A name that `ls` lists, a directory, a .zip archive, or an https:// URL of either
        #[arg(value_name = "NAME|PATH|URL", value_hint = ValueHint::AnyPath)]
        from: String,
        /// Name to install it under [default: the last part of the path or URL]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// SHA-256 of its model.safetensors, as its publisher states it; required unless `ls` lists the model
        #[arg(long, value_name = "HEX")]
        sha256: Option<String>,
    },
    /// Use an installed model from now on, or `default` for the one that comes with Ibid
    Use {
        /// Name of the model
        #[arg(value_name = "NAME")]
        name: String,
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
