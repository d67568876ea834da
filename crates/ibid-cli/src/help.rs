//! The front page of the help, `ibid help`, and suggestions for misspelt commands.
use std::ffi::OsString;
use std::fmt::Write as _;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ColorChoice, CommandFactory as _};

use crate::args::{Cli, ColorMode};
use crate::console::Console;
use crate::exit::CommandError;
use ibid_core::{Error, ErrorKind, Result};

/// The commands by topic. A test checks that every command is listed once.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Ask", &["run", "answer", "evidence", "plan", "ask", "approve", "batch", "rerun", "schedule"]),
    (
        "Runs",
        &[
            "ls", "show", "open", "view", "traces", "cite", "diff", "judge", "rate", "stats",
            "export", "share", "replay", "resume", "steer", "finish", "cancel", "rm",
        ],
    ),
    ("Documents", &["read", "search", "check", "index"]),
    ("Server", &["serve", "mcp", "admin", "store"]),
    ("Setup", &["init", "engines", "models", "config", "doctor", "version", "completions", "man"]),
];

const EXAMPLES: [(&str, &str); 5] = [
    ("ibid \"How heavy is the Eiffel Tower?\" --folder ./papers", "print a cited report"),
    ("ibid \"Does vitamin D prevent colds?\" --engine pubmed", "search PubMed, without a key"),
    ("ibid answer \"When was it opened?\" --folder ./papers", "answer in one line"),
    ("ibid cite last 2", "show the exact quote behind [2]"),
    ("ibid search \"wind load\" --folder ./papers --json", "rank documents"),
];

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Green.on_default());

/// The value of `--color`, found before the arguments are parsed because it also applies to help and errors.
pub(super) fn requested_color(args: &[OsString]) -> ColorMode {
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    let value = words.iter().find_map(|word| word.strip_prefix("--color=")).or_else(|| {
        let at = words.iter().position(|word| *word == "--color")?;
        words.get(at + 1).copied()
    });
    match value {
        Some("always") => ColorMode::Always,
        Some("never") => ColorMode::Never,
        _ => ColorMode::Auto,
    }
}

/// The command line with its front page.
pub(super) fn command(console: Console) -> clap::Command {
    let plain = Cli::command();
    let page = front_page(&plain, console);
    plain
        .styles(STYLES)
        .color(ColorChoice::Always)
        .override_usage(
            "ibid \"QUESTION\" [--folder DIR] [--engine ENGINE] [OPTIONS]\n       ibid COMMAND …",
        )
        .help_template(format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{page}\n{{all-args}}"))
        .disable_help_flag(true)
        .arg(
            clap::Arg::new("help")
                .short('h')
                .long("help")
                .help("Print help")
                .help_heading("Global options")
                .action(clap::ArgAction::HelpShort)
                .global(true),
        )
        .mut_subcommands(|command| command.hide(true))
}

/// Rewrites `ibid help [COMMAND]` to `ibid [COMMAND] --help`. Returns `None` for other arguments, also for a question
/// that begins with the word help.
///
/// # Errors
/// `Usage` if the only word after `help` is not a command.
pub(super) fn help_args(args: &[OsString]) -> Result<Option<Vec<OsString>>> {
    if args.get(1).is_none_or(|arg| arg != "help") {
        return Ok(None);
    }
    let commands = plain_command();
    let mut at = &commands;
    let words: Vec<&str> = args[2..].iter().filter_map(|arg| arg.to_str()).collect();
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        let Some(next) = at.find_subcommand(word) else {
            if words.len() > 1 {
                return Ok(None);
            }
            return Err(unknown_command(word).with_hint(match suggest_command(word) {
                Some(command) => format!("did you mean `ibid help {command}`?"),
                None => "`ibid help` lists the commands".to_owned(),
            }));
        };
        at = next;
    }
    let mut out = vec![args[0].clone()];
    out.extend_from_slice(&args[2..]);
    out.push("--help".into());
    Ok(Some(out))
}

/// Puts global options before a command behind it: `ibid -q ls` is `ibid ls -q`. `None` where nothing is to be moved.
pub(super) fn move_global_options(args: &[OsString]) -> Option<Vec<OsString>> {
    let mut at = 1;
    while let Some(option) = args.get(at).and_then(|arg| arg.to_str()) {
        match option {
            "-q" | "--quiet" | "-v" | "--verbose" => at += 1,
            "--color" => at += 2,
            _ if option.starts_with("--color=") => at += 1,
            _ => break,
        }
    }
    let command = args.get(at)?.to_str()?;
    if at == 1 || plain_command().find_subcommand(command).is_none() {
        return None;
    }
    let mut out = vec![args[0].clone(), args[at].clone()];
    out.extend_from_slice(&args[1..at]);
    out.extend_from_slice(&args[at + 1..]);
    Some(out)
}

/// The error for a word that is not a command.
pub(super) fn unknown_command(word: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("there is no command `{word}`"))
}

/// The command line without colours and front page, for manual pages and completions.
pub(super) fn plain_command() -> clap::Command {
    Cli::command()
}

/// Prints the front page.
///
/// # Errors
/// Those of [`Console::print`].
pub(super) fn print(console: Console) -> std::result::Result<(), CommandError> {
    let page = command(console).render_help();
    let text = if console.out.0 { page.ansi().to_string() } else { page.to_string() };
    console.print(&text)
}

fn front_page(commands: &clap::Command, console: Console) -> String {
    let head = |text: &str| console.out.style("1;33", text);
    let mut out = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(out, "{}", head(&format!("{title}:")));
        for name in names {
            let about = commands
                .find_subcommand(name)
                .and_then(clap::Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            let pad = " ".repeat(12 - name.len());
            let _ = writeln!(out, "  {}{pad} {about}", console.out.cyan(name));
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{}", head("Examples:"));
    for (line, what) in EXAMPLES {
        let _ = writeln!(out, "  {line:<58} {}", console.out.dim(&format!("# {what}")));
    }
    out
}

/// The command that a single word is most likely a misspelling of.
pub(super) fn suggest_command(word: &str) -> Option<&'static str> {
    if word.contains(char::is_whitespace) || word.contains('?') {
        return None;
    }
    GROUPS
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len() / 2 + 1)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_on_the_front_page_once() {
        let mut shown: Vec<&str> =
            GROUPS.iter().flat_map(|group| group.1.iter().copied()).collect();
        let plain = plain_command();
        let mut there: Vec<&str> = plain.get_subcommands().map(clap::Command::get_name).collect();
        shown.sort_unstable();
        there.sort_unstable();
        assert_eq!(shown, there);
    }

    #[test]
    fn global_options_may_stand_before_a_command() {
        let moved = |line: &str| {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let moved = move_global_options(&args)?;
            Some(moved.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(moved("ibid -q ls --json").as_deref(), Some("ibid ls -q --json"));
        let colored = moved("ibid --color never -v stats");
        assert_eq!(colored.as_deref(), Some("ibid stats --color never -v"));
        assert_eq!(moved("ibid ls -q"), None);
        assert_eq!(moved("ibid -q Why?"), None, "a question is no command");
    }

    #[test]
    fn a_misspelt_command_is_recognised_and_a_question_is_not() {
        assert_eq!(suggest_command("doctr"), Some("doctor"));
        assert_eq!(suggest_command("shwo"), Some("show"));
        assert_eq!(suggest_command("metformin"), None);
        assert_eq!(suggest_command("run fast"), None);
    }
}
