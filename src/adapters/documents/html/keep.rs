//! Which blocks of a page were written to be read.
use super::blocks::Flat;
use super::chrome::{self, Hints};
use super::dom::Dom;
use super::metadata::Metadata;
use crate::domain::BlockKind;

/// Hints that on their own make a block chrome, unless the page has nothing else.
const CHROME: Hints = chrome::NAV
    | chrome::FOOTER
    | chrome::CONSENT
    | chrome::BREADCRUMB
    | chrome::SHARE
    | chrome::RELATED
    | chrome::ADVERT
    | chrome::SIGNUP
    | chrome::MODAL
    | chrome::PAGER
    | chrome::MENU
    | chrome::FORM
    | chrome::ASIDE
    | chrome::SIDEBAR;

/// For each block, whether it is kept.
pub(super) fn choose(_: &Dom, flat: &[Flat], _: &Metadata) -> Vec<bool> {
    let total: u32 = flat.iter().map(|it| it.words).sum();
    let in_main: u32 = flat
        .iter()
        .filter(|it| it.hints & (chrome::MAIN | chrome::ARTICLE) != 0)
        .map(|it| it.words)
        .sum();
    let only_main = in_main * 3 > total;
    let good = |it: &Flat| {
        let main = !only_main || it.hints & (chrome::MAIN | chrome::ARTICLE) != 0;
        let linky = it.linked * 3 > it.words * 2 && it.kind != BlockKind::Heading;
        main && it.hints & CHROME == 0 && !linky
    };
    let kept: Vec<bool> = flat.iter().map(good).collect();
    let words: u32 = flat
        .iter()
        .zip(&kept)
        .filter(|(_, kept)| **kept)
        .map(|(it, _)| it.words)
        .sum();
    if words * 8 < total {
        return flat
            .iter()
            .map(|it| it.hints & (chrome::NAV | chrome::FOOTER | chrome::CONSENT) == 0)
            .collect();
    }
    kept
}
