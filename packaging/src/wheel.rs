//! Python wheels: one with the program for each platform, and one with the model for all of them.
//!
//! The model is 22 MB compressed and changes rarely, so it is a package of its own that the program's depends on: a new version
//! of the program does not bring it again, and PyPI keeps it once. Both install below one prefix, where the program finds it.
use std::io::{Cursor, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::file_tree::FileTree;
use crate::release::{LICENCE, MODEL_VERSION, REGISTRY_NAME, Release, SUMMARY};
use crate::target::needed_glibc;

/// What a wheel says of itself.
struct WheelAbout<'a> {
    name: String,
    version: &'a str,
    tag: String,
    summary: &'a str,
    licence: &'a str,
    /// The lines of the metadata that only this wheel has.
    more: String,
    readme: String,
    /// Paths of licences in the wheel's files.
    licences: Vec<&'a str>,
}

/// The wheel of the program: the name of the file and its bytes.
///
/// # Errors
/// A message if the program says of no version of the GNU C library that it needs it, or a file cannot be packed.
pub(crate) fn program_wheel(release: &Release) -> Result<(String, Vec<u8>), String> {
    let (major, minor) = needed_glibc(release.binary())
        .ok_or("the program names no version of the GNU C library, so no wheel can be tagged")?;
    let tag = format!("py3-none-manylinux_{major}_{minor}_{}", release.target.wheel);
    let readme = release.program.get("share/doc/ibid/README.md");
    let readme = readme.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    wheel(
        &WheelAbout {
            name: REGISTRY_NAME.to_owned(),
            version: &release.version,
            tag,
            summary: SUMMARY,
            licence: LICENCE,
            more: format!(
                "Requires-Dist: {REGISTRY_NAME}-model=={MODEL_VERSION}\nProject-URL: Repository, {}\n",
                release.repository
            ),
            readme: readme.unwrap_or_default(),
            licences: vec![
                "share/doc/ibid/LICENSE-APACHE",
                "share/doc/ibid/LICENSE-MIT",
                "share/doc/ibid/THIRD-PARTY.txt",
            ],
        },
        &release.program,
    )
}

/// The wheel of the model: the name of the file and its bytes.
///
/// # Errors
/// A message that names the file that cannot be packed.
pub(crate) fn model_wheel(model: &FileTree, repository: &str) -> Result<(String, Vec<u8>), String> {
    let licences = model.iter().map(|(path, _)| path).filter(|path| path.ends_with("/LICENSE"));
    let readme = model.get("share/ibid/models/README.md");
    wheel(
        &WheelAbout {
            name: format!("{REGISTRY_NAME}-model"),
            version: MODEL_VERSION,
            tag: "py3-none-any".to_owned(),
            summary: "The model with which Ibid searches and checks by meaning",
            licence: "Apache-2.0",
            more: format!("Project-URL: Repository, {repository}\n"),
            readme: readme
                .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
                .unwrap_or_default(),
            licences: licences.collect(),
        },
        model,
    )
}

fn wheel(about: &WheelAbout<'_>, tree: &FileTree) -> Result<(String, Vec<u8>), String> {
    let name = about.name.replace('-', "_");
    let stem = format!("{name}-{}", about.version);
    let mut files = FileTree::default();
    for (path, file) in tree.iter() {
        match path.strip_prefix("bin/") {
            Some(program) => {
                files.add_program(format!("{stem}.data/scripts/{program}"), file.bytes.clone())
            }
            None => files.add(format!("{stem}.data/data/{path}"), file.bytes.clone()),
        }
    }
    let info = format!("{stem}.dist-info");
    let mut licence_lines = String::new();
    for path in &about.licences {
        let file = path.rsplit('/').next().unwrap_or_default();
        let bytes = tree.get(path).ok_or(format!("{path} is not among the files"))?;
        files.add(format!("{info}/licenses/{file}"), bytes.bytes.clone());
        licence_lines += &format!("License-File: {file}\n");
    }
    files.add(
        format!("{info}/METADATA"),
        format!(
            "Metadata-Version: 2.4\nName: {}\nVersion: {}\nSummary: {}\nLicense-Expression: {}\n{licence_lines}\
             Requires-Python: >=3.8\n{}Description-Content-Type: text/markdown\n\n{}",
            about.name, about.version, about.summary, about.licence, about.more, about.readme
        ),
    );
    let pure = about.tag.ends_with("-any");
    files.add(
        format!("{info}/WHEEL"),
        format!(
            "Wheel-Version: 1.0\nGenerator: ibid\nRoot-Is-Purelib: {pure}\nTag: {}\n",
            about.tag
        ),
    );
    let mut record = String::new();
    for (path, file) in files.iter() {
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.bytes));
        record += &format!("{path},sha256={hash},{}\n", file.bytes.len());
    }
    record += &format!("{info}/RECORD,,\n");
    Ok((format!("{stem}-{}.whl", about.tag), zipped(&files, (&format!("{info}/RECORD"), &record))?))
}

/// The files as a zip archive, `last` at its end, as the format of wheels recommends. Times are 1980-01-01, the first that a zip
/// archive can name.
fn zipped(files: &FileTree, last: (&str, &str)) -> Result<Vec<u8>, String> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::default());
    let mut add = |path: &str, bytes: &[u8], mode: u32| -> Result<(), String> {
        let failed = |fault: &dyn std::fmt::Display| format!("{path}: {fault}");
        zip.start_file(path, options.unix_permissions(mode)).map_err(|fault| failed(&fault))?;
        zip.write_all(bytes).map_err(|fault| failed(&fault))
    };
    for (path, file) in files.iter() {
        add(path, &file.bytes, file.mode())?;
    }
    add(last.0, last.1.as_bytes(), 0o644)?;
    let bytes = zip.finish().map_err(|fault| fault.to_string())?;
    Ok(bytes.into_inner())
}
