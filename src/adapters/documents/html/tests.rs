use super::*;

fn text(page: &str) -> String {
    let draft = read(page);
    let blocks: Vec<String> = draft.blocks.into_iter().map(|it| it.text).collect();
    blocks.join("\n")
}

#[test]
fn the_article_is_kept_and_the_chrome_dropped() {
    let page = "<html><body><nav><a href=/>Home</a> <a href=/n>News</a></nav><main><article><h1>Tea grows</h1>\
        <p>Tea is grown in the hills, where rain is plentiful and the nights are cool.</p>\
        <table><tr><th>Year</th><th>Tons</th></tr><tr><td>2020</td><td>12</td></tr></table>\
        </article></main><footer><p>All rights reserved by the company that wrote this.</p></footer></body></html>";
    let text = text(page);
    assert!(text.contains("Tea is grown"), "{text}");
    assert!(text.contains("2020 | 12"), "{text}");
    assert!(
        !text.contains("News") && !text.contains("reserved"),
        "{text}"
    );
}

#[test]
fn deep_nesting_is_read_in_linear_time() {
    for unit in ["<div>", "<ul><li>", "<b>", "<div></x>", "<table><tr><td>"] {
        let page = format!(
            "{}<p>words at the bottom</p>",
            unit.repeat(160_000 / unit.len())
        );
        let begun = std::time::Instant::now();
        let text = text(&page);
        assert!(
            begun.elapsed().as_secs_f32() < 15.0,
            "{unit}: {:?}",
            begun.elapsed()
        );
        assert!(text.contains("words at the bottom"), "{unit}: {text}");
    }
}
