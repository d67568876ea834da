//! Checks that the command line and JSON requests share.
use ibid::app::engines::resolve;
use ibid::config::{LoadedConfig, Settings};
use ibid_core::domain::{OutputMode, Question, ResearchSettings};
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::single_line;

/// Checks a question and trims it. `truncated` means that only the beginning of a longer text was read.
///
/// # Errors
/// `Usage` if it is empty or too long.
pub fn validate_question(text: &str, truncated: bool) -> Result<String> {
    let limit = Question::MAX_BYTES;
    let trimmed = text.trim();
    if !trimmed.chars().any(char::is_alphanumeric) {
        return Err(Error::new(ErrorKind::Usage, "question is empty")
            .with_hint("write what you want to find out"));
    }
    if trimmed.len() > limit {
        let length =
            if truncated { format!("more than {limit}") } else { trimmed.len().to_string() };
        return Err(Error::new(
            ErrorKind::Usage,
            format!("question is {length} bytes long; the limit is {limit}"),
        )
        .with_hint("put long material into a document and search it with --folder"));
    }
    Ok(trimmed.to_owned())
}

/// Whether the text contains symbols beyond ASCII, but no letter or digit.
pub(super) fn is_symbols_only(text: &str) -> bool {
    let is_symbol = |c: char| c > '\u{bf}' && !c.is_whitespace();
    text.len() <= Question::MAX_BYTES
        && text.chars().any(is_symbol)
        && !text.chars().any(char::is_alphanumeric)
}

/// Checks a two-letter language code. `field` is the field or flag that holds it.
///
/// # Errors
/// `Usage`, naming the field.
pub fn parse_lang(field: &str, given: Option<&str>) -> Result<Option<String>> {
    let Some(given) = given else { return Ok(None) };
    let code = given.to_ascii_lowercase();
    if code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Ok(Some(code));
    }
    Err(Error::new(
        ErrorKind::Usage,
        format!("{field} must be a two-letter language code, not `{}`", single_line(given)),
    )
    .with_hint("write en, de, fr, …"))
}

/// Checks that `since` is not after `until`. `dash` is the prefix of both names: `--` for flags.
///
/// # Errors
/// `Usage` if it is.
pub fn check_date_order(dash: &str, since: Option<&str>, until: Option<&str>) -> Result<()> {
    match (since, until) {
        (Some(since), Some(until)) if since > until => Err(Error::new(
            ErrorKind::Usage,
            format!("{dash}since {since} is after {dash}until {until}"),
        )),
        _ => Ok(()),
    }
}

/// The engines to search: the `named` ones, else those of the settings. If these are `auto` and folders are named, only the folders
/// are searched.
///
/// # Errors
/// `Usage` for an unknown name.
pub fn select_engines(
    named: &[String],
    only_local: bool,
    settings: &Settings,
    with_folders: bool,
) -> Result<Vec<String>> {
    if only_local {
        return Ok(Vec::new());
    }
    if named.is_empty() && with_folders && settings.engines == ["auto"] {
        return Ok(Vec::new());
    }
    if named.is_empty() {
        return resolve(settings, &settings.engines);
    }
    // A caller reaches, and learns of, the MCP servers that the operator's `engines` offer.
    let offered = resolve(settings, &settings.engines)?;
    let mut shown = settings.clone();
    shown.mcp_sources.retain(|source| offered.contains(&source.engine_name()));
    resolve(&shown, named)
}

/// The research settings for this mode. Evidence mode has its own number of rounds unless one is set.
pub fn method_for(loaded: &LoadedConfig, mode: OutputMode) -> ResearchSettings {
    let mut method = loaded.settings.method.clone();
    if let (OutputMode::Evidence, Some(rounds)) = (mode, loaded.evidence_rounds()) {
        method.depth = rounds;
    }
    method
}
