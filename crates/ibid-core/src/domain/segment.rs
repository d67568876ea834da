//! Sentence segmentation.
//!
//! Quotes consist of whole sentences, so this prefers not to split: an abbreviation, an initial, a decimal or a
//! reference such as "Fig. 2" never ends a sentence.
mod lost_stop;

use std::ops::Range;

pub use lost_stop::opens_sentence;
use lost_stop::split_at_lost_stops;

/// Abbreviations that do not end a sentence, lower case, without the full stop: English first, then German, French,
/// and Spanish.
#[rustfmt::skip]
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "art", "assoc", "ave", "b.sc", "bros", "ca", "cap", "cf", "ch", "chap", "co",
    "col", "corp", "dept", "dr", "drs", "e.g", "ed", "eds", "eg", "eq", "eqs", "esp", "est", "ex",
    "exp", "ext", "fig", "figs", "gen", "gov", "hon", "i.e", "ie", "inc", "incl", "jr", "lt", "ltd",
    "m.sc", "max", "min", "mr", "mrs", "ms", "mt", "no", "nos", "op", "p", "para", "ph.d", "pp",
    "prof", "pt", "ref", "refs", "rep", "reps", "resp", "rev", "sc", "sec", "sect", "sen", "sgt", "sp", "spp",
    "sr", "st", "ste", "subsp", "suppl", "tab", "u.k", "u.s", "univ", "v", "var", "viz", "vol",
    "vols", "vs",
    "abb", "abs", "aufl", "bd", "bspw", "bzgl", "bzw", "dipl", "evtl", "geb", "gest", "ggf",
    "hrsg", "inkl", "ing", "kap", "mio", "mrd", "nr", "sog", "str", "tel", "usw", "vgl", "z.b",
    "zzgl",
    "env", "fr", "mlle", "mme", "mm",
    "dra", "ee", "núm", "pág", "págs", "sra", "srta", "ud", "uds", "uu",
];

/// Abbreviations that end a sentence if the next word starts a new one.
#[rustfmt::skip]
const MAY_END: &[&str] = &[
    "a.m", "al", "art", "ave", "b.sc", "co", "col", "corp", "dept", "ed", "est", "etc", "ex", "exp",
    "inc", "jr", "ltd", "m.sc", "max", "min", "mio", "mrd", "p", "p.m", "ph.d", "sec", "sr", "st",
    "tab", "u.k", "u.s", "usw",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "okt", "dez",
];

/// Units that are also abbreviations, lower case.
const UNITS: &[&str] = &["mm", "min", "sec"];
/// Units of one letter.
const LETTER_UNITS: &[char] = &['m', 'g', 't', 'l', 'h', 's', 'L', 'W', 'V', 'K'];

/// Returns the sentences of a block as byte ranges, in order, without surrounding white space.
///
/// A newline ends a sentence only before a blank line or a list item; a bullet always does. CJK full stops need no
/// following space.
pub fn split_sentences(block: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut seen = 0;
    for (at, c) in block.char_indices() {
        if at < seen {
            continue; // a run of stops is weighed once, at its first: "Why?! So..."
        }
        let after = at + c.len_utf8();
        match c {
            '。' | '！' | '？' | '｡' => {
                let end = skip_closers(block, after);
                seen = end;
                push_trimmed(block, start..end, &mut found);
                start = end;
            }
            '.' | '!' | '?' | '…' | '।' | '؟' => {
                let end = skip_closers(block, after);
                seen = end;
                if is_sentence_end(block, start, at, c, end) {
                    push_trimmed(block, start..end, &mut found);
                    start = end;
                }
            }
            '\n' if opens_block(&block[after..]) => {
                push_trimmed(block, start..at, &mut found);
                start = after;
            }
            '•' | '‣' | '▪' | '●' | '■' | '◦' if stands_alone(&block[..at], &block[after..]) =>
            {
                push_trimmed(block, start..at, &mut found);
                start = after;
            }
            _ => {}
        }
    }
    push_trimmed(block, start..block.len(), &mut found);
    split_at_lost_stops(block, found)
}

/// Whether the mark between `before` and `after` touches no word; in "HO•" it does.
fn stands_alone(before: &str, after: &str) -> bool {
    before.chars().next_back().is_none_or(char::is_whitespace)
        && after.chars().next().is_none_or(char::is_whitespace)
}

/// Whether `rest`, after a newline, starts with a blank line or a list item: "- ", "* ", "3. Then", "4) Then".
fn opens_block(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', '\t', '\r']);
    let bare = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = rest.len() - bare.len();
    rest.starts_with('\n')
        || rest.starts_with("- ")
        || rest.starts_with("* ")
        || ((1..=2).contains(&number)
            && bare
                .strip_prefix(". ")
                .or_else(|| bare.strip_prefix(") "))
                .is_some_and(|rest| rest.starts_with(char::is_uppercase)))
}

/// Skips quotes, brackets, reference marks and further stops that belong to the preceding sentence.
fn skip_closers(block: &str, from: usize) -> usize {
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
    end + reference_marks(&block[..end], &block[end..])
}

/// Length of the reference marks directly after a stop: `[12]`, `[a][3]`, or `12` and `3,4` after a letter if a space
/// and a capital follow ("was found.12 The").
fn reference_marks(before: &str, rest: &str) -> usize {
    let mut length = 0;
    while let Some(inner) = rest[length..].strip_prefix('[')
        && let Some(close) = inner.bytes().take(24).position(|byte| byte == b']')
    {
        length += close + 2;
    }
    if length > 0 {
        return length;
    }
    let bare =
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '–'));
    let digits = rest.len() - bare.len();
    let glued_to_word =
        before.trim_end_matches(['.', '"', '”', ')']).ends_with(char::is_alphabetic);
    let next = bare.trim_start();
    if (1..=9).contains(&digits)
        && rest.starts_with(|c: char| c.is_ascii_digit())
        && glued_to_word
        && next.len() < bare.len()
        && next.starts_with(char::is_uppercase)
    {
        digits
    } else {
        0
    }
}

fn is_sentence_end(block: &str, start: usize, at: usize, stop: char, end: usize) -> bool {
    let rest = &block[end..];
    let word_start = word_before(block, start, at);
    let word = &block[word_start..at];
    match rest.chars().next() {
        None => return true,
        Some(c) if !c.is_whitespace() => {
            return stop == '.' && end == at + 1 && is_glued_sentence_end(word, rest);
        }
        Some(_) => {}
    }
    let next = rest
        .trim_start()
        .chars()
        .find(|c| !matches!(c, '"' | '“' | '‘' | '«' | '(' | '[' | '\'' | '「' | '¿' | '¡'));
    // "(what? ) and", "... , 2010", "no. 3": a sentence never begins with a punctuation mark or a lower-case letter.
    if next.is_some_and(|c| c.is_lowercase() || matches!(c, ',' | ';' | ':' | ')' | ']' | '}')) {
        return false;
    }
    if stop == '!' || stop == '?' {
        return true;
    }
    if stop != '.' {
        return !in_brackets(&block[start..at], rest);
    }
    if block[at..].starts_with("..") {
        return !in_brackets(&block[start..at], rest); // an ellipsis before a capital
    }
    if let Some(ends) = abbreviation_ends(block, start, word_start, word, rest) {
        return ends;
    }
    // "1. First", "2.3. Then" at the start of a sentence is a list number.
    if word_start == start + leading_whitespace(&block[start..at])
        && word.len() <= 6
        && word.chars().all(|c| c.is_ascii_digit() || c == '.')
    {
        return false;
    }
    // "am 3. Oktober", "im 19. Jahrhundert": a German ordinal.
    if word.len() <= 2 && word.chars().all(|c| c.is_ascii_digit()) {
        let before = block[start..word_start].split_whitespace().next_back();
        let german = [
            "ab", "am", "bis", "das", "dem", "den", "der", "des", "die", "dieser", "im", "vom",
            "zum",
        ];
        if before.is_some_and(|text| german.contains(&text.to_lowercase().as_str())) {
            return false;
        }
    }
    !in_brackets(&block[start..end], rest)
}

/// Start of the word that ends at `at`. For words longer than any abbreviation, returns a position inside the word.
fn word_before(block: &str, start: usize, at: usize) -> usize {
    const MAX_ABBREVIATION_BYTES: usize = 24;
    block[start..at]
        .char_indices()
        .rev()
        .take(MAX_ABBREVIATION_BYTES)
        .find(|(_, c)| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '“' | '/' | ','))
        .map_or_else(
            || {
                let from = at.saturating_sub(MAX_ABBREVIATION_BYTES).max(start);
                (from..=at).find(|index| block.is_char_boundary(*index)).unwrap_or(at)
            },
            |(it, c)| start + it + c.len_utf8(),
        )
}

/// Whether an abbreviation or initial before the stop ends the sentence; `None` if the word is neither.
fn abbreviation_ends(
    block: &str,
    start: usize,
    word_start: usize,
    word: &str,
    rest: &str,
) -> Option<bool> {
    let after_number = block[start..word_start].trim_end().ends_with(|c: char| c.is_ascii_digit());
    let mut chars = word.chars();
    if let (Some(only), None) = (chars.next(), chars.next())
        && only.is_alphabetic()
    {
        // An initial: "J. Smith", "S. aureus"; but "vitamin C. The" ends, and so does "plan B. We".
        // "z. B.", "(b. 1980, Ireland)".
        let mut ahead = rest.trim_start().chars();
        let next = ahead.next();
        if only.is_lowercase()
            && (next.is_some_and(|c| c.is_ascii_digit()) || ahead.next() == Some('.'))
        {
            return Some(false);
        }
        let before = block[start..word_start].split_whitespace().next_back();
        // "It weighs 30 g. Roofs": a unit.
        if after_number && LETTER_UNITS.contains(&only) {
            return Some(rest.trim_start().starts_with(char::is_uppercase));
        }
        let named = before.is_some_and(|text| text.chars().next().is_some_and(char::is_lowercase))
            || matches!(before, Some("War" | "Phase" | "Type" | "Part" | "Class" | "Grade"));
        return Some((only.is_lowercase() || named) && starts_sentence(rest));
    }
    if word.len() > 12 {
        return None;
    }
    let lower = word.to_lowercase();
    // "At least 30 mm. The next": a unit behind a number may end a sentence, unlike "Mm. Curie" or "30 min. walk".
    if after_number && UNITS.contains(&lower.as_str()) {
        return Some(rest.trim_start().starts_with(char::is_uppercase));
    }
    // Capitals indicate an acronym: "treatment of HL.", "at the ABS.".
    let capitals = word.len() > 1 && word.chars().all(char::is_uppercase);
    if capitals && !matches!(lower.as_str(), "dr" | "ee" | "mr" | "mrs" | "no" | "st" | "uu") {
        return None;
    }
    // "No. It is not." and "He said no. Then", but "no. 5".
    if lower == "no" {
        return Some(rest.trim_start().starts_with(char::is_alphabetic));
    }
    if MAY_END.contains(&lower.as_str()) {
        return Some(starts_sentence(rest));
    }
    ABBREVIATIONS.contains(&lower.as_str()).then_some(false)
}

/// Whether a stop directly followed by a word ends a sentence: "each year.The overall", but not "myapp.Camera",
/// "Node.js" or "e.g.The".
fn is_glued_sentence_end(word: &str, rest: &str) -> bool {
    word.len() >= 3
        && word.chars().all(char::is_lowercase)
        && !ABBREVIATIONS.contains(&word)
        && rest.chars().take(2).all(char::is_alphabetic)
        && starts_sentence(rest)
}

/// Whether a bracket opened inside the sentence is closed shortly after: "(Smith et al. 2009)", "(b. Moers.
/// Germany)". A bracket that opens the sentence does not count.
fn in_brackets(so_far: &str, rest: &str) -> bool {
    let so_far = so_far.trim_start();
    let Some(open) = so_far.rfind('(').filter(|it| *it > 0) else {
        return false;
    };
    if so_far[open..].contains(')') || so_far.len() - open > 200 {
        return false;
    }
    rest.bytes()
        .take(120)
        .find(|byte| matches!(byte, b'(' | b')' | b'\n'))
        .is_some_and(|byte| byte == b')')
}

/// Length of the leading white space.
fn leading_whitespace(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Whether `rest` starts with a capitalised word that commonly opens a sentence.
fn starts_sentence(rest: &str) -> bool {
    #[rustfmt::skip]
    const OPENERS: &[&str] = &[
        "A", "About", "After", "All", "Also", "Although", "An", "And", "As", "At", "Because", "Both",
        "But", "By", "Despite", "During", "Each", "For", "From", "He", "Her", "Here", "His", "How",
        "However", "I", "If", "In", "It", "Its", "Later", "Many", "More", "Moreover", "Most", "My",
        "No", "Not", "Now", "Of", "On", "One", "Or", "Other", "Our", "She", "Since", "So", "Some",
        "Such", "That", "The", "Their", "Then", "There", "Therefore", "These", "They", "This",
        "Those", "Thus", "To", "Today", "Two", "Under", "Until", "We", "Well", "What", "When",
        "Where", "Whether", "Which", "While", "Who", "Why", "With", "Yes", "Yet", "You", "Your",
        "Background", "Conclusion", "Conclusions", "Methods", "Objective", "Results",
        "Aber", "Auch", "Auf", "Bei", "Das", "Der", "Die", "Diese", "Doch", "Ein", "Eine", "Er", "Es",
        "Für", "Im", "Mit", "Nach", "Sie", "Und", "Von", "Wir",
        "Ce", "Cette", "Dans", "Elle", "En", "Et", "Il", "Ils", "La", "Le", "Les", "Mais", "Nous",
        "Un", "Une",
        "El", "Ella", "Esta", "Este", "Las", "Los", "Pero", "Se", "Una", "Y",
    ];
    let rest = rest.trim_start();
    let end = rest
        .char_indices()
        .take(20)
        .find(|(_, c)| c.is_whitespace())
        .map_or(rest.len(), |pair| pair.0);
    let word = &rest[..end];
    // "J. A. Smith": a letter with a stop is an initial.
    word.len() <= 20
        && !(word.ends_with('.') && word.len() <= 3)
        && OPENERS.contains(&word.trim_matches(|c: char| !c.is_alphanumeric()))
}

fn push_trimmed(block: &str, span: Range<usize>, found: &mut Vec<Range<usize>>) {
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
    use super::split_sentences;

    fn split(text: &str) -> Vec<&str> {
        split_sentences(text).into_iter().map(|sentence| &text[sentence]).collect()
    }

    #[test]
    fn plain_sentences_are_told_apart() {
        assert_eq!(
            split("Cork grows slowly. Is it strong? Yes! \"It is.\" So they say."),
            ["Cork grows slowly.", "Is it strong?", "Yes!", "\"It is.\"", "So they say."]
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
    fn a_unit_behind_a_number_ends_a_sentence() {
        assert_eq!(
            split(
                "The joint is at least 30 mm. Sealing comes next. It took 12 min. The load is 5 g. The mat weighs 3 L. It held 4 m. Roofs differ."
            ),
            [
                "The joint is at least 30 mm.",
                "Sealing comes next.",
                "It took 12 min.",
                "The load is 5 g.",
                "The mat weighs 3 L.",
                "It held 4 m.",
                "Roofs differ."
            ]
        );
        for whole in [
            "It is approx. 30 mm wide, e.g. Sedum mats.",
            "See Fig. 3 and Table 2 vs. Fig. 4 of the guide.",
            "A walk of 30 min. to the station.",
            "Mm. Curie et Dupont, vol. 3, p. 12.",
        ] {
            assert_eq!(split(whole), [whole]);
        }
    }

    #[test]
    fn an_abbreviation_before_an_opening_word_does_end_it() {
        assert_eq!(
            split("It was made in the U.S. The rest came later. Take vitamin C. It helps."),
            ["It was made in the U.S.", "The rest came later.", "Take vitamin C.", "It helps."]
        );
    }

    #[test]
    fn stops_in_a_row_belong_to_one_sentence() {
        assert_eq!(split("Why?! So... \"Well.\". Yes."), ["Why?!", "So...", "\"Well.\".", "Yes."]);
        assert_eq!(split("真的？！是。"), ["真的？！", "是。"]);
    }

    #[test]
    fn chinese_and_hindi_stops_count() {
        assert_eq!(split("天气很好。我们走吧！"), ["天气很好。", "我们走吧！"]);
        assert_eq!(split("यह अच्छा है। वह गया।"), ["यह अच्छा है।", "वह गया।"]);
    }

    #[test]
    fn references_and_dates_stay_whole() {
        for whole in [
            "On Oct. 12, 2023, Israel warned the residents.",
            "Jochen Lempert (b. 1958, Moers, Germany) is a photographer.",
            "It was shown before (Smith J. Report. 2009) and since.",
            "By J. A. Smith and George W. Bush.",
            "It ended (who knows why... ) and stayed so.",
            "Use myapp.Camera with Node.js or app.events.Receiver directly.",
            "The difference was large (p < .05 vs. No. 7).",
            "Yahoo! is a company, e.g. The Register says so.",
            "See https://example.org/a.html?b=1. or so.",
            "Am 3. Oktober und im 19. Jahrhundert, z. B. Berlin, d. h. die Stadt, Nr. 5, S. 12.",
            "Mme. Curie et M. Dupont habitent à St. Denis.",
            "The radical HO• reacts.",
            "La Sra. García vive en EE. UU. desde hace años.",
        ] {
            assert_eq!(split(whole), [whole]);
        }
    }

    #[test]
    fn marks_of_reference_stay_with_their_sentence() {
        assert_eq!(
            split("It began in 1845.[1] Many theories exist.[2][a] So it was found.12 The end."),
            [
                "It began in 1845.[1]",
                "Many theories exist.[2][a]",
                "So it was found.12",
                "The end."
            ]
        );
    }

    #[test]
    fn glued_sentences_and_short_answers_are_told_apart() {
        assert_eq!(
            split("Rates were given for each year.The overall incidence rose. No. Hooks differ."),
            [
                "Rates were given for each year.",
                "The overall incidence rose.",
                "No.",
                "Hooks differ."
            ]
        );
        assert_eq!(
            split(
                "Routine in HL. Toxicity was low. It was World War I. The next came. He lived on Wall St. He left."
            ),
            [
                "Routine in HL.",
                "Toxicity was low.",
                "It was World War I.",
                "The next came.",
                "He lived on Wall St.",
                "He left."
            ]
        );
    }

    #[test]
    fn bullets_and_numbered_items_begin_sentences() {
        assert_eq!(
            split("Buy: • milk • old bread\n- fresh eggs\n2. Then go. 3. Then rest."),
            ["Buy:", "milk", "old bread", "- fresh eggs", "2. Then go.", "3. Then rest."]
        );
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let start = std::time::Instant::now();
        for unit in
            [".", "a.", "A.", "?!", "(a. ", "1.", "[1].", "Dr. ", "\n", "e.g.A", "•", "...("]
        {
            split_sentences(&(unit.repeat(50_000) + "x"));
        }
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn spans_never_overlap_or_leave_the_text() {
        for text in ["?!。」…[", ".\n\n.", "a.[", "«A.» [1", "….….", "é.É.[é]É", "x.1,– É"]
        {
            let mut end = 0;
            for span in split_sentences(text) {
                assert!(span.start >= end && span.end > span.start, "{text:?}");
                assert_eq!(text[span.clone()].trim(), &text[span.clone()]);
                end = span.end;
            }
        }
    }

    #[test]
    fn blank_lines_end_a_sentence_and_single_newlines_do_not() {
        assert_eq!(split("one line\nstill one\n\nanother"), ["one line\nstill one", "another"]);
    }
}
