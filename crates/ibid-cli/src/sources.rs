//! Where to search and what to leave out, as flags and settings name it.
use std::path::PathBuf;

use crate::args::SourceArgs;
use ibid::config::{LoadedConfig, ProcessEnv};
use ibid_core::Result;
use ibid_core::domain::Question;
use ibid_server::dates::{DateBound, parse_day};
use ibid_server::folder::resolve_folder;
use ibid_server::request::{check_date_order, parse_lang};

/// The folders of the settings, then those that `--folder` names; each once, as an absolute path.
///
/// # Errors
/// `Usage` if a folder does not exist.
pub(super) fn all_folders(
    named: &[PathBuf],
    loaded: &LoadedConfig,
    env: &ProcessEnv,
) -> Result<Vec<String>> {
    let mut folders = Vec::new();
    for path in &loaded.settings.folders {
        push_new(&mut folders, resolve_folder("folders", path)?);
    }
    for path in named_folders("--folder", named, env)? {
        push_new(&mut folders, path);
    }
    Ok(folders)
}

/// The folders that the flag or field `name` holds; each once, as an absolute path.
///
/// # Errors
/// `Usage` if a folder does not exist.
pub(super) fn named_folders(
    name: &str,
    named: &[PathBuf],
    env: &ProcessEnv,
) -> Result<Vec<String>> {
    let mut folders = Vec::new();
    for path in named {
        push_new(&mut folders, resolve_folder(name, &env.cwd.join(path))?);
    }
    Ok(folders)
}

fn push_new(folders: &mut Vec<String>, path: String) {
    if !folders.contains(&path) {
        folders.push(path);
    }
}

/// The first and last day that `--since` and `--until` allow.
///
/// # Errors
/// `Usage` for an invalid date, or if the first day is after the last.
pub(super) fn date_range(
    sources: &SourceArgs,
    today: jiff::civil::Date,
) -> Result<(Option<String>, Option<String>)> {
    let day = |flag, text: &Option<String>, bound| {
        text.as_deref().map(|text| parse_day(flag, text, bound, today)).transpose()
    };
    let since = day("--since", &sources.since, DateBound::First)?;
    let until = day("--until", &sources.until, DateBound::Last)?;
    check_date_order("--", since.as_deref(), until.as_deref())?;
    Ok((since, until))
}

/// Replaces the dates, domains and language of an earlier question by those that flags name.
///
/// # Errors
/// `Usage` for an invalid value, or if the first day is after the last.
pub(super) fn apply_filters(
    question: &mut Question,
    sources: &SourceArgs,
    lang: Option<&str>,
) -> Result<()> {
    let (since, until) = date_range(sources, jiff::Zoned::now().date())?;
    question.since = since.or(question.since.take());
    question.until = until.or(question.until.take());
    check_date_order("--", question.since.as_deref(), question.until.as_deref())?;
    for (domains, named) in
        [(&mut question.domains, &sources.domain), (&mut question.not_domains, &sources.not_domain)]
    {
        if !named.is_empty() {
            domains.clone_from(named);
        }
    }
    question.lang = parse_lang("--lang", lang)?.or(question.lang.take());
    Ok(())
}
