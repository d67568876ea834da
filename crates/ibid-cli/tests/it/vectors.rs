//! The vectors of folders: no question waits for many, what is made is kept through kills, and processes share the work.
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ibid_core::Result;
use ibid_core::ports::{Embedder, PassageVector, VectorIndex};
use ibid_extract::ExtractLimits;
use ibid_index::folder::{Filter, Folder, FolderOptions, SemanticIndex};
use ibid_index::semantic::SqliteVectors;
use serde_json::{Value, json};

use crate::cli::TestHome;
use crate::served::Served;

/// Counts the texts that it is given. A text about a hound is near to one about a dog.
#[derive(Default)]
struct Counting(AtomicUsize);

#[async_trait]
impl Embedder for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.0.fetch_add(texts.len(), Ordering::SeqCst);
        let is_dog = |text: &&str| text.contains("hound") || text.contains("dog");
        Ok(texts
            .iter()
            .map(|it| if is_dog(it) { vec![1.0, 0.0] } else { vec![0.0, 1.0] })
            .collect())
    }
}

const ROWS: usize = 3_000;

/// A folder of [`ROWS`] passages, of which the words of `barn` find 300, and one of these is about a hound.
async fn folder(dir: &Path, embedder: &Arc<Counting>, max_passages: usize) -> Folder {
    let docs = dir.join("docs");
    std::fs::create_dir_all(&docs).unwrap();
    let text = |nth: usize| match nth {
        150 => "A hound in the barn.".to_owned(),
        _ if nth.is_multiple_of(10) => format!("Hay number {nth} in the barn."),
        _ => format!("Roof number {nth} on the house."),
    };
    let rows: Vec<String> = (0..ROWS)
        .map(|nth| json!({"id": format!("d{nth}"), "text": text(nth)}).to_string())
        .collect();
    std::fs::write(docs.join("rows.jsonl"), rows.join("\n")).unwrap();
    let options = FolderOptions::new(Vec::new(), ExtractLimits::default());
    let folder = Folder::open(&docs, &dir.join("cache"), &options).unwrap();
    folder.refresh(&mut |_| {}).unwrap();
    let vectors = SqliteVectors::open(&dir.join("vectors.db"), "docs").await.unwrap();
    let embedder = Arc::clone(embedder) as Arc<dyn Embedder>;
    folder.with_semantic_index(SemanticIndex { embedder, vectors: Arc::new(vectors), max_passages })
}

async fn first(folder: &Folder, query: &str) -> String {
    let found = folder.search_hybrid(query, 3, &Filter::default()).await.unwrap();
    found[0].id.clone()
}

#[tokio::test]
async fn a_first_question_makes_only_the_vectors_of_what_the_words_find() {
    let dir = tempfile::tempdir().unwrap();
    let embedder = Arc::new(Counting::default());
    let asked = || embedder.0.load(Ordering::SeqCst);
    let folder = folder(dir.path(), &embedder, usize::MAX).await;
    let count = folder.update_few_vectors(&mut |_| {}).await.unwrap();
    assert_eq!((count.passages, count.with_vector, count.made), (ROWS as u64, 0, 0));
    assert_eq!(asked(), 0, "nothing is made before the question");
    assert_eq!(first(&folder, "dog in a barn").await, "d150", "meaning ranks");
    let made = asked() - 1;
    assert!((16..=200).contains(&made), "{made}");
    assert_eq!(first(&folder, "dog in a barn").await, "d150");
    assert_eq!(asked(), made + 2, "vectors are kept, the query is embedded again");
    let count = folder.update_few_vectors(&mut |_| {}).await.unwrap();
    assert_eq!((count.with_vector, count.made), (made as u64, 0));
}

#[tokio::test]
async fn what_is_made_beside_a_question_is_kept_when_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let embedder = Arc::new(Counting::default());
    let asked = || embedder.0.load(Ordering::SeqCst);
    let folder = folder(dir.path(), &embedder, usize::MAX).await;
    let enough = async {
        while asked() < 200 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        done = folder.update_vectors_beside() => panic!("it made all: {done:?}"),
        () = enough => {}
    }
    let made = asked();
    assert!(made < ROWS, "{made}");
    let count = folder.update_vectors(&mut |_| {}).await.unwrap();
    assert_eq!(count.with_vector, ROWS as u64);
    let again = asked() - ROWS;
    assert!(again <= 16, "only the batch that was dropped is made again: {again}");
    assert_eq!(count.made as usize, asked() - made);
    let done = folder.update_vectors_beside().await.unwrap();
    assert_eq!((done.with_vector, done.made), (ROWS as u64, 0));
}

#[tokio::test]
async fn a_large_folder_needs_no_vectors_and_meaning_ranks_the_first_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let embedder = Arc::new(Counting::default());
    let folder = folder(dir.path(), &embedder, ROWS - 1).await;
    for count in [
        folder.update_vectors(&mut |_| {}).await.unwrap(),
        folder.update_vectors_beside().await.unwrap(),
    ] {
        assert!(count.too_many && count.made == 0, "{count:?}");
    }
    assert_eq!(first(&folder, "dog in a barn").await, "d150");
    let asked = embedder.0.load(Ordering::SeqCst);
    assert!((17..=201).contains(&asked), "{asked}");
}

const PAPERS: usize = 300;

/// A folder of [`PAPERS`] short papers.
fn papers(desk: &TestHome) -> String {
    for nth in 0..PAPERS {
        let word = ["cork", "moss", "slate"][nth % 3];
        let text = format!("Paper {nth} tells that {word} roofs last {nth} years.");
        desk.write(&format!("papers/{nth}.txt"), &text);
    }
    desk.path("papers").canonicalize().unwrap().to_string_lossy().into_owned()
}

/// The vectors that `ibid index add` says that it made; all passages have one then.
fn added(desk: &TestHome, folder: &str) -> u64 {
    let row = desk.ibid(&["index", "add", folder, "--json", "-q"]).json();
    assert_eq!(row["vectors"]["passages"], PAPERS, "{row}");
    assert_eq!(row["vectors"]["with_vector"], PAPERS, "{row}");
    row["vectors"]["made"].as_u64().unwrap()
}

#[test]
fn killed_half_way_it_goes_on_from_the_last_commit() {
    for (point, kept) in [("vectors.before_commit:2", 128), ("vectors.after_commit:2", 256)] {
        let desk = TestHome::with_model();
        let folder = papers(&desk);
        let mut add = desk.command(&["index", "add", &folder, "-q"]);
        let died = add.env("IBID_CRASH_AT", point).output().unwrap();
        assert_eq!(died.status.code(), None, "{point} was never reached");
        assert_eq!(added(&desk, &folder), (PAPERS - kept) as u64, "{point}");
        assert_eq!(added(&desk, &folder), 0);
        let text = desk.ibid(&["index", "add", &folder, "-q"]).out;
        assert!(text.ends_with("300 of 300 passages have a vector: 0 new\n"), "{text}");
    }
}

#[test]
fn a_first_question_leaves_vectors_and_its_replay_does_not_depend_on_later_ones() {
    let desk = TestHome::with_model();
    let folder = papers(&desk);
    let asked = "How long do cork roofs last?";
    let run = desk.ibid(&[asked, "--folder", &folder, "--model", "none", "--jsonl"]);
    let told = run.lines();
    let says = |line: &&Value| {
        let message = line["data"]["message"].as_str().unwrap_or_default();
        message.contains("0 of 300 passages") && message.contains("have a vector")
    };
    assert_eq!(told.iter().filter(says).count(), 1, "{}", run.out);
    let recorded = desk.ibid(&["export", "last", "-f", "recording", "-o", "run.jsonl"]);
    assert_eq!(recorded.code, 0, "{}", recorded.err);
    let left = added(&desk, &folder);
    assert!(left < PAPERS as u64, "the question made none");
    let again = desk.ibid(&["replay", "run.jsonl"]);
    assert_eq!(again.code, run.code, "{}", again.err);
    assert!(again.err.contains("are byte for byte as recorded"), "{}", again.err);
}

#[test]
fn a_damaged_file_of_vectors_ends_no_question_and_is_made_anew() {
    let desk = TestHome::with_model();
    let folder = papers(&desk);
    added(&desk, &folder);
    let file = desk.path("home/.cache/ibid/vectors.db");
    let whole = std::fs::read(&file).unwrap();
    let middle = whole.len() / 2;
    for (what, damaged) in [
        ("another file", b"These are no vectors.".repeat(400)),
        ("nothing but its first page", [&whole[..4096], &vec![0xee; whole.len() - 4096]].concat()),
        ("its first half", whole[..middle].to_vec()),
    ] {
        std::fs::write(&file, damaged).unwrap();
        let asked = "How long do cork roofs last?";
        let run = desk.ibid(&[asked, "--folder", &folder, "--model", "none"]);
        assert_eq!(run.code, 0, "{what}: {}", run.err);
        // Its replacement has them all in the end.
        added(&desk, &folder);
        assert_eq!(added(&desk, &folder), 0, "{what}");
    }
}

#[test]
fn what_stands_in_the_place_of_the_file_of_vectors_ends_no_question_and_is_left_as_it_was() {
    let desk = TestHome::with_model();
    let folder = papers(&desk);
    added(&desk, &folder);
    let file = desk.path("home/.cache/ibid/vectors.db");
    let ask = |what: &str| {
        let asked = ["How long do cork roofs last?", "--folder", &folder, "--model", "none"];
        let run = desk.ibid(&asked);
        assert_eq!(run.code, 0, "{what}: {}", run.err);
    };
    // No writer ever opens the pipe, and the others belong to somebody else.
    std::fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    ask("a pipe");
    assert!(file.metadata().unwrap().is_file(), "it is replaced");
    for (what, held) in [("an empty file", ""), ("a file of words", "My notes.")] {
        let other = desk.path("other.txt");
        std::fs::write(&other, held).unwrap();
        for place in ["vectors.db", "vectors.db-wal"] {
            let place = file.with_file_name(place);
            let _ = std::fs::remove_file(&place);
            std::os::unix::fs::symlink(&other, &place).unwrap();
            ask(what);
            assert_eq!(std::fs::read_to_string(&other).unwrap(), held, "{what}");
        }
    }
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(desk.path("nowhere"), &file).unwrap();
    ask("a link to nothing");
    assert!(!desk.path("nowhere").exists());
    std::fs::remove_file(&file).unwrap();
    let other = desk.path("other.txt");
    std::fs::write(&other, "").unwrap();
    std::fs::hard_link(&other, &file).unwrap();
    ask("another name of a file");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    ask("a directory");
    assert!(file.is_dir());
    let add = desk.ibid(&["index", "add", &folder, "-q"]);
    assert_eq!(add.code, 4, "what is to be stored says where it cannot be: {}", add.err);
    assert!(add.err.contains("vectors.db"), "{}", add.err);
}

#[tokio::test]
async fn a_file_of_other_tables_and_vectors_without_numbers_are_made_anew() {
    use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("vectors.db");
    let connect = || {
        SqlitePool::connect_with(
            SqliteConnectOptions::new().filename(&file).create_if_missing(true),
        )
    };
    let pool = connect().await.unwrap();
    sqlx::raw_sql("create table vectors (name text)").execute(&pool).await.unwrap();
    pool.close().await;
    let vector = |key: u64, values: &[f32]| PassageVector {
        key,
        url: String::new(),
        values: values.to_vec(),
    };
    let vectors = SqliteVectors::open(&file, "docs").await.unwrap();
    vectors
        .upsert(&[vector(1, &[1.0]), vector(2, &[f32::NAN, 1.0]), vector(3, &[0.0, 1.0])])
        .await
        .unwrap();
    vectors.upsert(&[vector(4, &[1.0, 1.0])]).await.unwrap();
    let keys = |found: Vec<(u64, Vec<f32>)>| found.into_iter().map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(keys(vectors.get(&[1, 2, 3, 4]).await.unwrap()), [1, 3, 4]);
    let nearest = vectors.nearest(&[0.0, 1.0], 9).await.unwrap();
    assert_eq!(nearest.iter().map(|it| it.0).collect::<Vec<_>>(), [3, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_makes_the_vectors_of_its_folders() {
    let desk = TestHome::with_model();
    let folder = papers(&desk);
    let mut add = desk.command(&["index", "add", &folder, "-q"]);
    add.env("IBID_CRASH_AT", "vectors.after_commit").output().unwrap();
    let served = Served::start_on(&desk, &[&folder], &[]);
    let file = desk.path("home/.cache/ibid/vectors.db");
    let collection = format!("local/all-MiniLM-L6-v2 {folder}");
    let began = Instant::now();
    loop {
        let vectors = SqliteVectors::open(&file, &collection).await.unwrap();
        let made = vectors.nearest(&[0.1; 384], 1_000).await.unwrap().len();
        assert!(made >= 128, "what was committed is kept: {made}");
        if made == PAPERS {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{made}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    drop(served);
    assert_eq!(added(&desk, &folder), 0);
}

#[test]
fn questions_in_other_languages_find_documents_by_names_and_numbers() {
    let desk = TestHome::with_model();
    for (name, text) in [
        (
            "de.txt",
            "Die Lichtbrücke in Grünwalden wurde 1987 von Hanna Weißmüller entworfen. Sie wiegt 1.250 Tonnen und ist 3,5 Meter breit.",
        ),
        (
            "ru.txt",
            "Маяк построил инженер Пётр Волжанский в 1903 году. Маяк стоит на острове Каменный.",
        ),
        (
            "en.txt",
            "The harbour of Mossford was planned by Clara Henning in 1975. It has 2,400 berths, each 4.2 metres wide.",
        ),
    ] {
        desk.write(&format!("lands/{name}"), text);
    }
    for nth in 0..30 {
        desk.write(&format!("lands/p{nth}.txt"), &format!("Roof {nth} of the house holds moss."));
    }
    let folder = desk.path("lands").to_string_lossy().into_owned();
    for (query, file) in [
        ("What weighs 1,250 tonnes?", "de.txt"),
        ("Which bridge did Weissmuller draw?", "de.txt"),
        ("Wer hat von Mossford und von Clara Henning gehört?", "en.txt"),
        ("Wie viele Plätze hat Mossford, 2.400?", "en.txt"),
        ("Что построили для Волжанского?", "ru.txt"),
        ("Was geschah 1903?", "ru.txt"),
    ] {
        let mut search = desk.command(&["search", query, "--folder", &folder, "--json"]);
        let output = search.env("IBID_EMBEDDING_MODEL", "none").output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let url = found["results"][0]["url"].as_str().unwrap_or_default();
        assert!(url.ends_with(file), "{query}: {found}");
    }
}
