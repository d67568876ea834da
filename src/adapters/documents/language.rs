//! The language of a text.

/// How many bytes are looked at: enough for a reliable answer, few enough to cost nothing.
const SAMPLE: usize = 600;

/// The two-letter code of the language the words are in, where that is certain.
pub(super) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut sample = String::with_capacity(SAMPLE + 64);
    for text in texts {
        let mut end = text.len().min(SAMPLE - sample.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        sample.push_str(&text[..end]);
        sample.push(' ');
        if sample.len() >= SAMPLE {
            break;
        }
    }
    if plainly_english(&sample) {
        return Some("en".to_owned());
    }
    let found = whatlang::detect(&sample).filter(whatlang::Info::is_reliable)?;
    two_letters(found.lang().code())
}

/// Whether small words that no other language shares say so: counting them costs a hundredth of
/// comparing trigrams with those of seventy languages, a third of the time to index short English
/// documents.
fn plainly_english(sample: &str) -> bool {
    const SMALL: [&str; 12] = [
        "the", "and", "which", "with", "this", "were", "that", "from", "been", "their", "have",
        "are",
    ];
    let mut seen = [0usize; SMALL.len()];
    let mut words = 0;
    for word in sample.split(|it: char| !it.is_alphabetic()) {
        words += usize::from(!word.is_empty());
        if let Some(nth) = SMALL.iter().position(|it| it.eq_ignore_ascii_case(word)) {
            seen[nth] += 1;
        }
    }
    let distinct = seen.iter().filter(|it| **it > 0).count();
    seen[0] > 0 && distinct >= 3 && seen.iter().sum::<usize>() * 12 >= words
}

/// ISO 639-3 to 639-1, for the languages that have a two-letter code.
fn two_letters(code: &str) -> Option<String> {
    #[rustfmt::skip]
    const CODES: &[(&str, &str)] = &[
        ("afr", "af"), ("aka", "ak"), ("amh", "am"), ("ara", "ar"), ("aze", "az"), ("bel", "be"), ("ben", "bn"),
        ("bul", "bg"), ("cat", "ca"), ("ces", "cs"), ("cmn", "zh"), ("cym", "cy"), ("dan", "da"), ("deu", "de"),
        ("ell", "el"), ("eng", "en"), ("epo", "eo"), ("est", "et"), ("fin", "fi"), ("fra", "fr"), ("guj", "gu"),
        ("heb", "he"), ("hin", "hi"), ("hrv", "hr"), ("hun", "hu"), ("hye", "hy"), ("ind", "id"), ("ita", "it"),
        ("jav", "jv"), ("jpn", "ja"), ("kan", "kn"), ("kat", "ka"), ("khm", "km"), ("kor", "ko"), ("lat", "la"),
        ("lav", "lv"), ("lit", "lt"), ("mal", "ml"), ("mar", "mr"), ("mkd", "mk"), ("mya", "my"), ("nep", "ne"),
        ("nld", "nl"), ("nob", "nb"), ("ori", "or"), ("pan", "pa"), ("pes", "fa"), ("pol", "pl"), ("por", "pt"),
        ("ron", "ro"), ("rus", "ru"), ("sin", "si"), ("slk", "sk"), ("slv", "sl"), ("sna", "sn"), ("spa", "es"),
        ("srp", "sr"), ("swe", "sv"), ("tam", "ta"), ("tel", "te"), ("tgl", "tl"), ("tha", "th"), ("tuk", "tk"),
        ("tur", "tr"), ("ukr", "uk"), ("urd", "ur"), ("uzb", "uz"), ("vie", "vi"), ("yid", "yi"), ("zul", "zu"),
    ];
    CODES
        .iter()
        .find(|it| it.0 == code)
        .map(|it| it.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_told_by_its_small_words_and_other_tongues_are_not_taken_for_it() {
        let english =
            "The cork of the oak is stripped by hand, which takes years of practice and care.";
        assert!(plainly_english(english));
        assert_eq!(of([english].into_iter()).as_deref(), Some("en"));
        let german =
            "Der Kork der Eiche wird von Hand geschält, was Jahre der Übung und Sorgfalt braucht.";
        let mixed = "Die Gruppe The The war mit dem Album Soul Mining sehr bekannt und ist heute noch beliebt.";
        assert!(!plainly_english(german) && !plainly_english(mixed));
        assert_eq!(of([german].into_iter()).as_deref(), Some("de"));
    }
}
