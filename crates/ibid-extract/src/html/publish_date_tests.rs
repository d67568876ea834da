//! Pages of many kinds, and the day of publication of each. All are written for this test.
use super::read;

const STORY: &str = "<p>Tea is grown in the hills, where rain is plentiful and the nights are cool. In 1848 a gardener went to \
    see how it is done, and he came back with plants and with seeds.</p>";

/// The day found in a page in a language with a head, a body before the text, and an address.
fn day_of(lang: &str, head: &str, body: &str, address: &str) -> String {
    let page = format!(
        "<html lang='{lang}'><head><title>Tea grows well</title>{head}</head><body><main><article>{body}</article></main></body></html>"
    );
    read(&page, address).date.unwrap_or_default()
}

fn check_lines(rows: &[(&str, &str, &str)]) {
    for (lang, line, want) in rows {
        let body = format!("<h1>Tea grows well</h1><p>{line}</p>{STORY}{STORY}");
        assert_eq!(day_of(lang, "", &body, ""), *want, "{lang}: {line}");
    }
}

#[test]
fn datelines_are_read_in_many_languages() {
    check_lines(&[
        ("en", "Published on March 5, 2024", "2024-03-05"),
        ("en", "By Ann Example, 5th of March 2024", "2024-03-05"),
        ("en", "5 min readMar 5, 2024", "2024-03-05"),
        ("en", "Posted 05-Mar-24 by Ann", "2024-03-05"),
        ("en", "Tue Mar 05 10:00:00 CET 2024", "2024-03-05"),
        ("de", "Veröffentlicht am 5. März 2024, 10:30 Uhr", "2024-03-05"),
        ("de", "Stand: 05.03.2024", "2024-03-05"),
        ("de", "Von Ann Beispiel | 05.03.24", "2024-03-05"),
        ("de-AT", "Paderborn, 5. Jänner 2024", "2024-01-05"),
        ("fr", "Publié le 1er août 2023 à 10h30", "2023-08-01"),
        ("fr", "Mis en ligne le 5 févr. 2024", "2024-02-05"),
        ("es", "Publicado el 5 de marzo del 2024", "2024-03-05"),
        ("it", "Pubblicato il 5 gennaio 2024", "2024-01-05"),
        ("pt", "Publicado em 5 de março de 2024", "2024-03-05"),
        ("ca", "Publicat el 5 d'abril de 2024", "2024-04-05"),
        ("nl", "Geplaatst op 5 maart 2024", "2024-03-05"),
        ("pl", "Opublikowano: 5 października 2023", "2023-10-05"),
        ("cs", "Publikováno 5. července 2023", "2023-07-05"),
        ("sk", "Zverejnené 5. októbra 2023", "2023-10-05"),
        ("sv", "Publicerad 5 augusti 2023", "2023-08-05"),
        ("da", "Offentliggjort den 5. maj 2023", "2023-05-05"),
        ("no", "Publisert 5. desember 2023", "2023-12-05"),
        ("fi", "Julkaistu 5. maaliskuuta 2024", "2024-03-05"),
        ("hu", "Közzétéve: 2024. március 5.", "2024-03-05"),
        ("ro", "Publicat la 5 noiembrie 2023", "2023-11-05"),
        ("lt", "2024 m. kovo 5 d.", "2024-03-05"),
        ("tr", "Yayınlanma tarihi: 5 Ağustos 2023", "2023-08-05"),
        ("tr", "5 HAZİRAN 2023", "2023-06-05"),
        ("id", "Diterbitkan 5 Agustus 2023", "2023-08-05"),
        ("vi", "Đăng ngày 5 tháng 3 năm 2024", "2024-03-05"),
        ("el", "Δημοσιεύθηκε: 5 Μαΐου 2023", "2023-05-05"),
        ("ru", "Опубликовано 5 июля 2023 г.", "2023-07-05"),
        ("uk", "Опубліковано 5 листопада 2023 року", "2023-11-05"),
        ("bg", "Публикувано на 5 септември 2023", "2023-09-05"),
        ("zh", "发布时间：2024年3月5日 10:30", "2024-03-05"),
        ("zh-TW", "民國113年3月5日", "2024-03-05"),
        ("ja", "公開日：令和6年3月5日", "2024-03-05"),
        ("ko", "입력 2024년 3월 5일", "2024-03-05"),
        ("ko", "등록 2024. 3. 5.", "2024-03-05"),
        ("ar", "نشر في ٥ مارس ٢٠٢٤", "2024-03-05"),
        ("ar", "5 آذار/مارس 2024", "2024-03-05"),
        ("ar", "5 تشرين الثاني 2023", "2023-11-05"),
        ("he", "פורסם 5 במרץ 2024", "2024-03-05"),
    ]);
}

#[test]
fn the_label_beside_a_date_tells_what_it_is_the_day_of() {
    check_lines(&[
        ("en", "Published 5 March 2024, updated 9 March 2024", "2024-03-05"),
        ("en", "Last updated 9 March 2024. First published 5 March 2024", "2024-03-05"),
        ("de", "Aktualisiert am 9.3.2024, veröffentlicht am 5.3.2024", "2024-03-05"),
        ("fr", "Mis à jour le 9 mars 2024, publié le 5 mars 2024", "2024-03-05"),
        ("es", "Actualizado: 9 de marzo de 2024 | Publicado: 5 de marzo de 2024", "2024-03-05"),
        ("ru", "Обновлено 9 марта 2024, опубликовано 5 марта 2024", "2024-03-05"),
        ("pl", "Aktualizacja: 9 marca 2024. Data publikacji: 5 marca 2024", "2024-03-05"),
        ("zh", "更新时间：2024-03-09 发布时间：2024-03-05", "2024-03-05"),
        ("ko", "수정 2024.03.09 입력 2024.03.05", "2024-03-05"),
        ("tr", "09.03.2024 tarihinde güncellendi, 05.03.2024 tarihinde yayınlandı", "2024-03-05"),
        ("en", "Member since 1 May 2009, posted 5 March 2024", "2024-03-05"),
        ("en", "edited 9 March 2024</p><p>asked 5 March 2024", "2024-03-05"),
        ("en", "5 March 2024 | Updated 9 March 2024", "2024-03-05"),
        ("de", "5.3.2024, aktualisiert 9.3.2024", "2024-03-05"),
        ("ja", "2024/03/05 公開 2024/03/09 更新", "2024-03-05"),
        ("en", "Published</p><p>5 March 2024</p><p>Updated</p><p>9 March 2024", "2024-03-05"),
    ]);
}

#[test]
fn the_order_of_day_and_month_follows_the_page() {
    let rows = [
        ("en-US", "", "", "2024-03-05"),
        ("en-GB", "", "", "2024-05-03"),
        ("en", "https://paper.example.co.uk/tea", "", "2024-05-03"),
        ("en", "", "<p>Related: 03/25/2024</p>", "2024-03-05"),
        ("en", "", "<p>Related: 25/03/2024</p>", "2024-05-03"),
        ("en", "", "", ""),
    ];
    for (lang, address, more, want) in rows {
        let tail = "<p>Another line.</p>".repeat(20);
        let body = format!(
            "<h1>Tea grows well</h1><p>By Ann, 03/05/2024</p>{STORY}{tail}<aside>{more}</aside>"
        );
        assert_eq!(day_of(lang, "", &body, address), want, "{lang} {address} {more}");
    }
}

#[test]
fn machine_readable_dates_of_many_forms_are_read() {
    let ld = |json: &str| format!("<script type='application/ld+json'>{json}</script>");
    let meta = |named: &str| format!("<meta {named} content='2024-03-05T10:00:00+01:00'>");
    let heads = [
        ld(r#"{"@graph":[{"@type":"WebPage","datePublished":"2020-01-01"},{"@type":"NewsArticle","datePublished":"2024-03-05"}]}"#),
        ld(r#"[{"@type":"BreadcrumbList"},{"@type":["Article"],"dateModified":"2024-03-09","datePublished":"2024-03-05"}]"#),
        ld(r#"{"@type":"Article","datePublished":{"@type":"Date","@value":"2024-03-05"}}"#),
        ld(r#"{"@type":"Article","datePublished":1709632800}"#),
        ld("{\"@type\":\"Article\",\"headline\":\"Tea\n grows\",\"datePublished\":\"2024-03-05\",}"),
        ld(r#"<!-- {"@type":"Article","datePublished" : "2024-03-05"} -->"#),
        meta("property='article:published_time'"),
        meta("property='og:article:published_time'"),
        meta("name='DC.date.issued'"),
        meta("name='parsely-pub-date'"),
        meta("name='bt:pubDate'"),
        meta("name='mediator_published_time'"),
        meta("itemprop='datePublished'"),
        meta("http-equiv='date'"),
        "<meta name=date content=2024-03-09><meta property=article:published_time content=2024-03-05>".to_owned(),
        "<meta name='dcterms.created' content='20240305103000'>".to_owned(),
        "<meta name='pubdate' content='Tue, 05 Mar 2024 10:00:00 GMT'>".to_owned(),
        "<script>window.STATE={\"article\":{\"publishedAt\":\"2024-03-05T10:00:00Z\"}}</script>".to_owned(),
        "<script>utag_data={article_publication_date: '20240305'}</script>".to_owned(),
        ld("{'@type':'NewsArticle','datePublished':'2024-03-05'}"),
        ld(r#"{"@type":"WebPage","mainEntityOfPage":{"@type":"Article","datePublished":"2024-03-05"}}"#),
        "<meta property='article:modified_time' content='2024-03-05'>".to_owned(),
        "<meta property=article:published_time content=1970-01-01T00:00:00Z><meta name=lastmod content=2024-03-05>".to_owned(),
    ];
    for head in heads {
        let body = format!("<h1>Tea grows well</h1>{STORY}{STORY}");
        assert_eq!(day_of("en", &head, &body, ""), "2024-03-05", "{head}");
    }
}

#[test]
fn dates_in_elements_are_read_and_those_of_others_are_not() {
    let bodies = [
        "<time pubdate>5 March 2024</time>",
        "<time class='entry-date published' datetime='2024-03-05T08:00:00Z'>today</time>",
        "<abbr class=published title='2024-03-05T08:00:00Z'>two days ago</abbr>",
        "<span property='schema:datePublished' content='2024-03-05'></span>",
        "<span itemprop='dateModified datePublished' content='2024-03-05'></span>",
        "<div class=postDate>5 March 2024</div>",
        "<span class='article__timestamp' data-timestamp='1709632800'>yesterday</span>",
        "<relative-time datetime='2024-03-05T08:00:00Z'>two days ago</relative-time>",
        "<div class=date><span>March</span> <span>05</span><br>2024</div>",
        "<p class=byline>Ann Example · 5 March 2024</p>",
        "<p>Last updated on 5 March 2024</p>",
        "<p class=updated>9 March 2024</p><p class=dateline>5 March 2024</p>",
    ];
    let others = "<section class=comments><div itemprop=comment itemtype='https://schema.org/Comment'>\
        <time itemprop=datePublished datetime=2024-03-08>8 March 2024</time></div></section>\
        <aside class=related><a href=/x>Coffee</a> <time class=published datetime=2024-03-07>7 March 2024</time></aside>";
    for body in bodies {
        let page = format!("<h1>Tea grows well</h1>{body}{STORY}{STORY}{others}");
        assert_eq!(day_of("en", "", &page, ""), "2024-03-05", "{body}");
        let page = format!("{others}<h1>Tea grows well</h1>{body}{STORY}{STORY}");
        assert_eq!(day_of("en", "", &page, ""), "2024-03-05", "after others: {body}");
    }
}

#[test]
fn a_time_in_utc_is_the_day_of_the_dateline_where_the_author_is() {
    let rows = [
        ("2024-03-06T03:10:00Z", "5 March 2024", "2024-03-05"),
        ("2024-03-04T22:10:00+00:00", "5 March 2024", "2024-03-05"),
        ("2024-03-06T03:10:00+01:00", "5 March 2024", "2024-03-06"),
        ("2024-03-04T12:00:00Z", "5 March 2024", "2024-03-04"),
        ("2024-03-06T03:10:00Z", "1 March 2024", "2024-03-06"),
    ];
    for (stated, shown, want) in rows {
        let head = format!("<meta property='article:published_time' content='{stated}'>");
        let body = format!("<h1>Tea grows well</h1><p>Published {shown}</p>{STORY}");
        assert_eq!(day_of("en", &head, &body, ""), want, "{stated} {shown}");
    }
}

#[test]
fn the_day_of_the_last_change_is_the_last_resort() {
    let foot = "<footer><p>Tea Company</p><p>Letzte Änderung: 05.03.2024</p></footer>";
    let page = |more: &str| format!("<h1>Tea grows well</h1>{more}{STORY}{STORY}{foot}");
    assert_eq!(day_of("de", "", &page(""), ""), "2024-03-05");
    assert_eq!(day_of("de", "", &page("<p>1. März 2024</p>"), ""), "2024-03-01");
}

#[test]
fn a_dateline_that_is_sure_is_preferred_to_a_meta_element_that_is_not() {
    let weak = "<meta name=date content=2024-03-09>";
    let strong = "<meta name=pubdate content=2024-03-09>";
    let page = |line: &str| format!("<h1>Tea grows well</h1><p>{line}</p>{STORY}");
    assert_eq!(day_of("de", weak, &page("Veröffentlicht am 5.3.2024"), ""), "2024-03-05");
    assert_eq!(day_of("de", weak, &page("Tee im Tal, 5.3.2024"), ""), "2024-03-09");
    assert_eq!(day_of("de", strong, &page("Veröffentlicht am 5.3.2024"), ""), "2024-03-09");
}

#[test]
fn pages_that_do_not_say_their_day_have_none() {
    let bodies = [
        "<p>© 2019–2024 Tea Company</p>",
        "<p>Version 10.12.20.5 of 12.1.2.2024</p>",
        "<p>Call 0170 20240305 11</p>",
        "<p>Registration deadline: 5 March 2024</p>",
        "<p>Starts on 5 March 2094</p>",
        "<p>March 2024</p>",
        "<script>var a={\"publishedAt\":\"2024-03-05\"},b={\"publishedAt\":\"2024-03-06\"}</script>",
        "<script type='application/ld+json'>{\"@type\":\"Product\",\"review\":{\"@type\":\"Review\",\"datePublished\":\"2024-03-05\"}}</script>",
        "<section class=comments><p>Bo, 5 March 2024</p><p>Cy, 6 March 2024</p></section>",
        "<div class=review itemtype='https://schema.org/Review'><time itemprop=datePublished datetime=2024-03-05></time></div>",
    ];
    for body in bodies {
        let page = format!("<h1>Tea grows well</h1>{STORY}{STORY}{body}");
        assert_eq!(day_of("en", "", &page, ""), "", "{body}");
    }
}

#[test]
fn the_language_of_a_text_tells_the_order_where_the_page_states_another() {
    let story = "<p>Le thé pousse dans les collines, où il pleut beaucoup et où les nuits sont fraîches. Un jardinier est \
        allé voir comment on le fait, et il est revenu avec des plantes et des graines pour tout le monde.</p>";
    let page = |story: &str| format!("<h1>Tea grows well</h1><p>Ann, 03/05/2024</p>{story}{story}");
    assert_eq!(day_of("en", "", &page(story), ""), "2024-05-03");
    assert_eq!(day_of("en", "", &page(STORY), ""), "");
}
