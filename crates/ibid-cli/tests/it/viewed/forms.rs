//! Forms: what they do, and that pages of other sites cannot send them.
use serde_json::json;

use super::{asked, form, look, posted, seen};
use crate::cli::{ASKED, TestHome};
use crate::served::Served;

fn led_to(it: &super::RenderedPage) -> String {
    assert_eq!(it.status, 303, "{}", it.body);
    it.header("location").to_owned()
}

async fn until(served: &Served, id: &str, what: impl Fn(&serde_json::Value) -> bool) {
    for _ in 0..60 {
        let it = served.get(&format!("/v1/runs/{id}?wait=1")).await.json();
        if what(&it) {
            return;
        }
    }
    panic!("{}", served.get(&format!("/v1/runs/{id}")).await.body);
}

#[tokio::test]
async fn a_question_is_asked_planned_approved_rated_and_followed_by_forms_alone() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    // Folders are called by their names in forms, whoever fills them in.
    let docs = "docs".to_owned();
    let shown = look(&served, "/new", None).await.body;
    assert!(shown.contains(&format!("value=\"{docs}\" checked")), "{shown}");
    // The plan with its price, and what was filled in.
    let planned =
        form(&served, "/new", &[("question", ASKED), ("folder", &docs), ("do", "plan")], None)
            .await;
    assert_eq!(planned.status, 200, "{}", planned.body);
    assert!(planned.body.contains("no model is used"), "{}", planned.body);
    assert!(planned.body.contains("Maximum searches"));
    assert!(planned.body.contains(&format!("{ASKED}</textarea>")));
    assert_eq!(served.get("/v1/runs").await.json()["data"].as_array().unwrap().len(), 0);
    // What is wrong is told above the form, which keeps what was typed.
    let wrong =
        form(&served, "/new", &[("question", ASKED), ("minutes", "soon"), ("folder", &docs)], None)
            .await;
    assert_eq!(wrong.status, 400);
    assert!(
        wrong.body.contains("This question cannot be started")
            && wrong.body.contains("value=\"soon\""),
        "{}",
        wrong.body
    );
    let empty = form(&served, "/new", &[("question", "?")], None).await;
    assert_eq!(empty.status, 400);
    // A run that waits for a word on its plan.
    let asked =
        [("question", ASKED), ("folder", docs.as_str()), ("approve", "yes"), ("do", "start")];
    let place = led_to(&form(&served, "/new", &asked, None).await);
    let id = place.strip_prefix("/r/").unwrap().to_owned();
    until(&served, &id, |it| it["waits_for"] == "approval").await;
    let waits = look(&served, &place, None).await.body;
    assert!(waits.contains("Waiting for your approval"), "{waits}");
    assert!(waits.contains("http-equiv=\"refresh\""), "without script it is looked at again");
    let nothing =
        form(&served, &format!("{place}/approve"), &[("word", "change"), ("change", " ")], None)
            .await;
    assert_eq!(nothing.status, 400);
    led_to(
        &form(&served, &format!("{place}/approve"), &[("word", "go"), ("change", "")], None).await,
    );
    until(&served, &id, |it| it["status"] == "completed").await;
    let ended = look(&served, &place, None).await.body;
    assert!(ended.contains("The report is ready."), "{ended}");
    assert!(!ended.contains("http-equiv=\"refresh\""));
    assert!(!ended.contains("Finish now"));
    // Thumbs.
    let to = led_to(
        &form(
            &served,
            &format!("{place}/rate"),
            &[("vote", "down"), ("note", "too <b>short</b>")],
            None,
        )
        .await,
    );
    assert_eq!(to, format!("{place}/report#rate"));
    let report = look(&served, &format!("{place}/report"), None).await.body;
    assert!(report.contains("Your rating: not good."), "{report}");
    assert!(report.contains("too &#60;b&#62;short"));
    assert_eq!(form(&served, &format!("{place}/rate"), &[("vote", "odd")], None).await.status, 400);
    // What is over is over.
    for late in ["finish", "cancel"] {
        let it = form(&served, &format!("{place}/{late}"), &[], None).await;
        assert_eq!(it.status, 409, "{late}");
        assert!(it.body.contains("<h1>Too late</h1>"));
    }
    // On from there.
    let next = [("question", "And how much of a storm?")];
    let next = led_to(&form(&served, &format!("{place}/follow"), &next, None).await);
    until(&served, next.strip_prefix("/r/").unwrap(), |it| it["status"] == "completed").await;
    let report = look(&served, &format!("{next}/report"), None).await.body;
    assert!(report.contains(&format!("/diff/{id}/")), "{report}");
    assert!(report.contains(&format!("href=\"/r/{id}/report\">follows an earlier run")));
    let list = look(&served, "/", None).await.body;
    assert!(list.contains("quotes verified") && list.contains("rated not good"), "{list}");
}

#[tokio::test]
async fn a_run_is_steered_by_a_form_while_it_goes_on() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let asked = json!({"question": ASKED, "plan": "require_approval"});
    let it = served.post("/v1/runs", &asked).await;
    let id = it.json()["id"].as_str().unwrap().to_owned();
    until(&served, &id, |it| it["waits_for"] == "approval").await;
    let steer = format!("/r/{id}/steer");
    let page = look(&served, &format!("/r/{id}"), None).await.body;
    assert!(page.contains(&steer), "{page}");
    let more = "What does a <b>green</b> roof cost?";
    led_to(&form(&served, &steer, &[("text", more)], None).await);
    let empty = form(&served, &steer, &[("text", " ")], None).await;
    assert_eq!(empty.status, 400);
    let go = [("word", "go")];
    led_to(&form(&served, &format!("/r/{id}/approve"), &go, None).await);
    until(&served, &id, |it| it["status"] == "completed").await;
    let page = look(&served, &format!("/r/{id}"), None).await.body;
    assert!(
        page.contains("What does a &#60;b&#62;green")
            || page.contains("What does a &lt;b&gt;green"),
        "{page}"
    );
    assert!(!page.contains(&steer), "an ended run is not steered");
}

#[tokio::test]
async fn a_run_is_cancelled_by_a_form() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let it = served.post("/v1/runs", &json!({"question": ASKED, "plan": "require_approval"})).await;
    let id = it.json()["id"].as_str().unwrap().to_owned();
    until(&served, &id, |it| it["waits_for"] == "approval").await;
    led_to(&form(&served, &format!("/r/{id}/cancel"), &[], None).await);
    until(&served, &id, |it| it["status"] == "cancelled").await;
    let page = look(&served, &format!("/r/{id}"), None).await.body;
    assert!(page.contains("class=\"status stopped\">cancelled"), "{page}");
    assert!(!page.contains("/report\">Report"), "there is none to lead to");
    let none = look(&served, &format!("/r/{id}/report"), None).await;
    assert_eq!(none.status, 404);
}

#[tokio::test]
async fn a_page_of_another_site_can_send_no_form() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let id = asked(&served, ASKED).await;
    let places =
        ["/new", "/logout", "/login", "/doctor", "/runs/delete"].map(str::to_owned).into_iter();
    let of_run =
        ["finish", "cancel", "approve", "answers", "rate", "follow", "steer", "share", "unshare"]
            .map(|it| format!("/r/{id}/{it}"));
    let fields = [("question", ASKED), ("vote", "up"), ("do", "start")];
    let mut refused = 0;
    for path in places.chain(of_run) {
        for (name, value, status) in [
            ("origin", "http://evil.test", 403),
            ("origin", "null", 403),
            ("sec-fetch-site", "cross-site", 403),
            ("sec-fetch-site", "same-site", 403),
            // A form that does not say where it comes from is none of a browser.
            ("x-none", "", 415),
        ] {
            let it = seen(posted(&served, &path, &fields).header(name, value)).await;
            assert_eq!(it.status, status, "{path} {name} {value}");
            refused += 1;
        }
        let named = posted(&served, &path, &fields)
            .header("origin", &served.at)
            .header("host", "evil.test");
        assert_eq!(seen(named).await.status, 421, "{path}");
    }
    assert_eq!(refused, 70);
    // The API takes no forms, also from here.
    let it = seen(posted(&served, "/v1/runs", &fields).header("origin", &served.at)).await;
    assert_eq!(it.status, 415);
    assert_eq!(served.get("/v1/runs").await.json()["data"].as_array().unwrap().len(), 1);
    let run = served.get(&format!("/v1/runs/{id}")).await.json();
    assert!(run["result"]["rating"].is_null(), "{run}");
}
