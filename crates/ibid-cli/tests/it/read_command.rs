//! `ibid read` over many files: what can be read is delivered, what cannot is told.
use super::cli::*;

#[test]
fn of_several_files_a_broken_one_is_a_row_and_no_failure() {
    let desk = TestHome::new();
    let a = desk.write("a.html", "<p>Words about the roof of the library.</p>");
    let broken = desk.write("broken.pdf", "%PDF-1.7\nthis is no pdf at all");
    let b = desk.write("b.md", "# B\n\nMore words.\n");
    for flag in ["--json", "--jsonl"] {
        let it = desk.ibid(&["read", &a, &broken, &b, flag]);
        assert_eq!(it.code, 0, "{}", it.err);
        let rows = it.lines();
        let paths: Vec<&str> = rows.iter().map(|it| it["path"].as_str().unwrap()).collect();
        assert_eq!(paths, [&a, &broken, &b]);
        let warning = rows[1]["warnings"][0].as_str().unwrap();
        assert!(warning.contains("broken.pdf"), "{warning}");
        assert_eq!(rows[1]["text"], "");
        assert!(it.err.starts_with("error: ") && it.err.contains("broken.pdf"), "{}", it.err);
        let it = desk.ibid(&["read", &broken, &desk.path("gone.md").to_string_lossy(), flag]);
        assert_eq!(it.code, 1, "none could be read");
        assert_eq!(it.lines().len(), 2);
        let it = desk.ibid(&["read", &broken, flag]);
        assert_eq!((it.code, it.lines().len()), (1, 1));
    }
    let it = desk.ibid(&["read", &a, &broken, &b]);
    assert_eq!(it.code, 1, "as text a missing document leaves no trace");
    assert!(it.out.contains("library") && it.out.contains("More words"));
}

#[test]
fn a_folder_is_read_whole_and_its_pictures_are_one_remark() {
    let desk = TestHome::new();
    let docs = desk.docs();
    for nth in 0..12 {
        std::fs::write(desk.path(&format!("docs/{nth}.png")), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    }
    std::fs::write(desk.path("docs/all.zip"), b"PK\x03\x04\0\0\0\0").unwrap();
    let remark = "13 files of unsupported types: .png 12, .zip 1";
    let it = desk.ibid(&["read", &docs, "--jsonl"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert_eq!(it.lines().len(), 4);
    assert_eq!(it.err.matches("not read").count(), 1, "{}", it.err);
    assert!(it.err.contains(remark), "{}", it.err);

    let it = desk.ibid(&["index", "add", &docs]);
    assert_eq!(it.err.matches("not read").count(), 1, "{}", it.err);
    assert_eq!(it.err.matches(".png").count(), 1, "{}", it.err);
    assert!(it.err.contains(remark), "{}", it.err);
    desk.write("docs/bad.docx", "no container");
    let it = desk.ibid(&[ASKED, "--folder", &docs]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert_eq!(it.err.matches(".png").count(), 1, "{}", it.err);
    assert!(it.err.contains(remark), "{}", it.err);
    assert!(it.err.contains("bad.docx"), "a broken document has its own line");

    let empty = desk.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let it = desk.ibid(&["read", empty.to_str().unwrap(), "--json"]);
    assert_eq!(it.code, 1);
    assert!(it.err.contains("no document"), "{}", it.err);
}

#[test]
fn a_large_file_of_another_kind_is_not_read_to_its_end() {
    let desk = TestHome::new();
    let film = desk.path("docs/film.mkv");
    let file = std::fs::File::create(&film).unwrap();
    // A hole on the disk: no byte of it is written, but all could be read.
    file.set_len(2 << 30).unwrap();
    let begun = std::time::Instant::now();
    let it = desk.ibid(&["read", &desk.docs(), "--jsonl"]);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.err.contains("1 file of a kind not read: .mkv 1"), "{}", it.err);
    assert!(begun.elapsed().as_secs() < 20);
}

#[test]
fn what_is_piped_in_with_front_matter_is_markdown() {
    let desk = TestHome::new();
    let it = desk.fed(
        &["read", "-", "--json"],
        b"---\ntitle: Moss\ndate: 2024-03-01\n---\n\n# Moss\n\nMoss holds water for a day.\n",
    );
    assert_eq!(it.code, 0, "{}", it.err);
    let row = it.json();
    assert_eq!(row["title"], "Moss");
    assert_eq!(row["date"], "2024-03-01");
    assert!(!row["text"].as_str().unwrap().contains("title:"), "{row}");
}
