//! The language of a question.
use crate::domain::words::{is_stop, tokens};

/// Bytes looked at to tell the language.
const LANGUAGE_SAMPLE: usize = 2_000;

/// Characters of a sentence whose language is told without doubt.
const LONG_ENOUGH: usize = 60;

/// Two-letter code of the text's language; `en` where it is too short to tell.
pub(crate) fn language(text: &str) -> String {
    let end = text.floor_char_boundary(LANGUAGE_SAMPLE.min(text.len()));
    let told = whatlang::detect(&text[..end]);
    let sure = told.filter(|it| it.is_reliable() || it.script() != whatlang::Script::Latin);
    let ascii = text[..end].is_ascii();
    match sure {
        // Short ASCII questions full of names are taken for anything; English is the safer guess.
        Some(it) if !(ascii && tokens(&text[..end]).iter().any(|it| is_stop(&it.text))) => {
            two_letters(it.lang()).to_owned()
        }
        _ => "en".to_owned(),
    }
}

/// Two-letter code of the text's language where it is beyond doubt.
pub(crate) fn sure_language(text: &str) -> Option<&'static str> {
    let end = text.floor_char_boundary(LANGUAGE_SAMPLE.min(text.len()));
    let long = text.chars().count() >= LONG_ENOUGH;
    let told = whatlang::detect(&text[..end]).filter(|it| long && it.is_reliable());
    told.map(|it| two_letters(it.lang()))
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
