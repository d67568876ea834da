use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tempfile::TempDir;

use super::super::sqlite::SqliteStore;
use super::super::write::{RunChange, WriteOp};
use ibid_core::domain::{Block, BlockKind, Page, PageDraft, RunId};
use ibid_core::ports::{EventLog, FrozenClock, PageBodies, Store};
use ibid_core::record::Event;
use ibid_core::{ErrorKind, Result};

/// An object store in memory. All its objects are old.
#[derive(Default)]
struct MemoryBodies(Mutex<BTreeMap<String, String>>);

#[async_trait]
impl PageBodies for MemoryBodies {
    async fn put(&self, key: &str, body: String) -> Result<()> {
        self.0.lock().unwrap().insert(key.to_owned(), body);
        Ok(())
    }
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(key).map(|body| body.clone().into_bytes()))
    }
    async fn delete(&self, key: &str) -> Result<()> {
        self.0.lock().unwrap().remove(key);
        Ok(())
    }
    async fn list(&self, folder: &str, _: jiff::Timestamp) -> Result<Vec<String>> {
        let all = self.keys();
        Ok(all.into_iter().filter(|key| key.starts_with(&format!("{folder}/"))).collect())
    }
    fn location(&self) -> String {
        "memory".to_owned()
    }
}

impl MemoryBodies {
    fn keys(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }
}

async fn plain(dir: &TempDir) -> SqliteStore {
    SqliteStore::open(dir.path()).await.unwrap()
}

async fn open(dir: &TempDir, bodies: &Arc<MemoryBodies>) -> SqliteStore {
    let bodies = Arc::clone(bodies) as Arc<dyn PageBodies>;
    plain(dir).await.with_page_bodies(Some(bodies)).await.unwrap()
}

fn page(warning: &str) -> Page {
    let block = Block::new(BlockKind::Prose, "Cork floats. It is light.");
    Page::new(PageDraft {
        url: "https://a.test/".to_owned(),
        blocks: vec![block],
        warnings: vec![warning.to_owned()],
        ..PageDraft::default()
    })
}

async fn begun(store: &SqliteStore, n: u64) -> RunId {
    let run = RunId::new(n, u128::from(n));
    let clock = Arc::new(FrozenClock::at(0));
    let log = EventLog::resume(run.clone(), Arc::new(store.clone()) as Arc<dyn Store>, clock, &[]);
    log.emit(Event::Log { level: "info".to_owned(), message: "begun".to_owned(), source: None });
    log.flush().await.unwrap();
    run
}

async fn read(store: &SqliteStore) -> Result<Option<Page>> {
    store.page(page("").hash()).await
}

async fn sweep(store: &SqliteStore) -> u64 {
    store.sweep_pages(jiff::Timestamp::MAX).await.unwrap()
}

#[tokio::test]
async fn a_page_of_many_runs_is_one_object_and_no_body() {
    let (dir, bodies) = (tempfile::tempdir().unwrap(), Arc::default());
    let store = open(&dir, &bodies).await;
    for n in 1..4 {
        let run = begun(&store, n).await;
        store.save_page(&run, &page("a")).await.unwrap();
    }
    assert_eq!(bodies.keys().len(), 1);
    assert_eq!(read(&store).await.unwrap(), Some(page("a")));
    let row = store.page_row(page("a").hash()).await.unwrap().unwrap();
    assert_eq!((row.0.as_str(), row.1.as_str()), ("", bodies.keys()[0].as_str()));
    assert!(row.1.contains(&row.2));
    assert_eq!(sweep(&store).await, 0);
}

#[tokio::test]
async fn what_is_not_the_page_that_was_stored_is_not_returned() {
    let (dir, bodies) = (tempfile::tempdir().unwrap(), Arc::default());
    let store = open(&dir, &bodies).await;
    let run = begun(&store, 1).await;
    store.save_page(&run, &page("a")).await.unwrap();
    let key = bodies.keys().remove(0);
    let body = bodies.0.lock().unwrap()[&key].clone();
    // In the text, and in what the hash of a page leaves out.
    for (from, to) in [("floats", "flouts"), ("\"a\"", "\"b\""), ("}", "")] {
        bodies.0.lock().unwrap().insert(key.clone(), body.replacen(from, to, 1));
        let error = read(&store).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Setup);
        assert!(error.chain().contains("does not have its hash"), "{error:?}");
        assert!(error.hint().unwrap().contains(&key), "{error:?}");
    }
    bodies.0.lock().unwrap().clear();
    let error = read(&store).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert!(error.chain().contains("is not in the object store memory"), "{error:?}");
}

#[tokio::test]
async fn a_crash_between_object_and_row_leaves_only_an_object_to_sweep() {
    let (dir, bodies) = (tempfile::tempdir().unwrap(), Arc::default());
    let store = open(&dir, &bodies).await;
    let run = begun(&store, 1).await;
    let placed = store.place_page(&page("a")).await.unwrap();
    assert_eq!(read(&store).await.unwrap(), None);
    drop(store);
    let store = open(&dir, &bodies).await;
    store.check_integrity().await.unwrap();
    store.save_page(&run, &page("a")).await.unwrap();
    assert_eq!(sweep(&store).await, 1);
    assert_ne!(bodies.keys(), [placed.object]);
    assert_eq!(read(&store).await.unwrap(), Some(page("a")));
}

#[tokio::test]
async fn a_sweep_keeps_what_a_new_run_holds() {
    let (dir, bodies) = (tempfile::tempdir().unwrap(), Arc::default());
    let store = open(&dir, &bodies).await;
    let (old, new) = (begun(&store, 1).await, begun(&store, 2).await);
    store.save_page(&old, &page("a")).await.unwrap();
    // The page is read again: the row still names its object, and is gone when the write comes.
    let placed = store.place_page(&page("a")).await.unwrap();
    store.remove_run(&old).await.unwrap();
    store.write(WriteOp::Run(new.clone(), RunChange::SavePage(placed))).await.unwrap();
    assert_eq!(sweep(&store).await, 1);
    assert_eq!(bodies.keys().len(), 0);
    assert_eq!(read(&store).await.unwrap(), Some(page("a")));
    // Saved once more, it goes to the object store, under a key of its own.
    store.save_page(&new, &page("a")).await.unwrap();
    assert_eq!((bodies.keys().len(), sweep(&store).await), (1, 0));
    assert_eq!(read(&store).await.unwrap(), Some(page("a")));
    store.remove_run(&new).await.unwrap();
    assert_eq!((sweep(&store).await, bodies.keys().len()), (1, 0));
}

#[tokio::test]
async fn the_latest_reading_replaces_an_object() {
    let (dir, bodies) = (tempfile::tempdir().unwrap(), Arc::default());
    let store = open(&dir, &bodies).await;
    let run = begun(&store, 1).await;
    store.save_page(&run, &page("a")).await.unwrap();
    store.save_page(&run, &page("b")).await.unwrap();
    assert_eq!(bodies.keys().len(), 2);
    assert_eq!(sweep(&store).await, 1);
    assert_eq!(read(&store).await.unwrap(), Some(page("b")));
}

#[tokio::test]
async fn pages_are_read_wherever_they_are_and_move_when_they_are_saved_again() {
    let (dir, bodies) = (tempfile::tempdir().unwrap(), Arc::default());
    let before = plain(&dir).await;
    let run = begun(&before, 1).await;
    before.save_page(&run, &page("a")).await.unwrap();
    let with = open(&dir, &bodies).await;
    assert_eq!(read(&with).await.unwrap(), Some(page("a")));
    with.save_page(&run, &page("a")).await.unwrap();
    assert_eq!(bodies.keys().len(), 1);
    assert_eq!(read(&with).await.unwrap(), Some(page("a")));
    let error = read(&before).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert!(error.hint().unwrap().contains("`pages.url`"), "{error:?}");
    before.save_page(&run, &page("a")).await.unwrap();
    assert_eq!(read(&before).await.unwrap(), Some(page("a")));
    assert_eq!(sweep(&with).await, 1);
}

#[tokio::test]
async fn databases_that_share_a_bucket_sweep_only_their_own_objects() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bodies = Arc::default();
    let (one, two) = (open(&one, &bodies).await, open(&two, &bodies).await);
    for store in [&one, &two] {
        let run = begun(store, 1).await;
        store.save_page(&run, &page("a")).await.unwrap();
    }
    assert_eq!((sweep(&one).await, sweep(&two).await, bodies.keys().len()), (0, 0, 2));
}

#[cfg(feature = "object-store")]
mod in_a_directory {
    use super::super::super::object_bodies::ObjectBodies;
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn files(dir: &std::path::Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    #[tokio::test]
    async fn a_flipped_byte_and_a_lost_file_are_errors_and_old_files_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let objects = dir.path().join("objects");
        let url = format!("file://{}", objects.display());
        let bodies = Arc::new(ObjectBodies::open(&url, &[]).unwrap());
        let store = plain(&dir).await.with_page_bodies(Some(bodies)).await.unwrap();
        let run = begun(&store, 1).await;
        store.save_page(&run, &page("a")).await.unwrap();
        let stored = files(&objects);
        let [file] = &stored[..] else { panic!("{stored:?}") };
        let body = fs::read(file).unwrap();
        assert!(file.display().to_string().contains(&super::super::digest_of(&body)));
        assert_eq!(read(&store).await.unwrap(), Some(page("a")));
        let mut damaged = body.clone();
        damaged[body.len() / 2] ^= 1;
        fs::write(file, &damaged).unwrap();
        let error = read(&store).await.unwrap_err();
        assert!(error.chain().contains("does not have its hash"), "{error:?}");
        fs::remove_file(file).unwrap();
        let error = read(&store).await.unwrap_err();
        assert!(error.chain().contains("is not in the object store file://"), "{error:?}");
        store.remove_run(&run).await.unwrap();
        fs::write(file, &body).unwrap();
        let day = jiff::SignedDuration::from_hours(24);
        assert_eq!(store.sweep_pages(jiff::Timestamp::now() - day).await.unwrap(), 0);
        assert_eq!(sweep(&store).await, 1);
        assert!(files(&objects).is_empty());
    }

    #[test]
    fn a_url_without_a_known_service_or_with_a_key_is_refused() {
        for url in
            ["", "here", "http://a.test/b", "s3://u:secret@bucket/p", "s3://bucket/p?key=secret"]
        {
            let error = ObjectBodies::open(url, &[]).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Setup, "{url}");
            assert!(error.chain().contains("`pages.url`"), "{error:?}");
            assert!(!error.chain().contains("secret"), "{error:?}");
        }
        let wrong = [("AWS_SERVER_SIDE_ENCRYPTION", "rot13"), ("AWS_REGION", "eu-west-1")];
        let error = ObjectBodies::open("s3://bucket/p", &wrong).err().unwrap();
        assert!(error.chain().contains("rot13"), "{error:?}");
    }
}

/// Against a real S3.
#[cfg(feature = "object-store")]
mod in_s3 {
    use std::time::Duration;

    use test_servers::SeaweedServer;

    use super::super::super::object_bodies::ObjectBodies;
    use super::*;

    #[tokio::test]
    #[ignore = "needs SeaweedFS"]
    async fn pages_are_stored_verified_and_swept() {
        let (dir, server) = (tempfile::tempdir().unwrap(), SeaweedServer::start().unwrap());
        let endpoint = format!("http://127.0.0.1:{}", server.port());
        // 32 zero bytes.
        let key = format!("{}=", "A".repeat(43));
        let open_with = |secret: &str, encryption: &[(&str, &str)]| {
            let mut variables = vec![
                ("AWS_ENDPOINT", endpoint.as_str()),
                ("AWS_ALLOW_HTTP", "true"),
                ("AWS_REGION", "us-east-1"),
                ("AWS_ACCESS_KEY_ID", SeaweedServer::ACCESS_KEY),
                ("AWS_SECRET_ACCESS_KEY", secret),
            ];
            variables.extend(encryption);
            Arc::new(ObjectBodies::open("s3://pages/of/ibid", &variables).unwrap())
        };
        let encryption =
            [("AWS_SERVER_SIDE_ENCRYPTION", "sse-c"), ("AWS_SSE_CUSTOMER_KEY_BASE64", &*key)];
        let bodies = open_with(SeaweedServer::SECRET_KEY, &encryption);
        for nth in 0.. {
            match bodies.put("doctor/a", "ready".to_owned()).await {
                Ok(()) => break,
                Err(error) => assert!(nth < 60, "{error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let store = plain(&dir).await.with_page_bodies(Some(bodies.clone())).await.unwrap();
        let run = begun(&store, 1).await;
        store.save_page(&run, &page("a")).await.unwrap();
        assert_eq!(read(&store).await.unwrap(), Some(page("a")));
        let (_, object, _) = store.page_row(page("a").hash()).await.unwrap().unwrap();
        let error = open_with(SeaweedServer::SECRET_KEY, &[]).get(&object).await.unwrap_err();
        assert!(error.chain().contains("customer key"), "{error:?}");
        // Another page under the same key is not this page.
        bodies.put(&object, serde_json::to_string(&page("b")).unwrap()).await.unwrap();
        let error = read(&store).await.unwrap_err();
        assert!(error.chain().contains("does not have its hash"), "{error:?}");
        bodies.delete(&object).await.unwrap();
        bodies.delete(&object).await.unwrap();
        let error = read(&store).await.unwrap_err();
        assert!(error.chain().contains("is not in the object store"), "{error:?}");
        store.save_page(&run, &page("c")).await.unwrap();
        store.remove_run(&run).await.unwrap();
        let day = jiff::SignedDuration::from_hours(24);
        assert_eq!(store.sweep_pages(jiff::Timestamp::now() - day).await.unwrap(), 0);
        assert_eq!(sweep(&store).await, 1);
        let error =
            open_with("another", &encryption).put("doctor/a", String::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Setup, "{error:?}");
        assert!(!error.chain().contains("another"), "{error:?}");
    }
}
