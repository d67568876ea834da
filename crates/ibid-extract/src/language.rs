//! Detects the language of a text.

/// Bytes of the sample: enough for a reliable result at little cost.
const SAMPLE_BYTES: usize = 600;

/// The two-letter code of the language of `texts`, if it is certain.
pub(crate) fn detect<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut sample = String::with_capacity(SAMPLE_BYTES + 64);
    for text in texts {
        sample.push_str(&text[..text.floor_char_boundary(SAMPLE_BYTES - sample.len())]);
        sample.push(' ');
        if sample.len() >= SAMPLE_BYTES {
            break;
        }
    }
    if is_plainly_english(&sample) {
        return Some("en".to_owned());
    }
    let found = whatlang::detect(&sample).filter(whatlang::Info::is_reliable)?;
    iso_639_1(found.lang().code())
}

/// Whether the text is English, by its function words. Counting them costs a hundredth of comparing trigrams with those of
/// seventy languages, which is a third of the time to index short English documents.
///
/// The sample must contain two different words that no other language has; one word in twenty must be such a word, and one in
/// six a function word of English.
fn is_plainly_english(sample: &str) -> bool {
    #[rustfmt::skip]
    const OWN: &[&str] = &[
        "the", "and", "which", "with", "this", "were", "that", "from", "been", "their", "have", "are", "these",
        "those", "between", "using", "whether", "they", "what", "when", "how", "other", "after", "both", "our",
        "than", "through", "into", "about", "its", "it", "could", "would", "should", "there",
    ];
    #[rustfmt::skip]
    const SHARED: &[&str] = &[
        "of", "by", "to", "for", "is", "in", "on", "as", "at", "was", "be", "has", "not", "can", "or", "an",
    ];
    let mut seen = 0u64;
    let (mut words, mut own, mut shared) = (0usize, 0usize, 0usize);
    for word in sample.split(|c: char| !c.is_alphabetic()) {
        words += usize::from(!word.is_empty());
        if !(2..=7).contains(&word.len()) {
            continue;
        }
        let is = |text: &&str| text.eq_ignore_ascii_case(word);
        if let Some(nth) = OWN.iter().position(is) {
            seen |= 1 << nth;
            own += 1;
        } else {
            shared += usize::from(SHARED.iter().any(is));
        }
    }
    seen.count_ones() >= 2 && own * 20 >= words && (own + shared) * 6 >= words
}

/// ISO 639-3 to 639-1, for the languages that have a two-letter code.
fn iso_639_1(code: &str) -> Option<String> {
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
    CODES.iter().find(|it| it.0 == code).map(|pair| pair.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_is_told_by_its_small_words_and_other_tongues_are_not_taken_for_it() {
        let english =
            "The cork of the oak is stripped by hand, which takes years of practice and care.";
        assert!(is_plainly_english(english));
        assert_eq!(detect([english].into_iter()).as_deref(), Some("en"));
        let german =
            "Der Kork der Eiche wird von Hand geschält, was Jahre der Übung und Sorgfalt braucht.";
        let mixed = "Die Gruppe The The war mit dem Album Soul Mining sehr bekannt und ist heute noch beliebt.";
        let others = [
            german,
            mixed,
            "Het was in de stad dat hij van de trein stapte en of zij er was, is niet bekend; men zag het.",
            "Han var på vei hjem for å se om det var mat i huset, og hun var der for to dager siden.",
            "En fait, on a vu que la France a été au centre de tout, et Johnny Cash and The Tennessee Two aussi.",
            "A banda The Smiths foi formada em Manchester e as suas letras são conhecidas por todo o mundo.",
        ];
        for other in others {
            assert!(!is_plainly_english(other), "{other}");
        }
        assert_eq!(detect([german].into_iter()).as_deref(), Some("de"));
    }
}
