use std::sync::Arc;

use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use super::{SqliteStore, database};
use ibid_core::ErrorKind;
use ibid_core::domain::{Block, BlockKind, Page, PageDraft, RunId};
use ibid_core::ports::{EventLog, FrozenClock, Store};
use ibid_core::record::{Event, Phase};

fn page(n: u32) -> Page {
    Page::new(PageDraft {
        url: format!("https://a.test/{n}"),
        blocks: vec![Block {
            kind: BlockKind::Prose,
            text: format!("Page {n} has words. ").repeat(50),
            page: None,
            level: 0,
        }],
        ..PageDraft::default()
    })
}

fn note(n: u32) -> Event {
    Event::Log {
        level: "info".to_owned(),
        message: format!("{n}: {}", "words ".repeat(100)),
        source: None,
    }
}

fn log(store: &Arc<SqliteStore>, run: &RunId) -> EventLog {
    let store = Arc::clone(store) as Arc<dyn Store>;
    EventLog::resume(run.clone(), store, Arc::new(FrozenClock::at(0)), &[])
}

/// As on a full disk, where the store could not be written again before the program ended (`evals chaos`, the script 45 on the program).
#[tokio::test]
async fn a_store_goes_on_after_sqlite_rolled_back_a_write_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunId::new(1, 1);
    let store = Arc::new(SqliteStore::open(dir.path()).await.unwrap());
    let log = log(&store, &run);
    log.emit(note(0));
    log.flush().await.unwrap();
    let options = SqliteConnectOptions::new().filename(database(dir.path()));
    let mut other = options.connect().await.unwrap();
    let rolled_back =
        "create trigger full before insert on pages begin select raise(rollback, 'full'); end";
    sqlx::query(rolled_back).execute(&mut other).await.unwrap();
    for nth in 0..2 {
        let fault = store.save_page(&run, &page(nth)).await.unwrap_err();
        assert!(fault.chain().contains("full"), "{fault:?}");
    }
    sqlx::query("drop trigger full").execute(&mut other).await.unwrap();
    store.save_page(&run, &page(3)).await.unwrap();
    assert!(store.page(page(3).hash()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_full_disk_is_told_and_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let run = RunId::new(1, 1);
    let (mut kept, mut told) = (Vec::new(), 0);
    {
        let store = Arc::new(SqliteStore::open_up_to(dir.path(), Some(60)).await.unwrap());
        let log = log(&store, &run);
        log.emit(note(0));
        log.flush().await.unwrap();
        let fault = loop {
            let next = page(kept.len() as u32);
            match store.save_page(&run, &next).await {
                Ok(()) => kept.push(next),
                Err(fault) => break fault,
            }
        };
        assert_eq!(fault.kind(), ErrorKind::Setup, "{fault:?}");
        assert!(fault.chain().contains("ibid.db"), "{fault:?}");
        assert!(fault.hint().unwrap().contains("disk space"));
        assert!(kept.len() > 5);
        // Small writes may still fit; sooner or later none does, and the log keeps what waits.
        for n in 1..2000 {
            log.emit(note(n));
            if log.flush().await.is_err() {
                told = n;
                break;
            }
        }
        assert!(told > 0, "the disk never filled");
        store.check_integrity().await.unwrap();
        let roomy = SqliteStore::open(dir.path()).await.unwrap();
        let before = roomy.events(&run, 0).await.unwrap();
        assert_eq!(before.len() as u32, told);
    }
    let store = SqliteStore::open(dir.path()).await.unwrap();
    for page in &kept {
        assert_eq!(store.page(page.hash()).await.unwrap().as_ref(), Some(page));
    }
    store.check_integrity().await.unwrap();
}

#[tokio::test]
async fn writes_that_arrive_together_share_a_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).await.unwrap();
    let run = RunId::new(1, 1);
    let log = log(&Arc::new(store), &run);
    log.emit(note(0));
    log.flush().await.unwrap();
    let store = SqliteStore::open(dir.path()).await.unwrap();
    let frames = || std::fs::metadata(dir.path().join("ibid.db-wal")).unwrap().len();
    let before = frames();
    let pages: Vec<Page> = (0..20).map(page).collect();
    for page in &pages[..10] {
        store.save_page(&run, page).await.unwrap();
    }
    let one_by_one = frames() - before;
    let before = frames();
    let writes = pages[10..].iter().map(|page| store.save_page(&run, page));
    for outcome in futures_util::future::join_all(writes).await {
        outcome.unwrap();
    }
    // A commit writes each page of the file that it changes once, however many writes changed it.
    assert!((frames() - before) * 2 < one_by_one);
}

#[tokio::test]
async fn events_of_a_dropped_flush_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(dir.path()).await.unwrap());
    let run = RunId::new(1, 1);
    let log = log(&store, &run);
    for n in 0..30 {
        log.set_phase(Phase::Research, Some(n));
        log.emit(note(n));
        let flush = log.flush();
        tokio::select! {
            biased;
            _ = flush => {}
            // Dropped after it was sent to the writer, before the answer came back.
            () = turns(n % 7) => {}
        }
    }
    log.flush().await.unwrap();
    let seqs: Vec<u64> =
        store.events(&run, 0).await.unwrap().iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=30).collect::<Vec<u64>>());
}

async fn turns(n: u32) {
    for _ in 0..n {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_follower_hears_each_event_once_however_late_or_slow() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(dir.path()).await.unwrap());
    let run = RunId::new(1, 1);
    let log = log(&store, &run);
    for n in 0..10 {
        log.emit(note(n));
    }
    log.flush().await.unwrap();
    log.emit(note(10));
    let mut early = log.follow_from(0);
    let mut late = log.follow_from(4);
    // More than a follower may lag behind, some stored and some not.
    for n in 11..3000 {
        log.emit(note(n));
        if n % 900 == 0 {
            log.flush().await.unwrap();
        }
    }
    let mut heard = Vec::new();
    for _ in 0..3000 {
        heard.push(early.next().await.unwrap().unwrap().seq);
    }
    assert_eq!(heard, (1..=3000).collect::<Vec<u64>>());
    drop(log);
    let mut rest = Vec::new();
    while let Some(it) = late.next().await.unwrap() {
        rest.push(it.seq);
    }
    assert_eq!(rest, (5..=3000).collect::<Vec<u64>>());
    assert!(early.next().await.unwrap().is_none());
}
