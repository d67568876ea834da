//! A report in the forms people use: [`forms`] lists them all.
//! What strangers wrote goes through [`escape`].
mod account;
pub mod audit;
pub mod changes;
pub mod cited;
pub mod document;
pub mod docx;
pub mod escape;
pub mod evidence;
pub mod forms;
pub mod framing;
pub mod html;
pub mod json;
pub mod judgement;
pub mod latex;
pub mod markdown;
pub mod marked;
#[cfg(feature = "pdf")]
pub mod pdf;
pub mod plan;
pub mod references;
pub mod table;

use std::collections::BTreeMap;

pub use forms::{Form, Made, Options};

use crate::app::App;
use crate::domain::{Page, PageHash, Passage, Report};
use crate::error::Result;

/// The stored pages behind a report, by hash. What needs them says what happens without one.
pub type Pages = BTreeMap<PageHash, Page>;

/// The passages a report cites, each once, in order of first use. Their places in this list, from 1,
/// number the quote footnotes.
pub fn passages(report: &Report) -> Vec<(u32, &Passage)> {
    let mut found: Vec<(u32, &Passage)> = Vec::new();
    let answer = report.answer.iter().flat_map(|it| it.citations.iter());
    for it in report
        .claims()
        .flat_map(|claim| claim.citations())
        .chain(answer)
    {
        if !found.iter().any(|known| known.1 == &it.passage) {
            found.push((it.n, &it.passage));
        }
    }
    found
}

/// The stored pages behind a report, as far as they are still there.
///
/// # Errors
/// When the store cannot be read.
pub async fn pages(app: &App, report: Option<&Report>) -> Result<Pages> {
    let mut pages = Pages::new();
    let Some(report) = report else {
        return Ok(pages);
    };
    for (_, passage) in passages(report) {
        if !pages.contains_key(passage.page())
            && let Some(page) = app.page(passage.page()).await?
        {
            pages.insert(passage.page().clone(), page);
        }
    }
    Ok(pages)
}
