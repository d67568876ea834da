//! What is read in a child process: what it gives, and what no document can do to the parent.
mod pooled;

use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ibid_core::ReadFailure;
use ibid_core::domain::PageDraft;
use ibid_extract::{DocumentFailure, ExtractLimits, Parser, ReadItem, read_file};

use super::cli::TestHome;
use crate::memory::zipped;

/// How long the caps may take to bite: the child is a debug build here.
const SOON: Duration = Duration::from_secs(2);

fn limits() -> ExtractLimits {
    ExtractLimits {
        parser: Some(Parser::from_program(env!("CARGO_BIN_EXE_ibid"))),
        path: std::env::var_os("PATH").unwrap_or_default(),
        ..ExtractLimits::default()
    }
}

/// Limits with a script for the program that parses; its standard input is the socket.
fn parsed_by(dir: &Path, text: &str) -> ExtractLimits {
    ExtractLimits {
        parser: Some(Parser::from_program(script(dir, text))),
        path: std::env::var_os("PATH").unwrap_or_default(),
        pdf_seconds: 1,
        ..ExtractLimits::default()
    }
}

/// Limits with a script for `pdftotext`; it runs in the sandbox, so it can start no program but only become one.
fn told_by(dir: &Path, text: &str) -> ExtractLimits {
    let bin = dir.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::rename(script(dir, text), bin.join("pdftotext")).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(bin).chain(std::env::split_paths(&path));
    ExtractLimits { path: std::env::join_paths(all).unwrap(), pdf_seconds: 1, ..limits() }
}

fn take(path: &Path, limits: &ExtractLimits) -> Result<PageDraft, DocumentFailure> {
    let mut found = None;
    read_file(path, limits, &mut |it| {
        assert!(found.is_none(), "one file, one outcome");
        found = Some(match it {
            ReadItem::Draft(it) => Ok(it),
            ReadItem::Fault(it) => Err(it),
        });
        ControlFlow::Continue(())
    })
    .unwrap();
    found.unwrap()
}

/// Reads `bytes` as the file `name` and says how long it took.
fn read(
    name: &str,
    bytes: &[u8],
    limits: &ExtractLimits,
) -> (Result<PageDraft, DocumentFailure>, Duration) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let begun = Instant::now();
    (take(&path, limits), begun.elapsed())
}

/// A program to be the child instead.
fn script(dir: &Path, text: &str) -> PathBuf {
    let path = dir.join("child");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The same limits with the embedded PDF reader: no program is on the search path.
fn embedded() -> ExtractLimits {
    ExtractLimits { path: "/nonexistent".into(), ..limits() }
}

/// Limits whose PDF reader is `pdftotext` of this machine.
fn poppler() -> ExtractLimits {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for name in ["pdftotext", "pdfinfo"] {
        let found = std::env::split_paths(&path).any(|it| it.join(name).is_file());
        assert!(found, "`{name}` is not installed; `cargo xtask test` installs poppler");
    }
    limits()
}

/// A PDF of one page with these lines, this information dictionary and this XMP packet.
fn pdf(lines: &[&str], info: &str, packet: &str) -> Vec<u8> {
    let mut text = String::new();
    for (nth, line) in lines.iter().enumerate() {
        text.push_str(&format!("BT /F1 12 Tf 72 {} Td ({line}) Tj ET\n", 700 - 40 * nth));
    }
    let stream = |about: &str, it: &str| {
        format!("<< {about} /Length {} >>\nstream\n{it}\nendstream", it.len())
    };
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R /Metadata 7 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>".to_owned(),
        stream("", &text),
        format!("<< {info} >>"),
        stream("/Type /Metadata /Subtype /XML", packet),
    ];
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (nth, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", out.len()));
        out.extend(format!("{} 0 obj\n{object}\nendobj\n", nth + 1).bytes());
    }
    let at = out.len();
    out.extend(table.bytes());
    out.extend(
        format!(
            "trailer\n<< /Size {} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{at}\n%%EOF\n",
            objects.len() + 1
        )
        .bytes(),
    );
    out
}

const PACKET: &str = "<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/' rdf:about=''><dc:title><rdf:Alt><rdf:li xml:lang='x-default'>The dams of the upper valley</rdf:li></rdf:Alt></dc:title><dc:creator><rdf:Seq><rdf:li>Bo Writer</rdf:li></rdf:Seq></dc:creator></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>";

fn a_pdf_gives_the_title_author_and_date_of_its_dictionary(limits: &ExtractLimits) {
    let info = "/Title (On dams) /Author (Ann Example) /CreationDate (D:20240305101500Z)";
    let bytes = pdf(&["The dam was built in 1931."], info, "");
    let draft = read("a.pdf", &bytes, limits).0.unwrap();
    assert_eq!(draft.title, "On dams");
    assert_eq!(draft.author.as_deref(), Some("Ann Example"));
    assert_eq!(draft.date.as_deref(), Some("2024-03-05"));
    assert_eq!(draft.date_source.as_deref(), Some("file"));
}

#[test]
fn the_embedded_reader_gives_the_title_author_and_date_of_a_pdf() {
    a_pdf_gives_the_title_author_and_date_of_its_dictionary(&embedded());
}

#[test]
#[ignore = "needs poppler"]
fn poppler_gives_the_title_author_and_date_of_a_pdf() {
    a_pdf_gives_the_title_author_and_date_of_its_dictionary(&poppler());
}

#[test]
#[ignore = "needs poppler"]
fn a_junk_title_gives_way_to_the_packet_and_then_to_the_first_line() {
    let limits = poppler();
    let junk = "/Title (Microsoft Word - draft.doc) /Author (user)";
    let lines = ["Dams and what they cost", "The dam was built in 1931."];
    let draft = read("x.pdf", &pdf(&lines, junk, PACKET), &limits).0.unwrap();
    assert_eq!(draft.title, "The dams of the upper valley");
    assert_eq!(draft.author.as_deref(), Some("Bo Writer"));
    let draft = read("x.pdf", &pdf(&lines, junk, ""), &limits).0.unwrap();
    assert_eq!(draft.title, "Dams and what they cost");
    assert_eq!(draft.author, None);
    let draft = read("x.pdf", &pdf(&lines[1..], junk, ""), &limits).0.unwrap();
    assert_eq!(draft.title, "x", "a sentence is no title");
}

/// Four pages in two columns, with a running head, a page number, a hyphen at a line's end and a ligature.
fn two_columns() -> Vec<u8> {
    let left = [
        "The wall of the DAM was raised in",
        "two stages, and the second was paid",
        "for by the towns. No \\256eld was",
        "lost, but the engi-",
        "neers found that the rock below let",
        "water through.",
    ];
    let right = [
        "In spring the lake of the DAM rose",
        "faster than anybody had foreseen.",
        "The DAM was opened by hand,",
        "and the water stood at the crest",
        "for days.",
    ];
    let pages: Vec<String> = (1..=4)
        .zip(["first", "second", "third", "fourth"])
        .map(|(number, name)| {
            // Moves are from the line before; the page begins at (72, 700) in 12 points.
            let mut words = "Journal of Upland Dams".to_owned();
            for (nth, line) in left.iter().enumerate() {
                let down = if nth == 0 { 48 } else { 14 };
                words.push_str(&format!(") Tj 0 -{down} Td ({line}"));
            }
            for (nth, line) in right.iter().enumerate() {
                let to = if nth == 0 { "280 70" } else { "0 -14" };
                words.push_str(&format!(") Tj {to} Td ({line}"));
            }
            words.push_str(&format!(") Tj -100 -500 Td ({number}"));
            words.replace("DAM", &format!("{name} dam"))
        })
        .collect();
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    crate::documents::pdf(&pages)
}

fn columns_are_read_one_after_the_other_and_what_the_printer_added_is_undone(
    limits: &ExtractLimits,
) {
    let draft = read("a.pdf", &two_columns(), limits).0.unwrap();
    let third: Vec<&str> =
        draft.blocks.iter().filter(|it| it.page == Some(3)).map(|it| it.text.as_str()).collect();
    let text = third.join(" ");
    assert!(text.starts_with("The wall of the third dam was raised in two stages, and"), "{text}");
    assert!(text.contains("No field was lost, but the engineers found"), "{text}");
    assert!(text.ends_with("stood at the crest for days."), "{text}");
    assert!(text.contains("water through. In spring the lake of the third dam rose"), "{text}");
}

#[test]
fn the_embedded_reader_reads_columns_one_after_the_other() {
    columns_are_read_one_after_the_other_and_what_the_printer_added_is_undone(&embedded());
}

#[test]
#[ignore = "needs poppler"]
fn poppler_reads_columns_one_after_the_other() {
    columns_are_read_one_after_the_other_and_what_the_printer_added_is_undone(&poppler());
}

#[test]
fn doctor_says_which_reader_reads_pdfs_now() {
    let desk = TestHome::new();
    let told = |path: &str| {
        let it = desk
            .command(&["doctor", "--json"])
            .env("PATH", path)
            .env("IBID_ENGINES", "none")
            .output()
            .unwrap();
        let object: serde_json::Value = serde_json::from_slice(&it.stdout).unwrap();
        let checks = object["checks"].as_array().unwrap();
        checks.iter().find(|it| it["name"] == "pdf").unwrap().clone()
    };
    let bin = desk.path("bin");
    let without = told(bin.to_str().unwrap());
    assert_eq!(without["state"], "ok", "{without}");
    assert!(without["found"].as_str().unwrap().contains("embedded reader"), "{without}");
    std::fs::create_dir(&bin).unwrap();
    let mut fake = script(&bin, "while read -r line; do :; done; echo from afar");
    std::fs::rename(&fake, bin.join("pdftotext")).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let with = told(&path);
    let found = with["found"].as_str().unwrap();
    assert!(found.contains(bin.join("pdftotext").to_str().unwrap()), "{with}");
    fake = script(&bin, "exit 9");
    std::fs::rename(&fake, bin.join("pdftotext")).unwrap();
    let broken = told(&path);
    assert_eq!(broken["state"], "warning", "one that does not work is told: {broken}");
}

#[test]
fn a_child_that_hangs_is_ended_with_all_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let text = format!("sleep 600 &\necho $! $$ > {}\nwait", pids.display());
    let (found, took) = read("a.docx", b"a container", &parsed_by(dir.path(), &text));
    assert_eq!(found.unwrap_err().reason, ReadFailure::Timeout);
    assert!(took < Duration::from_secs(5), "{took:?}");
    for pid in std::fs::read_to_string(&pids).unwrap().split_whitespace() {
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let ended = || state().is_empty() || state().contains(") Z");
        // It was sent a signal; the kernel takes its time on a busy machine.
        let begun = Instant::now();
        while !ended() {
            assert!(begun.elapsed() < Duration::from_secs(10), "{}", state());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_child_that_closes_its_output_and_stays_is_ended_too() {
    let dir = tempfile::tempdir().unwrap();
    let told = told_by(dir.path(), "exec >&- 2>&-; exec sleep 600");
    let (found, took) = read("a.pdf", b"%PDF-1.4\n", &told);
    assert_eq!(found.unwrap_err().reason, ReadFailure::Timeout);
    assert!(took < Duration::from_secs(5), "{took:?}");
    let parsed = parsed_by(dir.path(), "exec <&-; exec sleep 600");
    let (found, took) = read("a.docx", b"a container", &parsed);
    assert!(found.is_err());
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_child_that_talks_without_end_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let words = format!("exec yes '{}'", "words without end ".repeat(200));
    let told = ExtractLimits { pdf_seconds: 60, ..told_by(dir.path(), &words) };
    let (found, took) = read("a.pdf", b"%PDF-1.4\n", &told);
    let draft = found.unwrap();
    let bytes: usize = draft.blocks.iter().map(|it| it.text.len()).sum();
    assert!(bytes <= 16 << 20, "{bytes}");
    assert!(draft.warnings.iter().any(|it| it.contains("truncated at 16 MiB")));
    assert!(took < Duration::from_secs(60), "{took:?}");
    let parsed = parsed_by(dir.path(), "exec yes >&0");
    let (found, took) = read("a.docx", b"a container", &parsed);
    assert_eq!(found.unwrap_err().reason, ReadFailure::TooLarge);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn a_child_that_wants_too_much_memory_or_time_fails_alone() {
    let bytes = zipped(&[("word/document.xml", word("Words of a document.").as_bytes())]);
    let tight = ExtractLimits { pdf_memory_bytes: 24 << 20, ..limits() };
    assert!(read("a.docx", &bytes, &tight).0.is_err(), "no stack of 64 MiB fits");
    let dir = tempfile::tempdir().unwrap();
    let busy = ExtractLimits {
        pdf_seconds: 20,
        ..parsed_by(dir.path(), "ulimit -t 1; while :; do :; done")
    };
    let (found, took) = read("a.docx", &bytes, &busy);
    let fault = found.unwrap_err();
    assert_eq!(fault.reason, ReadFailure::Timeout, "{}", fault.message);
    assert!(took < Duration::from_secs(15), "{took:?}");
}

fn word(words: &str) -> String {
    format!(
        "<w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>{words}</w:t></w:r></w:p></w:body></w:document>"
    )
}

/// The book whose spine names `files` chapters that say the same, each so many times.
fn book(chapter: &[u8], files: usize, times: usize) -> Vec<u8> {
    let root = b"<container><rootfiles><rootfile full-path=\"b.opf\"/></rootfiles></container>";
    let names: Vec<String> = (0..files).map(|n| format!("{n}.xhtml")).collect();
    let items: String =
        names.iter().map(|it| format!("<item id=\"{it}\" href=\"{it}\"/>")).collect();
    let spine: String =
        names.iter().map(|it| format!("<itemref idref=\"{it}\"/>").repeat(times)).collect();
    let package =
        format!("<package><metadata/><manifest>{items}</manifest><spine>{spine}</spine></package>");
    let mut parts: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", root),
        ("b.opf", package.as_bytes()),
    ];
    parts.extend(names.iter().map(|it| (it.as_str(), chapter)));
    zipped(&parts)
}

#[test]
fn no_container_costs_more_than_its_caps() {
    let spaces = vec![b' '; 80 << 20];
    let deep = format!("{}words{}", "<w:p>".repeat(200_000), "</w:p>".repeat(200_000));
    let nested = format!("<w:document><w:body>{deep}</w:body></w:document>");
    let laughs = format!(
        "<!DOCTYPE x [<!ENTITY a0 \"ha\">{}]>{}",
        (1..40)
            .map(|n| format!("<!ENTITY a{n} \"&a{0};&a{0};&a{0};\">", n - 1))
            .collect::<String>(),
        word("Words &a39; here.")
    );
    let names: Vec<String> = (0..25_000).map(|n| format!("{n}")).collect();
    let mut many: Vec<(&str, &[u8])> = names.iter().map(|it| (it.as_str(), &b""[..])).collect();
    let page = word("Words of a document.");
    many.push(("word/document.xml", page.as_bytes()));
    let good = zipped(&[("word/document.xml", page.as_bytes())]);
    let mut directory = good.clone();
    let central = directory.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
    // The entry says that it lies far behind the end of the file.
    directory[central + 42..central + 46].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f]);
    let mut sizes = good.clone();
    let central = sizes.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
    sizes[central + 24..central + 28].copy_from_slice(&[0xff, 0xff, 0xff, 0xfe]);
    let mut count = good.clone();
    let end = count.windows(4).rposition(|it| it == b"PK\x05\x06").unwrap();
    count[end + 8..end + 12].copy_from_slice(&[0xff, 0xfe, 0xff, 0xfe]);
    let chapter = format!("<html><body><p>{}</p></body></html>", "word ".repeat(200_000));
    let cases: Vec<(&str, &str, Vec<u8>)> = vec![
        ("zip bomb", "a.docx", zipped(&[("word/document.xml", &spaces)])),
        ("deep nesting", "a.docx", zipped(&[("word/document.xml", nested.as_bytes())])),
        ("billion laughs", "a.docx", zipped(&[("word/document.xml", laughs.as_bytes())])),
        ("thousands of entries", "a.docx", zipped(&many)),
        ("directory leads nowhere", "a.docx", directory),
        ("entry lies about its size", "a.docx", sizes),
        ("directory lies about its length", "a.docx", count),
        ("directory cut off", "a.docx", good[..good.len() - 30].to_vec()),
        ("a chapter a thousand times", "a.epub", book(chapter.as_bytes(), 1, 1_000)),
        ("a thousand large chapters", "a.epub", book(chapter.as_bytes(), 1_000, 1)),
        ("a chapter that is a bomb", "a.epub", book(&spaces, 1, 1)),
    ];
    for (what, name, bytes) in cases {
        let before = peak_memory();
        let (found, took) = read(name, &bytes, &limits());
        let grown = peak_memory().saturating_sub(before);
        assert!(took < SOON * slowness(), "{what}: {took:?}");
        assert!(grown < 300 << 20, "{what}: the parent grew by {} MiB", grown >> 20);
        match found {
            Ok(draft) => {
                let bytes: usize = draft.blocks.iter().map(|it| it.text.len()).sum();
                assert!(bytes <= 32 << 20, "{what}: {bytes} bytes of text");
                assert!(!draft.blocks.iter().any(|it| it.text.contains("hahaha")), "{what}");
            }
            Err(fault) => {
                assert!(fault.message.contains(name), "{what}: {}", fault.message);
                assert_ne!(fault.reason, ReadFailure::Timeout, "{what}: {}", fault.message);
            }
        }
    }
}

/// A debug build on a shared machine is slower than what is promised of the program.
fn slowness() -> u32 {
    if cfg!(debug_assertions) { 9 } else { 1 }
}

/// Most memory this process ever held, bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|it| it.starts_with("VmHWM:"));
    let kib = line.and_then(|it| it.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
