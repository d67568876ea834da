//! Pages that came with a good status and are none: "not found", "are you a robot", "enable JavaScript", "sign in".
use crate::domain::PageDraft;
use crate::record::FailReason;

/// Words above which a page is taken to say something of its own.
const SHORT: usize = 120;

const NOT_FOUND: &[&str] = &[
    "page not found",
    "404 not found",
    "404 error",
    "error 404",
    "page cannot be found",
    "page could not be found",
    "page you requested",
    "page you are looking for",
    "page you were looking for",
    "page doesn't exist",
    "page does not exist",
    "no longer available",
    "has been removed",
    "content unavailable",
    "article not found",
    "this page isn't available",
    "nothing was found at this location",
    "seite nicht gefunden",
    "page introuvable",
    "página no encontrada",
    "pagina non trovata",
];
const ROBOT: &[&str] = &[
    "are you a robot",
    "are you human",
    "verify you are human",
    "verifying you are human",
    "checking your browser",
    "just a moment",
    "captcha",
    "unusual traffic",
    "access denied",
    "access to this page has been denied",
    "request blocked",
    "attention required",
    "enable cookies",
    "security check",
    "ddos protection",
    "bot detection",
    "rate limit exceeded",
    "too many requests",
];
const SCRIPT: &[&str] = &[
    "enable javascript",
    "javascript is disabled",
    "javascript is required",
    "requires javascript",
    "please turn on javascript",
    "javascript to run this app",
];
const WALL: &[&str] = &[
    "subscribe to continue",
    "subscribe to read",
    "subscribers only",
    "sign in to continue",
    "log in to continue",
    "create a free account to continue",
    "this article is for subscribers",
    "purchase access",
    "buy this article",
    "institutional login required",
];

/// Why what was read is no page to be cited, with the words that tell; `None` for a page.
///
/// A long page may speak of captchas; a short one, and one whose title says it, is what it says.
pub(super) fn amiss(draft: &PageDraft) -> Option<(FailReason, &'static str)> {
    let text: String = draft
        .blocks
        .iter()
        .map(|it| it.text.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    let words = text.split_whitespace().count();
    let title = draft.title.to_lowercase();
    let body = if words <= SHORT {
        text.to_lowercase()
    } else {
        String::new()
    };
    let found = |all: &[&'static str]| all.iter().copied().find(|it| body.contains(it));
    let titled = |all: &[&'static str]| all.iter().copied().find(|it| title.contains(it));
    let bare = title.trim();
    if let Some(it) = titled(NOT_FOUND)
        .filter(|_| words <= 4 * SHORT)
        .or(found(NOT_FOUND))
    {
        return Some((FailReason::NotFound, it));
    }
    if ["404", "not found", "error"].contains(&bare) && words <= SHORT {
        return Some((FailReason::NotFound, "not found"));
    }
    if let Some(it) = titled(ROBOT).filter(|_| words <= SHORT).or(found(ROBOT)) {
        return Some((FailReason::BotBlock, it));
    }
    if let Some(it) = found(WALL) {
        return Some((FailReason::Paywall, it));
    }
    if let Some(it) = found(SCRIPT) {
        return Some((FailReason::Empty, it));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Block, BlockKind};

    fn page(title: &str, text: &str) -> PageDraft {
        PageDraft {
            title: title.to_owned(),
            blocks: vec![Block::new(BlockKind::Prose, text)],
            ..PageDraft::default()
        }
    }

    #[test]
    fn pages_that_are_none_are_told_by_what_they_say() {
        let reason = |title, text| amiss(&page(title, text)).map(|it| it.0);
        assert_eq!(
            reason("Page not found", "Sorry. Try the search."),
            Some(FailReason::NotFound)
        );
        assert_eq!(
            reason("Example", "Just a moment… we are verifying you are human."),
            Some(FailReason::BotBlock)
        );
        assert_eq!(
            reason("News", "Subscribe to continue reading this article."),
            Some(FailReason::Paywall)
        );
        assert_eq!(
            reason("App", "You need to enable JavaScript to run this app."),
            Some(FailReason::Empty)
        );
        assert_eq!(reason("Cork", "Cork is the bark of an oak."), None);
        let long = format!(
            "How captchas came about. {}",
            "A captcha asks people to read letters that machines cannot. ".repeat(30)
        );
        assert_eq!(reason("The history of the captcha", &long), None);
    }
}
