//! README's two ways to begin: from the source, and from the files of a release. Which stands first is one switch.
use std::path::Path;

use crate::file_tree::{read, write};

/// Puts the part named `first`, `source` or `release`, before the other one in the file `path`.
///
/// The parts stand between lines such as `<!-- begin: source -->` and `<!-- end: source -->`, one right after the other.
///
/// # Errors
/// A message if the name is unknown or the file does not have both parts.
pub(crate) fn turn(path: &Path, first: &str) -> Result<(), String> {
    let text = String::from_utf8(read(path)?).map_err(|fault| fault.to_string())?;
    write(path, turned(&text, first)?)
}

fn turned(text: &str, first: &str) -> Result<String, String> {
    let second = match first {
        "source" => "release",
        "release" => "source",
        _ => return Err(format!("README begins with `source` or `release`, not `{first}`")),
    };
    let (one, two) = (part(text, first)?, part(text, second)?);
    let start = one.0.min(two.0);
    let end = one.1.max(two.1);
    let between = &text[one.1.min(two.1)..one.0.max(two.0)];
    let words = [&text[..start], &text[one.0..one.1], between, &text[two.0..two.1], &text[end..]];
    Ok(words.concat())
}

/// Where a part begins and ends, with its two marks.
fn part(text: &str, name: &str) -> Result<(usize, usize), String> {
    let (begin, end) = (format!("<!-- begin: {name} -->"), format!("<!-- end: {name} -->"));
    let missing = || format!("README.md has no part between `{begin}` and `{end}`");
    let from = text.find(&begin).ok_or_else(missing)?;
    let to = text[from..].find(&end).ok_or_else(missing)?;
    Ok((from, from + to + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_turns_the_two_ways_to_begin_round_and_back() {
        let text = "a\n<!-- begin: source -->\nS\n<!-- end: source -->\n\n<!-- begin: release -->\nR\n<!-- end: release -->\nz\n";
        let there = turned(text, "release").unwrap();
        assert!(there.find("\nR\n") < there.find("\nS\n"), "{there}");
        assert_eq!(turned(&there, "release").unwrap(), there);
        assert_eq!(turned(&there, "source").unwrap(), text);
        assert!(turned("nothing", "source").unwrap_err().contains("begin: source"));
        assert!(turned(text, "neither").is_err());
        let ours = String::from_utf8(read(&crate::metadata::root().join("README.md")).unwrap());
        turned(&ours.unwrap(), "release").unwrap();
    }
}
