//! Where sentences begin and end.
//!
//! A quote is only as good as its sentence, so this errs on the side of not splitting: an
//! abbreviation, an initial, a decimal or a reference such as "Fig. 2" never ends a sentence.
use std::ops::Range;

/// Words that carry a full stop without ending a sentence, lower case, without the stop.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "art", "assoc", "ave", "b.sc", "bros", "bzw", "ca", "cap", "cf", "ch", "chap",
    "co", "col", "corp", "dept", "dr", "drs", "e.g", "ed", "eds", "eg", "eq", "eqs", "esp", "est",
    "ex", "exp", "ext", "fig", "figs", "fr", "gen", "gov", "hon", "i.e", "ie", "inc", "incl", "jr",
    "lt", "ltd", "m.sc", "max", "min", "mme", "mr", "mrs", "ms", "mt", "no", "nos", "nr", "op",
    "p", "para", "ph.d", "pp", "prof", "pt", "ref", "refs", "rep", "reps", "resp", "rev", "sc", "sec", "sect",
    "sen", "sgt", "sp", "spp", "sr", "st", "ste", "str", "subsp", "suppl", "tab", "u.k", "u.s",
    "univ", "usw", "v", "var", "viz", "vol", "vols", "vs", "z.b",
];

/// Abbreviations that may also end a sentence: they do before a capital that starts a new one.
const MAY_END: &[&str] = &[
    "etc", "inc", "ltd", "co", "corp", "u.s", "u.k", "jr", "sr", "al", "a.m", "p.m",
];

/// The sentences of one block, as byte ranges without surrounding white space, in order.
///
/// Newlines end sentences only where a blank line stands. CJK full stops need no space after them.
pub fn sentences(block: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in block.char_indices() {
        if at < start {
            continue; // already part of the sentence before: "Why?! So."
        }
        let after = at + c.len_utf8();
        match c {
            '。' | '！' | '？' | '｡' => {
                let end = closers(block, after);
                push(block, start..end, &mut found);
                start = end;
            }
            '.' | '!' | '?' | '…' | '।' | '؟' => {
                let end = closers(block, after);
                if ends_here(block, start, at, c, end) {
                    push(block, start..end, &mut found);
                    start = end;
                }
            }
            '\n' => {
                let rest = &block[after..];
                if rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n') {
                    push(block, start..at, &mut found);
                    start = after;
                }
            }
            _ => {}
        }
    }
    push(block, start..block.len(), &mut found);
    found
}

/// Past quotes, brackets, reference marks and further stops that belong to the sentence before.
fn closers(block: &str, from: usize) -> usize {
    let mut end = from;
    for c in block[from..].chars() {
        match c {
            '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '」' | '』' | '）' | '.' | '!' | '?'
            | '！' | '？' | '。' | '…' => {
                end += c.len_utf8();
            }
            _ => break,
        }
    }
    end
}

fn ends_here(block: &str, start: usize, at: usize, stop: char, end: usize) -> bool {
    let rest = &block[end..];
    let mut ahead = rest.chars();
    match ahead.next() {
        None => return true,
        Some(c) if !c.is_whitespace() => {
            return stop == '.' && glued(&block[start..at], rest);
        }
        Some(_) => {}
    }
    let next = rest
        .trim_start()
        .chars()
        .find(|c| !matches!(c, '"' | '“' | '‘' | '«' | '(' | '[' | '\'' | '「'));
    if stop == '!' || stop == '?' {
        return next.is_none_or(|c| !c.is_lowercase());
    }
    if next.is_some_and(char::is_lowercase) {
        return false;
    }
    if stop != '.' {
        return true;
    }
    if block[..at].ends_with('.') {
        return true; // an ellipsis before a capital
    }
    let word_start = block[start..at]
        .rfind(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '“' | '/' | ','))
        .map_or(start, |it| {
            start + it + block[start + it..].chars().next().map_or(1, char::len_utf8)
        });
    let word = &block[word_start..at];
    let lower = word.to_lowercase();
    // An initial: "J. Smith", "S. aureus"; but "vitamin C. The" ends, and so does "plan B. We".
    if word.chars().count() == 1 && word.chars().all(char::is_uppercase) {
        let before = block[start..word_start].split_whitespace().next_back();
        let named = before.is_some_and(|it| it.chars().next().is_some_and(char::is_lowercase));
        return named && starts_sentence(rest);
    }
    if MAY_END.contains(&lower.as_str()) {
        return starts_sentence(rest);
    }
    if ABBREVIATIONS.contains(&lower.as_str()) {
        // "no. 5", "Fig. 2", "Dr. Smith"; "He said no. Then" ends.
        return matches!(
            lower.as_str(),
            "no" | "p" | "art" | "max" | "min" | "sec" | "tab" | "exp" | "col" | "ex" | "ed"
        ) && starts_sentence(rest);
    }
    // "1. First" at the start of a block is a list number.
    if word_start == start
        && word.len() <= 3
        && word.chars().all(|c| c.is_ascii_digit())
        && start == 0
    {
        return false;
    }
    true
}

/// Whether a sentence begins right behind the stop, as scraped text has it: "found.CONCLUSIONS: …"
/// and "the results.The next"; but not "Node.js" or "U.S.Senate".
fn glued(before: &str, rest: &str) -> bool {
    let word = before
        .rsplit(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default();
    let end = rest
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(rest.len());
    let (next, after) = rest.split_at(end);
    let label =
        next.len() >= 4 && next.chars().all(char::is_uppercase) && after.starts_with([':', ' ']);
    let plain = word.len() >= 4 && word.chars().all(char::is_lowercase);
    label || (plain && next.len() >= 2 && after.starts_with(' ') && starts_sentence(rest))
}

/// Whether what follows begins like a new sentence: a capitalised common opening word.
fn starts_sentence(rest: &str) -> bool {
    const OPENERS: &[&str] = &[
        "A", "After", "Although", "An", "And", "As", "At", "Because", "But", "By", "For", "From",
        "He", "Her", "Here", "His", "How", "However", "I", "If", "In", "It", "Its", "Many", "More",
        "Most", "No", "Of", "On", "One", "Or", "Other", "Our", "She", "Since", "So", "Some",
        "Such", "That", "The", "Their", "Then", "There", "These", "They", "This", "Those", "Thus",
        "To", "Under", "We", "What", "When", "Where", "Which", "While", "Who", "With", "You",
    ];
    rest.split_whitespace()
        .next()
        .map(|it| it.trim_matches(|c: char| !c.is_alphanumeric()))
        .is_some_and(|it| OPENERS.contains(&it))
}

fn push(block: &str, span: Range<usize>, found: &mut Vec<Range<usize>>) {
    let words = &block[span.clone()];
    let lead = words.len() - words.trim_start().len();
    let words = words.trim();
    if !words.is_empty() {
        let start = span.start + lead;
        found.push(start..start + words.len());
    }
}

#[cfg(test)]
mod tests {
    use super::sentences;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|it| &text[it]).collect()
    }

    #[test]
    fn plain_sentences_are_told_apart() {
        assert_eq!(
            split("Cork grows slowly. Is it strong? Yes! \"It is.\" So they say."),
            [
                "Cork grows slowly.",
                "Is it strong?",
                "Yes!",
                "\"It is.\"",
                "So they say."
            ]
        );
    }

    #[test]
    fn abbreviations_initials_and_decimals_do_not_end_a_sentence() {
        for whole in [
            "Dr. Smith et al. (2019) found 3.5 mg in S. aureus, cf. Fig. 2 and no. 7.",
            "The U.S. Senate met at 5 p.m. on Monday.",
            "J. R. Tolkien lived at St. John's.",
            "1. Soak the beans overnight.",
            "It costs approx. 4.20 EUR, i.e. less than before.",
        ] {
            assert_eq!(split(whole), [whole]);
        }
    }

    #[test]
    fn a_sentence_glued_to_the_one_before_is_told_apart() {
        assert_eq!(
            split("Cork floats (P = 0.8).CONCLUSIONS: It sinks not at all.The rest is oak."),
            [
                "Cork floats (P = 0.8).",
                "CONCLUSIONS: It sinks not at all.",
                "The rest is oak."
            ]
        );
        assert_eq!(split("Node.js runs U.S.Senate files."), ["Node.js runs U.S.Senate files."]);
    }

    #[test]
    fn an_abbreviation_before_an_opening_word_does_end_it() {
        assert_eq!(
            split("It was made in the U.S. The rest came later. Take vitamin C. It helps."),
            [
                "It was made in the U.S.",
                "The rest came later.",
                "Take vitamin C.",
                "It helps."
            ]
        );
    }

    #[test]
    fn stops_in_a_row_belong_to_one_sentence() {
        assert_eq!(
            split("Why?! So... \"Well.\". Yes."),
            ["Why?!", "So...", "\"Well.\".", "Yes."]
        );
        assert_eq!(split("真的？！是。"), ["真的？！", "是。"]);
    }

    #[test]
    fn chinese_and_hindi_stops_count() {
        assert_eq!(split("天气很好。我们走吧！"), ["天气很好。", "我们走吧！"]);
        assert_eq!(split("यह अच्छा है। वह गया।"), ["यह अच्छा है।", "वह गया।"]);
    }

    #[test]
    fn blank_lines_end_a_sentence_and_single_newlines_do_not() {
        assert_eq!(
            split("one line\nstill one\n\nanother"),
            ["one line\nstill one", "another"]
        );
    }
}
