//! Finds elements that are not visible: hidden by an attribute, by an inline style, or by the page's own style sheet.
use std::collections::HashSet;

use super::dom::{Dom, NodeData, NodeId};

/// Bytes of style sheets that are read.
const MAX_SHEET: usize = 400_000;

/// The classes and ids that the page's `<style>` elements hide.
#[derive(Debug, Default)]
pub(super) struct HiddenSelectors {
    classes: HashSet<String>,
    ids: HashSet<String>,
}

impl HiddenSelectors {
    /// Reads the simple rules (`.a`, `#b`, no combinators, outside `@media`) of all style elements.
    pub(super) fn from_dom(dom: &Dom) -> HiddenSelectors {
        let mut hidden = HiddenSelectors::default();
        let mut budget = MAX_SHEET;
        for id in dom.descendants(dom.root()) {
            if dom.name(id) != "style" {
                continue;
            }
            for text in dom.children(id) {
                if let NodeData::Text(sheet) = dom.data(text)
                    && sheet.len() <= budget
                {
                    budget -= sheet.len();
                    hidden.read(sheet);
                }
            }
        }
        hidden
    }

    fn read(&mut self, sheet: &str) {
        let mut rest = sheet;
        while let Some(open) = rest.find('{') {
            let selector = rest[..open].rsplit(['}', ';']).next().unwrap_or_default();
            let selector = selector.rsplit("*/").next().unwrap_or_default().trim();
            let body = &rest[open + 1..];
            if selector.starts_with('@') {
                rest = &body[block_end(body)..];
                continue;
            }
            let close = body.find('}').unwrap_or(body.len());
            if hides(&body[..close], StyleSource::Sheet) {
                self.keep(selector);
            }
            rest = body.get(close + 1..).unwrap_or_default();
        }
    }

    fn keep(&mut self, selectors: &str) {
        for one in selectors.split(',').map(str::trim) {
            let plain = |text: &str| {
                !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
            };
            match one.split_at_checked(1) {
                Some((".", name)) if plain(name) => self.classes.insert(name.to_owned()),
                Some(("#", name)) if plain(name) => self.ids.insert(name.to_owned()),
                _ => false,
            };
        }
    }

    /// Whether `id` and everything below it is hidden.
    pub(super) fn hides(&self, dom: &Dom, id: NodeId) -> bool {
        let NodeData::Element(name, attrs) = dom.data(id) else {
            return false;
        };
        // Some pages are hidden as a whole until a script has run.
        if matches!(&**name, "html" | "body" | "main") {
            return false;
        }
        // A second link to the same target is hidden only from screen readers.
        let second_link = &**name == "a" && dom.attr(id, "tabindex") == Some("-1");
        if &**name == "details" && is_unopenable_details(dom, id) {
            return true;
        }
        attrs.iter().any(|attr| match attr.name.local.as_bytes() {
            b"hidden" => !attr.value.eq_ignore_ascii_case("until-found"),
            b"aria-hidden" => attr.value.eq_ignore_ascii_case("true") && !second_link,
            b"style" => hides(&attr.value, StyleSource::Inline),
            b"class" if !self.classes.is_empty() => {
                attr.value.split_ascii_whitespace().any(|class| self.classes.contains(class))
            }
            b"id" if !self.ids.is_empty() => self.ids.contains(&*attr.value),
            _ => false,
        })
    }
}

/// Whether it is a closed `<details>` with an empty summary, which cannot be opened.
fn is_unopenable_details(dom: &Dom, id: NodeId) -> bool {
    let summary = dom.children(id).find(|child| dom.name(*child) == "summary");
    dom.attr(id, "open").is_none()
        && summary.is_some_and(|summary| {
            dom.text_within(summary, 0).is_empty()
                && dom.children(summary).all(|child| dom.name(child).is_empty())
        })
}

/// The end of the block of an at-rule whose content begins with `body`.
fn block_end(body: &str) -> usize {
    let mut depth = 1;
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    body.len()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StyleSource {
    Inline,
    Sheet,
}

/// Whether the declarations hide an element.
fn hides(style: &str, source: StyleSource) -> bool {
    if style.len() < 8 || style.len() > 4_000 {
        return false;
    }
    let style: String =
        style.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect();
    // Elements that fade in are transparent only until a script runs.
    let animated =
        ["transform", "transition", "animation", "will-change"].iter().any(|it| style.contains(it));
    let mut facts = StyleFacts::default();
    for one in style.split(';') {
        let Some((name, value)) = one.split_once(':') else {
            continue;
        };
        let value = value.trim_end_matches("!important");
        facts.apply(name, value);
    }
    facts.not_rendered
        || facts.clipped
        || (facts.tiny_box && facts.clips_overflow)
        || (facts.transparent && !animated)
        || (facts.off_screen && facts.positioned)
        || (source == StyleSource::Inline && facts.same_colour())
}

#[derive(Default)]
struct StyleFacts {
    not_rendered: bool,
    clipped: bool,
    tiny_box: bool,
    clips_overflow: bool,
    transparent: bool,
    off_screen: bool,
    positioned: bool,
    colour: Option<String>,
    background: Option<String>,
}

impl StyleFacts {
    fn apply(&mut self, name: &str, value: &str) {
        match name {
            "display" => self.not_rendered |= value == "none",
            "visibility" => self.not_rendered |= matches!(value, "hidden" | "collapse"),
            "content-visibility" => self.not_rendered |= value == "hidden",
            "font-size" => {
                self.not_rendered |=
                    number(value).is_some_and(|number| number < min_font_size(value))
            }
            "opacity" | "fill-opacity" => {
                self.transparent |= number(value).is_some_and(|number| number < 0.05);
            }
            "width" | "height" | "max-height" | "max-width" => {
                self.tiny_box |=
                    number(value).is_some_and(|number| number <= 1.0) && !value.ends_with('%');
            }
            "overflow" | "overflow-x" | "overflow-y" => self.clips_overflow |= value == "hidden",
            "clip" => self.clipped |= value.starts_with("rect(0") || value.starts_with("rect(1px"),
            "clip-path" => {
                self.clipped |= value.starts_with("inset(50%")
                    || value.starts_with("inset(100%")
                    || value.starts_with("circle(0");
            }
            "position" => self.positioned |= matches!(value, "absolute" | "fixed" | "relative"),
            "left" | "right" | "top" | "bottom" | "margin-left" | "margin-top" | "text-indent" => {
                let far = number(value).is_some_and(|number| number <= -900.0)
                    || (value.ends_with("em")
                        && number(value).is_some_and(|number| number <= -60.0));
                self.off_screen |= far;
                self.positioned |= far && (name.starts_with("margin") || name == "text-indent");
            }
            "transform" => {
                self.not_rendered |= value == "scale(0)"
                    || ["translate(-9999", "translatex(-9999", "translatey(-9999"]
                        .iter()
                        .any(|prefix| value.starts_with(prefix));
            }
            "color" => {
                self.not_rendered |=
                    value == "transparent" || value.ends_with(",0)") && value.starts_with("rgba");
                self.colour = Some(colour(value));
            }
            "background" | "background-color" => self.background = Some(colour(value)),
            _ => {}
        }
    }

    /// Whether the text has the colour of its background.
    fn same_colour(&self) -> bool {
        match (&self.colour, &self.background) {
            (Some(colour), Some(background)) => colour == background,
            _ => false,
        }
    }
}

fn min_font_size(value: &str) -> f64 {
    if value.ends_with("em") || value.ends_with('%') { 0.1 } else { 2.0 }
}

fn number(value: &str) -> Option<f64> {
    let end =
        value.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(value.len());
    value[..end].parse().ok()
}

fn colour(value: &str) -> String {
    match value {
        "white" | "#fff" | "#ffffff" | "rgb(255,255,255)" | "rgba(255,255,255,1)" => "#fff",
        "black" | "#000" | "#000000" | "rgb(0,0,0)" | "rgba(0,0,0,1)" => "#000",
        other => other,
    }
    .to_owned()
}
