//! What the tags, roles, classes and ids around a block say of its purpose.
use std::collections::HashMap;

use super::dom::{Dom, NodeId};

/// One bit a hint; a block carries the hints of all its ancestors.
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

/// How many hints there are.
pub(super) const HINTS: usize = 32;

/// The hints of class and id values met before: a page repeats them by the hundred.
pub(super) type Seen<'a> = HashMap<&'a str, Hints>;

/// The hints an element gives by itself.
pub(super) fn hints<'a>(dom: &'a Dom, id: NodeId, seen: &mut Seen<'a>) -> Hints {
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
                words(value, &mut |word| named |= by_word(word));
                named
            });
        }
    }
    found
}

fn by_tag(tag: &str) -> Hints {
    match tag {
        "nav" => NAV,
        "header" => HEADER,
        "footer" => FOOTER,
        "aside" => ASIDE,
        "form" | "fieldset" => FORM,
        "main" => MAIN,
        "article" => ARTICLE,
        "figcaption" | "caption" => CAPTION,
        "button" | "label" => BUTTON,
        "ul" | "ol" | "dl" => LIST,
        "table" => TABLE,
        "blockquote" => QUOTE,
        "dialog" => MODAL,
        "menu" => MENU,
        "address" => META,
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

/// Runs over the words of a class or id: `postHeader_1 nav-bar` → post, header, nav, bar.
fn words(value: &str, each: &mut impl FnMut(&str)) {
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
    match word {
        "nav" | "navbar" | "navigation" | "navi" | "subnav" | "topnav" | "sitenav" => NAV,
        "header" | "masthead" | "topbar" | "heading" | "banner" | "hero" => HEADER,
        "footer" | "colophon" | "foot" | "copyright" | "legal" | "disclaimer" => FOOTER,
        "aside" | "rail" | "complementary" => ASIDE,
        "sidebar" | "widget" | "widgets" | "secondary" | "rightcol" | "sidecol" | "sticky" => SIDEBAR,
        "menu" | "menus" | "megamenu" | "dropdown" | "drawer" | "flyout" | "offcanvas" | "hamburger" | "toc" => MENU,
        "breadcrumb" | "breadcrumbs" | "crumb" | "crumbs" => BREADCRUMB,
        "pager" | "pagination" | "paging" | "prev" | "next" | "paginate" | "pagenav" => PAGER,
        "related" | "recommended" | "recommendations" | "recommendation" | "similar" | "upsell" | "trending" | "popular"
            | "recirc" | "outbrain" | "taboola" | "latest" | "suggested" | "also" | "recent" | "recently" => RELATED,
        "share" | "sharing" | "social" | "socials" | "addtoany" | "sharedaddy" | "follow" | "twitter" | "facebook" => SHARE,
        "comment" | "comments" | "disqus" | "respond" | "commentlist" | "reply" | "replies" => COMMENTS,
        "ad" | "ads" | "advert" | "advertisement" | "adsense" | "sponsor" | "sponsored" | "promo" | "promotion"
            | "dfp" | "adslot" | "promoted" | "affiliate" => ADVERT,
        "cookie" | "cookies" | "consent" | "gdpr" | "onetrust" | "cmp" | "ccpa" | "cookiebot" => CONSENT,
        "meta" | "byline" | "date" | "time" | "timestamp" | "posted" | "metadata" | "stats" | "info" | "kicker" | "eyebrow" => META,
        "author" | "bio" | "avatar" | "profile" | "user" | "username" | "member" | "contributor" => AUTHOR,
        "tags" | "tag" | "tagcloud" | "category" | "categories" | "topics" | "labels" | "badge" => TAGS,
        "newsletter" | "subscribe" | "subscription" | "signup" | "login" | "signin" | "register" | "paywall"
            | "optin" | "cta" | "account" | "donate" => SIGNUP,
        "modal" | "popup" | "overlay" | "lightbox" | "tooltip" | "toast" | "notice" | "alert" | "dialog" | "popover"
            | "notification" | "announcement" => MODAL,
        "search" | "filter" | "filters" | "facet" | "facets" | "sort" | "form" | "input" | "select" | "quantity" | "refine" => FORM,
        "caption" | "credit" | "credits" | "figcaption" => CAPTION,
        "main" | "maincontent" => MAIN,
        "article" | "story" | "entry" | "hentry" => ARTICLE,
        "prose" | "richtext" | "rte" | "markdown" | "bodytext" | "description" | "rich" | "wysiwyg" | "paragraph"
            | "editor" | "answer" | "excerpt" | "summary" | "abstract" => BODY_TEXT,
        "content" | "contents" | "body" | "primary" | "text" | "copy" => CONTENT,
        "post" | "posts" | "message" | "thread" | "topic" | "messages" | "question" | "bbcode" | "bbp" => POST,
        "card" | "cards" | "tile" | "tiles" | "teaser" | "item" | "items" | "result" | "results" | "grid" | "slide" => CARD,
        "product" | "products" | "price" | "prices" | "pdp" | "sku" | "variant" | "specs" | "specifications"
            | "feature" | "features" | "review" | "reviews" | "rating" | "ratings" => PRODUCT,
        "btn" | "button" | "buttons" | "cart" | "checkout" | "wishlist" | "toolbar" | "action" | "actions" | "controls"
            | "icon" | "icons" | "skip" | "print" | "vote" | "votes" => BUTTON,
        "links" | "link" | "linklist" | "list" => LINKS,
        _ => 0,
    }
}

/// Names that mean something only as a whole.
fn by_phrase(value: &str) -> Hints {
    const WHOLE: &[(&str, Hints)] = &[
        ("article-body", BODY_TEXT),
        ("article-content", BODY_TEXT),
        ("article__body", BODY_TEXT),
        ("articleBody", BODY_TEXT),
        ("entry-content", BODY_TEXT),
        ("post-content", BODY_TEXT),
        ("post-body", BODY_TEXT),
        ("story-body", BODY_TEXT),
        ("rich-text", BODY_TEXT),
        ("markdown-body", BODY_TEXT),
        ("mw-parser-output", BODY_TEXT),
        ("td-post-content", BODY_TEXT),
        ("js-post-body", BODY_TEXT),
        ("main-content", MAIN),
        ("sign-up", SIGNUP),
        ("log-in", SIGNUP),
        ("read-more", BUTTON),
        ("read-next", RELATED),
        ("you-may", RELATED),
        ("see-also", RELATED),
        ("more-from", RELATED),
        ("cross-sell", RELATED),
        ("back-to-top", BUTTON),
    ];
    WHOLE
        .iter()
        .filter(|(name, _)| value.contains(name))
        .fold(0, |all, (_, hint)| all | hint)
}
