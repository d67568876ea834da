//! A rerun as a mail in a file, which a mail program or a script can send on.
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::rerun_result::RerunResult;
use ibid_core::files::private_options;
use ibid_core::ports::Schedule;
use ibid_core::{Error, ErrorKind, Result};
use ibid_report::escape::{single_line, truncate};

/// Maximum length of a line of a quoted-printable body (RFC 2045).
const MAX_LINE_BYTES: usize = 76;
/// Bytes of text in an encoded word of a header, which may have 75 characters (RFC 2047).
const WORD_BYTES: usize = 20;
/// Maximum length of the question in the subject, in characters.
const MAX_QUESTION_CHARS: usize = 150;

/// Writes the mail of a rerun into `dir`, as `SCHEDULE-NUMBER.eml`. A reader never sees half of it.
///
/// # Errors
/// `Setup` if the file cannot be written.
pub(super) async fn write(
    dir: &Path,
    schedule: &Schedule,
    result: &RerunResult,
    now: jiff::Timestamp,
) -> Result<()> {
    let name = format!("{}-{}", schedule.id, schedule.reruns);
    let text = message(&name, result, now);
    let path = dir.join(format!("{name}.eml"));
    let written = {
        let (dir, path) = (dir.to_owned(), path.clone());
        tokio::task::spawn_blocking(move || replace_file(&dir, &path, &text)).await
    };
    let failed = || {
        Error::new(ErrorKind::Setup, format!("writing the mail {}", path.display()))
            .with_hint("make the directory writable for the server")
    };
    match written {
        Ok(written) => written.map_err(|cause| failed().with_source(cause)),
        Err(cause) => Err(failed().with_source(cause)),
    }
}

/// Writes a temporary file beside `path` and renames it.
fn replace_file(dir: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let temporary: PathBuf = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file = private_options().write(true).create(true).truncate(true).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

/// The mail (RFC 5322), with lines that end in CRLF.
fn message(name: &str, result: &RerunResult, now: jiff::Timestamp) -> String {
    let question = truncate(&single_line(&result.question), MAX_QUESTION_CHARS);
    let subject = format!("[ibid] {}: {question}", result.summary());
    let date = now.strftime("%a, %d %b %Y %H:%M:%S +0000");
    format!(
        "From: Ibid <ibid@localhost>\r\nTo: undisclosed-recipients:;\r\nSubject: {}\r\nDate: {date}\r\n\
         Message-ID: <{name}@ibid.invalid>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\r\n{}",
        header_text(&subject),
        quoted_printable(&result.to_text()),
    )
}

/// A text in a header: in encoded words (RFC 2047) of some characters each, unless it is short and plain.
fn header_text(text: &str) -> String {
    let plain = |byte: u8| (b' '..=b'~').contains(&byte);
    if text.len() <= MAX_LINE_BYTES - "Subject: ".len() && text.bytes().all(plain) {
        return text.to_owned();
    }
    let mut words: Vec<(usize, String)> = Vec::new();
    for c in text.chars() {
        let mut bytes = [0; 4];
        let bytes = c.encode_utf8(&mut bytes).as_bytes();
        match words.last_mut() {
            Some((length, _)) if *length + bytes.len() <= WORD_BYTES => *length += bytes.len(),
            _ => words.push((bytes.len(), String::new())),
        }
        if let Some((_, word)) = words.last_mut() {
            for byte in bytes {
                let _ = match byte {
                    b' ' => write!(word, "_"),
                    byte if byte.is_ascii_alphanumeric() => write!(word, "{}", char::from(*byte)),
                    byte => write!(word, "={byte:02X}"),
                };
            }
        }
    }
    let words: Vec<String> = words.iter().map(|(_, word)| format!("=?UTF-8?Q?{word}?=")).collect();
    words.join("\r\n ")
}

/// A body as quoted-printable (RFC 2045).
fn quoted_printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.lines() {
        let mut width = 0;
        for (at, byte) in line.bytes().enumerate() {
            let ends = at + 1 == line.len();
            let literal = match byte {
                b'=' => false,
                b' ' => !ends,
                byte => byte.is_ascii_graphic(),
            };
            let length = if literal { 1 } else { 3 };
            // Room for the `=` of a soft line break.
            if width + length > MAX_LINE_BYTES - 1 {
                out += "=\r\n";
                width = 0;
            }
            width += length;
            if literal {
                out.push(char::from(byte));
            } else {
                let _ = write!(out, "={byte:02X}");
            }
        }
        out += "\r\n";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_mail_are_short_and_plain() {
        let body = quoted_printable(&format!("a = b \n{}\n\n→ 5 %", "wörter ".repeat(40)));
        assert!(body.starts_with("a =3D b=20\r\n"), "{body}");
        assert!(body.ends_with("\r\n\r\n=E2=86=92 5 %\r\n"), "{body}");
        assert!(body.is_ascii() && body.lines().all(|line| line.len() <= MAX_LINE_BYTES));
        assert_eq!(header_text("[ibid] changed: How high?"), "[ibid] changed: How high?");
        let long = header_text(&format!("[ibid] changed: Wie hoch? {}", "größer ".repeat(20)));
        assert!(long.is_ascii() && long.split("\r\n ").count() > 5, "{long}");
        for word in long.split("\r\n ") {
            assert!(word.starts_with("=?UTF-8?Q?") && word.ends_with("?="), "{word}");
            assert!(word.len() <= 75, "{word}");
        }
    }
}
