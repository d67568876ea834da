//! Detects the language of a text.
use ibid_core::domain::words::{is_stop_word, tokens};

use super::other_languages::language_by_stop_words;

/// Bytes read to detect the language.
const LANGUAGE_SAMPLE: usize = 2_000;

/// Minimum number of characters of a text whose language is detected reliably.
const LONG_ENOUGH: usize = 60;

/// Two-letter code of the text's language; `en` if neither its letters nor its stop words tell.
pub(crate) fn language(text: &str) -> String {
    let end = text.floor_char_boundary(LANGUAGE_SAMPLE.min(text.len()));
    let detected = whatlang::detect(&text[..end]);
    let sure = detected.filter(|it| it.is_reliable() || it.script() != whatlang::Script::Latin);
    let ascii = text[..end].is_ascii();
    match sure {
        // Short ASCII questions full of names are detected as almost anything; English is the better guess.
        Some(it)
            if !(ascii && tokens(&text[..end]).iter().any(|token| is_stop_word(&token.text))) =>
        {
            two_letters(it.lang()).to_owned()
        }
        _ => language_by_stop_words(&text[..end]).unwrap_or("en").to_owned(),
    }
}

/// Two-letter code of the text's language; `None` if the detection is not reliable.
pub(crate) fn confident_language(text: &str) -> Option<&'static str> {
    let end = text.floor_char_boundary(LANGUAGE_SAMPLE.min(text.len()));
    let long = text.chars().count() >= LONG_ENOUGH;
    let detected = whatlang::detect(&text[..end]).filter(|it| long && it.is_reliable());
    detected.map(|it| two_letters(it.lang()))
}

fn two_letters(lang: whatlang::Lang) -> &'static str {
    use whatlang::Lang::*;
    match lang {
        Deu => "de",
        Fra => "fr",
        Spa => "es",
        Ita => "it",
        Por => "pt",
        Nld => "nl",
        Swe => "sv",
        Dan => "da",
        Nob => "no",
        Fin => "fi",
        Pol => "pl",
        Ces => "cs",
        Slk => "sk",
        Hun => "hu",
        Ron => "ro",
        Bul => "bg",
        Ell => "el",
        Rus => "ru",
        Ukr => "uk",
        Tur => "tr",
        Ara => "ar",
        Heb => "he",
        Pes => "fa",
        Hin => "hi",
        Ben => "bn",
        Cmn => "zh",
        Jpn => "ja",
        Kor => "ko",
        Vie => "vi",
        Tha => "th",
        Ind => "id",
        Cat => "ca",
        Hrv => "hr",
        Srp => "sr",
        Slv => "sl",
        Lit => "lt",
        Lav => "lv",
        Est => "et",
        _ => "en",
    }
}
