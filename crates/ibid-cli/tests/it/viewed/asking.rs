//! The first page: a question, its sources, its effort and its price, and the runs below.
use super::{asked, between, form, look};
use crate::cli::{ASKED, TestHome};
use crate::served::Served;

#[tokio::test]
async fn the_first_page_asks_and_lists_the_runs_below() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[]);
    let empty = look(&served, "/", None).await.body;
    assert!(empty.contains("Type a question above and select Start."), "{empty}");
    assert!(empty.contains("a run without a model costs $0"), "{empty}");
    assert!(empty.contains(">as configured: folders only</option>"), "{empty}");
    assert!(empty.contains(">the web: "), "{empty}");
    assert!(empty.contains("value=\"docs\" checked"), "{empty}");
    assert!(!empty.contains("at most $"), "no price without a model");
    // The form alone starts a run, without script, and what it is refused for stands above it.
    let refused = form(&served, "/new", &[("question", "?")], None).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("This question cannot be started"), "{}", refused.body);
    let id = asked(&served, ASKED).await;
    let page = look(&served, "/", None).await.body;
    let order =
        ["<h1>Ask a question</h1>", "name=\"question\"", "name=\"where\"", "name=\"effort\""];
    let order =
        order.into_iter().chain(["id=\"price\"", "value=\"start\"", "<h2 id=\"list\">Runs"]);
    let at: Vec<usize> = order.map(|it| page.find(it).unwrap_or_else(|| panic!("{it}"))).collect();
    assert!(at.is_sorted(), "{at:?}");
    let list = between(&page, "<ul class=\"runs\"", "</ul>");
    assert!(list.contains(&id) && list.contains("completed"), "{list}");
    // A page that loads itself again would lose what is being typed.
    assert!(!page.contains("http-equiv=\"refresh\""));
    // Whoever looks for a run is not asked.
    for path in ["/?q=roof", "/?status=completed", &format!("/?after={id}")] {
        let found = look(&served, path, None).await.body;
        assert!(!found.contains("name=\"question\""), "{path}");
        assert!(found.contains("<h1>Runs</h1>"), "{path}");
    }
}

#[tokio::test]
async fn the_price_of_each_effort_is_told_before_a_run_starts() {
    let desk = TestHome::new();
    let set = [("IBID_MODEL", "openai:gpt-5-mini"), ("OPENAI_API_KEY", "none")];
    let served = Served::start(&desk, &set);
    let page = look(&served, "/", None).await.body;
    let price = between(&page, "id=\"price\">", "</p>");
    assert!(price.starts_with("As configured, a run costs at most $"), "{price}");
    assert!(price.contains("openai:gpt-5-mini"), "{price}");
    let dollars = |effort: &str| -> f64 {
        let label = between(&page, &format!("<option value=\"{effort}\">{effort}, at most $"), "<");
        label.parse().unwrap_or_else(|_| panic!("{label}"))
    };
    assert!(0.0 < dollars("quick") && dollars("quick") < dollars("deep"), "{page}");
}

#[tokio::test]
async fn what_keeps_every_run_from_starting_is_told_above_the_form() {
    let desk = TestHome::new();
    let served = Served::start(&desk, &[("SEARCH_PROVIDER", "nosuchengine")]);
    let page = look(&served, "/", None).await.body;
    assert!(page.contains("As configured, a run cannot be started"), "{page}");
    assert!(page.contains("name=\"question\""), "{page}");
}
