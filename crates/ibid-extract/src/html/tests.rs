use super::*;
use ibid_core::domain::BlockKind;

fn text(page: &str) -> String {
    let draft = read(page, "");
    let blocks: Vec<String> = draft.blocks.into_iter().map(|block| block.text).collect();
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
    assert!(!text.contains("News") && !text.contains("reserved"), "{text}");
}

#[test]
fn what_its_element_calls_an_advertisement_is_dropped_from_among_the_paragraphs() {
    let page = "<html><body><main><h1>Tea grows</h1>\
        <p>Tea is grown in the hills, where rain is plentiful and the nights are cool.</p>\
        <p>It is picked by hand in spring, and the first leaves make the best tea of the year.</p>\
        <div class=\"ad promo\"><span>Sponsored: the ten kettles everyone is talking about</span></div>\
        <p>After two days of drying, the leaves are rolled and packed in wooden chests for the ships.</p>\
        <p>The chests are lined with foil, so that neither light nor damp can reach the leaves.</p>\
        </main></body></html>";
    let text = text(page);
    assert!(text.contains("picked by hand") && text.contains("wooden chests"), "{text}");
    assert!(!text.contains("Sponsored"), "{text}");
}

#[test]
fn a_paragraph_that_comes_again_elsewhere_is_kept_once() {
    let story =
        "<p>Tea is grown in the hills, where rain is plentiful and the nights are cool.</p>";
    let page = format!(
        "<html><body><main><article><h1>Tea grows</h1>{story}<p>It is dried in the sun of the \
         afternoon, and then it is rolled by hand until the leaves are dark.</p><div>{story}</div></article></main></body></html>"
    );
    assert_eq!(text(&page).matches("where rain is plentiful").count(), 1);
}

#[test]
fn links_of_the_main_text_are_kept_with_their_words_and_those_of_the_chrome_are_not() {
    let page = format!(
        "<html><body><nav><a href=https://shop.example/>Shop</a></nav><main><article><h1>Tea grows</h1>{STORY}\
         <p>More of it was drunk than before, says a <a href='https://tea.example/study?a=1#top'>study of <b>tea</b></a>. \
         See <a href=/here>here</a>, <a href='javascript:x'>there</a> and <a href=https://me@pw.example/>that</a>.</p>\
         </article></main></body></html>"
    );
    let draft = read(&page, "");
    let links: Vec<(&str, &str)> =
        draft.links.iter().map(|link| (link.text.as_str(), link.url.as_str())).collect();
    assert_eq!(links, [("study of tea", "https://tea.example/study?a=1")]);
    let block = &draft.blocks[draft.links[0].block as usize];
    assert!(block.text.starts_with("More of it was drunk"), "{}", block.text);
    let origin = |url: &str| crate::DocumentOrigin::from_url(url, None);
    let of = |url: &str| read(&page, "").into_draft(&origin(url)).links.len();
    assert_eq!(of("https://gazette.example/tea"), 1);
    assert_eq!(of("https://www.tea.example/news"), 0, "a site does not cite itself");
    let folder = crate::DocumentOrigin::from_file("/docs/tea.html");
    assert!(
        read(&page, "").into_draft(&folder).links.is_empty(),
        "nothing of a folder leads outside"
    );
}

fn dated(body: &str, address: &str) -> Option<(String, String)> {
    let page = format!(
        "<html lang=en-GB><head><title>Tea grows well</title></head><body>{body}</body></html>"
    );
    let draft = read(&page, address);
    draft.date.zip(draft.date_source)
}

fn found(date: &str, source: &str) -> Option<(String, String)> {
    Some((date.to_owned(), source.to_owned()))
}

const STORY: &str = "<p>Tea is grown in the hills, where rain is plentiful and the nights are cool. \
    In 1848 a gardener went to see how it is done, and he came back with plants and seeds.</p>";

#[test]
fn a_date_is_taken_from_the_best_source_and_the_source_is_told() {
    let marked = "<span itemprop=datePublished content=2024-03-05T10:00:00Z>Tuesday</span>";
    let page =
        format!("<h1>Tea grows well</h1><time datetime=2024-03-06>Wednesday</time>{marked}{STORY}");
    let place = "https://a.example/2024/03/04/tea";
    assert_eq!(dated(&page, place), found("2024-03-04", "url"));
    assert_eq!(dated(&page, "https://a.example/tea"), found("2024-03-05", "microdata"));
    let page = page.replace(marked, "");
    assert_eq!(dated(&page, ""), found("2024-03-06", "time"));
    let ld = r#"<script type=application/ld+json>{"@type":"Article","datePublished":"2024-03-03"}</script>"#;
    assert_eq!(dated(&format!("{ld}{page}"), ""), found("2024-03-03", "json-ld"));
}

#[test]
fn a_dateline_is_told_from_other_dates_by_where_it_stands() {
    let page = format!(
        "<div class=sidebar><p>04/01/2022</p></div><h1>Tea grows well</h1><p>By Ann, 05/03/2024</p>{STORY}\
         <div class=comments><p>Bo wrote on 06/03/2024</p></div>"
    );
    assert_eq!(dated(&page, ""), found("2024-03-05", "text"));
    assert_eq!(dated(&format!("<h1>Tea grows well</h1>{STORY}"), ""), None);
    let unsure =
        format!("<h1>Tea</h1>{STORY}{STORY}<ul><li>5 May 2020<li>6 May 2020</ul>").repeat(9);
    assert_eq!(dated(&unsure.replace("<h1>Tea</h1>", ""), ""), None);
}

#[test]
fn an_element_named_a_date_is_read_within_a_longer_line() {
    let page = format!(
        "<h1><span class=topline><span class=date>27.01.2022</span></span>Tea grows well</h1>{STORY}"
    );
    assert_eq!(dated(&page, ""), found("2022-01-27", "text"));
}

#[test]
fn the_language_of_xhtml_tells_which_number_is_the_day() {
    let page = format!(
        "<html xml:lang=en-GB><head><title>Tea grows well</title></head><body><h1>Tea grows well</h1>\
         <p>By Ann, 05/03/2024</p>{STORY}</body></html>"
    );
    let draft = read(&page, "");
    assert_eq!(draft.date.as_deref(), Some("2024-03-05"));
    assert_eq!(draft.lang.as_deref(), Some("en"));
}

#[test]
fn deep_nesting_is_read_in_linear_time() {
    for unit in ["<div>", "<ul><li>", "<b>", "<div></x>", "<table><tr><td>"] {
        let page = format!("{}<p>words at the bottom</p>", unit.repeat(160_000 / unit.len()));
        let started = std::time::Instant::now();
        let text = text(&page);
        assert!(started.elapsed().as_secs_f32() < 15.0, "{unit}: {:?}", started.elapsed());
        assert!(text.contains("words at the bottom"), "{unit}: {text}");
    }
}

#[test]
fn rows_of_a_table_have_a_cell_in_every_column_and_tables_begin_apart() {
    let table = "<table><thead><tr><th>Tea</th><th>Depth</th></tr></thead>\
        <tr><td rowspan=2>Green</td><td>4 cm</td></tr><tr><td>6 cm</td></tr>\
        <tr><td colspan=2>Of the valley</td></tr><tr><td>Black</td><td>9 cm | wet</td></tr></table>";
    let page = format!(
        "<html><body><main><article><h1>Tea grows</h1><p>Tea is grown in the hills, where rain is plentiful and the \
         nights are cool.</p>{table}{table}</article></main></body></html>"
    );
    let draft = read(&page, "");
    let rows = draft.blocks.iter().filter(|block| block.kind.is_row());
    let rows: Vec<(u8, bool, &str)> = rows
        .map(|row| (row.level, row.kind == BlockKind::TableHeader, row.text.as_str()))
        .collect();
    let once = [
        (1, true, "Tea | Depth"),
        (0, false, "Green | 4 cm"),
        (0, false, "Green | 6 cm"),
        (0, false, "Of the valley"),
        (0, false, "Black | 9 cm|wet"),
    ];
    assert_eq!(rows, [once, once].concat());
}

#[test]
fn a_page_that_sells_what_it_describes_says_so_in_its_metadata() {
    let is_offer = |head: &str, body: &str| {
        read(
            &format!("<html><head>{head}</head><body><main>{body}{STORY}</main></body></html>"),
            "",
        )
        .is_offer
    };
    let ld = |json: &str| format!("<script type=application/ld+json>{json}</script>");
    let product = r#"{"@type":"Product","name":"Tea","offers":{"price":"4"}}"#;
    let group = r#"{"@type":"ProductGroup","name":"Tea","hasVariant":[{"@type":"Product"}]}"#;
    let hotel = r#"{"@type":"Hotel","name":"Hill","makesOffer":{"price":"80"}}"#;
    for sold in [product, group, hotel] {
        assert!(is_offer(&ld(sold), ""), "{sold}");
    }
    let microdata =
        "<div itemscope itemtype=https://schema.org/Product><b itemprop=price>4</b></div>";
    assert!(is_offer("", microdata));
    assert!(is_offer("<meta property=product:price:amount content=4>", ""));
    let tested = format!("{}{}", ld(product), ld(r#"{"@type":"NewsArticle"}"#));
    assert!(!is_offer(&tested, ""));
    let named = r#"{"@type":"NewsArticle","mentions":{"@type":"Product","offers":{}}}"#;
    assert!(!is_offer(&ld(named), ""));
    assert!(!is_offer(&ld(r#"{"@type":"Product","name":"Tea"}"#), ""));
}
