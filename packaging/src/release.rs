//! What is packed: a program, its model, and the documents that belong to them.
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::file_tree::{FileTree, read};
use crate::target::Target;

/// The name of the packages on PyPI and npm, where `ibid` is taken or may be mistaken.
pub(crate) const REGISTRY_NAME: &str = "ibid-research";
/// One sentence on what the program does.
pub(crate) const SUMMARY: &str =
    "Deep research in which every citation is an exact quote at a known place in a stored page";
/// The licence of the program as an SPDX expression.
pub(crate) const LICENCE: &str = "Apache-2.0 OR MIT";
/// The version of the package of the model on PyPI. A test fails if the files of the model change and this does not.
pub(crate) const MODEL_VERSION: &str = "1.1.0";

/// One version of the program for one platform.
#[derive(Debug, Clone)]
pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) target: Target,
    /// The commit that the program says it was built from.
    pub(crate) commit: Option<String>,
    pub(crate) features: Vec<String>,
    /// The time of every file, in seconds since 1970.
    pub(crate) time: u64,
    /// The web address of the repository.
    pub(crate) repository: String,
    /// Who answers for the packages: a name and an address in angle brackets.
    pub(crate) maintainer: String,
    /// Everything but the model, below a prefix such as `/usr`.
    pub(crate) program: FileTree,
    /// The model and its licence, below the same prefix.
    pub(crate) model: FileTree,
}

/// What a package says of the libraries in the program.
pub(crate) struct Notices {
    /// Their licences.
    pub(crate) licences: String,
    /// The bill of materials.
    pub(crate) bill: String,
}

/// Where a release is made from.
pub(crate) struct ReleaseInputs<'a> {
    /// The program.
    pub(crate) binary: &'a Path,
    /// The repository, with `models/`, `examples/` and the licences.
    pub(crate) root: &'a Path,
    /// Says of which libraries a program with these features is made.
    pub(crate) notices: &'a dyn Fn(&[String]) -> Result<Notices, String>,
    pub(crate) time: u64,
    pub(crate) repository: String,
    pub(crate) maintainer: String,
}

impl Release {
    /// Asks the program what it is, has it write its manual and completions, and collects the rest.
    ///
    /// # Errors
    /// A message that names what cannot be read or run.
    pub(crate) fn collect(inputs: &ReleaseInputs<'_>) -> Result<Release, String> {
        let scratch = tempfile::tempdir().map_err(|fault| fault.to_string())?;
        let program = PackagedProgram { binary: absolute(inputs.binary)?, home: scratch.path() };
        let about = program.run(&["version", "--json"])?;
        let about: Value = serde_json::from_str(&about)
            .map_err(|fault| format!("`{} version --json`: {fault}", inputs.binary.display()))?;
        let text = |name: &str| {
            let value = about[name].as_str().map(str::to_owned);
            value.ok_or(format!("`{} version --json` has no {name}", inputs.binary.display()))
        };
        let features = about["features"].as_array().into_iter().flatten();
        let features: Vec<String> = features.filter_map(Value::as_str).map(str::to_owned).collect();
        let mut tree = FileTree::default();
        tree.add_program("bin/ibid", read(inputs.binary)?);
        let mut completions = |shell: &str, path: &str| -> Result<(), String> {
            tree.add(path, program.run(&["completions", shell])?);
            Ok(())
        };
        completions("bash", "share/bash-completion/completions/ibid")?;
        completions("zsh", "share/zsh/site-functions/_ibid")?;
        completions("fish", "share/fish/vendor_completions.d/ibid.fish")?;
        program.run(&["man", "man"])?;
        tree.add_dir(&scratch.path().join("man"), "share/man/man1")?;
        for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            tree.add(format!("share/doc/ibid/{name}"), read(&inputs.root.join(name))?);
        }
        let Notices { licences, bill } = (inputs.notices)(&features)?;
        tree.add("share/doc/ibid/THIRD-PARTY.txt", licences);
        tree.add("share/doc/ibid/sbom.cdx.json", bill);
        tree.add_dir(&inputs.root.join("examples/library"), "share/ibid/examples/library")?;
        Ok(Release {
            version: text("version")?,
            target: Target::find(&text("target")?)?,
            commit: about["commit"].as_str().map(str::to_owned),
            features,
            time: inputs.time,
            repository: inputs.repository.clone(),
            maintainer: inputs.maintainer.clone(),
            program: tree,
            model: model(inputs.root)?,
        })
    }

    /// The program with its model.
    pub(crate) fn all(&self) -> FileTree {
        let mut all = self.program.clone();
        all.add_tree("", &self.model);
        all
    }

    /// The bytes of the program.
    pub(crate) fn binary(&self) -> &[u8] {
        self.program.get("bin/ibid").map_or(&[], |file| &file.bytes)
    }

    /// The name of the archive without its ending, which is also its only directory.
    pub(crate) fn archive_name(&self) -> String {
        format!("ibid-{}-{}", self.version, self.target.triple)
    }
}

/// The model that comes with the program.
///
/// # Errors
/// A message that names what cannot be read.
pub(crate) fn model(root: &Path) -> Result<FileTree, String> {
    let models = root.join("models");
    let mut tree = FileTree::default();
    tree.add("share/ibid/models/README.md", read(&models.join("README.md"))?);
    for entry in std::fs::read_dir(&models).map_err(|fault| format!("models: {fault}"))? {
        let dir = entry.map_err(|fault| fault.to_string())?.path();
        // What trains the model is no part of it.
        if dir.join("model.safetensors").is_file() {
            let name = dir.file_name().unwrap_or_default().to_string_lossy();
            tree.add_dir(&dir, &format!("share/ibid/models/{name}"))?;
        }
    }
    Ok(tree)
}

/// The program, run with a home of its own, so that nobody's settings matter.
struct PackagedProgram<'a> {
    binary: PathBuf,
    home: &'a Path,
}

impl PackagedProgram<'_> {
    fn run(&self, args: &[&str]) -> Result<String, String> {
        let line = format!("{} {}", self.binary.display(), args.join(" "));
        let mut command = Command::new(&self.binary);
        command.args(args).env_clear().env("HOME", self.home).current_dir(self.home);
        command.env("PATH", "/usr/bin:/bin");
        let output = command.output().map_err(|fault| format!("`{line}`: {fault}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("`{line}` ended with {}: {said}", output.status));
        }
        String::from_utf8(output.stdout).map_err(|fault| format!("`{line}`: {fault}"))
    }
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|fault| format!("{}: {fault}", path.display()))
}
