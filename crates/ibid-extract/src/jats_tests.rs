//! Papers written for the purpose.
use super::*;

const PAPER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.3//EN" "x.dtd" [<!ENTITY big "no">]>
<article xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML" article-type="research-article" xml:lang="en">
<front><journal-meta><journal-title-group><journal-title>Journal of Bark</journal-title></journal-title-group></journal-meta>
<article-meta><article-id pub-id-type="pmid">123</article-id><article-id pub-id-type="pmc">456</article-id><article-id pub-id-type="doi">10.1000/Cork.1</article-id>
<title-group><article-title>Cork &amp; <italic>Quercus suber</italic></article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Oak</surname><given-names>Ann</given-names></name><xref ref-type="aff" rid="a1">1</xref></contrib>
<contrib contrib-type="author"><name><surname>Elm</surname><given-names>Bo</given-names></name></contrib></contrib-group>
<aff id="a1">University of Nowhere</aff>
<pub-date pub-type="ppub"><year>2024</year></pub-date><pub-date pub-type="epub"><day>5</day><month>3</month><year>2023</year></pub-date>
<permissions><p>All rights.</p></permissions>
<abstract><sec><title>Methods</title><p>We peeled 40 oaks.</p></sec></abstract><abstract abstract-type="graphical"><p>A drawing.</p></abstract>
<kwd-group><kwd>bark</kwd></kwd-group></article-meta></front>
<body><sec><label>1</label><title>Introduction</title><p>Cork floats [<xref ref-type="bibr" rid="r1">1</xref>, <xref ref-type="bibr" rid="r2">2</xref>] on water<sup><xref ref-type="bibr" rid="r3">3</xref></sup>, as <xref ref-type="bibr" rid="r4">Smith (2001)</xref> saw; 10<sup>6</sup> cells weigh <inline-formula><alternatives><tex-math>\documentclass{x}\begin{document}$m$\end{document}</tex-math><mml:math><mml:mi>m</mml:mi></mml:math></alternatives></inline-formula> grams.
<list><list-item><p>Trees live.</p></list-item><list-item><p>Bark grows.</p><list><list-item><p>Slowly.</p></list-item></list></list-item></list> And so on.<fn><p>A note.</p></fn></p>
<sec><title>Harvest</title><p>It takes nine years.</p>
<table-wrap><label>Table 1</label><caption><title>Yields.</title><p>In kilograms.</p></caption><table><thead><tr><th>Year</th><th>Yield</th></tr></thead><tbody><tr><td>1990</td><td><p>40</p><p>tons</p></td></tr></tbody></table><table-wrap-foot><p>Dry weight.</p></table-wrap-foot></table-wrap>
<fig><label>Figure 1.</label><caption><p>An oak.</p></caption><graphic/></fig></sec></sec></body>
<back><ack><p>Thanks.</p></ack><ref-list><ref><mixed-citation>Smith 2001.</mixed-citation></ref></ref-list></back>
<sub-article><body><p>A review.</p></body></sub-article></article>"#;

#[test]
fn a_paper_has_its_words_in_order_and_nothing_else() {
    assert!(is_jats(PAPER.as_bytes()));
    let draft = read(PAPER.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(draft.title, "Cork & Quercus suber");
    assert_eq!(draft.author.as_deref(), Some("Ann Oak, Bo Elm"));
    assert_eq!(draft.date.as_deref(), Some("2023-03-05"));
    assert_eq!(draft.site.as_deref(), Some("Journal of Bark"));
    assert_eq!(draft.stated_id.as_deref(), Some("doi:10.1000/cork.1"));
    assert_eq!(draft.stated_url.as_deref(), Some("https://doi.org/10.1000/cork.1"));
    assert_eq!(draft.lang.as_deref(), Some("en"));
    let describe = |block: &Block| format!("{:?}{} {}", block.kind, block.level, block.text);
    let seen: Vec<String> = draft.blocks.iter().map(describe).collect();
    assert_eq!(
        seen,
        [
            "Heading1 Cork & Quercus suber",
            "Heading2 Abstract",
            "Heading3 Methods",
            "Prose0 We peeled 40 oaks.",
            "Heading2 Introduction",
            "Prose0 Cork floats on water, as Smith (2001) saw; 10^6 cells weigh m grams.",
            "ListItem1 Trees live.",
            "ListItem1 Bark grows.",
            "ListItem2 Slowly.",
            "Prose0 And so on.",
            "Heading3 Harvest",
            "Prose0 It takes nine years.",
            "Prose0 Table 1. Yields. In kilograms.",
            "TableHeader1 Year | Yield",
            "TableRow0 1990 | 40 tons",
            "Prose0 Dry weight.",
            "Prose0 Figure 1. An oak.",
        ]
    );
}

#[test]
fn of_several_papers_the_first_is_read_and_what_has_no_body_says_so() {
    let set = "<?xml version='1.0'?><pmc-articleset><article article-type='x'><front><article-meta><title-group><article-title>One</article-title></title-group><abstract><p>First words.</p></abstract></article-meta></front></article><article><body><p>Second.</p></body></article></pmc-articleset>";
    assert!(is_jats(set.as_bytes()));
    let draft = read(set.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(draft.blocks.len(), 3);
    assert_eq!(draft.warnings.len(), 2);
}

#[test]
fn other_documents_are_no_papers() {
    for other in [
        "<article class=\"post\"><p>Hello</p></article>",
        "<!DOCTYPE html><html><article article-type='x'></article></html>",
        "<?xml version='1.0'?><rss><channel/></rss>",
        "<?xml version='1.0'?><article xmlns='http://docbook.org/ns/docbook' version='5.0'><front/></article>",
        "<?xml version='1.0'?><!-- never ends",
        "An article about cork.",
        "",
    ] {
        assert!(!is_jats(other.as_bytes()), "{other}");
    }
}

#[test]
fn what_is_deep_or_torn_is_read_as_far_as_it_goes() {
    let deep = format!(
        "<?xml version='1.0'?><article article-type='a'><body><p>Up here.</p>{}lost{}<p>Back.</p></body></article>",
        "<sec>".repeat(200_000),
        "</sec>".repeat(200_000)
    );
    let draft = read(deep.as_bytes()).unwrap_or_else(|error| panic!("{error:?}"));
    let words: Vec<&str> = draft.blocks.iter().map(|block| block.text.as_str()).collect();
    assert_eq!(words, ["Up here.", "Back."]);
    let torn = &PAPER[..PAPER.find("Bark grows").unwrap()];
    assert!(read(torn.as_bytes()).is_ok());
    assert!(read(b"<?xml version='1.0'?><article dtd-version='1'/>").is_err());
}
