//! A folder is indexed incrementally, survives damage and company, and finds what it holds.
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use ibid_core::domain::{Block, BlockKind, Hit, ItemId, PageDraft, Query, Untrusted, Variation};
use ibid_core::ports::{PageReader, SearchProvider};
use ibid_core::{ReadFailure, Result};
use ibid_extract::{DocumentFailure, ExtractLimits, ReadItem, read_listed};
use ibid_index::folder::{
    Filter, Folder, FolderOptions, RefreshSummary, SearchHit, list_indexes, remove_index,
};

/// A reader of text and JSONL, so that these tests speak of the folder alone.
fn read(
    path: &Path,
    _: &AtomicBool,
    each: &mut dyn FnMut(ReadItem) -> ControlFlow<()>,
) -> Result<()> {
    let text = fs::read_to_string(path).unwrap();
    let url = format!("file://{}", path.display());
    if path.extension().is_none_or(|it| it != "jsonl") {
        let title = path.file_stem().unwrap().to_string_lossy().into_owned();
        let _ = each(ReadItem::Draft(draft(None, &url, &title, &text, None)));
        return Ok(());
    }
    for (nth, line) in text.lines().enumerate() {
        let taken = match serde_json::from_str::<serde_json::Value>(line) {
            Ok(row) => {
                let get = |name: &str| row[name].as_str().unwrap_or_default();
                ReadItem::Draft(draft(
                    row["id"].as_str(),
                    get("url"),
                    get("title"),
                    get("text"),
                    row["date"].as_str(),
                ))
            }
            Err(why) => ReadItem::Fault(DocumentFailure {
                path: path.to_owned(),
                place: Some(format!("line {}", nth + 1)),
                reason: ReadFailure::Broken,
                message: why.to_string(),
            }),
        };
        if each(taken).is_break() {
            break;
        }
    }
    Ok(())
}

fn draft(id: Option<&str>, url: &str, title: &str, text: &str, date: Option<&str>) -> PageDraft {
    PageDraft {
        url: url.to_owned(),
        doc_id: id.map(str::to_owned),
        title: title.to_owned(),
        date: date.map(str::to_owned),
        blocks: vec![Block::new(BlockKind::Prose, text)],
        ..PageDraft::default()
    }
}

/// A folder and a cache directory that vanish with the test.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("docs")).unwrap();
        Place { dir }
    }
    fn docs(&self) -> PathBuf {
        self.dir.path().join("docs")
    }
    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }
    /// Writes a file that was last changed a minute ago, so that its time of change can be trusted.
    fn write(&self, name: &str, text: &str) {
        self.write_aged(name, text, 60);
    }
    fn write_aged(&self, name: &str, text: &str, seconds: u64) {
        let path = self.docs().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }
    fn open_with(&self, globs: &[&str]) -> Folder {
        let options = FolderOptions {
            globs: globs.iter().map(|it| (*it).to_owned()).collect(),
            read: Arc::new(read),
            salt: String::new(),
        };
        Folder::open(&self.docs(), &self.cache(), &options).unwrap()
    }
    fn open(&self) -> Folder {
        self.open_with(&[])
    }
    fn opened(&self) -> Folder {
        let folder = self.open();
        refresh(&folder);
        folder
    }
}

fn refresh(folder: &Folder) -> RefreshSummary {
    folder.refresh(&mut |_| {}).unwrap()
}

fn find(folder: &Folder, query: &str) -> Vec<SearchHit> {
    folder.search_lexical(query, 10, &Filter::default()).unwrap()
}

fn titles(folder: &Folder, query: &str) -> Vec<String> {
    find(folder, query).into_iter().map(|it| it.title).collect()
}

fn counts(it: &RefreshSummary) -> (u64, u64, u64, u64, u64) {
    (it.added, it.changed, it.removed, it.unchanged, it.documents)
}

#[test]
fn only_what_changed_is_read_again() {
    let place = Place::new();
    place.write("beans.txt", "Soak the beans overnight.");
    place.write("deep/rice.txt", "Rinse the rice twice.");
    let folder = place.open();
    assert_eq!(counts(&refresh(&folder)), (2, 0, 0, 0, 2));
    assert_eq!(counts(&refresh(&folder)), (0, 0, 0, 2, 2));

    place.write_aged("beans.txt", "Soak the lentils overnight.", 30);
    place.write("oats.txt", "Boil the oats.");
    assert_eq!(counts(&refresh(&folder)), (1, 1, 0, 1, 3));
    let found = find(&folder, "soaking");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].content, "Soak the lentils overnight.");

    fs::remove_file(place.docs().join("deep/rice.txt")).unwrap();
    assert_eq!(counts(&refresh(&folder)), (0, 0, 1, 2, 2));
    assert_eq!(titles(&folder, "rice"), Vec::<String>::new());
}

#[test]
fn a_touched_file_with_the_same_bytes_is_unchanged() {
    let place = Place::new();
    place.write("beans.txt", "Soak the beans overnight.");
    let folder = place.opened();
    place.write_aged("beans.txt", "Soak the beans overnight.", 20);
    assert_eq!(counts(&refresh(&folder)), (0, 0, 0, 1, 1));
    assert_eq!(titles(&folder, "beans"), ["beans"]);
}

#[test]
fn a_file_changed_within_the_same_moment_is_noticed() {
    let place = Place::new();
    let now = SystemTime::now();
    let write = |text: &str| {
        let path = place.docs().join("now.txt");
        fs::write(&path, text).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(now).unwrap();
    };
    write("one cat");
    let folder = place.opened();
    write("two dog");
    assert_eq!(counts(&refresh(&folder)), (0, 1, 0, 0, 1));
    assert_eq!(titles(&folder, "dog"), ["now"]);
}

#[test]
fn what_was_indexed_is_there_after_reopening() {
    let place = Place::new();
    place.write("beans.txt", "Soak the beans overnight.");
    drop(place.opened());
    let folder = place.open();
    assert_eq!(titles(&folder, "soaking beans"), ["beans"]);
    let again = refresh(&folder);
    assert_eq!(counts(&again), (0, 0, 0, 1, 1));
    assert_eq!(again.rebuilt, None);
}

#[test]
fn a_malformed_line_is_told_and_the_rest_is_indexed() {
    let place = Place::new();
    let mut lines: Vec<String> = (1..=9)
        .map(|it| format!(r#"{{"id":"d{it}","text":"Row number {it} is about walnuts."}}"#))
        .collect();
    lines[6] = "{\"id\": \"d7\", oops".to_owned();
    place.write("rows.jsonl", &lines.join("\n"));
    let folder = place.open();
    let first = refresh(&folder);
    assert_eq!(first.faults.len(), 1);
    assert_eq!(first.faults[0].place.as_deref(), Some("line 7"));
    assert_eq!(find(&folder, "walnuts").len(), 8);
    // An unchanged file tells its faults again without being read.
    let second = refresh(&folder);
    assert_eq!(counts(&second), (0, 0, 0, 1, 8));
    assert_eq!(second.faults, first.faults);
}

#[test]
fn globs_leave_out_and_take_back_in() {
    let place = Place::new();
    for name in ["a.txt", "a.log", "keep.log", "drafts/b.txt", ".hidden.txt"] {
        place.write(name, "The same words about pears.");
    }
    place.write(".ignore", "a.txt\n");
    place.write(".gitignore", "keep.log\n");
    let seen = |globs: &[&str]| {
        let folder = place.open_with(globs);
        refresh(&folder);
        let mut titles = titles(&folder, "pears");
        titles.sort();
        titles
    };
    assert_eq!(seen(&[]), ["a", "b", "keep"]);
    assert_eq!(seen(&["*.log", "!keep.log"]), ["b", "keep"]);
    assert_eq!(seen(&["drafts/"]), ["a", "keep"]);
}

#[test]
fn a_folder_inside_an_ignored_part_of_a_repository_is_read() {
    let place = Place::new();
    fs::create_dir(place.dir.path().join(".git")).unwrap();
    fs::write(place.dir.path().join(".gitignore"), "docs/\n").unwrap();
    place.write("a.txt", "About plums.");
    assert_eq!(titles(&place.opened(), "plums"), ["a"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_so_loops_and_escapes_are_harmless() {
    let place = Place::new();
    place.write("in/a.txt", "About plums.");
    fs::write(place.dir.path().join("secret.txt"), "plums of others").unwrap();
    std::os::unix::fs::symlink(place.docs(), place.docs().join("in/loop")).unwrap();
    std::os::unix::fs::symlink(place.dir.path().join("secret.txt"), place.docs().join("s.txt"))
        .unwrap();
    assert_eq!(titles(&place.opened(), "plums"), ["a"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_becomes_a_link_after_it_was_listed_is_not_followed() {
    let place = Place::new();
    place.write("in/a.md", "# Plums\n\nPlums are grown here.");
    place.write("in/b.jsonl", "{\"title\": \"Pears\", \"text\": \"Pears are grown here.\"}\n");
    let outside = place.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.md"), "# Salaries\n\nThe salary is 913.").unwrap();
    let row = "{\"title\": \"Salaries\", \"text\": \"The salary is 913.\"}\n";
    fs::write(outside.join("b.jsonl"), row).unwrap();
    // The whole directory is swapped once the first of its files has been looked at.
    let swapped = std::sync::Once::new();
    let options = FolderOptions {
        globs: Vec::new(),
        read: Arc::new(move |path, stop, each| {
            swapped.call_once(|| {
                let dir = path.parent().unwrap();
                fs::rename(dir, dir.with_file_name("gone")).unwrap();
                std::os::unix::fs::symlink(&outside, dir).unwrap();
            });
            read_listed(path, &ExtractLimits::default(), stop, each)
        }),
        salt: String::new(),
    };
    let folder = Folder::open(&place.docs(), &place.cache(), &options).unwrap();
    let found = refresh(&folder);
    assert_eq!(titles(&folder, "salary"), Vec::<String>::new());
    assert_eq!(found.faults.len(), 2, "{:?}", found.faults);
}

#[cfg(unix)]
#[test]
fn an_index_is_its_owner_s_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.write("a.txt", "About plums.");
    drop(place.opened());
    let mut all = vec![place.cache().join("index")];
    let mut files = 0;
    while let Some(path) = all.pop() {
        let about = path.metadata().unwrap();
        let mode = about.permissions().mode() & 0o777;
        if about.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            all.extend(fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()));
            continue;
        }
        // The index library makes its locks itself; they are empty.
        if about.len() > 0 {
            files += 1;
            assert_eq!(mode & 0o077, 0, "{}", path.display());
        }
    }
    assert!(files > 3);
}

#[test]
fn a_damaged_index_is_built_anew_and_told() {
    let damage: [fn(&Path); 4] = [
        |rows| fs::write(rows.join("meta.json"), "{").unwrap(),
        |rows| {
            for it in fs::read_dir(rows).unwrap().flatten() {
                if it.path().extension().is_some_and(|it| it == "store") {
                    let mut bytes = fs::read(it.path()).unwrap();
                    let middle = bytes.len() / 2;
                    bytes[middle / 2] ^= 0xff;
                    fs::write(it.path(), bytes).unwrap();
                }
            }
        },
        |rows| {
            for it in fs::read_dir(rows).unwrap().flatten() {
                if it.path().extension().is_some_and(|it| it == "idx") {
                    fs::write(it.path(), "").unwrap();
                }
            }
        },
        |rows| fs::remove_dir_all(rows).unwrap(),
    ];
    for harm in damage {
        let place = Place::new();
        place.write("beans.txt", "Soak the beans overnight.");
        drop(place.opened());
        let index = fs::read_dir(place.cache().join("index")).unwrap().flatten().next().unwrap();
        harm(&index.path().join("rows"));
        let folder = place.open();
        let refreshed = refresh(&folder);
        assert!(refreshed.rebuilt.is_some());
        assert_eq!(counts(&refreshed), (1, 0, 0, 0, 1));
        assert_eq!(titles(&folder, "beans"), ["beans"]);
        assert_eq!(refresh(&folder).rebuilt, None);
    }
}

#[test]
fn an_index_of_another_version_is_built_anew() {
    let place = Place::new();
    place.write("beans.txt", "Soak the beans overnight.");
    drop(place.opened());
    let index = fs::read_dir(place.cache().join("index")).unwrap().flatten().next().unwrap();
    let label = index.path().join("folder.json");
    let text = fs::read_to_string(&label).unwrap();
    fs::write(&label, text.replace("\"version\":\"", "\"version\":\"old-")).unwrap();
    let folder = place.open();
    let refreshed = refresh(&folder);
    assert!(refreshed.rebuilt.unwrap().contains("version"));
    assert_eq!(refreshed.documents, 1);
}

#[test]
fn two_at_once_end_with_the_same_index() {
    let place = Place::new();
    for n in 0..200 {
        place.write(&format!("{n}.txt"), &format!("Document {n} speaks of quinces."));
    }
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let folder = place.open();
                let refreshed = refresh(&folder);
                assert_eq!(refreshed.documents, 200);
                assert_eq!(titles(&folder, "document 17"), titles(&folder, "document 17"));
                assert_eq!(titles(&folder, "17")[0], "17");
            });
        }
    });
    assert_eq!(counts(&refresh(&place.open())), (0, 0, 0, 200, 200));
}

#[test]
fn a_searcher_keeps_its_view_while_another_writes() {
    let place = Place::new();
    place.write("a.txt", "About plums.");
    let reader = place.opened();
    let writer = place.open();
    place.write("b.txt", "About plums too.");
    refresh(&writer);
    assert_eq!(find(&reader, "plums").len(), 1);
    assert_eq!(find(&writer, "plums").len(), 2);
    refresh(&reader);
    assert_eq!(find(&reader, "plums").len(), 2);
}

#[test]
fn dates_and_domains_filter() {
    let place = Place::new();
    let rows = [
        ("old", "https://www.nih.gov/a", "2019-12-31"),
        ("new", "https://pubmed.ncbi.nlm.nih.gov/1/", "2020-01-01"),
        ("news", "https://example.com/x", "2021-06-15"),
    ];
    let mut text = String::from(r#"{"id":"undated","text":"words about figs","url":""}"#);
    for (id, url, date) in rows {
        text += &format!(
            "\n{{\"id\":\"{id}\",\"url\":\"{url}\",\"date\":\"{date}\",\"text\":\"words about figs\"}}"
        );
    }
    place.write("rows.jsonl", &text);
    let folder = place.opened();
    let ids = |filter: Filter| {
        let mut ids: Vec<String> = folder
            .search_lexical("figs", 10, &filter)
            .unwrap()
            .into_iter()
            .map(|it| it.id)
            .collect();
        ids.sort();
        ids
    };
    let some = |it: &str| Some(it.to_owned());
    let list = |it: &str| vec![it.to_owned()];
    assert_eq!(ids(Filter::default()).len(), 4);
    assert_eq!(ids(Filter { since: some("2020-01-01"), ..Filter::default() }), ["new", "news"]);
    assert_eq!(
        ids(Filter { since: some("2019"), until: some("2020"), ..Filter::default() }),
        ["new", "old"]
    );
    assert_eq!(ids(Filter { domains: list("nih.gov"), ..Filter::default() }), ["new", "old"]);
    assert_eq!(
        ids(Filter {
            domains: list("https://NIH.gov/"),
            not_domains: list("ncbi.nlm.nih.gov"),
            ..Filter::default()
        }),
        ["old"]
    );
}

#[test]
fn no_query_is_an_error() {
    let place = Place::new();
    place.write("who.txt", "The Who are a band. To be or not to be.");
    place.write("c.txt", "C++ and 中文 and naïve café.");
    let folder = place.opened();
    for query in
        ["", " ", "\"", "((a AND", "title:x^9~2 OR NOT *?", "\u{0}\u{feff}🦀", "'", "-- - -"]
    {
        find(&folder, query);
    }
    assert_eq!(titles(&folder, "the who"), ["who"]);
    assert_eq!(titles(&folder, "to be or not to be")[0], "who");
    assert_eq!(titles(&folder, "中文"), ["c"]);
    assert_eq!(titles(&folder, "CAFE"), ["c"]);
    let long = "bands and cafés, ".repeat(70_000);
    assert_eq!(find(&folder, &long).len(), 2);
}

#[test]
fn of_two_documents_with_one_id_one_is_found() {
    let place = Place::new();
    place.write("a.jsonl", r#"{"id":"x","text":"Figs are sweet."}"#);
    place.write("b.jsonl", r#"{"id":"x","text":"Figs are sweet, figs are soft."}"#);
    assert_eq!(find(&place.opened(), "figs").len(), 1);
}

#[test]
fn the_best_passage_of_a_long_document_is_shown() {
    let place = Place::new();
    let filler = "This sentence is about nothing in particular at all. ".repeat(200);
    place.write("long.txt", &format!("{filler}The capital of Ruritania is Strelsau. {filler}"));
    let found = find(&place.opened(), "What is the capital of Ruritania?");
    assert!(found[0].content.contains("Strelsau"));
    assert!(found[0].content.len() < 4_000);
}

fn query(text: &str) -> Query {
    Query::local(text, ItemId::new(1), Variation::Original, 5)
}

#[tokio::test]
async fn a_page_is_read_as_it_was_indexed_even_when_its_file_is_gone() {
    let place = Place::new();
    let text = "Soak the beans overnight. Drain them. Boil them for an hour.";
    place.write("beans.txt", text);
    let folder = place.opened();
    fs::remove_file(place.docs().join("beans.txt")).unwrap();
    let hits = folder.search(&query("boil beans")).await.unwrap().hits;
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].rank, hits[0].provider.as_str()), (1, "local"));
    assert!(folder.can_read(&hits[0]));
    let page = folder.read(&hits[0]).await.unwrap();
    assert_eq!(page.text().expose(), text);
    assert_eq!(page.sentences().len(), 3);
    let stranger =
        Hit { url: "file:///nowhere".to_owned(), snippet: Untrusted::new(""), ..hits[0].clone() };
    assert!(!folder.can_read(&stranger));
    assert_eq!(folder.read(&stranger).await.unwrap_err().kind(), ibid_core::ErrorKind::NotFound);
}

#[test]
fn a_missing_folder_is_named() {
    let place = Place::new();
    let options = FolderOptions { globs: Vec::new(), read: Arc::new(read), salt: String::new() };
    let missing = place.docs().join("nowhere");
    let why = Folder::open(&missing, &place.cache(), &options).err().unwrap();
    assert_eq!(why.kind(), ibid_core::ErrorKind::NotFound);
    assert!(why.to_string().contains("nowhere"));
}

#[test]
fn indexes_are_listed_and_forgotten() {
    let place = Place::new();
    assert_eq!(list_indexes(&place.cache()).unwrap(), []);
    place.write("a.txt", "About plums.");
    drop(place.opened());
    let docs = place.docs().canonicalize().unwrap();
    assert_eq!(list_indexes(&place.cache()).unwrap(), [(docs.clone(), 1, 12)]);
    assert!(remove_index(&place.cache(), &docs).unwrap());
    assert!(!remove_index(&place.cache(), &docs).unwrap());
    assert_eq!(list_indexes(&place.cache()).unwrap(), []);
    assert!(docs.join("a.txt").exists());
}
