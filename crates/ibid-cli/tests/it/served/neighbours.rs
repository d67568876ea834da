//! Two users at one server: what one has parsed takes nothing from the other, and ends with the run.
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;

use super::people::{asked, user};
use super::{Answer, Served};
use crate::cli::TestHome;
use crate::fetch::{Site, page};

/// A web in which every page about slate is slow to parse, and those about cork are small.
fn web(port: u16, path: &str) -> Vec<u8> {
    let found = |name: &str, nth: usize| {
        let (host, text) = (1 + nth % 3, format!("How often {name} is harvested"));
        json!({"url": format!("http://127.0.0.{host}:{port}/{name}/{nth}"), "title": text, "content": text})
    };
    let html = |text: &str| {
        let page_text = format!(
            "<html><head><title>A page</title></head><body><main>{text}</main></body></html>"
        );
        page("content-type: text/html\r\n", page_text.as_bytes())
    };
    if path.starts_with("/searxng/search") {
        let results: Vec<_> = match path.to_lowercase().contains("slate") {
            true => (0..24).map(|nth| found("slate", nth)).collect(),
            false => (0..4).map(|nth| found("cork", nth)).collect(),
        };
        let body = json!({"results": results}).to_string();
        return page("content-type: application/json\r\n", body.as_bytes());
    }
    match path.split_once("/slate/").map(|it| it.1.parse::<usize>()) {
        // Four with a tag of many attributes; in all, two hundred open elements, each compared with every further one: some seconds.
        Some(nth) => {
            let many: String = match nth {
                Ok(0..4) => (0..60_000).map(|nth| format!(" a{nth}=\"{nth}\"")).collect(),
                _ => String::new(),
            };
            let open: String = (0..200).map(|nth| format!("<b q{nth}>")).collect();
            let slow = "<b a></b>".repeat(110_000);
            html(&format!("<p{many}>Slate is harvested once.</p>{open}{slow}"))
        }
        None if path.starts_with("/cork/") => html(
            "<h1>Cork</h1><p>A cork oak is harvested every 9 years. The bark is stripped by hand with an axe.</p>",
        ),
        None => {
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()
        }
    }
}

/// Processor time that each child of this server has used, in ticks.
fn used(served: &Served) -> BTreeMap<u32, u64> {
    let parent = served.child.id().to_string();
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|it| {
        let pid = it.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |nth: usize| fields.get(nth)?.parse::<u64>().ok();
        (fields.get(1) == Some(&&*parent)).then_some((pid, ticks(11)? + ticks(12)?))
    });
    all.collect()
}

/// Whether a child of this server uses processor time before `patience` is over.
async fn burns(served: &Served, patience: Duration) -> bool {
    let (before, begun) = (used(served), Instant::now());
    while begun.elapsed() < patience {
        let after = used(served);
        if before.iter().any(|(pid, ticks)| after.get(pid).is_some_and(|it| it > ticks)) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

async fn cork(served: &Served, who: &str) -> (Answer, Duration) {
    let begun = Instant::now();
    let body = json!({"question": "How often is a cork oak harvested?"});
    let it = asked(served, "POST", "/v1/runs?wait=55", Some(who), Some(&body)).await;
    (it, begun.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
#[allow(clippy::print_stderr, reason = "a measurement says what it saw")]
async fn slow_pages_of_one_user_leave_the_run_of_another_alone_and_burn_no_longer_than_their_run() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let (alice, bob) = (user(&desk, "alice", &[]), user(&desk, "bob", &[]));
    let engine = site.url("/searxng");
    let served = Served::start(
        &desk,
        &[
            ("IBID_TOKEN", "correct-horse"),
            ("SEARXNG_URL", &engine),
            ("IBID_ENGINES", "searxng"),
            ("IBID_LOOKUPS", "false"),
            ("IBID_PAGE_CACHE_HOURS", "0"),
            ("IBID_ALLOW_NET", "127.0.0.0/8"),
        ],
    );
    // The first run finds nothing warm.
    cork(&served, &bob).await;
    let (alone, took_alone) = cork(&served, &bob).await;
    assert_eq!(alone.status, 200, "{}", alone.body);
    assert!(alone.body.contains("every 9 years"), "{}", alone.body);
    let body = json!({"question": "How often is slate harvested?"});
    let slow = asked(&served, "POST", "/v1/runs", Some(&alice), Some(&body)).await;
    let id = slow.json()["id"].as_str().unwrap().to_owned();
    let begun = Instant::now();
    while !site.paths().iter().any(|it| it.starts_with("/slate/")) {
        assert!(begun.elapsed() < Duration::from_secs(30), "no slow page was asked for");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (beside, took) = cork(&served, &bob).await;
    assert!(beside.body.contains("every 9 years"), "{}", beside.body);
    eprintln!("alone {took_alone:?}, beside slow pages of another {took:?}");
    let state = asked(&served, "GET", &format!("/v1/runs/{id}"), Some(&alice), None).await;
    assert_eq!(
        state.json()["status"],
        "in_progress",
        "the slow pages were not slow: {}",
        state.body
    );
    // Generous, for two cores share this with other tests; behind 24 slow pages it would take minutes.
    assert!(
        took < took_alone * 2 + Duration::from_secs(2),
        "{took_alone:?} alone, {took:?} beside"
    );
    assert!(burns(&served, Duration::from_secs(10)).await, "nothing of the slow pages is at work");
    let end =
        asked(&served, "POST", &format!("/v1/runs/{id}/cancel"), Some(&alice), Some(&json!({})))
            .await;
    assert!(end.status < 300, "{}", end.body);
    let begun = Instant::now();
    while burns(&served, Duration::from_millis(700)).await {
        assert!(begun.elapsed() < Duration::from_secs(20), "a cancelled run burns on");
    }
}
