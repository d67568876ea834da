//! Questions that a server asks again: what has changed is delivered, once, and to nobody else.
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::Connection as _;

use super::Served;
use super::people::{asked, user};
use crate::cli::{ASKED, TestHome};

const OPERATOR: &str = "correct-horse";

/// How long a rerun may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const FIRST: &str = "# Rain on a green roof\n\nA green roof retained 56 % of annual rainfall on average in a study of 2012.\n";

fn home() -> (TestHome, String) {
    let desk = TestHome::new();
    desk.write("rain/rain.md", FIRST);
    let folder = desk.path("rain").to_string_lossy().into_owned();
    (desk, folder)
}

/// The schedule once `holds` does.
async fn until(served: &Served, id: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let it = asked(served, "GET", &format!("/v1/schedules/{id}"), Some(OPERATOR), None).await;
        assert_eq!(it.status, 200, "{}", it.body);
        if holds(&it.json()) {
            return it.json();
        }
        assert!(started.elapsed() < PATIENCE, "{}", it.body);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The schedule after `nth` reruns were delivered.
async fn delivered(served: &Served, id: &str, nth: u64) -> Value {
    until(served, id, |it| it["reruns"] == nth && it["active_run"].is_null()).await
}

async fn post(served: &Served, path: &str, body: &Value) -> super::Answer {
    asked(served, "POST", path, Some(OPERATOR), Some(body)).await
}

fn new_schedule() -> Value {
    json!({"request": {"question": ASKED, "only_local": true}, "every": "7d"})
}

#[tokio::test]
async fn a_schedule_asks_again_and_delivers_what_has_changed() {
    let (desk, folder) = home();
    let args = ["schedule", "add", ASKED, "--every", "7d", "--mail", "mails", "--only-local"];
    for (more, told) in [
        (["--every", "5m"], "at least 15m"),
        (["--every", "soon"], "from 15m to 365d"),
        (["--budget", "much"], "--budget"),
        (["--engine", "nowhere"], "nowhere"),
        (["--model", "writer=openai:x"], "one model"),
    ] {
        let it = desk.ibid(&[&["schedule", "add", ASKED][..], &more, &["--every", "7d"]].concat());
        assert_ne!(it.code, 0, "{more:?}");
        let it = match more[0] {
            "--every" => desk.ibid(&[&["schedule", "add", ASKED][..], &more].concat()),
            _ => it,
        };
        assert!(it.code == 2 && it.err.contains(told), "{more:?}: {}", it.err);
    }
    assert!(desk.ibid(&["schedule", "ls"]).err.contains("no schedules"));
    let it = desk.ibid(&args);
    assert_eq!(it.code, 0, "{}", it.err);
    assert!(it.err.contains("ibid serve"), "{}", it.err);
    let id = it.out.trim().to_owned();
    let listed = desk.ibid(&["schedule", "ls"]);
    assert!(listed.out.contains(ASKED) && listed.out.contains("every 7d"), "{}", listed.out);
    assert!(listed.err.contains("ibid serve"), "{}", listed.err);

    let served = Served::start_on(&desk, &[&folder], &[("IBID_TOKEN", OPERATOR)]);
    let first = delivered(&served, &id, 1).await;
    assert_eq!((&first["previous_run"], &first["last_error"]), (&Value::Null, &Value::Null));
    let mail = |nth: u64| std::fs::read_to_string(desk.path(&format!("mails/{id}-{nth}.eml")));
    let text = mail(1).unwrap();
    assert!(text.contains(&format!("Subject: [ibid] first rerun: {ASKED}\r\n")), "{text}");
    assert!(text.contains("This is the first rerun") && text.contains("56 %"), "{text}");

    desk.write("rain/rain.md", &FIRST.replace("56 %", "74 %"));
    let prefix = &id[..12];
    assert_eq!(desk.ibid(&["schedule", "run", prefix]).code, 0);
    let second = delivered(&served, &id, 2).await;
    assert_eq!(second["previous_run"], first["latest_run"]);
    let text = mail(2).unwrap();
    assert!(text.contains("Subject: [ibid] changed: "), "{text}");
    assert!(text.contains("1 changed") && text.contains("74 %"), "{text}");

    // The same again: nothing has changed.
    assert_eq!(post(&served, &format!("/v1/schedules/{id}/run"), &json!({})).await.status, 200);
    delivered(&served, &id, 3).await;
    assert!(mail(3).unwrap().contains("Subject: [ibid] no change: "));
    let left: Vec<_> = std::fs::read_dir(desk.path("mails")).unwrap().collect();
    assert_eq!(left.len(), 3, "no temporary file stays: {left:?}");

    let feed = format!("/v1/schedules/{id}/feed.atom");
    let feed = asked(&served, "GET", &feed, Some(OPERATOR), None).await;
    assert_eq!(feed.status, 200);
    let titles: Vec<&str> = feed.body.split("<title>").skip(2).collect();
    for (title, starts) in titles.iter().zip(["no change: ", "changed: ", "first rerun: "]) {
        assert!(title.starts_with(starts), "{}", feed.body);
    }
    assert_eq!(titles.len(), 3, "{}", feed.body);

    // Paused, it starts nothing, and says so.
    assert_eq!(desk.ibid(&["schedule", "pause", &id]).code, 0);
    let refused = desk.ibid(&["schedule", "run", &id]);
    assert!(refused.code == 2 && refused.err.contains("paused"), "{}", refused.err);
    let refused = post(&served, &format!("/v1/schedules/{id}/run"), &json!({})).await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    let it = post(&served, &format!("/v1/schedules/{id}/resume"), &json!({})).await;
    assert_eq!((it.status, &it.json()["paused"]), (200, &json!(false)));
    assert_eq!(desk.ibid(&["schedule", "rm", prefix]).code, 0);
    assert_eq!(desk.ibid(&["schedule", "rm", prefix]).code, 1);
    let runs = desk.ibid(&["ls", "--json"]);
    assert_eq!(runs.out.lines().count(), 3, "its runs stay");
}

/// The next webhook: its id and its body.
async fn hook(ear: &tokio::net::TcpListener) -> (String, Value) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let (mut stream, _) = tokio::time::timeout(PATIENCE, ear.accept()).await.unwrap().unwrap();
    let mut heard = String::new();
    loop {
        let mut piece = [0; 4096];
        let n = stream.read(&mut piece).await.unwrap();
        assert!(n > 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&piece[..n]));
        let Some((head, body)) = heard.split_once("\r\n\r\n") else { continue };
        let Ok(body) = serde_json::from_str(body) else { continue };
        assert!(head.contains("webhook-signature: v1,"), "{head}");
        let id = head.lines().find_map(|line| line.strip_prefix("webhook-id: ")).unwrap();
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        return (id.to_owned(), body);
    }
}

#[tokio::test]
async fn a_rerun_that_fails_is_delivered_as_failed_and_not_compared() {
    let (desk, folder) = home();
    let ear = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", ear.local_addr().unwrap());
    let mut body = new_schedule();
    body["webhook_url"] = json!(url);
    let closed = Served::start_on(&desk, &[&folder], &[("IBID_TOKEN", OPERATOR)]);
    let refused = post(&closed, "/v1/schedules", &body).await;
    assert_eq!(refused.status, 422, "no key is set: {}", refused.body);
    drop(closed);
    let env = [
        ("IBID_TOKEN", OPERATOR),
        ("IBID_WEBHOOK_SECRET", "whsec_c2VjcmV0"),
        ("IBID_ALLOW_NET", "127.0.0.1/32"),
    ];
    let served = Served::start_on(&desk, &[&folder], &env);
    let it = post(&served, "/v1/schedules", &body).await;
    assert_eq!(it.status, 201, "{}", it.body);
    let id = it.json()["id"].as_str().unwrap().to_owned();
    let bare = id.trim_start_matches("s_");
    let (event, first) = hook(&ear).await;
    assert_eq!(event, format!("evt_{bare}_1"));
    assert_eq!(first["type"], "schedule.rerun.completed");
    assert_eq!(first["data"]["summary"], "first rerun");
    delivered(&served, &id, 1).await;

    desk.write(
        "rain/rain.md",
        "# Sourdough\n\nA loaf is baked for forty minutes at 230 degrees.\n",
    );
    let run = format!("/v1/schedules/{id}/run");
    assert_eq!(post(&served, &run, &json!({})).await.status, 200);
    let (_, failed) = hook(&ear).await;
    assert_eq!(failed["type"], "schedule.rerun.failed", "{failed}");
    assert!(failed["data"]["error"].is_string() && failed["data"]["diff"].is_null(), "{failed}");
    let after = delivered(&served, &id, 2).await;
    assert_eq!(after["latest_run"], first["data"]["run"]);

    desk.write("rain/rain.md", &FIRST.replace("56 %", "61 %"));
    assert_eq!(post(&served, &run, &json!({})).await.status, 200);
    let (event, third) = hook(&ear).await;
    assert_eq!(event, format!("evt_{bare}_3"));
    assert_eq!(third["data"]["compared_with"], first["data"]["run"]);
    assert_eq!(third["data"]["changed"], true);
    assert_eq!(third["data"]["diff"]["changed"].as_array().unwrap().len(), 1, "{third}");
    delivered(&served, &id, 3).await;
}

#[tokio::test]
async fn a_schedule_is_its_owner_s_and_stops_with_them() {
    let (desk, folder) = home();
    let (ann, bob) = (user(&desk, "ann", &[]), user(&desk, "bob", &[]));
    let served = Served::start_on(&desk, &[&folder], &[("IBID_TOKEN", OPERATOR)]);
    for (field, value) in [
        ("plan", json!("require_approval")),
        ("ask", json!(true)),
        ("webhook_url", json!("https://example.org/")),
        ("folders", json!(["nowhere"])),
    ] {
        let mut body = new_schedule();
        body["request"][field] = value;
        let it = asked(&served, "POST", "/v1/schedules", Some(&ann), Some(&body)).await;
        assert!([400, 422].contains(&it.status), "{field}: {}", it.body);
        assert!(it.body.contains(field), "{field}: {}", it.body);
    }
    for (field, value) in [("mail_dir", json!("/tmp")), ("every", json!("1m"))] {
        let mut body = new_schedule();
        body[field] = value;
        let it = asked(&served, "POST", "/v1/schedules", Some(&ann), Some(&body)).await;
        assert_eq!((it.status, &it.json()["error"]["param"]), (400, &json!(field)), "{}", it.body);
    }
    let it = asked(&served, "POST", "/v1/schedules", Some(&ann), Some(&new_schedule())).await;
    assert_eq!(it.status, 201, "{}", it.body);
    let id = it.json()["id"].as_str().unwrap().to_owned();
    let first = delivered(&served, &id, 1).await;
    let run = first["latest_run"].as_str().unwrap();
    for (who, status) in [(&ann, 200), (&bob, 404)] {
        for path in
            [format!("schedules/{id}"), format!("schedules/{id}/feed.atom"), format!("runs/{run}")]
        {
            let it = asked(&served, "GET", &format!("/v1/{path}"), Some(who), None).await;
            assert_eq!(it.status, status, "{path}: {}", it.body);
            assert!(!it.body.contains(desk.path("").to_str().unwrap()), "{path}: {}", it.body);
        }
    }
    let all = asked(&served, "GET", "/v1/schedules", Some(&bob), None).await.json();
    assert_eq!(all["data"], json!([]));
    let gone = asked(&served, "DELETE", &format!("/v1/schedules/{id}"), Some(&bob), None).await;
    assert_eq!(gone.status, 404);

    assert_eq!(desk.ibid(&["admin", "user", "disable", "ann"]).code, 0);
    assert_eq!(post(&served, &format!("/v1/schedules/{id}/run"), &json!({})).await.status, 200);
    let stopped = until(&served, &id, |it| it["last_error"].is_string()).await;
    assert!(stopped["last_error"].as_str().unwrap().contains("disabled"), "{stopped}");
    assert_eq!(stopped["reruns"], 1);
    assert_eq!(desk.ibid(&["admin", "user", "rm", "ann"]).code, 0);
    assert!(desk.ibid(&["schedule", "ls"]).err.contains("no schedules"));
}

#[tokio::test]
async fn a_server_killed_between_start_and_record_starts_no_second_run() {
    let (desk, folder) = home();
    let env = [("IBID_TOKEN", OPERATOR)];
    let served = Served::start_on(&desk, &[&folder], &env);
    let it = post(&served, "/v1/schedules", &new_schedule()).await;
    let id = it.json()["id"].as_str().unwrap().to_owned();
    let first = delivered(&served, &id, 1).await;
    served.kill();
    // As it was before the start was recorded, three intervals ago.
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(desk.path("home/.local/share/ibid/ibid.db"));
    let mut db = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query(
        "update schedules set reruns = 0, latest_run = null,
         next_at = strftime('%Y-%m-%dT%H:%M:%S.000Z', 'now', '-21 days', '-1 hours')",
    )
    .execute(&mut db)
    .await
    .unwrap();
    sqlx::query("delete from reruns").execute(&mut db).await.unwrap();
    db.close().await.unwrap();
    let listed = desk.ibid(&["schedule", "ls"]);
    assert!(listed.err.contains("1 rerun overdue: no server"), "{}", listed.err);
    let served = Served::start_on(&desk, &[&folder], &env);
    let again = delivered(&served, &id, 1).await;
    assert_eq!(again["latest_run"], first["latest_run"]);
    let runs = asked(&served, "GET", "/v1/runs", Some(OPERATOR), None).await.json();
    assert_eq!(runs["data"].as_array().unwrap().len(), 1, "{runs}");
    // What was missed is made up for once, and the next is due at its time.
    let due: jiff::Timestamp = again["next_at"].as_str().unwrap().parse().unwrap();
    let wait = due.duration_since(jiff::Timestamp::now()).as_secs();
    let week = 7 * 24 * 3600;
    assert!((week - 3600 - PATIENCE.as_secs() as i64..=week - 3600).contains(&wait), "{wait}");
}

#[tokio::test]
#[ignore = "needs PostgreSQL"]
async fn of_two_servers_one_starts_a_rerun_and_one_delivers_it() {
    let (desk, folder) = home();
    let url = crate::postgres::database().await;
    let env = [
        ("IBID_TOKEN", OPERATOR),
        ("DATABASE_URL", &*url),
        ("IBID_WEBHOOK_SECRET", "whsec_c2VjcmV0"),
        ("IBID_ALLOW_NET", "127.0.0.1/32"),
    ];
    let ear = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let one = Served::start_on(&desk, &[&folder], &env);
    let two = Served::start_on(&desk, &[&folder], &env);
    let mut body = new_schedule();
    body["webhook_url"] = json!(format!("http://{}/hook", ear.local_addr().unwrap()));
    let mut ids = Vec::new();
    for _ in 0..4 {
        let it = post(&one, "/v1/schedules", &body).await;
        assert_eq!(it.status, 201, "{}", it.body);
        ids.push(it.json()["id"].as_str().unwrap().to_owned());
    }
    let mut events = Vec::new();
    for nth in 1..=2 {
        for _ in &ids {
            events.push(hook(&ear).await.0);
        }
        for id in &ids {
            delivered(&two, id, nth).await;
            if nth == 1 {
                let path = format!("/v1/schedules/{id}/run");
                assert_eq!(post(&two, &path, &json!({})).await.status, 200);
            }
        }
    }
    events.sort();
    events.dedup();
    assert_eq!(events.len(), 8, "each was delivered once: {events:?}");
    let runs = asked(&one, "GET", "/v1/runs", Some(OPERATOR), None).await.json();
    assert_eq!(runs["data"].as_array().unwrap().len(), 8, "each was started once");
    let more = tokio::time::timeout(Duration::from_secs(5), ear.accept()).await;
    assert!(more.is_err(), "nothing is delivered again");
}
