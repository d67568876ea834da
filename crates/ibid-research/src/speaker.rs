//! Who speaks in a quoted sentence.
use ibid_core::domain::Source;
use ibid_core::domain::words::is_stop_word;

/// Maximum number of characters of a title that names a speaker.
const MAX_TITLE_CHARS: usize = 60;

/// Who says "I", "we" or "our" in a sentence from this page, as its title; `None` if nobody does, or only somebody whom it quotes.
pub(crate) fn speaker(sentence: &str, source: &Source) -> Option<String> {
    let title = source.title.trim().trim_matches(['"', '“', '”']);
    (!title.is_empty() && is_in_first_person(sentence)).then(|| shortened(title))
}

/// Whether a sentence has a pronoun of the first person outside quotation marks.
fn is_in_first_person(sentence: &str) -> bool {
    let mut quoted = false;
    let spoken: String = sentence
        .chars()
        .map(|c| {
            quoted = match c {
                '“' | '„' => true,
                '”' => false,
                '"' => !quoted,
                _ => quoted,
            };
            if quoted { ' ' } else { c }
        })
        .collect();
    let words: Vec<&str> =
        spoken.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let speaks = |(nth, word): (usize, &&str)| match *word {
        // "Type I", "phase I", "world war I" count.
        "I" => nth.checked_sub(1).is_none_or(|before| is_stop_word(&words[before].to_lowercase())),
        word => matches!(word.to_lowercase().as_str(), "we" | "our" | "ours" | "my"),
    };
    words.iter().enumerate().any(speaks)
}

/// A title without the name of its site, of at most so many characters, cut before a word.
fn shortened(title: &str) -> String {
    const BEFORE_SITE: [&str; 5] = [" | ", " - ", " – ", " — ", " · "];
    let parts = BEFORE_SITE.iter().filter_map(|it| title.rsplit_once(it));
    let last = parts.max_by_key(|(own, _)| own.len());
    let longer = |(own, site): (_, _)| if str::len(own) > str::len(site) { own } else { site };
    let title = last.map_or(title, longer).trim();
    if title.chars().count() <= MAX_TITLE_CHARS {
        return title.to_owned();
    }
    let cut: String = title.chars().take(MAX_TITLE_CHARS).collect();
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |parts| parts.0);
    format!("{} …", whole.trim_end_matches([',', ':', ';', ' ', '-', '–']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_person_is_told_from_somebody_quoted() {
        for text in ["Of 37 leaks that I saw, 33 were at pipes.", "Our roof leaks.", "So we left."]
        {
            assert!(is_in_first_person(text), "{text}");
        }
        for text in [
            "The smith said: “I never saw it.”",
            "Type I steel rusts \"if we let it\".",
            "The US and the wet roof in owe.",
        ] {
            assert!(!is_in_first_person(text), "{text}");
        }
    }

    #[test]
    fn a_long_title_is_cut_before_a_word() {
        let long = "A very long title of a page on roofs, and what became of them in the end";
        assert_eq!(shortened(long), "A very long title of a page on roofs, and what became of …");
        assert_eq!(shortened("Roofs"), "Roofs");
        assert_eq!(shortened("What our roof costs | Alder Roofs"), "What our roof costs");
        assert_eq!(shortened("Roofs – leaks and why | Alder"), "Roofs – leaks and why");
        assert_eq!(shortened("Five promises of roofs - Slate"), "Five promises of roofs");
    }
}
