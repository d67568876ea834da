//! `tool_traces` on every store: rows of runs, written in the commit of their events, and rows that other tools add.
use std::sync::Arc;

use ibid::app::App;
use ibid::app::traces::{ToolStatus, TraceUpdate};
use ibid_core::ErrorKind;
use ibid_core::domain::Owner;
use ibid_core::ports::{RunCommand, TraceFilter, User};
use ibid_core::record::ToolTrace;
use serde_json::json;
use sqlx::{Connection, Row};

use crate::cli::{ASKED, TestHome};
use crate::stand_in::{FakePages, app, app_on, question};

fn owner(user: &str) -> Owner {
    Owner { user: user.to_owned(), org: Some("acme".to_owned()) }
}

async fn listed(app: &App, user: &str, tool: Option<&str>) -> Vec<String> {
    let filter = TraceFilter {
        user: Some(user.to_owned()),
        tool: tool.map(str::to_owned),
        ..TraceFilter::default()
    };
    app.traces(&filter).await.unwrap().into_iter().map(|it| it.id).collect()
}

async fn a_run_has_its_trace(app: &App) {
    let mine = app.as_owner(&owner("ann"));
    let run = mine.start(question("co\u{0}rk")).await.unwrap().wait().await.unwrap();
    let trace = mine.trace(&run.id.uuid()).await.unwrap();
    assert_eq!((&*trace.user_id, trace.org_id.as_deref()), ("ann", Some("acme")));
    assert_eq!(
        (&*trace.tool_name, &*trace.status, trace.progress),
        ("deep_research", "completed", 1.0)
    );
    assert_eq!(trace.input_params["question"], "co\u{FFFD}rk");
    assert_eq!(trace.input_params["max_iterations"], 5);
    let result = trace.result.as_ref().unwrap();
    assert!(result["answer"].as_str().unwrap().contains("[1]"), "{result}");
    let sources = run.report.as_ref().unwrap().sources.len();
    assert_eq!(result["sources"].as_array().unwrap().len(), sources);
    assert_eq!(trace.metrics["local_queries"].as_u64(), Some(12));
    assert_eq!(trace.metrics["web_queries"].as_u64(), Some(0), "{}", trace.metrics);
    assert!(trace.created_at <= trace.completed_at.clone().unwrap());
    assert_eq!(listed(&mine, "ann", Some("deep_research")).await, [&*trace.id]);
    assert!(listed(&mine, "ann", Some("other")).await.is_empty());
    let fault = mine.update_trace(&trace.id, failure("by hand")).await.unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::Usage, "{fault:?}");
    assert_eq!(mine.trace(&trace.id).await.unwrap(), trace);
    let theirs = app.as_owner(&owner("bob"));
    assert_eq!(theirs.trace(&trace.id).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(listed(&theirs, "ann", None).await.is_empty());
    mine.remove(&run.id).await.unwrap();
    assert_eq!(mine.trace(&trace.id).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn a_run_that_is_cancelled_says_so(app: &App) {
    let id = app.start(question("cork")).await.unwrap().id.clone();
    let waiting = async {
        while app.is_running(&id).await.unwrap() {
            tokio::task::yield_now().await;
        }
    };
    waiting.await;
    assert_eq!(app.trace(&id.uuid()).await.unwrap().completed_at, None);
    app.send_command(&id, RunCommand::Cancel).await.unwrap();
    let trace = app.trace(&id.uuid()).await.unwrap();
    assert_eq!((&*trace.status, trace.result), ("cancelled", None));
    assert!(trace.completed_at.is_some());
}

fn progress(stage: &str, progress: f64) -> TraceUpdate {
    TraceUpdate {
        stage: Some(stage.to_owned()),
        progress: Some(progress),
        ..TraceUpdate::default()
    }
}

fn failure(message: &str) -> TraceUpdate {
    TraceUpdate {
        status: ToolStatus::Failed,
        error: Some(message.to_owned()),
        ..TraceUpdate::default()
    }
}

async fn other_tools_keep_theirs_by_hand(app: &App) {
    let mine = app.as_owner(&owner("ann"));
    let id = mine.create_trace("tidy", json!({"of": "a\u{0}b"})).await.unwrap();
    assert_eq!(id.len(), 36);
    let begun = mine.trace(&id).await.unwrap();
    assert_eq!((&*begun.status, begun.progress), ("pending", 0.0));
    assert_eq!(begun.input_params, json!({"of": "a\u{FFFD}b"}));
    let state = json!({"step": 1, "z": [1, 2.5, null]});
    let sweeping = TraceUpdate { state: Some(state.clone()), ..progress("sweeping", 0.5) };
    mine.update_trace(&id, sweeping).await.unwrap();
    mine.update_trace(&id, progress("dusting", f64::NAN)).await.unwrap();
    let half = mine.trace(&id).await.unwrap();
    assert_eq!((half.current_stage.as_deref(), half.progress), (Some("dusting"), 0.0));
    assert_eq!((&*half.status, half.state), ("in_progress", state));
    let theirs = app.as_owner(&owner("bob"));
    let kind = |it: ibid_core::Result<ToolTrace>| it.unwrap_err().kind();
    assert_eq!(kind(theirs.update_trace(&id, failure("mine now")).await), ErrorKind::NotFound);
    let end = TraceUpdate {
        status: ToolStatus::Completed,
        result: Some(json!({"ok": true})),
        metrics: Some(json!({"n": 2})),
        ..TraceUpdate::default()
    };
    mine.update_trace(&id, end).await.unwrap();
    let done = mine.trace(&id).await.unwrap();
    assert_eq!(
        (&*done.status, done.progress, done.result),
        ("completed", 1.0, Some(json!({"ok": true})))
    );
    assert_eq!(kind(mine.update_trace(&id, failure("late")).await), ErrorKind::Usage);
    let other = mine.create_trace("tidy", json!({})).await.unwrap();
    // Of several ends at once, one holds.
    let ends = (0..8).map(|_| mine.update_trace(&other, failure("no\u{0} broom")));
    let ends = futures_util::future::join_all(ends).await;
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 1, "{ends:?}");
    let failed = mine.trace(&other).await.unwrap();
    assert_eq!(
        (&*failed.status, failed.error_message.as_deref()),
        ("failed", Some("no\u{FFFD} broom"))
    );
    assert_eq!(listed(&mine, "ann", None).await, [&*other, &*id]);
    let third = mine.create_trace("tidy", json!({})).await.unwrap();
    let filter = TraceFilter { open: true, limit: Some(2), ..TraceFilter::default() };
    let open = mine.traces(&filter).await.unwrap();
    assert_eq!(open.iter().map(|it| &*it.id).collect::<Vec<_>>(), [&*third]);
    let reserved = mine.create_trace("agentic_search", json!({})).await;
    assert_eq!(reserved.unwrap_err().kind(), ErrorKind::Usage);
    // What has ended goes with the runs of its days, and all of it with its user.
    app.purge(1).await.unwrap();
    assert_eq!(listed(&mine, "ann", None).await.len(), 3);
    app.purge(0).await.unwrap();
    assert_eq!(listed(&mine, "ann", None).await, [&*third]);
    let user = User {
        id: "ann".to_owned(),
        name: "Ann".to_owned(),
        org: None,
        admin: false,
        disabled: false,
        daily_usd: None,
        concurrency: None,
    };
    app.add_user(&user).await.unwrap();
    app.remove_user("ann").await.unwrap();
    assert!(listed(&mine, "ann", None).await.is_empty());
    assert_eq!(kind(mine.update_trace("none", failure("x")).await), ErrorKind::NotFound);
}

fn slow() -> Arc<FakePages> {
    Arc::new(FakePages { latency: std::time::Duration::from_secs(60), ..FakePages::default() })
}

/// The columns of the older table.
const OLDER: [&str; 21] = [
    "id",
    "user_id",
    "org_id",
    "question",
    "context",
    "max_iterations",
    "refined_question",
    "checklist",
    "knowledge_base",
    "iterations",
    "final_answer",
    "sources",
    "status",
    "error_message",
    "created_at",
    "started_at",
    "completed_at",
    "total_pubmed_queries",
    "total_web_queries",
    "total_articles_processed",
    "total_pages_processed",
];

#[tokio::test]
async fn traces_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let app = app(dir.path(), &Arc::default());
    a_run_has_its_trace(&app).await;
    other_tools_keep_theirs_by_hand(&app).await;
    a_run_that_is_cancelled_says_so(&crate::stand_in::app(dir.path(), &slow())).await;
    app.start(question("oak")).await.unwrap().wait().await.unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.path().join("ibid.db"));
    let mut db = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let row = sqlx::query("select * from research_traces where question = 'oak'")
        .fetch_one(&mut db)
        .await
        .unwrap();
    let columns: Vec<&str> = row.columns().iter().map(sqlx::Column::name).collect();
    assert_eq!(columns, OLDER);
    // The engine of the test searches documents.
    assert_eq!(row.get::<i64, _>("total_web_queries"), 0);
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn traces_on_postgres() {
    let url = crate::postgres::database().await;
    let dir = tempfile::tempdir().unwrap();
    let app = app_on(dir.path(), &Arc::default(), &url);
    a_run_has_its_trace(&app).await;
    other_tools_keep_theirs_by_hand(&app).await;
    a_run_that_is_cancelled_says_so(&app_on(dir.path(), &slow(), &url)).await;
    app.start(question("oak")).await.unwrap().wait().await.unwrap();
    let mut db = sqlx::PgConnection::connect(&url).await.unwrap();
    let row = sqlx::query("select * from ibid.research_traces where question = 'oak'")
        .fetch_one(&mut db)
        .await
        .unwrap();
    let columns: Vec<&str> = row.columns().iter().map(sqlx::Column::name).collect();
    assert_eq!(columns, OLDER);
    assert_eq!(row.get::<i64, _>("total_web_queries"), 0);
}

#[test]
fn the_command_lists_traces_and_shows_one() {
    let desk = TestHome::new();
    let none = desk.ibid(&["traces"]);
    assert_eq!((none.code, &*none.out), (0, ""), "{}", none.err);
    assert!(!desk.path("home/.local/share/ibid/ibid.db").exists(), "reading creates no store");
    assert_eq!(desk.ibid(&[ASKED, "--folder", &desk.docs(), "-q"]).code, 0);
    let list = desk.ibid(&["traces"]);
    let lines: Vec<&str> = list.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", list.out);
    assert!(lines.iter().all(|it| it.chars().count() < 80), "{}", list.out);
    assert!(lines[1].contains("  deep_research  completed  100%  completed  20"), "{}", list.out);
    let rows = desk.ibid(&["traces", "--json", "--tool", "deep_research", "-n", "1"]);
    let row: serde_json::Value = serde_json::from_str(rows.out.trim()).unwrap();
    let id = row["id"].as_str().unwrap();
    assert!(row["state"].is_null(), "a list has no state");
    let one = desk.ibid(&["traces", "last", "--json"]);
    let trace: serde_json::Value = serde_json::from_str(&one.out).unwrap();
    assert!(trace["state"]["checklist"][0]["satisfied"].is_boolean(), "{trace}");
    let shown = desk.ibid(&["traces", "last"]);
    assert!(shown.out.contains("\nstate:\n  refined_question: "), "{}", shown.out);
    // By its own id, its beginning as the table has it, and the id of the run.
    let run = ibid_core::domain::RunId::from_uuid(id).unwrap();
    for name in [id, &lines[1][..13], run.as_str()] {
        assert_eq!(desk.ibid(&["traces", name]).out, shown.out, "{name}");
    }
    assert!(desk.ibid(&["traces", "--tool", "tidy"]).out.is_empty());
    let unknown = desk.ibid(&["traces", "00000000-0000"]);
    assert_eq!(unknown.code, desk.ibid(&["show", "nope"]).code, "{}", unknown.err);
    assert!(unknown.err.contains("see `ibid traces`"), "{}", unknown.err);
}
