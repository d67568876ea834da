//! Whole releases of a tiny program: made, unpacked and compared.
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::dist::{ReleaseFacts, SUMS, empty_folder, sum, sums, write_common, write_platform};
use crate::metadata::host;
use crate::provenance::BuildFacts;
use crate::release::{MODEL_VERSION, Notices, Release, ReleaseInputs, model};

const TIME: u64 = 1_700_000_000;
const REPOSITORY: &str = "https://forge.example/ibid";

/// A repository with a program that answers as `ibid` does to those who pack it.
struct TinyRepository {
    dir: tempfile::TempDir,
}

impl TinyRepository {
    fn new(target: &str) -> TinyRepository {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            write(name, &format!("the text of {name}\n"));
        }
        write("models/README.md", "one model\n");
        write("models/tiny/model.safetensors", &"weights".repeat(1000));
        write("models/tiny/LICENSE", "for the model\n");
        write("models/train/train.py", "no part of a package\n");
        write("examples/library/notes/rain.md", "Rain falls.\n");
        write(
            "ibid",
            &format!(
                "#!/bin/sh\n# GLIBC_2.17\ncase \"$1\" in\n\
                 version) echo '{{\"version\":\"0.1.0\",\"commit\":\"abc\",\"target\":\"{target}\",\"features\":[\"embed\"]}}' ;;\n\
                 completions) echo \"completions for $2\" ;;\n\
                 man) mkdir \"$2\" && echo page > \"$2/ibid.1\" ;;\n\
                 esac\n"
            ),
        );
        let program = dir.path().join("ibid");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        TinyRepository { dir }
    }

    fn release(&self) -> Result<Release, String> {
        let notices = |features: &[String]| {
            assert_eq!(features, ["embed"]);
            Ok(Notices { licences: "licences\n".to_owned(), bill: "{}\n".to_owned() })
        };
        Release::collect(&ReleaseInputs {
            binary: &self.dir.path().join("ibid"),
            root: self.dir.path(),
            notices: &notices,
            time: TIME,
            repository: REPOSITORY.to_owned(),
            maintainer: "Somebody <somebody@example.org>".to_owned(),
        })
    }

    /// Writes all files of the release, and returns the folder.
    fn dist(&self) -> PathBuf {
        let out = self.dir.path().join("out");
        let build = BuildFacts { lock: sum(b"lock"), is_built_here: true };
        empty_folder(&out).unwrap();
        let names = write_platform(&self.release().unwrap(), &build, &out).unwrap();
        assert_eq!(names.len(), 7);
        let root = self.dir.path();
        let facts = ReleaseFacts { version: "0.1.0", repository: REPOSITORY, time: TIME, root };
        write_common(&facts, &out).unwrap();
        assert!(empty_folder(&out).unwrap_err().contains("is not empty"));
        out
    }
}

/// Path, permission bits and bytes of the files in a compressed tar archive.
fn untarred(bytes: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let header = entry.header();
        assert_eq!(header.mtime().unwrap(), TIME);
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mode = header.mode().unwrap();
        if !path.ends_with('/') {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            files.insert(path, (mode, bytes));
        }
    }
    files
}

/// The files of a zip archive.
fn unzipped(bytes: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut files = BTreeMap::new();
    for at in 0..archive.len() {
        let mut file = archive.by_index(at).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        let mode = file.unix_mode().unwrap() & 0o777;
        files.insert(file.name().unwrap().into_owned(), (mode, bytes));
    }
    files
}

/// The members of an `ar` archive.
fn members(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut rest = bytes.strip_prefix(b"!<arch>\n").unwrap();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (header, data) = rest.split_at(60);
        assert_eq!(&header[58..], b"`\n");
        let field =
            |from: usize, to: usize| String::from_utf8_lossy(&header[from..to]).trim().to_owned();
        let size: usize = field(48, 58).parse().unwrap();
        found.push((field(0, 16), data[..size].to_vec()));
        rest = &data[size + size % 2..];
    }
    found
}

/// The files that a release has below its prefix.
fn expected(repository: &TinyRepository) -> BTreeMap<String, (u32, Vec<u8>)> {
    let release = repository.release().unwrap();
    let all = release.all();
    let files = all.iter().map(|(path, file)| (path.to_owned(), (file.mode(), file.bytes.clone())));
    files.collect()
}

fn with_prefix(
    prefix: &str,
    files: &BTreeMap<String, (u32, Vec<u8>)>,
) -> BTreeMap<String, (u32, Vec<u8>)> {
    files.iter().map(|(path, file)| (format!("{prefix}{path}"), file.clone())).collect()
}

#[test]
fn packages_made_twice_in_two_places_have_the_same_bytes() {
    let target = host().unwrap();
    let (one, other) = (TinyRepository::new(&target), TinyRepository::new(&target));
    let (first, second) = (sums(&one.dist()).unwrap(), sums(&other.dist()).unwrap());
    assert_eq!(first, second);
    assert_eq!(first.len(), 11);
}

#[test]
fn the_archive_and_the_npm_package_have_every_file() {
    let target = host().unwrap();
    let repository = TinyRepository::new(&target);
    let out = repository.dist();
    let files = expected(&repository);
    assert_eq!(files["bin/ibid"].0, 0o755);
    for path in [
        "share/ibid/models/tiny/LICENSE",
        "share/man/man1/ibid.1",
        "share/zsh/site-functions/_ibid",
    ] {
        assert_eq!(files[path].0, 0o644);
    }
    assert!(!files.keys().any(|path| path.contains("train")), "{:?}", files.keys());
    let name = format!("ibid-0.1.0-{target}");
    let archive = fs::read(out.join(format!("{name}.tar.gz"))).unwrap();
    assert_eq!(untarred(&archive), with_prefix(&format!("{name}/"), &files));
    let processor = if target.starts_with("x86_64") { "x64" } else { "arm64" };
    let npm = fs::read(out.join(format!("ibid-research-linux-{processor}-0.1.0.tgz"))).unwrap();
    let mut npm = untarred(&npm);
    let about: Value =
        serde_json::from_slice(&npm.remove("package/package.json").unwrap().1).unwrap();
    assert_eq!(about["cpu"], serde_json::json!([processor]));
    npm.remove("package/README.md").unwrap();
    assert_eq!(npm, with_prefix("package/", &files));
    let launcher = untarred(&fs::read(out.join("ibid-research-0.1.0.tgz")).unwrap());
    let about: Value = serde_json::from_slice(&launcher["package/package.json"].1).unwrap();
    let platforms = about["optionalDependencies"].as_object().unwrap();
    assert_eq!(platforms.keys().collect::<Vec<_>>(), [&format!("ibid-research-linux-{processor}")]);
    assert!(launcher.contains_key("package/bin/ibid.js"));
}

#[test]
fn the_debian_package_has_every_file_where_debian_wants_it() {
    let repository = TinyRepository::new(&host().unwrap());
    let out = repository.dist();
    let deb = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    let deb =
        deb.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb")).unwrap();
    let members = members(&fs::read(deb).unwrap());
    let names: Vec<&str> = members.iter().map(|member| member.0.as_str()).collect();
    assert_eq!(names, ["debian-binary", "control.tar.gz", "data.tar.gz"]);
    assert_eq!(members[0].1, b"2.0\n");
    let control = untarred(&members[1].1);
    let control = String::from_utf8(control["./control"].1.clone()).unwrap();
    assert!(control.contains("\nDepends: libc6 (>= 2.17), libgcc-s1\n"), "{control}");
    assert!(control.contains("\nMaintainer: Somebody <somebody@example.org>\n"), "{control}");
    let data = untarred(&members[2].1);
    let files = expected(&repository);
    for (path, file) in &files {
        let moved = path.replace("share/zsh/site-functions", "share/zsh/vendor-completions");
        match path.contains("/man1/") {
            true => assert!(data.contains_key(&format!("./usr/{moved}.gz")), "{path}"),
            false => assert_eq!(data[&format!("./usr/{moved}")], *file, "{path}"),
        }
    }
    assert_eq!(data.len(), files.len() + 1, "and the copyright");
}

#[test]
fn the_wheels_have_every_file_and_their_record_names_each() {
    let repository = TinyRepository::new(&host().unwrap());
    let out = repository.dist();
    let mut installed = BTreeMap::new();
    let names: Vec<String> = sums(&out).unwrap().into_iter().map(|file| file.0).collect();
    for name in names.iter().filter(|name| name.ends_with(".whl")) {
        let files = unzipped(&fs::read(out.join(name)).unwrap());
        let stem = name.splitn(3, '-').take(2).collect::<Vec<_>>().join("-");
        let record =
            String::from_utf8(files[&format!("{stem}.dist-info/RECORD")].1.clone()).unwrap();
        let lines: BTreeMap<&str, (&str, &str)> = record
            .lines()
            .map(|line| {
                let parts: Vec<&str> = line.split(',').collect();
                (parts[0], (parts[1], parts[2]))
            })
            .collect();
        assert_eq!(lines.len(), files.len());
        for (path, (mode, bytes)) in files {
            let hash =
                base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(Sha256::digest(&bytes));
            if !path.ends_with("/RECORD") {
                assert_eq!(
                    lines[path.as_str()],
                    (format!("sha256={hash}").as_str(), bytes.len().to_string().as_str())
                );
            }
            if let Some(path) = path.strip_prefix(&format!("{stem}.data/scripts/")) {
                installed.insert(format!("bin/{path}"), (mode, bytes));
            } else if let Some(path) = path.strip_prefix(&format!("{stem}.data/data/")) {
                installed.insert(path.to_owned(), (mode, bytes));
            }
        }
    }
    assert_eq!(installed, expected(&repository));
    let program = names.iter().find(|name| name.starts_with("ibid_research-0.1.0")).unwrap();
    assert!(program.starts_with("ibid_research-0.1.0-py3-none-manylinux_2_17_"), "{program}");
}

fn install(out: &Path, prefix: &Path, more: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.arg(out.join("install.sh")).arg("--prefix").arg(prefix).args(more);
    command.env_clear().env("PATH", "/usr/bin:/bin").output().unwrap()
}

#[test]
fn the_installer_installs_only_what_the_sums_say_and_takes_it_away_again() {
    let target = host().unwrap();
    let repository = TinyRepository::new(&target);
    let out = repository.dist();
    let from = out.to_string_lossy().into_owned();
    let prefix = repository.dir.path().join("prefix with a space");
    fs::create_dir_all(prefix.join("share/ibid")).unwrap();
    fs::write(prefix.join("share/ibid/ibid.db"), "a run").unwrap();
    for _ in 0..2 {
        let done = install(&out, &prefix, &["--from", &from]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let said = Command::new(prefix.join("bin/ibid")).args(["completions", "zsh"]).output().unwrap();
    assert_eq!(said.stdout, b"completions for zsh\n");
    assert!(prefix.join("share/ibid/models/tiny/model.safetensors").is_file());
    assert!(install(&out, &prefix, &["--uninstall"]).status.success());
    let left: Vec<PathBuf> = files_below(&prefix);
    assert_eq!(left, [prefix.join("share/ibid/ibid.db")]);
    assert!(!install(&out, &prefix, &["--uninstall"]).status.success());

    let archive = out.join(format!("ibid-0.1.0-{target}.tar.gz"));
    let mut bytes = fs::read(&archive).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&archive, bytes).unwrap();
    let done = install(&out, &prefix, &["--from", &from]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && said.contains("nothing was installed"), "{said}");
    let done = install(&out, &prefix, &["--from", "http://forge.example/"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && said.contains("not encrypted"), "{said}");
    assert_eq!(files_below(&prefix).len(), 1);
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] })
        .collect();
    all.sort();
    all
}

#[test]
fn the_sums_the_provenance_and_the_formula_name_the_files_as_they_are() {
    let target = host().unwrap();
    let repository = TinyRepository::new(&target);
    let out = repository.dist();
    let files: BTreeMap<String, String> = sums(&out).unwrap().into_iter().collect();
    let listed = fs::read_to_string(out.join(SUMS)).unwrap();
    assert_eq!(listed.lines().count(), files.len());
    for (name, sum) in &files {
        assert!(listed.contains(&format!("{sum}  {name}\n")), "{name}");
    }
    let text = fs::read(out.join(format!("ibid-0.1.0-{target}.intoto.json"))).unwrap();
    let statement: Value = serde_json::from_slice(&text).unwrap();
    let subject = statement["subject"].as_array().unwrap();
    assert_eq!(subject.len(), 6);
    for file in subject {
        assert_eq!(
            files[file["name"].as_str().unwrap()],
            file["digest"]["sha256"].as_str().unwrap()
        );
    }
    let materials = &statement["predicate"]["buildDefinition"]["resolvedDependencies"];
    assert_eq!(materials[0]["digest"]["gitCommit"], "abc");
    assert_eq!(materials[1]["digest"]["sha256"], sum(b"lock"));
    let formula = fs::read_to_string(out.join("ibid.rb")).unwrap();
    let archive = format!("ibid-0.1.0-{target}.tar.gz");
    let lines = format!(
        "    url \"{REPOSITORY}/releases/download/v0.1.0/{archive}\"\n    sha256 \"{}\"\n",
        files[&archive]
    );
    assert!(formula.contains(&lines), "{formula}");
}

#[test]
fn a_platform_that_no_packages_are_made_for_is_told() {
    let fault = TinyRepository::new("z80-unknown-cpm").release().unwrap_err();
    assert!(
        fault.contains("z80-unknown-cpm") && fault.contains("x86_64-unknown-linux-gnu"),
        "{fault}"
    );
}

/// The model's wheel is not published again under a version that it had with other files.
#[test]
fn the_version_of_the_model_changes_with_its_files() {
    let files = model(crate::metadata::root()).unwrap();
    let all: String =
        files.iter().map(|(path, file)| format!("{} {path}\n", sum(&file.bytes))).collect();
    let known = ("1.1.0", "fa2b7e69c746b78f51fce9523c832414e2d909d17c9311b17d4248e03ff46eed");
    assert_eq!(
        (MODEL_VERSION, sum(all.as_bytes()).as_str()),
        known,
        "raise MODEL_VERSION, and write the new sum here"
    );
}
