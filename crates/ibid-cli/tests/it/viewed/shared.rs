//! Links to a report, and what is done with several runs at once: whose they are, how they end, what they show.
use serde_json::{Value, json};

use super::{asked, form, look};
use crate::cli::{ASKED, TestHome};
use crate::served::Served;

async fn made(served: &Served, id: &str, body: &Value) -> Value {
    let it = served.post(&format!("/v1/runs/{id}/share"), body).await;
    assert_eq!(it.status, 201, "{}", it.body);
    it.json()
}

#[tokio::test]
async fn a_link_shows_one_report_to_anybody_until_it_is_taken_back() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[("IBID_TOKEN", "correct-horse")]);
    let token = |it: reqwest::RequestBuilder| it.header("authorization", "Bearer correct-horse");
    let asked = served
        .client
        .post(format!("{}/v1/runs?wait=55", served.at))
        .header("content-type", "application/json")
        .body(json!({"question": ASKED}).to_string());
    let run = served.send(token(asked)).await.json();
    let id = run["id"].as_str().unwrap();
    let at = format!("{}/v1/runs/{id}/share", served.at);
    let it = served.send(token(served.client.post(&at))).await;
    assert_eq!(it.status, 201, "{}", it.body);
    let path = it.json()["path"].as_str().unwrap().to_owned();
    // No token, no cookie, and from a page of another site.
    let seen = super::seen(
        super::plain()
            .get(format!("{}{path}", served.at))
            .header("accept", "text/html")
            .header("sec-fetch-site", "cross-site"),
    )
    .await;
    assert_eq!(seen.status, 200, "{}", seen.body);
    assert!(seen.body.contains("Short answer") && seen.body.contains("ibid-data"));
    assert_eq!(seen.header("x-robots-tag"), "noindex, nofollow, noarchive");
    assert_eq!(seen.header("referrer-policy"), "no-referrer");
    assert_eq!(seen.header("cache-control"), "no-store");
    assert!(seen.header("content-security-policy").contains("default-src 'none'"));
    assert!(!seen.body.contains("<script src") && !seen.body.contains(" action="));
    // It lets nobody in anywhere else, and nothing else than GET is done with it.
    assert_eq!(look(&served, &format!("/r/{id}/report"), None).await.status, 303);
    assert_eq!(served.post(&path, &json!({})).await.status, 405);
    // Any other word is no link, told alike.
    let (head, secret) = path.split_once('-').unwrap();
    let other = format!("{head}-{}", secret.chars().rev().collect::<String>());
    let foreign = format!("/s/01J00000000000000000000000-{secret}");
    for wrong in [
        other.as_str(),
        &foreign,
        &path[..path.len() - 1],
        &format!("{path}A"),
        head,
        "/s/x-y",
        "/s/-",
        "/s/%2e%2e-%00",
    ] {
        let it = served.get(wrong).await;
        assert_eq!(it.status, 404, "{wrong}: {}", it.body);
        assert!(!it.body.contains("roof"), "{wrong}");
    }
    // What is kept of it opens nothing.
    let kept = served.send(token(served.client.get(&at))).await;
    assert_eq!(kept.json()["data"].as_array().unwrap().len(), 1);
    assert!(!kept.body.contains(secret), "{}", kept.body);
    let events = token(served.client.get(format!("{}/v1/runs/{id}/events", served.at)));
    let events = served.send(events.header("accept", "application/json")).await;
    assert!(events.body.contains("report.shared") && !events.body.contains(secret));
    let key = events.body.split("\"key\":\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(served.get(&format!("{head}-{key}")).await.status, 404);
    // Taken back, it is none; another one is.
    let it = served.send(token(served.client.delete(&at))).await;
    assert_eq!(it.json()["revoked"], 1, "{}", it.body);
    assert_eq!(served.get(&path).await.status, 404);
    let again = served.send(token(served.client.post(&at))).await.json();
    let again = again["path"].as_str().unwrap().to_owned();
    assert_eq!(served.get(&again).await.status, 200);
    assert_eq!(served.get(&path).await.status, 404, "the first stays ended");
    // With the run, every link to it goes.
    let gone = served.client.delete(format!("{}/v1/runs/{id}", served.at));
    assert_eq!(served.send(token(gone)).await.status, 200);
    assert_eq!(served.get(&again).await.status, 404);
}

#[tokio::test]
async fn a_link_ends_with_its_days() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let id = asked(&served, ASKED).await;
    let days_ago = |days: i64| {
        let ms = jiff::Timestamp::now().as_millisecond() - days * 86_400_000;
        let mut it = desk.command(&["share", &id, "--link", "--days", "2"]);
        let out = it.env("IBID_CLOCK", ms.to_string()).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let line = String::from_utf8(out.stdout).unwrap();
        format!("/s/{}", line.trim().rsplit('/').next().unwrap())
    };
    assert_eq!(served.get(&days_ago(1)).await.status, 200);
    assert_eq!(served.get(&days_ago(3)).await.status, 404);
    for (body, field) in [
        (json!({"days": 0}), "days"),
        (json!({"days": 366}), "days"),
        (json!({"days": "7"}), "days"),
        (json!({"include_private": "yes"}), "include_private"),
        (json!({"forever": true}), "forever"),
    ] {
        let it = served.post(&format!("/v1/runs/{id}/share"), &body).await;
        assert_eq!(it.status, 400, "{body}");
        assert_eq!(it.json()["error"]["param"], field, "{}", it.body);
    }
}

/// What stands in the claim records of a page.
fn records(page: &str) -> Value {
    let data = page.split("id=\"ibid-data\">").nth(1).unwrap();
    serde_json::from_str(data.split("</script>").next().unwrap()).unwrap()
}

#[tokio::test]
async fn quotes_of_local_documents_are_kept_back_unless_they_are_wanted() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let id = asked(&served, ASKED).await;
    let docs = desk.docs();
    for private in [false, true] {
        let it = made(&served, &id, &json!({"include_private": private, "days": 1})).await;
        assert_eq!(it["include_private"], private);
        let page = served.get(it["path"].as_str().unwrap()).await.body;
        assert_eq!(page.contains("withheld: quote"), !private);
        assert!(!page.contains(&docs) && !page.contains("file:///"), "no folder is told");
        assert!(page.contains("A private document"), "{page}");
        for name in ["rain.md", "weight.md", "cost.html", "rows.jsonl"] {
            assert!(!page.contains(name), "{private}: {name} is told");
        }
        let title = page.contains("Green roofs and rain");
        assert!(private || !title, "a title is told");
        let data = records(&page);
        let citations = data["claims"][0]["citations"].as_array().unwrap();
        assert_eq!(citations[0]["quote"].is_string(), private, "{}", citations[0]);
        assert_eq!(citations[0]["held_back"] == true, !private);
    }
    // The same as a file.
    for (flags, held) in [(&[][..], true), (&["--include-private"][..], false)] {
        let it = desk.ibid(&[&["share", &id, "-o", "out.html"][..], flags].concat());
        assert_eq!(it.code, 0, "{}", it.err);
        let page = std::fs::read_to_string(desk.path("out.html")).unwrap();
        assert_eq!(page.contains("withheld: quote"), held);
        assert!(!page.contains(&docs));
        assert_eq!(it.err.contains("are left out"), held, "{}", it.err);
    }
    let it = desk.ibid(&["share", &id, "--revoke"]);
    assert!(it.err.contains("2 links"), "{}", it.err);
}

#[tokio::test]
async fn a_link_is_made_and_taken_back_by_forms_and_shown_once() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let id = asked(&served, ASKED).await;
    let place = format!("/r/{id}/share");
    let it = form(&served, &place, &[("days", "30")], None).await;
    assert_eq!(it.status, 200, "{}", it.body);
    let link = it.body.split("readonly value=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(link.starts_with(&format!("{}/s/", served.at)), "{link}");
    assert_eq!(served.get(link.strip_prefix(&served.at).unwrap()).await.status, 200);
    let shown = look(&served, &place, None).await.body;
    assert!(shown.contains("Active links") && !shown.contains("/s/"), "{shown}");
    assert_eq!(form(&served, &place, &[("days", "999")], None).await.status, 400);
    let it = form(&served, &format!("/r/{id}/unshare"), &[], None).await;
    assert_eq!(it.status, 303);
    assert_eq!(served.get(link.strip_prefix(&served.at).unwrap()).await.status, 404);
    let shown = look(&served, &place, None).await.body;
    assert!(!shown.contains("Active links"), "{shown}");
}

#[tokio::test]
async fn several_runs_are_taken_along_and_deleted_at_once_by_whose_they_are() {
    let desk = TestHome::new();
    let user = |name: &str| {
        assert_eq!(desk.ibid(&["admin", "user", "add", name]).code, 0);
        desk.ibid(&["admin", "user", "token", name]).out.trim().to_owned()
    };
    let (alice, bob) = (user("alice"), user("bob"));
    let served = Served::start(&desk, &[("IBID_TOKEN", "correct-horse")]);
    let cookie = async |token: &str| {
        let it = form(&served, "/login", &[("token", token)], None).await;
        it.header("set-cookie").split(';').next().unwrap().to_owned()
    };
    let (of_alice, of_bob) = (cookie(&alice).await, cookie(&bob).await);
    let begun = async |token: &str| {
        let it = served
            .client
            .post(format!("{}/v1/runs?wait=55", served.at))
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {token}"))
            .body(json!({"question": ASKED}).to_string());
        served.send(it).await.json()["id"].as_str().unwrap().to_owned()
    };
    let (one, two, other) = (begun(&alice).await, begun(&alice).await, begun(&bob).await);
    let list = look(&served, "/", Some(&of_alice)).await.body;
    assert_eq!(list.matches("name=\"run\"").count(), 2, "{list}");
    assert!(list.contains("class=\"spark\""), "{list}");
    // The filters: a model that none had, and days.
    for (query, many) in [
        ("model=none", 2),
        ("model=openai:gpt", 0),
        ("since=2999-01-01", 0),
        ("until=2000-01-01", 0),
        ("since=2000-01-01&until=2999-01-01", 2),
        ("since=&until=&model=&status=&q=", 2),
    ] {
        let it = look(&served, &format!("/?{query}"), Some(&of_alice)).await;
        assert_eq!(it.body.matches("name=\"run\"").count(), many, "{query}");
    }
    assert_eq!(look(&served, "/?since=soon", Some(&of_alice)).await.status, 400);
    let export = |runs: &[&str], more: &str| {
        let runs: Vec<String> = runs.iter().map(|it| format!("run={it}")).collect();
        format!("/runs/export?{}{more}", runs.join("&"))
    };
    let taken = served
        .client
        .get(format!("{}{}", served.at, export(&[&one, &two, &one], "&form=tex")))
        .header("cookie", &of_alice)
        .send()
        .await
        .unwrap();
    assert_eq!(taken.headers()["content-type"], "application/zip");
    let bytes = taken.bytes().await.unwrap();
    let archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let names: Vec<String> = archive.file_names().map(|it| it.unwrap().into_owned()).collect();
    for id in [&one, &two] {
        assert!(names.contains(&format!("{id}/report.tex")), "{names:?}");
    }
    // What is another's is not there, alone or among others; nothing is done then.
    let delete = "/runs/delete";
    for runs in [vec![other.as_str()], vec![one.as_str(), other.as_str()], vec!["r_none"]] {
        let it = look(&served, &export(&runs, "&form=md"), Some(&of_alice)).await;
        assert_eq!(it.status, 404, "{runs:?}");
        let query = export(&runs, "").replace("/runs/export", delete);
        assert_eq!(look(&served, &query, Some(&of_alice)).await.status, 404);
        let fields: Vec<(&str, &str)> = runs.iter().map(|it| ("run", *it)).collect();
        assert_eq!(form(&served, delete, &fields, Some(&of_alice)).await.status, 404);
    }
    for (path, status) in [
        ("/runs/export".to_owned(), 400),
        (export(&[&one], "&form=odd"), 400),
        (delete.to_owned(), 400),
    ] {
        assert_eq!(look(&served, &path, Some(&of_alice)).await.status, status, "{path}");
    }
    let sure = look(&served, &format!("{delete}?run={one}&run={two}"), Some(&of_alice)).await.body;
    assert!(sure.contains("Delete 2 runs?"), "{sure}");
    let both = [("run", one.as_str()), ("run", two.as_str())];
    let it = form(&served, delete, &both, Some(&of_alice)).await;
    assert_eq!(it.status, 303, "{}", it.body);
    let list = look(&served, "/", Some(&of_alice)).await.body;
    assert!(list.contains("No runs yet"), "{list}");
    let list = look(&served, "/", Some(&of_bob)).await.body;
    assert!(list.contains(&other), "{list}");
}

#[tokio::test]
async fn a_run_that_goes_on_is_not_deleted_with_others() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let ended = asked(&served, ASKED).await;
    let it = served.post("/v1/runs", &json!({"question": ASKED, "plan": "require_approval"})).await;
    let going = it.json()["id"].as_str().unwrap().to_owned();
    let sure = look(&served, &format!("/runs/delete?run={ended}&run={going}"), None).await.body;
    assert!(
        sure.contains("Delete 1 run?") && sure.contains("It has not ended and will not be deleted"),
        "{sure}"
    );
    assert!(!sure.contains(&format!("value=\"{going}\"")), "{sure}");
    let both = [("run", ended.as_str()), ("run", going.as_str())];
    assert_eq!(form(&served, "/runs/delete", &both, None).await.status, 409);
    assert_eq!(served.get(&format!("/v1/runs/{ended}")).await.status, 200, "nothing was deleted");
    let it = look(&served, &format!("/runs/export?run={going}"), None).await;
    assert_eq!(it.status, 409);
    assert_eq!(look(&served, &format!("/r/{going}/share"), None).await.status, 404);
}

#[tokio::test]
async fn why_documents_disagree_is_told_without_their_titles() {
    let desk = TestHome::new();
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/library");
    let served = Served::start_on(&desk, &[library], &[]);
    let id = asked(&served, "How much annual rainfall does a green roof retain?").await;
    let it = made(&served, &id, &json!({})).await;
    let page = served.get(it["path"].as_str().unwrap()).await.body;
    assert!(page.contains("Dates: "), "{page}");
    for title in ["Twelve roofs, three years", "Ten years of measurements"] {
        assert!(!page.contains(title), "{title} is told");
    }
}
