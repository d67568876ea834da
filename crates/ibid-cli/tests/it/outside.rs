//! The web and the scholarly record, through the program: engines and sites on loopback that the operator opened.
use serde_json::{Value, json};

use crate::cli::{Outcome, TestHome};
use crate::fetch::{Site, page};

/// A web of four pages about cork, a search engine that finds them, and one that answers with a web page.
pub(crate) fn web(port: u16, path: &str) -> Vec<u8> {
    let site = |host: u8, page: &str| format!("http://127.0.0.{host}:{port}/{page}");
    let path = path.split('?').next().unwrap_or_default();
    let found = |url: String, title: &str, snippet: &str| json!({"url": url, "title": title, "content": snippet});
    match path {
        "/searxng/search" => answer(&json!({"results": [
            found(site(1, "bark?utm_source=x"), "How cork is harvested", "Cork oaks are stripped of their bark every nine years."),
            found(site(1, "bark"), "How cork is harvested", "The same page by another address."),
            found(site(2, "first"), "The first harvest of a cork oak", "The first harvest takes place after 25 years."),
            found(site(3, "lost"), "Cork oak harvest", "How often cork oaks are harvested."),
            found("http://10.1.2.3/secret".to_owned(), "Cork oak harvest inside", "How often a cork oak is harvested."),
            found("javascript:alert(1)".to_owned(), "Cork", "cork oak"),
            {"title": "no address"},
        ], "unresponsive_engines": [["somewhere", "timeout"]]})),
        "/works" => answer(&json!({"results": [
            {"id": "https://openalex.org/W1", "doi": "https://doi.org/10.1000/one", "title": "Regrowth of cork oak bark after harvest",
             "publication_date": "2019-05-01", "cited_by_count": 40, "type": "article", "authorships": [{"author": {"display_name": "Ana Silva"}}],
             "primary_location": {"source": {"display_name": "A Journal of Oaks"}},
             "abstract_inverted_index": {"Cork": [0], "oak": [1], "bark": [2], "regrew": [3], "within": [4], "9": [5], "years": [6], "of": [7], "each": [8], "harvest.": [9],
                 "The": [10], "trees": [11], "were": [12], "not": [13], "harmed": [14], "by": [15], "the": [16], "harvest": [17], "in": [18], "any": [19], "year.": [20]}},
            {"id": "https://openalex.org/W2", "doi": "https://doi.org/10.1000/two", "title": "Cork oak harvest every two years", "is_retracted": true,
             "abstract_inverted_index": {"Cork": [0], "oaks": [1], "can": [2], "be": [3], "harvested": [4], "every": [5], "2": [6], "years": [7], "without": [8], "any": [9], "harm.": [10],
                 "We": [11], "saw": [12], "this": [13], "in": [14], "every": [15], "single": [16], "tree.": [17]}}
        ]})),
        "/broken/search" => {
            page("content-type: text/html\r\n", b"<!DOCTYPE html><title>Captcha</title>")
        }
        "/bark" => html(
            "How cork is harvested",
            "A cork oak is harvested every 9 years. The bark is stripped by hand with an axe, and the tree stays alive.",
        ),
        "/first" => html(
            "The first harvest",
            "A cork oak is harvested for the first time when it is 25 years old. Its cork is good for stoppers from the third harvest.",
        ),
        "/lost" => html(
            "Page not found",
            "The page you are looking for does not exist. A cork oak is harvested every 3 years.",
        ),
        _ => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
    }
}

fn answer(value: &Value) -> Vec<u8> {
    page("content-type: application/json\r\n", value.to_string().as_bytes())
}

fn html(title: &str, text: &str) -> Vec<u8> {
    let body = format!(
        "<html><head><title>{title}</title></head><body><main><h1>{title}</h1><p>{text}</p></main></body></html>"
    );
    page("content-type: text/html\r\n", body.as_bytes())
}

const QUESTION: &str = "How often is a cork oak harvested?";

/// Asks with these engines set up; what the program said.
fn asked(desk: &TestHome, site: &Site, args: &[&str]) -> Outcome {
    let mut command = desk.command(args);
    command
        .env("SEARXNG_URL", site.url("/searxng"))
        .env("TAVILY_BASE_URL", site.url("/broken"))
        .env("TAVILY_API_KEY", "a-key-of-tavily")
        .env("OPENALEX_BASE_URL", site.url(""))
        .env("IBID_LOOKUPS", "false")
        // Nobody beyond this machine is asked.
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .env("IBID_ALLOW_NET", "127.0.0.0/8");
    command.output().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_web_is_searched_and_read_and_every_quote_is_of_a_page_that_was_fetched() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let said = asked(&desk, &site, &["run", QUESTION, "--engine", "searxng", "--json"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let report = said.json();
    let checks = &report["checks"]["quotes"];
    assert_eq!(checks["verified"], checks["total"]);
    assert!(report["result"].to_string().contains("every 9 years"), "{report}");
    assert!(!said.out.contains("every 3 years"), "a page that says it is none became evidence");
    assert!(said.out.contains("blocked_address"), "{}", said.out);
    let barks = site.paths().iter().filter(|it| it.starts_with("/bark")).count();
    assert_eq!(barks, 1, "one page by two addresses was read twice");
    let egress: Outcome =
        desk.command(&["show", "last", "--egress", "--json"]).output().unwrap().into();
    let hosts = egress.json()["hosts"].clone();
    let named: Vec<&str> =
        hosts.as_array().unwrap().iter().filter_map(|it| it["host"].as_str()).collect();
    assert!(named.iter().all(|it| it.starts_with("127.0.0.")), "{named:?}");
    assert!(named.len() >= 3, "{named:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_answers_with_a_web_page_gives_way_to_the_next() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let said = asked(&desk, &site, &["run", QUESTION, "--engine", "tavily,searxng", "--jsonl"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let searches: Vec<Value> =
        said.lines().into_iter().filter(|it| it["type"] == "search.completed").collect();
    assert_eq!(searches[0]["data"]["engine"], "tavily");
    assert_eq!(searches[0]["data"]["outcome"], "error");
    assert!(searches[0]["data"]["error"].as_str().unwrap().contains("web page instead of JSON"));
    assert_eq!(searches[1]["data"]["engine"], "searxng");
    assert!(!said.out.contains("a-key-of-tavily") && !said.err.contains("a-key-of-tavily"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paper_is_cited_by_its_doi_from_its_abstract_and_a_retracted_one_is_left_out() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let said = asked(&desk, &site, &["run", QUESTION, "--engine", "openalex", "--jsonl"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let report = said.json()["result"].to_string();
    assert!(report.contains("10.1000/one"), "{report}");
    assert!(!report.contains("every 2 years"), "{report}");
    let left_out = said
        .lines()
        .iter()
        .any(|it| it["data"]["message"].as_str().is_some_and(|it| it.contains("retracted")));
    assert!(left_out, "nobody is told that a paper was left out");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_local_asks_nobody() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let docs = desk.docs();
    let said = asked(
        &desk,
        &site,
        &["run", "How much does a green roof weigh?", "--only-local", "--folder", &docs, "-q"],
    );
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(site.asked(), 0);
    let egress: Outcome = desk.command(&["show", "last", "--egress"]).output().unwrap().into();
    assert!(egress.out.contains("No host was contacted"), "{}", egress.out);
    let nothing = asked(&desk, &site, &["run", "Anything?", "--only-local"]);
    assert_eq!(nothing.code, 4, "{}", nothing.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_that_are_set_up_wrongly_are_told_with_the_fix() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let listed = asked(&desk, &site, &["engines", "--json"]);
    let of = |name: &str| listed.lines().into_iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(of("searxng")["ready"], true);
    assert_eq!(of("serper")["missing"], "set SERPER_API_KEY");
    let doctor = asked(&desk, &site, &["doctor", "--json"]);
    let checks = doctor.json()["checks"].clone();
    let engines: Vec<&Value> =
        checks.as_array().unwrap().iter().filter(|it| it["name"] == "engines").collect();
    assert!(engines.iter().any(|it| it["found"] == "searxng answers"), "{engines:?}");
    assert!(
        engines
            .iter()
            .any(|it| it["state"] == "fault" && it["found"].as_str().unwrap().contains("tavily")),
        "{engines:?}"
    );
    let wrong = asked(&desk, &site, &["run", QUESTION, "--engine", "gogle"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("unknown search engine `gogle`"), "{}", wrong.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_for_a_like_question_is_known_and_nobody_is_asked_for_it_again() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let first = asked(&desk, &site, &["run", QUESTION, "--engine", "searxng", "--json"]);
    assert_eq!(first.code, 0, "{}", first.err);
    let events = |it: &Outcome| it.lines();
    let known = |it: &Outcome| {
        let all = events(it).into_iter();
        all.filter(|it| it["type"] == "known.weighed")
            .map(|it| it["data"]["sources"].as_array().unwrap().len())
            .collect::<Vec<_>>()
    };
    let read = site.paths().len();
    let like = "How often are cork oaks harvested?";
    let again = asked(&desk, &site, &["run", like, "--engine", "searxng", "--jsonl"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(known(&again).len(), 1, "{}", again.out);
    assert!(known(&again)[0] >= 2, "{}", again.out);
    let end = again.lines().pop().unwrap();
    assert!(end["result"].to_string().contains("every 9 years"), "{end}");
    let pages = |from: usize| {
        let paths = site.paths().split_off(from).into_iter();
        paths.filter(|it| it.starts_with("/bark") || it.starts_with("/first")).count()
    };
    assert_eq!(pages(read), 0, "{:?}", site.paths());

    // Another question, other engines, other filters, and everything anew: nothing is taken over.
    for args in [
        ["run", "Who sells wine in Lisbon?", "--engine", "searxng", "--jsonl"].as_slice(),
        &["run", QUESTION, "--engine", "searxng,openalex", "--jsonl"],
        &["run", QUESTION, "--engine", "searxng", "--since", "2020-01-01", "--jsonl"],
        &["run", QUESTION, "--engine", "searxng", "--fresh", "--jsonl"],
    ] {
        let other = asked(&desk, &site, args);
        assert!(known(&other).is_empty(), "{args:?}: {}", other.out);
    }
}

/// A newspaper that links the study it reports on, and with the same words a machine inside.
fn news(port: u16, path: &str) -> Vec<u8> {
    let at = |host: u8, page: &str| format!("http://127.0.0.{host}:{port}/{page}");
    match path.split('?').next().unwrap_or_default() {
        "/searxng/search" => answer(&json!({"results": [
            {"url": at(1, "news"), "title": "Cork oaks of the valley", "content": "How often cork oaks are harvested."},
        ]})),
        "/news" => html(
            "Cork oaks of the valley",
            &format!(
                "The valley is proud of its trees. A cork oak is harvested every 9 years, according to a \
                 <a href=\"{}\">new study</a> and an <a href=\"http://10.1.2.3/secret\">older report</a>. The mayor was pleased.",
                at(2, "study")
            ),
        ),
        "/study" => html(
            "Harvest intervals of Quercus suber",
            "In the stands that were measured, a cork oak is harvested every 9 years, counted over four decades of records. \
             Younger trees were left out.",
        ),
        _ => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_study_that_a_page_links_is_read_through_the_guard_and_quoted() {
    let (desk, site) = (TestHome::new(), Site::open_with(news).await);
    let said = asked(&desk, &site, &["run", QUESTION, "--engine", "searxng", "--jsonl"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let events = said.lines();
    let read = |page: &str| {
        let of = |it: &&Value| {
            it["type"] == "read.completed"
                && it["data"]["source"]["url"].as_str().is_some_and(|url| url.ends_with(page))
        };
        events.iter().find(of).unwrap_or_else(|| panic!("{page} was not read"))["data"]["source"]
            .clone()
    };
    assert_eq!(read("/study")["cited_by"], read("/news")["id"]);
    assert_eq!(read("/news")["cited_by"], Value::Null);
    let inside = events.iter().find(|it| it["type"] == "read.failed").unwrap();
    assert_eq!(inside["data"]["url"], "http://10.1.2.3/secret");
    assert_eq!(inside["data"]["reason"], "blocked_address");
    let shown: Outcome = desk.command(&["show", "last", "--json"]).output().unwrap().into();
    let report = shown.json();
    assert!(report.to_string().contains("counted over four decades of records"), "{report}");
    assert_eq!(report["checks"]["quotes"]["verified"], report["checks"]["quotes"]["total"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_without_search_is_judged_once() {
    let (desk, site) = (TestHome::new(), Site::open_with(web).await);
    let first = asked(&desk, &site, &["run", QUESTION, "--engine", "searxng", "--json"]);
    let run = first.json()["run_id"].clone();
    let again = json!({"question": "And how often is it harvested in a century?", "follows": run, "folders": [], "engines": []});
    desk.write("again.json", &again.to_string());
    for strategy in ["checklist", "planned", "supervisor", "coverage"] {
        let args = ["run", "--input", "again.json", "--strategy", strategy, "--jsonl"];
        let events = asked(&desk, &site, &args).lines();
        let count = |kind: &str| events.iter().filter(|it| it["type"] == kind).count();
        assert_eq!((count("known.weighed"), count("search.started")), (1, 0), "{strategy}");
        assert_eq!(count("gate.judged"), 1, "{strategy}");
    }
}
