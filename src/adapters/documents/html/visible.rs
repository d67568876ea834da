//! What a reader of the page cannot see: hidden by attribute, by inline style, or by a class that
//! the page's own style sheet hides.
use std::collections::HashSet;

use super::dom::{Data, Dom, NodeId};

/// Style sheets longer than this are not looked through.
const MAX_SHEET: usize = 400_000;

/// The classes and ids that the page's `<style>` elements hide for good.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    classes: HashSet<String>,
    ids: HashSet<String>,
}

impl Hidden {
    /// Reads the simple rules (`.a`, `#b`, no combinators, outside `@media`) of all style elements.
    pub(super) fn of(dom: &Dom) -> Hidden {
        let mut hidden = Hidden::default();
        let mut budget = MAX_SHEET;
        for id in dom.descendants(dom.root()) {
            if dom.name(id) != "style" {
                continue;
            }
            for text in dom.children(id) {
                if let Data::Text(sheet) = dom.data(text)
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
            if hides(&body[..close], Source::Sheet) {
                self.keep(selector);
            }
            rest = body.get(close + 1..).unwrap_or_default();
        }
    }

    fn keep(&mut self, selectors: &str) {
        for one in selectors.split(',').map(str::trim) {
            let plain = |it: &str| {
                !it.is_empty() && it.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
            };
            match one.split_at_checked(1) {
                Some((".", name)) if plain(name) => self.classes.insert(name.to_owned()),
                Some(("#", name)) if plain(name) => self.ids.insert(name.to_owned()),
                _ => false,
            };
        }
    }

    /// Whether `id` and all below it is out of a reader's sight.
    pub(super) fn hides(&self, dom: &Dom, id: NodeId) -> bool {
        let Data::Element(name, attrs) = dom.data(id) else {
            return false;
        };
        // Whole pages are hidden until a script has run; and a second link to the same place is
        // hidden from screen readers alone.
        if matches!(&**name, "html" | "body" | "main") {
            return false;
        }
        let second_link = &**name == "a" && dom.attr(id, "tabindex") == Some("-1");
        if &**name == "details" && is_shut_for_good(dom, id) {
            return true;
        }
        attrs.iter().any(|it| match it.name.local.as_bytes() {
            b"hidden" => !it.value.eq_ignore_ascii_case("until-found"),
            b"aria-hidden" => it.value.eq_ignore_ascii_case("true") && !second_link,
            b"style" => hides(&it.value, Source::Inline),
            b"class" if !self.classes.is_empty() => it
                .value
                .split_ascii_whitespace()
                .any(|class| self.classes.contains(class)),
            b"id" if !self.ids.is_empty() => self.ids.contains(&*it.value),
            _ => false,
        })
    }
}

/// A closed `<details>` whose summary is empty: there is nothing to open it by.
fn is_shut_for_good(dom: &Dom, id: NodeId) -> bool {
    let summary = dom.children(id).find(|it| dom.name(*it) == "summary");
    dom.attr(id, "open").is_none()
        && summary.is_some_and(|it| {
            dom.text_within(it, 0).is_empty() && dom.children(it).all(|it| dom.name(it).is_empty())
        })
}

/// The end of an at-rule's block whose inside begins `body`.
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
enum Source {
    Inline,
    Sheet,
}

/// Whether the declarations put an element out of sight.
fn hides(style: &str, source: Source) -> bool {
    if style.len() < 8 || style.len() > 4_000 {
        return false;
    }
    let style: String = style
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    // Elements that fade or slide in are transparent or shifted only until a script runs.
    let animated = ["transform", "transition", "animation", "will-change"]
        .iter()
        .any(|it| style.contains(it));
    let mut facts = Facts::default();
    for one in style.split(';') {
        let Some((name, value)) = one.split_once(':') else {
            continue;
        };
        let value = value.trim_end_matches("!important");
        facts.note(name, value);
    }
    facts.gone
        || facts.clipped
        || (facts.no_size && facts.cut_off)
        || (facts.transparent && !animated)
        || (facts.far_off && facts.placed)
        || (source == Source::Inline && facts.same_colour())
}

#[derive(Default)]
struct Facts {
    gone: bool,
    clipped: bool,
    no_size: bool,
    cut_off: bool,
    transparent: bool,
    far_off: bool,
    placed: bool,
    colour: Option<String>,
    ground: Option<String>,
}

impl Facts {
    fn note(&mut self, name: &str, value: &str) {
        match name {
            "display" => self.gone |= value == "none",
            "visibility" => self.gone |= matches!(value, "hidden" | "collapse"),
            "content-visibility" => self.gone |= value == "hidden",
            "font-size" => self.gone |= number(value).is_some_and(|it| it < tiny(value)),
            "opacity" | "fill-opacity" => {
                self.transparent |= number(value).is_some_and(|it| it < 0.05);
            }
            "width" | "height" | "max-height" | "max-width" => {
                self.no_size |= number(value).is_some_and(|it| it <= 1.0) && !value.ends_with('%');
            }
            "overflow" | "overflow-x" | "overflow-y" => self.cut_off |= value == "hidden",
            "clip" => self.clipped |= value.starts_with("rect(0") || value.starts_with("rect(1px"),
            "clip-path" => {
                self.clipped |= value.starts_with("inset(50%")
                    || value.starts_with("inset(100%")
                    || value.starts_with("circle(0");
            }
            "position" => self.placed |= matches!(value, "absolute" | "fixed" | "relative"),
            "left" | "right" | "top" | "bottom" | "margin-left" | "margin-top" | "text-indent" => {
                let far = number(value).is_some_and(|it| it <= -900.0)
                    || (value.ends_with("em") && number(value).is_some_and(|it| it <= -60.0));
                self.far_off |= far;
                self.placed |= far && (name.starts_with("margin") || name == "text-indent");
            }
            "transform" => {
                self.gone |= value == "scale(0)"
                    || ["translate(-9999", "translatex(-9999", "translatey(-9999"]
                        .iter()
                        .any(|it| value.starts_with(it));
            }
            "color" => {
                self.gone |=
                    value == "transparent" || value.ends_with(",0)") && value.starts_with("rgba");
                self.colour = Some(colour(value));
            }
            "background" | "background-color" => self.ground = Some(colour(value)),
            _ => {}
        }
    }

    /// White on white: the text has the colour of its own ground, or of paper where it names none.
    fn same_colour(&self) -> bool {
        match (&self.colour, &self.ground) {
            (Some(colour), Some(ground)) => colour == ground,
            _ => false,
        }
    }
}

fn tiny(value: &str) -> f64 {
    if value.ends_with("em") || value.ends_with('%') {
        0.1
    } else {
        2.0
    }
}

fn number(value: &str) -> Option<f64> {
    let end = value
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
        .unwrap_or(value.len());
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
