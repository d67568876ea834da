//! How a work and a passage are shown: title, link, place.
use crate::PagesByHash;
use crate::escape::{single_line, text_fragment, web_url};
use crate::phrases::source_file_name;
use ibid_core::domain::{Passage, Report, Source};

/// The `n`-th work, from 1.
pub fn source(report: &Report, n: u32) -> Option<&Source> {
    report.sources.get((n as usize).checked_sub(1)?)
}

/// The URL of a web page with a text fragment that highlights the passage.
pub fn live_url(source: &Source, passage: &Passage) -> Option<String> {
    let url = web_url(&source.url)?;
    let joint = if url.contains('#') { "" } else { "#" };
    Some(format!("{url}{joint}{}", text_fragment(passage.text().expose())))
}

/// The place of a passage in its work: `p. 4` and its heading.
pub fn passage_location(passage: &Passage, pages: &PagesByHash) -> String {
    let page = passage.printed_page().map(|printed_page| format!("p. {printed_page}"));
    let heading = pages
        .get(passage.page())
        .and_then(|page| page.heading_above(passage.first()))
        .map(single_line);
    let parts: Vec<String> = [page, heading].into_iter().flatten().collect();
    parts.join(" · ")
}

/// The title of a source, else its file name.
pub(super) fn display_title(source: &Source) -> String {
    match source.title.trim() {
        "" => single_line(&source_file_name(source)),
        title => single_line(title),
    }
}
