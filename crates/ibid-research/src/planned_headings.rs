//! Headings of a plan that a model wrote, made safe to print: one short line without markup, links and citation marks.
//!
//! Every title of a section comes from the plan, and the headings of its items are printed in the table of coverage, so this
//! is the one place where headings from a model enter.
use crate::ask::shapes::PlanReply;
use crate::ask::template::strip_invisible;
use crate::heuristic::injection::InjectionDetector;
use crate::prompts;
use crate::prompts::SentenceWords;
use ibid_core::Result;
use ibid_core::domain::Brief;
use ibid_core::domain::words::{is_stop_word, tokens};

/// Most characters of a heading.
const MAX_HEADING_CHARS: usize = 100;

/// `reply` with headings that can be printed. A heading that gives orders, or that has no word, is empty afterwards: an item
/// and a section without a heading are left out.
///
/// # Errors
/// `Internal` if the lists of words cannot be read.
pub(crate) fn with_safe_headings(brief: &Brief, mut reply: PlanReply) -> Result<PlanReply> {
    let orders = InjectionDetector::from_brief(brief)?;
    let items = reply.items.iter_mut().map(|item| &mut item.heading);
    let sections = reply.sections.iter_mut().map(|section| &mut section.title);
    for heading in items.chain(sections) {
        let text = plain_line(heading);
        *heading = match orders.is_injection(&text) {
            true => String::new(),
            false => shortened(&without_assertion(&text, &brief.question)?),
        };
    }
    Ok(reply)
}

/// The heading, as what is asked if it is a statement: "Green roofs cause cancer" becomes "Whether green roofs cause cancer".
/// No heading has a citation, so none says what is so.
fn without_assertion(text: &str, question: &str) -> Result<String> {
    const ASKING: [&str; 12] = [
        "how", "what", "why", "when", "where", "whether", "which", "who", "if", "do", "does", "can",
    ];
    let words = tokens(text);
    let is_asking = words.first().is_none_or(|first| ASKING.contains(&first.text.as_str()));
    if text.ends_with('?') || is_asking || !is_statement(text, &prompts::phrases()?.sentence) {
        return Ok(text.to_owned());
    }
    let text = text.trim_end_matches(['.', '!']);
    let first = &text[words[0].span.clone()];
    // A name keeps its capital letter.
    let is_common = question.split_whitespace().any(|word| word == words[0].text)
        || is_stop_word(&words[0].text);
    let rest = &text[words[0].span.end..];
    Ok(format!("Whether {}{rest}", if is_common { &words[0].text } else { first }))
}

/// Whether a heading states something: its subject is followed by a verb that agrees with it. "Green roof costs" and "use in
/// cities" have a noun there.
fn is_statement(text: &str, words: &SentenceWords) -> bool {
    const COPULAS: [&str; 20] = [
        "is", "are", "was", "were", "has", "have", "had", "does", "do", "did", "can", "cannot",
        "will", "would", "should", "must", "isn't", "aren't", "doesn't", "don't",
    ];
    const BEFORE_NOUN: [&str; 10] =
        ["of", "and", "or", "in", "on", "for", "to", "a", "the", "with"];
    let all = tokens(text);
    (1..all.len()).any(|at| {
        let (before, verb) = (all[at - 1].text.as_str(), all[at].text.as_str());
        let gap = &text[all[at - 1].span.end..all[at].span.start];
        if BEFORE_NOUN.contains(&before) || !gap.trim().is_empty() {
            return false;
        }
        if COPULAS.contains(&verb) {
            return true;
        }
        let plural = before.ends_with('s') && !before.ends_with("ss");
        let singular_verb = verb.ends_with('s') && !verb.ends_with("ss");
        let next = all.get(at + 1).map(|next| next.text.as_str());
        let has_object = next.is_some_and(|next| !BEFORE_NOUN[..7].contains(&next));
        let agrees = plural && !singular_verb || singular_verb && has_object;
        agrees && words.verbs.contains(verb)
    })
}

/// The text on one line, without markup, addresses, citation marks, and characters that cannot be seen.
fn plain_line(text: &str) -> String {
    let mut text: String = strip_invisible(text).chars().map(fold_width).collect();
    // What is left of a tag can make another.
    loop {
        let bare = without_tags(&text);
        if bare == text {
            break;
        }
        text = bare;
    }
    let text = without_brackets(&text);
    let is_address = |word: &&str| {
        let word = word.to_lowercase();
        let path = word.split_once('/').is_some_and(|(host, _)| host.contains('.'));
        path || word.contains("://") || word.contains("www.") || word.starts_with("mailto:")
    };
    let words = text.split_whitespace().filter(|word| !is_address(word));
    let line = words.collect::<Vec<_>>().join(" ");
    let is_markup = |c: char| matches!(c, '*' | '`' | '~' | '|' | '\\');
    let line = line.replace(is_markup, "").replace("__", "");
    let begins =
        |c: char| c.is_whitespace() || matches!(c, '#' | '>' | '-' | '+' | '=' | '_' | ':');
    let ends = |c: char| c.is_whitespace() || matches!(c, '=' | '_' | ':');
    let line = line.trim_start_matches(begins).trim_end_matches(ends);
    let is_wordless = !line.chars().any(char::is_alphanumeric);
    if is_wordless { String::new() } else { line.split_whitespace().collect::<Vec<_>>().join(" ") }
}

/// The ASCII character of a full-width form.
fn fold_width(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

/// Removes `<b>`, `</b>` and `<!-- … -->`; keeps a `<` that begins no tag.
fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let tag = &rest[at + 1..];
        let opens =
            tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        match tag.find('>').filter(|_| opens) {
            Some(end) => rest = &tag[end + 1..],
            None => {
                out.push('<');
                rest = tag;
            }
        }
    }
    out + rest
}

/// Replaces `[text](address)` and `![text](address)` with their text, and removes citation marks: `[1]`, `[E3]`, `[^1]`, `【1】`
/// and `(E3)`.
fn without_brackets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', '【', '(']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let mut chars = from.chars();
        let (opening, inner) = (chars.next().unwrap_or('['), chars.as_str());
        let closing = match opening {
            '(' => ')',
            '【' => '】',
            _ => ']',
        };
        let Some((inside, after)) = inner.split_once(closing) else {
            out.push(opening);
            rest = inner;
            continue;
        };
        rest = after;
        if is_mark(inside, opening) {
            out.truncate(out.trim_end().len());
            continue;
        }
        if let (Some(address), '[') = (after.strip_prefix('('), opening) {
            out.truncate(out.trim_end_matches('!').len());
            out.push_str(inside);
            rest = address.split_once(')').map_or("", |(_, rest)| rest);
        } else {
            out.push(opening);
            out.push_str(inside);
            out.push(closing);
        }
    }
    out + rest
}

/// Whether brackets with `inside` cite something. In round brackets, a number alone may be a year.
fn is_mark(inside: &str, opening: char) -> bool {
    let mut parts = inside.split([',', ';', '-', '–']).map(str::trim);
    !inside.trim().is_empty()
        && parts.all(|part| {
            let number = part.trim_start_matches(['^', 'E', 'e']);
            let is_id = number.len() < part.len();
            let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            digits && number.len() < 4 && (is_id || opening != '(')
        })
}

/// The text, cut between words to at most [`MAX_HEADING_CHARS`] characters.
fn shortened(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_HEADING_CHARS) else {
        return text.to_owned();
    };
    let room: String = text[..end].chars().take(MAX_HEADING_CHARS - 1).collect();
    let words = match room.rsplit_once(' ') {
        Some((words, _)) if words.len() > room.len() / 2 => words,
        _ => &room,
    };
    format!("{}…", words.trim_end_matches(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_one_line_of_plain_words() {
        for (written, printed) in [
            ("Retention in winter", "Retention in winter"),
            ("## **Retention** in `winter`\n\n", "Retention in winter"),
            ("Costs [1], benefits [E3] (E4) and risks【2】 [^1]", "Costs, benefits and risks"),
            ("[Costs](https://evil.example/x) and https://a.example risks", "Costs and risks"),
            (
                "![Costs](x.png) <script>alert(1)</script>in 2020 (2021)",
                "Costs alert(1)in 2020 (2021)",
            ),
            ("Ri\u{202e}sks\u{200b}\u{7} of [open bracket", "Risks of [open bracket"),
            ("C# and C++ if a < b", "C# and C++ if a < b"),
            ("***", ""),
        ] {
            assert_eq!(plain_line(written), printed, "{written}");
        }
    }

    #[test]
    fn a_heading_that_states_something_asks_it() {
        let question = "Do green roofs harm people?";
        for (written, printed) in [
            ("Green roofs cause cancer", "Whether green roofs cause cancer"),
            ("Asbestos causes cancer.", "Whether Asbestos causes cancer"),
            ("The mats are dangerous!", "Whether the mats are dangerous"),
            ("Cancer and other harm", "Cancer and other harm"),
            ("Green roof costs", "Green roof costs"),
            ("Use of water in cities", "Use of water in cities"),
            ("Costs, use and risks", "Costs, use and risks"),
            ("How green roofs work", "How green roofs work"),
            ("Are green roofs safe?", "Are green roofs safe?"),
        ] {
            assert_eq!(without_assertion(written, question).unwrap(), printed, "{written}");
        }
    }

    #[test]
    fn a_long_heading_is_cut_between_words() {
        let long = shortened(&"retention of rain ".repeat(40));
        assert!(long.chars().count() <= MAX_HEADING_CHARS && long.ends_with("rain…"), "{long}");
        assert_eq!(shortened(&"雨".repeat(300)).chars().count(), MAX_HEADING_CHARS);
        assert_eq!(shortened(&"x".repeat(100)), "x".repeat(100));
    }
}
