//! A formatted bibliography, in the styles of `hayagriva`. Style files are never read.
use std::collections::BTreeSet;
use std::sync::LazyLock;

use hayagriva::archive::{ArchivedStyle, locales};
use hayagriva::citationberg::json::Item;
use hayagriva::citationberg::{
    FontStyle, FontWeight, IndependentStyle, LayoutRenderingElement, Locale, LocaleCode, Name,
    NamesChild, Style,
};
use hayagriva::{
    BibliographyDriver, BibliographyRequest, CitationItem, CitationRequest, ElemChild, ElemChildren,
};

use super::{ReferenceEntry, csl};
use crate::escape::{markdown, web_url};
use ibid_core::{Error, ErrorKind, Result};

/// The default style.
pub const DEFAULT: &str = "vancouver";

/// The shortest name of every style with a bibliography.
pub fn citation_styles() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().copied()
}

static KNOWN: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    ArchivedStyle::all()
        .iter()
        .filter(|it| independent_style(**it).is_some())
        .filter_map(|it| it.names().iter().copied().min_by_key(|name| name.len()))
        .collect()
});

/// The style, if it is independent and has a bibliography.
fn independent_style(it: ArchivedStyle) -> Option<IndependentStyle> {
    let Style::Independent(mut style) = it.get() else {
        return None;
    };
    style.bibliography.as_ref()?;
    // hayagriva 0.10 leaves out all names when a style has no formatting for one name, as Vancouver.
    for element in style.macros.iter_mut().flat_map(|definition| &mut definition.children) {
        if let LayoutRenderingElement::Names(names) = element
            && names.name().is_none()
        {
            names.children.insert(0, NamesChild::Name(Name::default()));
        }
    }
    Some(style)
}

static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(locales);

/// The sources in `style`, in its order, as Markdown with a paragraph for each. `lang` is the two-letter language of its terms, as
/// `Retrieved`.
///
/// # Errors
/// `Usage` for an unknown style, with the list of valid ones.
pub fn write(all: &[ReferenceEntry], style: &str, lang: &str) -> Result<String> {
    let wanted = style.trim().to_lowercase();
    let found = ArchivedStyle::by_name(&wanted).and_then(independent_style);
    let Some(style) = found else {
        let names: Vec<&str> = citation_styles().collect();
        let shown: String = plain_name(style);
        return Err(Error::new(ErrorKind::Usage, format!("unknown style `{shown}`"))
            .with_hint(format!("use one of {}", names.join(", "))));
    };
    let items: Vec<Item> = csl::items(all)
        .into_iter()
        .map(serde_json::from_value)
        .collect::<std::result::Result<_, _>>()
        .map_err(|error| {
            Error::new(ErrorKind::Internal, "reading sources as CSL").with_source(error)
        })?;
    let locale = locale(lang);
    let mut driver = BibliographyDriver::new();
    for it in &items {
        let cited = vec![CitationItem::with_entry(it)];
        driver.citation(CitationRequest::new(cited, &style, Some(locale.clone()), &LOCALES, None));
    }
    let made = driver.finish(BibliographyRequest::new(&style, Some(locale), &LOCALES));
    let entries = made.bibliography.map(|bibliography| bibliography.items).unwrap_or_default();
    let mut out = String::new();
    for entry in entries {
        let mut pieces = Vec::new();
        if let Some(first) = &entry.first_field {
            flatten(&ElemChildren(vec![first.clone()]), &mut pieces);
            pieces.push(StyledText::from_text(" "));
        }
        flatten(&entry.content, &mut pieces);
        out.push_str(to_markdown(pieces).trim());
        out.push_str("\n\n");
    }
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    Ok(out)
}

fn plain_name(text: &str) -> String {
    super::plain_line(text).chars().take(60).collect()
}

/// The most common locale of a language.
fn locale(lang: &str) -> LocaleCode {
    let usual = match lang {
        "en" => Some("en-US"),
        "pt" => Some("pt-BR"),
        "zh" => Some("zh-CN"),
        _ => None,
    };
    let there = |code: &&LocaleCode| match usual {
        Some(usual) => code.0 == usual,
        None => code.0.split('-').next() == Some(lang) && !code.0.ends_with("-AT"),
    };
    let found = LOCALES.iter().filter_map(|locale| locale.lang.as_ref()).find(there);
    found.cloned().unwrap_or_else(LocaleCode::en_us)
}

/// Text in one style.
#[derive(Debug, Clone, PartialEq)]
struct StyledText {
    text: String,
    italic: bool,
    bold: bool,
    url: Option<String>,
}

impl StyledText {
    fn from_text(text: &str) -> StyledText {
        StyledText { text: text.to_owned(), italic: false, bold: false, url: None }
    }

    fn from_formatted(it: &hayagriva::Formatted, url: Option<&str>) -> StyledText {
        StyledText {
            text: it.text.clone(),
            italic: it.formatting.font_style == FontStyle::Italic,
            bold: it.formatting.font_weight == FontWeight::Bold,
            url: url.and_then(web_url),
        }
    }
}

fn flatten(from: &ElemChildren, into: &mut Vec<StyledText>) {
    for child in &from.0 {
        let piece = match child {
            ElemChild::Text(it) => StyledText::from_formatted(it, None),
            ElemChild::Link { text, url } => StyledText::from_formatted(text, Some(url)),
            ElemChild::Markup(it) => StyledText::from_text(it),
            ElemChild::Transparent { .. } => continue,
            ElemChild::Elem(it) => {
                if it.display.is_some() {
                    into.push(StyledText::from_text(" "));
                }
                flatten(&it.children, into);
                continue;
            }
        };
        match into.last_mut() {
            Some(last)
                if last.url.is_none()
                    && StyledText { text: String::new(), ..last.clone() }
                        == StyledText { text: String::new(), ..piece.clone() } =>
            {
                last.text.push_str(&piece.text);
            }
            _ => into.push(piece),
        }
    }
}

/// The pieces as Markdown. White space stays outside of the markup.
fn to_markdown(pieces: Vec<StyledText>) -> String {
    let mut out = String::new();
    for it in pieces {
        let core = markdown(&it.text);
        let blank = |c: Option<char>| c.is_some_and(char::is_whitespace);
        if blank(it.text.chars().next()) && !out.ends_with(' ') {
            out.push(' ');
        }
        if core.is_empty() {
            continue;
        }
        let mark = match (it.bold, it.italic) {
            (true, true) => "***",
            (true, false) => "**",
            (false, true) => "*",
            (false, false) => "",
        };
        match &it.url {
            Some(url) => out.push_str(&format!("{mark}[{core}](<{url}>){mark}")),
            None => out.push_str(&format!("{mark}{core}{mark}")),
        }
        if blank(it.text.chars().next_back()) {
            out.push(' ');
        }
    }
    out
}
