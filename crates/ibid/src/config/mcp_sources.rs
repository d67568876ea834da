//! The MCP servers of the configuration file: `[mcp_sources.NAME]`.
//!
//! They are read from the user's file alone. A project's `ibid.toml` comes with the files of strangers, and a command in it
//! would run as soon as somebody asks a question there.
use std::path::Path;

use toml_edit::{Array, Document, DocumentMut, Item, Table, TableLike, value};

use super::file::{MCP_TABLE as TABLE, open, read_text, save, toml_error};
use super::variables::EnvVars;
use ibid_core::{Error, ErrorKind, Result};
use ibid_sources::mcp::{McpEndpoint, McpSourceConfig, source_name};

/// The most servers.
const MAX_SOURCES: usize = 32;
const KEYS: &[&str] = &["command", "args", "env", "url", "token_env", "search", "fetch"];

/// A server as it is written into the configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpSourceEntry {
    /// The program and its arguments; empty for a server with an address.
    pub command: Vec<String>,
    /// The names of the variables that the program gets.
    pub env: Vec<String>,
    /// The address.
    pub url: Option<String>,
    /// The name of the variable that holds the bearer token.
    pub token_env: Option<String>,
    /// The tool that searches.
    pub search: Option<String>,
    /// The tool that returns a document.
    pub fetch: Option<String>,
}

/// The servers of the user's file.
///
/// # Errors
/// `Usage` for an invalid name or table.
pub(super) fn read(path: &Path, variables: &EnvVars) -> Result<Vec<McpSourceConfig>> {
    let Some(text) = read_text(path)? else { return Ok(Vec::new()) };
    let parsed = Document::parse(text.as_str()).map_err(|fault| toml_error(path, &text, &fault))?;
    let Some(item) = parsed.get(TABLE) else { return Ok(Vec::new()) };
    let place = |name: &str| format!("{}: {TABLE}.{name}", path.display());
    let all = item.as_table_like().ok_or_else(|| {
        Error::new(ErrorKind::Usage, format!("{}: {TABLE} is not a table", path.display()))
    })?;
    if all.len() > MAX_SOURCES {
        let what = format!("{}: more than {MAX_SOURCES} {TABLE}", path.display());
        return Err(
            Error::new(ErrorKind::Usage, what).with_hint("remove some with `ibid engines rm NAME`")
        );
    }
    let read = |(name, item): (&str, &Item)| {
        let fields = item.as_table_like().ok_or_else(|| "must be a table".to_owned());
        let entry = fields.and_then(entry_of).map_err(|why| {
            Error::new(ErrorKind::Usage, format!("{}: {why}", place(name)))
                .with_hint("see docs/mcp-sources.md")
        })?;
        to_config(name, &entry, variables)
    };
    all.iter().map(read).collect()
}

/// Refuses servers in a project's file.
///
/// # Errors
/// `Usage` if there are any.
pub(super) fn refuse_in(path: &Path) -> Result<()> {
    let text = read_text(path)?.unwrap_or_default();
    let is_set = Document::parse(text.as_str()).is_ok_and(|it| it.contains_key(TABLE));
    if !is_set {
        return Ok(());
    }
    let what = format!("{}: {TABLE} is not allowed in a project's file", path.display());
    Err(Error::new(ErrorKind::Usage, what)
        .with_hint("move it to your own configuration file; `ibid config path` names it"))
}

/// Writes a server into the user's file.
///
/// # Errors
/// `Usage` for an invalid name or entry, `Setup` when the file cannot be written.
pub fn add(path: &Path, name: &str, entry: &McpSourceEntry) -> Result<()> {
    to_config(name, entry, &EnvVars::default())?;
    let mut document: DocumentMut = open(path)?;
    let mut table = Table::new();
    if let Some((program, args)) = entry.command.split_first() {
        table["command"] = value(program.as_str());
        table["args"] = value(Array::from_iter(args.iter().map(String::as_str)));
    }
    if !entry.env.is_empty() {
        table["env"] = value(Array::from_iter(entry.env.iter().map(String::as_str)));
    }
    let texts = [
        ("url", &entry.url),
        ("token_env", &entry.token_env),
        ("search", &entry.search),
        ("fetch", &entry.fetch),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            table[key] = value(text.as_str());
        }
    }
    let mut parent = Table::new();
    parent.set_implicit(true);
    let all = document.entry(TABLE).or_insert(Item::Table(parent));
    let Some(all) = all.as_table_like_mut() else {
        let what = format!("{}: {TABLE} is not a table", path.display());
        return Err(Error::new(ErrorKind::Usage, what));
    };
    if all.len() >= MAX_SOURCES && all.get(name).is_none() {
        let what = format!("{}: there are {MAX_SOURCES} {TABLE} already", path.display());
        return Err(
            Error::new(ErrorKind::Usage, what).with_hint("remove one with `ibid engines rm NAME`")
        );
    }
    all.insert(name, Item::Table(table));
    save(path, &document)
}

/// Removes a server from the user's file.
///
/// # Errors
/// `NotFound` if it has none of that name, `Setup` when the file cannot be written.
pub fn remove(path: &Path, name: &str) -> Result<()> {
    let mut document = open(path)?;
    let all = document.get_mut(TABLE).and_then(Item::as_table_like_mut);
    if all.and_then(|all| all.remove(name)).is_none() {
        let what = format!("there is no MCP source `{name}` in {}", path.display());
        return Err(Error::new(ErrorKind::NotFound, what).with_hint("see `ibid engines`"));
    }
    save(path, &document)
}

fn entry_of(fields: &dyn TableLike) -> std::result::Result<McpSourceEntry, String> {
    if let Some((key, _)) = fields.iter().find(|(key, _)| !KEYS.contains(key)) {
        return Err(format!("there is no key `{key}`; use {}", KEYS.join(", ")));
    }
    let text = |key: &str| match fields.get(key) {
        None => Ok(None),
        Some(item) => item
            .as_str()
            .filter(|text| !text.trim().is_empty())
            .map(|text| Some(text.to_owned()))
            .ok_or_else(|| format!("`{key}` must be a text")),
    };
    let list = |key: &str| -> std::result::Result<Vec<String>, String> {
        let Some(item) = fields.get(key) else { return Ok(Vec::new()) };
        let texts = item.as_array().and_then(|items| {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        texts.ok_or_else(|| format!("`{key}` must be a list of texts"))
    };
    let program = text("command")?;
    Ok(McpSourceEntry {
        command: program.into_iter().chain(list("args")?).collect(),
        env: list("env")?,
        url: text("url")?,
        token_env: text("token_env")?,
        search: text("search")?,
        fetch: text("fetch")?,
    })
}

fn to_config(name: &str, entry: &McpSourceEntry, variables: &EnvVars) -> Result<McpSourceConfig> {
    let name = source_name(name)?;
    let fault = |what: &str| {
        Error::new(ErrorKind::Usage, format!("{TABLE}.{name}: {what}"))
            .with_hint("see docs/mcp-sources.md")
    };
    let is_taken = ibid_sources::search::by_limited_name(name).is_some()
        || ["web", "news", "scholar", "auto", "none", "local"].contains(&name);
    if is_taken {
        return Err(fault("the name is that of an engine"));
    }
    let endpoint = match (entry.command.split_first(), &entry.url) {
        (Some((program, args)), None) => {
            let value = |name: &String| Some((name.clone(), variables.get(name)?.to_owned()));
            McpEndpoint::Command {
                program: program.clone(),
                args: args.to_vec(),
                env: entry.env.iter().filter_map(value).collect(),
            }
        }
        (None, Some(url)) if url.starts_with("https://") || url.starts_with("http://") => {
            let token = entry.token_env.as_deref().and_then(|name| variables.get(name));
            McpEndpoint::Url { url: url.clone(), token: token.map(str::to_owned) }
        }
        (None, Some(_)) => return Err(fault("the address must begin with https:// or http://")),
        _ => return Err(fault("set either `command` or `url`")),
    };
    Ok(McpSourceConfig {
        name: name.to_owned(),
        endpoint,
        search_tool: entry.search.clone(),
        fetch_tool: entry.fetch.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_written_read_and_removed_and_the_rest_of_the_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "# mine\nbreadth = 4\n").unwrap();
        let entry = McpSourceEntry {
            command: vec!["docs-server".to_owned(), "--stdio".to_owned()],
            env: vec!["DOCS_KEY".to_owned(), "UNSET".to_owned()],
            ..McpSourceEntry::default()
        };
        add(&path, "docs", &entry).unwrap();
        let variables = [("DOCS_KEY".to_owned(), "k".to_owned())].into_iter().collect();
        let all = read(&path, &variables).unwrap();
        let McpEndpoint::Command { program, args, env } = &all[0].endpoint else { panic!() };
        assert_eq!((program.as_str(), args.len()), ("docs-server", 1));
        assert_eq!(env, &[("DOCS_KEY".to_owned(), "k".to_owned())]);
        assert!(!format!("{all:?}").contains("\"k\""));
        assert_eq!(refuse_in(&path).unwrap_err().kind(), ErrorKind::Usage);
        remove(&path, "docs").unwrap();
        assert_eq!(remove(&path, "docs").unwrap_err().kind(), ErrorKind::NotFound);
        assert!(std::fs::read_to_string(&path).unwrap().contains("# mine\nbreadth = 4"));
        for (name, entry) in [
            ("nature.com", entry.clone()),
            ("pubmed", entry.clone()),
            ("docs", McpSourceEntry::default()),
            ("docs", McpSourceEntry { url: Some("ftp://a".to_owned()), ..Default::default() }),
        ] {
            assert_eq!(add(&path, name, &entry).unwrap_err().kind(), ErrorKind::Usage);
        }
    }
}
