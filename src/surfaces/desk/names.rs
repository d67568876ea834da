//! Folders as callers know them: by a name, never by their path on the server.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::error::Error;

/// The scheme under which callers see documents of folders: `folder:NAME/path/in/folder`.
const SCHEME: &str = "folder:";

/// Fields that hold words of documents or of the person who asked. They are exact quotes, or are compared with one.
const WORDS: [&str; 6] = [
    "text",
    "content",
    "snippet",
    "quote",
    "exactQuote",
    "sentence",
];

/// The served folders with the name of each: its last path component, made unique by a number.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderNames(Vec<(String, PathBuf)>);

impl FolderNames {
    /// Names for `folders`, in their order.
    pub(super) fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> FolderNames {
        let mut names = FolderNames::default();
        for path in folders {
            names.add(path);
        }
        names
    }

    /// Names `path` too, unless it has a name.
    fn add(&mut self, path: &Path) {
        if self.0.iter().any(|it| it.1 == path) {
            return;
        }
        let last = path.file_name().map(|it| it.to_string_lossy().into_owned());
        let plain = last.unwrap_or_else(|| "root".to_owned());
        let taken: BTreeSet<&str> = self.0.iter().map(|it| it.0.as_str()).collect();
        let mut name = plain.clone();
        let mut n = 1;
        while taken.contains(name.as_str()) {
            n += 1;
            name = format!("{plain}-{n}");
        }
        self.0.push((name, path.to_owned()));
    }

    /// Name and path of each folder.
    pub(super) fn all(&self) -> &[(String, PathBuf)] {
        &self.0
    }

    /// The path of the folder that a caller calls `name` or `folder:name`.
    pub(super) fn path(&self, name: &str) -> Option<&Path> {
        let bare = name.strip_prefix(SCHEME).unwrap_or(name);
        let is_named = |it: &&(String, PathBuf)| it.0 == bare || encoded(&it.0) == bare;
        self.0.iter().find(is_named).map(|it| it.1.as_path())
    }
}

/// Replaces paths of the server in what a caller is shown.
#[derive(Debug, Clone)]
pub(super) struct PathRewrite {
    /// What is looked for and what stands in its place, longest first.
    rules: Vec<(String, String)>,
}

impl PathRewrite {
    /// Replaces `folders` by their names, and the paths of `private` places by an ellipsis.
    pub(super) fn new(folders: &FolderNames, private: &[&Path]) -> PathRewrite {
        let mut rules = Vec::new();
        for (name, path) in folders.all() {
            rule(&mut rules, path, &format!("{SCHEME}{name}"));
        }
        for path in private {
            rule(&mut rules, path, "…");
        }
        rules.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        rules.dedup();
        PathRewrite { rules }
    }

    /// The same for a run that searched `folders`, some of which may not be served any more.
    pub(super) fn with_folders(&self, served: &FolderNames, folders: &[String]) -> PathRewrite {
        let mut names = served.clone();
        let known = names.0.len();
        for it in folders {
            names.add(Path::new(it));
        }
        if names.0.len() == known {
            return self.clone();
        }
        let mut rules = self.rules.clone();
        for (name, path) in &names.0[known..] {
            rule(&mut rules, path, &format!("{SCHEME}{name}"));
        }
        rules.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        PathRewrite { rules }
    }

    /// `text` without paths of the server.
    pub(super) fn text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (path, instead) in &self.rules {
            if out.contains(path.as_str()) {
                out = replaced(&out, path, instead);
            }
        }
        // A file of a folder that nobody knows any more: its name alone.
        match out.strip_prefix("file://") {
            Some(rest) => {
                let name = rest.rsplit('/').next().unwrap_or_default();
                format!("{SCHEME}/{name}")
            }
            None => out,
        }
    }

    /// Rewrites every string in `value`, except words of documents.
    pub(super) fn value(&self, value: &mut Value) {
        match value {
            Value::String(it) => {
                let shown = self.text(it);
                if shown != *it {
                    *it = shown;
                }
            }
            Value::Array(rows) => rows.iter_mut().for_each(|it| self.value(it)),
            Value::Object(fields) => {
                for (name, it) in fields.iter_mut() {
                    let is_words = it.is_string() && WORDS.contains(&name.as_str());
                    if !is_words {
                        self.value(it);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The same noun without paths of the server.
    ///
    /// # Errors
    /// `Internal` where a noun cannot be read from its own JSON, which is then not shown at all.
    pub(super) fn noun<T: Serialize + DeserializeOwned>(&self, noun: T) -> crate::Result<T> {
        let broken =
            |it| Error::new(crate::Kind::Internal, "rewriting paths for a caller").because(it);
        let before = serde_json::to_value(&noun).map_err(broken)?;
        let mut after = before.clone();
        self.value(&mut after);
        match after == before {
            true => Ok(noun),
            false => serde_json::from_value(after).map_err(broken),
        }
    }
}

/// `text` as it stands in a URL.
fn encoded(text: &str) -> String {
    let url = Url::from_file_path(format!("/{text}")).map(String::from);
    match url.as_deref().map(|it| it.strip_prefix("file:///")) {
        Ok(Some(it)) => it.to_owned(),
        _ => text.to_owned(),
    }
}

/// The rules for one place: as a `file:` URL and as a path, as it is named and as the file system resolves it.
fn rule(rules: &mut Vec<(String, String)>, path: &Path, instead: &str) {
    // `/` stands in every address.
    if path.file_name().is_none() {
        return;
    }
    let real = path.canonicalize().ok().filter(|it| it != path);
    for it in std::iter::once(path).chain(real.as_deref()) {
        let url = Url::from_file_path(it).map(String::from);
        rules.extend(url.ok().map(|url| (url, encoded(instead))));
        rules.push((it.to_string_lossy().into_owned(), instead.to_owned()));
    }
}

/// `text` with `path` replaced wherever it stands as a whole, or as the beginning of a longer path.
fn replaced(text: &str, path: &str, instead: &str) -> String {
    let of_name = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | '%');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, after) = (&rest[..at], &rest[at + path.len()..]);
        let inside = match path.starts_with('/') {
            true => before.ends_with(|it| of_name(it) || matches!(it, '.' | '/')),
            false => before.ends_with(of_name),
        };
        let longer = after.starts_with(of_name);
        out.push_str(before);
        out.push_str(if inside || longer { path } else { instead });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names() -> FolderNames {
        FolderNames::new(["/srv/a/docs", "/srv/b/docs", "/srv/my papers"].map(Path::new))
    }

    #[test]
    fn folders_of_one_name_are_told_apart_by_a_number() {
        let names = names();
        let all: Vec<&str> = names.all().iter().map(|it| it.0.as_str()).collect();
        assert_eq!(all, ["docs", "docs-2", "my papers"]);
        assert_eq!(names.path("docs-2"), Some(Path::new("/srv/b/docs")));
        assert_eq!(names.path("folder:docs"), Some(Path::new("/srv/a/docs")));
        assert_eq!(names.path("folder:my%20papers"), names.path("my papers"));
        assert_eq!(names.path("/srv/a/docs"), None, "a path is no name");
    }

    #[test]
    fn paths_become_names_wherever_they_stand_as_a_whole() {
        let it = PathRewrite::new(&names(), &[Path::new("/var/lib/ibid")]);
        for (text, shown) in [
            ("file:///srv/a/docs/x/y.md", "folder:docs/x/y.md"),
            ("file:///srv/my%20papers/a.pdf", "folder:my%20papers/a.pdf"),
            (
                "opening folder /srv/b/docs: no such folder",
                "opening folder folder:docs-2: no such folder",
            ),
            ("/srv/b/docs-old/x", "/srv/b/docs-old/x"),
            ("x/srv/a/docs", "x/srv/a/docs"),
            ("/var/lib/ibid/ibid.db is full", "…/ibid.db is full"),
            ("file:///gone/for/long/salaries.md", "folder:/salaries.md"),
            (
                "https://a.example/srv/a/docs",
                "https://a.example/srv/a/docs",
            ),
        ] {
            assert_eq!(it.text(text), shown);
        }
    }

    #[test]
    fn words_of_documents_stay_as_they_are() {
        let it = PathRewrite::new(&names(), &[]);
        let mut value = json!({"url": "file:///srv/a/docs/x.md", "text": "see /srv/a/docs", "rows": [{"file": "file:///srv/a/docs/x.md"}]});
        it.value(&mut value);
        assert_eq!(
            value,
            json!({"url": "folder:docs/x.md", "text": "see /srv/a/docs", "rows": [{"file": "folder:docs/x.md"}]})
        );
    }
}
