//! The front page of the command line, and misspelt commands.
use std::ffi::OsString;
use std::fmt::Write as _;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ColorChoice, CommandFactory as _};

use super::args::{Cli, When};
use super::console::Console;
use super::exit::Stop;
use crate::error::{Error, Kind, Result};

/// Commands as people look for them. A test holds this against the commands there are.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Ask",
        &[
            "run", "answer", "evidence", "plan", "ask", "approve", "batch", "rerun",
        ],
    ),
    (
        "Runs",
        &[
            "ls", "show", "open", "view", "cite", "diff", "judge", "rate", "stats", "export",
            "share", "replay", "resume", "steer", "finish", "cancel", "rm",
        ],
    ),
    ("Documents", &["read", "search", "check", "index"]),
    ("Server", &["serve", "mcp", "admin", "store"]),
    (
        "Setup",
        &["init", "engines", "config", "doctor", "completions", "man"],
    ),
];

const EXAMPLES: [(&str, &str); 5] = [
    (
        "ibid \"How heavy is the Eiffel Tower?\" --folder ./papers",
        "a cited report on stdout",
    ),
    (
        "ibid \"Does vitamin D prevent colds?\" --engine pubmed",
        "from PubMed, without a key",
    ),
    (
        "ibid answer \"When was it opened?\" --folder ./papers",
        "one line",
    ),
    ("ibid cite last 2", "the exact words behind [2]"),
    (
        "ibid search \"wind load\" --folder ./papers --json",
        "ranked documents",
    ),
];

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Green.on_default());

/// What `--color` says, before anything is parsed: help and errors are coloured by it too.
pub(super) fn colour_asked(args: &[OsString]) -> When {
    let words: Vec<&str> = args.iter().filter_map(|it| it.to_str()).collect();
    let value = words
        .iter()
        .find_map(|it| it.strip_prefix("--color="))
        .or_else(|| {
            let at = words.iter().position(|it| *it == "--color")?;
            words.get(at + 1).copied()
        });
    match value {
        Some("always") => When::Always,
        Some("never") => When::Never,
        _ => When::Auto,
    }
}

/// The commands with their help.
pub(super) fn command(console: Console) -> clap::Command {
    let plain = Cli::command();
    let page = front_page(&plain, console);
    plain
        .styles(STYLES)
        .color(ColorChoice::Always)
        .override_usage(
            "ibid \"QUESTION\" [--folder DIR] [--engine ENGINE] [OPTIONS]\n       ibid COMMAND …",
        )
        .help_template(format!(
            "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{page}\n{{all-args}}"
        ))
        .disable_help_flag(true)
        .arg(
            clap::Arg::new("help")
                .short('h')
                .long("help")
                .help("Print help")
                .help_heading("Everywhere")
                .action(clap::ArgAction::HelpShort)
                .global(true),
        )
        .mut_subcommands(|it| it.hide(true))
}

/// `ibid help [COMMAND]` as what clap knows it by: `ibid [COMMAND] --help`. `None` where the words after
/// `help` are no command, or nothing of it is meant.
///
/// # Errors
/// `Usage` for one word that is no command.
pub(super) fn asked(args: &[OsString]) -> Result<Option<Vec<OsString>>> {
    if args.get(1).is_none_or(|it| it != "help") {
        return Ok(None);
    }
    let commands = plain();
    let mut at = &commands;
    let words: Vec<&str> = args[2..].iter().filter_map(|it| it.to_str()).collect();
    for word in words.iter().filter(|it| !it.starts_with('-')) {
        let Some(next) = at.find_subcommand(word) else {
            if words.len() > 1 {
                return Ok(None);
            }
            let fault = Error::new(Kind::Usage, format!("there is no command `{word}`"));
            return Err(fault.hint(match meant(word) {
                Some(command) => format!("did you mean `ibid help {command}`?"),
                None => "see `ibid help` for the commands there are".to_owned(),
            }));
        };
        at = next;
    }
    let mut out = vec![args[0].clone()];
    out.extend_from_slice(&args[2..]);
    out.push("--help".into());
    Ok(Some(out))
}

/// The commands without dressing, for manual pages and completions.
pub(super) fn plain() -> clap::Command {
    Cli::command()
}

/// Prints the front page.
pub(super) fn print(console: Console) -> std::result::Result<(), Stop> {
    let page = command(console).render_help();
    let text = if console.out.0 {
        page.ansi().to_string()
    } else {
        page.to_string()
    };
    console.print(&text)
}

fn front_page(commands: &clap::Command, console: Console) -> String {
    let head = |text: &str| console.out.on("1;33", text);
    let mut out = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(out, "{}", head(&format!("{title}:")));
        for name in names {
            let about = commands
                .find_subcommand(name)
                .and_then(|it| it.get_about())
                .map(ToString::to_string)
                .unwrap_or_default();
            let pad = " ".repeat(12 - name.len());
            let _ = writeln!(out, "  {}{pad} {about}", console.out.cyan(name));
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{}", head("Examples:"));
    for (line, what) in EXAMPLES {
        let _ = writeln!(
            out,
            "  {line:<58} {}",
            console.out.dim(&format!("# {what}"))
        );
    }
    out
}

/// The command that a single word most likely was meant to be.
pub(super) fn meant(word: &str) -> Option<&'static str> {
    if word.contains(char::is_whitespace) || word.contains('?') {
        return None;
    }
    GROUPS
        .iter()
        .flat_map(|it| it.1.iter().copied())
        .map(|it| (strsim::damerau_levenshtein(word, it), it))
        .filter(|(far, it)| *far <= 2 && *far < it.len() / 2 + 1)
        .min()
        .map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_on_the_front_page_once() {
        let mut shown: Vec<&str> = GROUPS.iter().flat_map(|it| it.1.iter().copied()).collect();
        let plain = plain();
        let mut there: Vec<&str> = plain
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        shown.sort_unstable();
        there.sort_unstable();
        assert_eq!(shown, there);
    }

    #[test]
    fn a_misspelt_command_is_recognised_and_a_question_is_not() {
        assert_eq!(meant("doctr"), Some("doctor"));
        assert_eq!(meant("shwo"), Some("show"));
        assert_eq!(meant("metformin"), None);
        assert_eq!(meant("run fast"), None);
    }
}
