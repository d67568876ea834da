//! Hints at the purpose of a block from the tags, roles, classes and ids around it.
use std::collections::HashMap;

use super::dom::{Dom, NodeId};

/// A set of hints, one bit each. A block has the hints of all its ancestors.
pub(super) type Hints = u32;

macro_rules! hints {
    ($($name:ident = $bit:expr;)*) => { $(pub(super) const $name: Hints = 1 << $bit;)* };
}

hints! {
    NAV = 0;
    HEADER = 1;
    FOOTER = 2;
    ASIDE = 3;
    FORM = 4;
    MAIN = 5;
    ARTICLE = 6;
    BODY_TEXT = 7;
    RELATED = 8;
    SHARE = 9;
    COMMENTS = 10;
    ADVERT = 11;
    CONSENT = 12;
    META = 13;
    SIDEBAR = 14;
    MENU = 15;
    BREADCRUMB = 16;
    PAGER = 17;
    SIGNUP = 18;
    CAPTION = 19;
    POST = 20;
    CARD = 21;
    PRODUCT = 22;
    BUTTON = 23;
    LIST = 24;
    TABLE = 25;
    LINKS = 26;
    QUOTE = 27;
    MODAL = 28;
    CONTENT = 29;
    TAGS = 30;
    AUTHOR = 31;
}

/// The number of hints.
pub(super) const HINTS: usize = 32;

/// The hints of class and id values seen before: a page repeats them hundreds of times.
pub(super) type HintCache<'a> = HashMap<&'a str, Hints>;

/// The hints of an element itself.
pub(super) fn hints_of_element<'a>(dom: &'a Dom, id: NodeId, seen: &mut HintCache<'a>) -> Hints {
    let mut found = by_tag(dom.name(id));
    if let Some(role) = dom.attr(id, "role") {
        found |= by_role(role);
    }
    if let Some(prop) = dom.attr(id, "itemprop") {
        found |= match prop {
            "articleBody" | "text" | "reviewBody" | "description" => BODY_TEXT,
            "comment" => COMMENTS,
            "author" | "datePublished" | "dateModified" => META,
            _ => 0,
        };
    }
    for name in ["class", "id"] {
        if let Some(value) = dom.attr(id, name) {
            found |= *seen.entry(value).or_insert_with(|| {
                let mut named = by_phrase(value);
                for_each_word(value, &mut |word| named |= by_word(word));
                named
            });
        }
    }
    found
}

fn by_tag(tag: &str) -> Hints {
    match tag.as_bytes() {
        b"nav" => NAV,
        b"header" => HEADER,
        b"footer" => FOOTER,
        b"aside" => ASIDE,
        b"form" | b"fieldset" => FORM,
        b"main" => MAIN,
        b"article" => ARTICLE,
        b"figcaption" | b"caption" => CAPTION,
        b"button" | b"label" => BUTTON,
        b"ul" | b"ol" | b"dl" => LIST,
        b"table" => TABLE,
        b"blockquote" => QUOTE,
        b"dialog" => MODAL,
        b"menu" => MENU,
        b"address" => META,
        _ => 0,
    }
}

fn by_role(role: &str) -> Hints {
    match role {
        "navigation" => NAV,
        "banner" => HEADER,
        "contentinfo" => FOOTER,
        "complementary" => ASIDE,
        "search" | "form" => FORM,
        "main" => MAIN,
        "article" => ARTICLE,
        "dialog" | "alertdialog" | "alert" => MODAL,
        "menu" | "menubar" | "menuitem" | "toolbar" | "tablist" => MENU,
        "button" | "tab" => BUTTON,
        _ => 0,
    }
}

/// Passes each word of a class or id to `each`: `postHeader_1 nav-bar` gives post, header, nav, bar.
fn for_each_word(value: &str, each: &mut impl FnMut(&str)) {
    let mut word = [0u8; 16];
    let mut len = 0;
    let mut lower_before = false;
    for byte in value.bytes().chain(std::iter::once(b' ')) {
        let letter = byte.is_ascii_alphabetic();
        if len > 0 && (!letter || (byte.is_ascii_uppercase() && lower_before)) {
            if let Ok(it) = std::str::from_utf8(&word[..len]) {
                each(it);
            }
            len = 0;
        }
        if letter && len < word.len() {
            word[len] = byte.to_ascii_lowercase();
            len += 1;
        }
        lower_before = byte.is_ascii_lowercase();
    }
}

#[rustfmt::skip]
fn by_word(word: &str) -> Hints {
    match word.as_bytes() {
        b"nav" | b"navbar" | b"navigation" | b"navi" | b"subnav" | b"topnav" | b"sitenav" => NAV,
        b"header" | b"masthead" | b"topbar" | b"heading" | b"banner" | b"hero" => HEADER,
        b"footer" | b"colophon" | b"foot" | b"copyright" | b"legal" | b"disclaimer" => FOOTER,
        b"aside" | b"rail" | b"complementary" => ASIDE,
        b"sidebar" | b"widget" | b"widgets" | b"secondary" | b"rightcol" | b"sidecol" | b"sticky" => SIDEBAR,
        b"menu" | b"menus" | b"megamenu" | b"dropdown" | b"drawer" | b"flyout" | b"offcanvas" | b"hamburger" | b"toc" => MENU,
        b"breadcrumb" | b"breadcrumbs" | b"crumb" | b"crumbs" => BREADCRUMB,
        b"pager" | b"pagination" | b"paging" | b"prev" | b"next" | b"paginate" | b"pagenav" => PAGER,
        b"related" | b"recommended" | b"recommendations" | b"recommendation" | b"similar" | b"upsell" | b"trending" | b"popular"
            | b"recirc" | b"outbrain" | b"taboola" | b"latest" | b"suggested" | b"also" | b"recent" | b"recently" => RELATED,
        b"share" | b"sharing" | b"social" | b"socials" | b"addtoany" | b"sharedaddy" | b"follow" | b"twitter" | b"facebook" => SHARE,
        b"comment" | b"comments" | b"disqus" | b"respond" | b"commentlist" | b"reply" | b"replies" => COMMENTS,
        b"ad" | b"ads" | b"advert" | b"advertisement" | b"adsense" | b"sponsor" | b"sponsored" | b"promo" | b"promotion"
            | b"dfp" | b"adslot" | b"promoted" | b"affiliate" => ADVERT,
        b"cookie" | b"cookies" | b"consent" | b"gdpr" | b"onetrust" | b"cmp" | b"ccpa" | b"cookiebot" => CONSENT,
        b"meta" | b"byline" | b"date" | b"time" | b"timestamp" | b"posted" | b"metadata" | b"stats" | b"info" | b"kicker" | b"eyebrow" => META,
        b"author" | b"bio" | b"avatar" | b"profile" | b"user" | b"username" | b"member" | b"contributor" => AUTHOR,
        b"tags" | b"tag" | b"tagcloud" | b"category" | b"categories" | b"topics" | b"labels" | b"badge" => TAGS,
        b"newsletter" | b"subscribe" | b"subscription" | b"signup" | b"login" | b"signin" | b"register" | b"paywall"
            | b"optin" | b"cta" | b"account" | b"donate" => SIGNUP,
        b"modal" | b"popup" | b"overlay" | b"lightbox" | b"tooltip" | b"toast" | b"notice" | b"alert" | b"dialog" | b"popover"
            | b"notification" | b"announcement" => MODAL,
        b"search" | b"filter" | b"filters" | b"facet" | b"facets" | b"sort" | b"form" | b"input" | b"select" | b"quantity" | b"refine" => FORM,
        b"caption" | b"credit" | b"credits" | b"figcaption" => CAPTION,
        b"main" | b"maincontent" => MAIN,
        b"article" | b"story" | b"entry" | b"hentry" => ARTICLE,
        b"prose" | b"richtext" | b"rte" | b"markdown" | b"bodytext" | b"description" | b"rich" | b"wysiwyg" | b"paragraph"
            | b"editor" | b"answer" | b"excerpt" | b"summary" | b"abstract" => BODY_TEXT,
        b"content" | b"contents" | b"body" | b"primary" | b"text" | b"copy" => CONTENT,
        b"post" | b"posts" | b"message" | b"thread" | b"topic" | b"messages" | b"question" | b"bbcode" | b"bbp" => POST,
        b"card" | b"cards" | b"tile" | b"tiles" | b"teaser" | b"item" | b"items" | b"result" | b"results" | b"grid" | b"slide" => CARD,
        b"product" | b"products" | b"price" | b"prices" | b"pdp" | b"sku" | b"variant" | b"specs" | b"specifications"
            | b"feature" | b"features" | b"review" | b"reviews" | b"rating" | b"ratings" => PRODUCT,
        b"btn" | b"button" | b"buttons" | b"cart" | b"checkout" | b"wishlist" | b"toolbar" | b"action" | b"actions" | b"controls"
            | b"icon" | b"icons" | b"skip" | b"print" | b"vote" | b"votes" => BUTTON,
        b"links" | b"link" | b"linklist" | b"list" => LINKS,
        _ => 0,
    }
}

/// The hints of names that mean something only as a whole.
fn by_phrase(value: &str) -> Hints {
    // Each is split at its first mark, so that only the marks of a value are compared.
    const WHOLE: &[(&str, &str, Hints)] = &[
        ("article", "-body", BODY_TEXT),
        ("article", "-content", BODY_TEXT),
        ("article", "__body", BODY_TEXT),
        ("entry", "-content", BODY_TEXT),
        ("post", "-content", BODY_TEXT),
        ("post", "-body", BODY_TEXT),
        ("story", "-body", BODY_TEXT),
        ("rich", "-text", BODY_TEXT),
        ("markdown", "-body", BODY_TEXT),
        ("mw", "-parser-output", BODY_TEXT),
        ("td", "-post-content", BODY_TEXT),
        ("js", "-post-body", BODY_TEXT),
        ("main", "-content", MAIN),
        ("sign", "-up", SIGNUP),
        ("log", "-in", SIGNUP),
        ("read", "-more", BUTTON),
        ("read", "-next", RELATED),
        ("you", "-may", RELATED),
        ("see", "-also", RELATED),
        ("more", "-from", RELATED),
        ("cross", "-sell", RELATED),
        ("back", "-to-top", BUTTON),
    ];
    let mut found = if value.contains("articleBody") { BODY_TEXT } else { 0 };
    for (at, _) in value.match_indices(['-', '_']) {
        let (before, after) = value.split_at(at);
        for (head, tail, hint) in WHOLE {
            if after.starts_with(tail) && before.ends_with(head) {
                found |= hint;
            }
        }
    }
    found
}
