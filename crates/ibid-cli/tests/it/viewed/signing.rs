//! Signing in: where a token is asked for, a browser holds a session; each sees their own runs alone.
use sqlx::{Connection, PgConnection};

use super::{asked, form, look, pages, posted, seen};
use crate::cli::{ASKED, TestHome};
use crate::served::Served;

/// The cookie that an answer sets, as it is sent back.
fn cookie(it: &super::RenderedPage) -> String {
    it.header("set-cookie").split(';').next().unwrap().to_owned()
}

async fn signed_in(served: &Served, token: &str) -> String {
    let it = form(served, "/login", &[("token", token), ("next", "/")], None).await;
    assert_eq!(it.status, 303, "{}", it.body);
    cookie(&it)
}

#[tokio::test]
async fn a_token_becomes_a_session_that_no_script_reads_and_no_other_site_sends() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[("IBID_TOKEN", "correct-horse")]);
    for path in ["/", "/new", "/costs?x=1", "/r/r_1/report"] {
        let it = look(&served, path, None).await;
        assert_eq!(it.status, 303, "{path}");
        assert!(
            it.header("location").starts_with("/login?next=%2F"),
            "{path}: {}",
            it.header("location")
        );
        assert_eq!(served.get(path).await.status, 401, "programs are told: {path}");
    }
    let page = look(&served, "/login?next=%2Fcosts", None).await;
    assert!(
        page.body.contains("type=\"password\"") && page.body.contains("value=\"/costs\""),
        "{}",
        page.body
    );
    assert!(!page.body.contains("href=\"/new\""), "nobody is inside yet");
    for wrong in ["wrong", "", "ibid_0000"] {
        let it = form(&served, "/login", &[("token", wrong)], None).await;
        assert_eq!(it.status, 400, "{wrong}");
        assert!(it.header("set-cookie").is_empty(), "{wrong}");
    }
    let it = form(&served, "/login", &[("token", "correct-horse"), ("next", "//evil.test/")], None)
        .await;
    assert_eq!((it.status, it.header("location")), (303, "/"));
    let set = it.header("set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("correct-horse"), "a session is not the token");
    let session = cookie(&it);
    let inside = look(&served, "/", Some(&session)).await;
    assert_eq!(inside.status, 200);
    assert!(
        inside.body.contains("Sign out") && inside.body.contains("operator"),
        "{}",
        inside.body
    );
    // The cookie alone changes nothing where a browser does not say that the request is from here.
    let bare = seen(posted(&served, "/logout", &[]).header("cookie", &session)).await;
    assert_eq!(bare.status, 403);
    let api = plain_post(&served, "/v1/runs", "{\"question\": \"why?\"}", &session, None).await;
    assert_eq!(api, 403);
    let own =
        plain_post(&served, "/v1/plan", "{\"question\": \"why?\"}", &session, Some(&served.at))
            .await;
    assert_eq!(own, 200);
    assert_eq!(
        look(&served, "/", Some("ibid_session=00")).await.status,
        303,
        "a made-up session is none"
    );
    let out = form(&served, "/logout", &[], Some(&session)).await;
    assert_eq!((out.status, out.header("location")), (303, "/login"));
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    assert_eq!(
        look(&served, "/", Some(&session)).await.status,
        303,
        "what has ended lets nobody in"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL"]
async fn a_session_is_known_to_all_servers_of_a_store_and_ends_at_all() {
    let url = crate::postgres::database().await;
    let desk = TestHome::new();
    let env = [("DATABASE_URL", url.as_str()), ("IBID_TOKEN", "correct-horse")];
    let (one, other) = (Served::start(&desk, &env), Served::start(&desk, &env));
    let session = signed_in(&one, "correct-horse").await;
    for served in [&one, &other] {
        let inside = look(served, "/", Some(&session)).await;
        assert_eq!(inside.status, 200);
        assert!(inside.body.contains("operator"), "{}", inside.body);
    }
    // The store can sign nobody in.
    let mut db = PgConnection::connect(&url).await.unwrap();
    let kept = "select hash || token from ibid.browser_sessions";
    let kept: Vec<String> = sqlx::query_scalar(kept).fetch_all(&mut db).await.unwrap();
    assert_eq!(kept.len(), 1);
    let secret = session.split_once('=').unwrap().1;
    assert!(!kept[0].contains(secret) && !kept[0].contains("correct-horse"), "{kept:?}");
    let out = form(&other, "/logout", &[], Some(&session)).await;
    assert_eq!(out.status, 303);
    for served in [&one, &other] {
        assert_eq!(look(served, "/", Some(&session)).await.status, 303);
    }
    // Another token of the operator ends the sessions of the one before.
    let session = signed_in(&one, "correct-horse").await;
    let changed = Served::start(&desk, &[env[0], ("IBID_TOKEN", "battery-staple")]);
    assert_eq!(look(&changed, "/", Some(&session)).await.status, 303);
    // A day without use is too long.
    assert_eq!(look(&other, "/", Some(&session)).await.status, 200);
    let unused = "update ibid.browser_sessions set used_ms = used_ms - 24 * 3600 * 1000";
    sqlx::query(unused).execute(&mut db).await.unwrap();
    assert_eq!(look(&other, "/", Some(&session)).await.status, 303);
}

async fn plain_post(
    served: &Served,
    path: &str,
    body: &str,
    cookie: &str,
    origin: Option<&str>,
) -> u16 {
    let mut request = super::plain()
        .post(format!("{}{path}", served.at))
        .header("content-type", "application/json")
        .header("cookie", cookie)
        .body(body.to_owned());
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    seen(request).await.status
}

#[tokio::test]
async fn runs_of_others_are_not_there_for_a_browser_either() {
    let desk = TestHome::new();
    let user = |id: &str| {
        assert_eq!(desk.ibid(&["admin", "user", "add", id]).code, 0);
        let it = desk.ibid(&["admin", "user", "token", id]);
        it.out.trim().to_owned()
    };
    let (alice, bob) = (user("alice"), user("bob"));
    let served = Served::start(&desk, &[("IBID_TOKEN", "correct-horse")]);
    let alices = signed_in(&served, &alice).await;
    let bobs = signed_in(&served, &bob).await;
    let operators = signed_in(&served, "correct-horse").await;
    let place =
        form(&served, "/new", &[("question", ASKED), ("folder", &desk.docs())], Some(&alices))
            .await;
    let place = place.header("location").to_owned();
    let id = place.strip_prefix("/r/").unwrap().to_owned();
    for _ in 0..120 {
        if look(&served, &format!("{place}/report"), Some(&alices)).await.status == 200 {
            break;
        }
        // The stream of the run ends with it: a client that waits there need not guess.
        let waiting = super::plain()
            .get(format!("{}/v1/runs/{id}?wait=5", served.at))
            .header("cookie", &alices);
        seen(waiting).await;
    }
    let mut looked = 0;
    for path in pages(&id).iter().filter(|it| it.contains(&id)) {
        assert_eq!(look(&served, path, Some(&alices)).await.status, 200, "{path}");
        assert_eq!(look(&served, path, Some(&operators)).await.status, 200, "{path}");
        let others = look(&served, path, Some(&bobs)).await;
        assert_eq!(others.status, 404, "{path}");
        assert!(!others.body.contains("56 %"), "{path}: {}", others.body);
        looked += 1;
    }
    assert!(looked >= 12, "{looked}");
    for act in ["finish", "cancel", "approve", "answers", "rate", "follow"] {
        let it = form(
            &served,
            &format!("{place}/{act}"),
            &[("vote", "up"), ("question", "Why?")],
            Some(&bobs),
        )
        .await;
        assert_eq!(it.status, 404, "{act}");
    }
    assert!(look(&served, "/", Some(&alices)).await.body.contains(&id));
    assert!(!look(&served, "/", Some(&bobs)).await.body.contains(&id));
    assert!(look(&served, "/costs", Some(&bobs)).await.body.contains("Nothing to count yet"));
    // What the server is made of is the operator's affair.
    assert_eq!(look(&served, "/doctor", Some(&alices)).await.status, 404);
    assert_eq!(look(&served, "/doctor", Some(&operators)).await.status, 200);
    // A user who may no longer ask is out at once.
    assert_eq!(desk.ibid(&["admin", "user", "disable", "alice"]).code, 0);
    assert_eq!(look(&served, "/", Some(&alices)).await.status, 303);
}

#[tokio::test]
async fn where_no_token_is_asked_for_nobody_signs_in() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let id = asked(&served, ASKED).await;
    let it = look(&served, "/login?next=%2Fcosts", None).await;
    assert_eq!((it.status, it.header("location")), (303, "/costs"));
    let it = look(&served, &format!("/r/{id}/report"), None).await;
    assert!(!it.body.contains("Sign out"));
}
