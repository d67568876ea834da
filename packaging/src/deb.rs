//! A Debian package: an `ar` archive of the format's version, the control file and the files.
use crate::file_tree::FileTree;
use crate::release::{LICENCE, Release};
use crate::tarball::{gzip, tar_gz};
use crate::target::needed_glibc;

/// The long description, in lines as policy wants them.
const DESCRIPTION: &str = " Answers a question from your documents, the web and the scholarly record\n with a report in which every citation is an exact quote of a stored page.\n";

/// The name of the file and its bytes.
///
/// # Errors
/// A message that names the file that cannot be packed.
pub(crate) fn deb(release: &Release) -> Result<(String, Vec<u8>), String> {
    let files = files(release)?;
    let mut control = FileTree::default();
    control.add("control", control_file(release, &files));
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", tar_gz(&control, "./", release.time)?),
        ("data.tar.gz", tar_gz(&files, "./", release.time)?),
    ];
    let name = format!("ibid_{}_{}.deb", release.version, release.target.debian);
    Ok((name, ar(&members, release.time)))
}

/// The files where Debian's policy wants them.
fn files(release: &Release) -> Result<FileTree, String> {
    let mut all = release.all();
    all.rename("share/zsh/site-functions/_ibid", "share/zsh/vendor-completions/_ibid");
    let mut files = FileTree::default();
    for (path, file) in all.iter() {
        let path = format!("usr/{path}");
        if file.is_executable {
            files.add_program(path, file.bytes.clone());
        } else if path.contains("/man/man1/") {
            files.add(format!("{path}.gz"), gzip(&file.bytes)?);
        } else {
            files.add(path, file.bytes.clone());
        }
    }
    files.add("usr/share/doc/ibid/copyright", copyright(release));
    Ok(files)
}

fn control_file(release: &Release, files: &FileTree) -> String {
    let libc = match needed_glibc(release.binary()) {
        Some((major, minor)) => format!("libc6 (>= {major}.{minor}), libgcc-s1"),
        None => "libc6, libgcc-s1".to_owned(),
    };
    format!(
        "Package: ibid\nVersion: {}\nArchitecture: {}\nMaintainer: {}\n\
         Installed-Size: {}\nDepends: {libc}\nRecommends: ca-certificates\nSuggests: poppler-utils\n\
         Section: text\nPriority: optional\nHomepage: {}\nDescription: deep research agent\n{DESCRIPTION}",
        release.version,
        release.target.debian,
        release.maintainer,
        files.bytes().div_ceil(1024),
        release.repository,
    )
}

/// The machine-readable copyright file of Debian's policy.
fn copyright(release: &Release) -> String {
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: Ibid\nSource: {}\n\n\
         Files: *\nCopyright: 2026 The Ibid contributors\nLicense: {}\n\
         Comment: LICENSE-APACHE and LICENSE-MIT beside this file are the texts;\n \
         THIRD-PARTY.txt has those of the libraries in the program.\n\n\
         Files: usr/share/ibid/models/*\nCopyright: The authors of sentence-transformers\nLicense: Apache-2.0\n\
         Comment: See LICENSE beside the model.\n\n\
         License: Apache-2.0\n See /usr/share/common-licenses/Apache-2.0.\n\n\
         License: MIT\n See /usr/share/doc/ibid/LICENSE-MIT.\n",
        release.repository,
        LICENCE.replace("OR MIT", "or MIT"),
    )
}

/// An archive in the format of `ar`. Sizes and names are those of a Debian package, so they fit their fields.
fn ar(members: &[(&str, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let header =
            format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 100_644, bytes.len());
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}
