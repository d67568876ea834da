//! Names of months in many languages.
use std::collections::HashMap;
use std::sync::LazyLock;

/// The names, abbreviations and inflections of each month, in lower case and without accents.
#[rustfmt::skip]
const NAMES: [&[&str]; 12] = [
    &["jan", "ene", "enero", "gen", "gener", "oca", "ocak", "sty", "ledna", "sausio", "янв", "січ", "яну", "ιαν", "يناير", "جانفي", "ינואר", "בינואר"],
    &["feb", "fev", "febrer", "febrero", "sub", "subat", "lut", "luty", "lutego", "unora", "vasario", "фев", "февр", "лют", "лютого", "φεβ", "فبراير", "فيفري", "شباط", "פברואר", "בפברואר"],
    &["mar", "march", "marz", "maerz", "mrz", "mrt", "mars", "mart", "marta", "marts", "marzo", "marco", "marc", "marca", "marec", "marso", "maret", "martie", "marcius", "brezna", "kovo", "мар", "март", "марта", "бер", "μαρ", "مارس", "آذار", "מרץ", "במרץ"],
    &["apr", "april", "apri", "aprill", "aprile", "aprila", "aprilie", "aprilis", "avr", "avril", "abr", "abril", "nis", "nisan", "kwi", "dubna", "апр", "квіт", "απρ", "أبريل", "ابريل", "إبريل", "أفريل", "نيسان", "אפריל", "באפריל"],
    &["may", "mai", "maig", "maijs", "maio", "maj", "maja", "majus", "mayo", "mag", "maggio", "mei", "mayis", "kvetna", "geguzes", "май", "мая", "мај", "трав", "μαι", "μαιου", "μαιοσ", "مايو", "ماي", "أيار", "מאי", "במאי"],
    &["jun", "june", "juni", "juin", "junio", "junho", "juny", "juna", "junij", "junius", "juuni", "giu", "giugno", "haz", "haziran", "iunie", "hunyo", "cze", "czerwiec", "cerven", "cervna", "birzelio", "июн", "июнь", "июня", "юни", "јун", "черв", "ιουν", "يونيو", "يونيه", "جوان", "حزيران", "יוני", "ביוני"],
    &["jul", "july", "juli", "juil", "julio", "julho", "juliol", "jula", "julij", "julius", "juuli", "lug", "luglio", "tem", "temmuz", "iulie", "hulyo", "lip", "lipca", "lipiec", "cervenec", "cervence", "liepos", "июл", "июль", "июля", "юли", "јул", "лип", "липня", "ιουλ", "يوليو", "يوليه", "جويلية", "تموز", "יולי", "ביולי"],
    &["aug", "august", "augusta", "augusti", "augusts", "augustus", "augusztus", "avgust", "ago", "agost", "agosto", "agu", "agt", "agustos", "agustus", "aout", "sie", "srpna", "rugpjucio", "авг", "серп", "αυγ", "أغسطس", "اغسطس", "أوت", "آب", "אוגוסט", "באוגוסט"],
    &["sep", "sept", "set", "eyl", "eylul", "wrz", "zari", "rugsejo", "szept", "сен", "сент", "вер", "σεπ", "سبتمبر", "أيلول", "ספטמבר", "בספטמבר"],
    &["oct", "okt", "out", "ott", "eki", "ekim", "paz", "rijna", "spalio", "окт", "жов", "жовт", "οκτ", "أكتوبر", "اكتوبر", "אוקטובר", "באוקטובר"],
    &["nov", "kas", "kasim", "lis", "listopada", "listopadu", "lapkricio", "ноя", "нояб", "ное", "лист", "νοε", "نوفمبر", "נובמבר", "בנובמבר"],
    &["dec", "dez", "dic", "des", "ara", "aralik", "gru", "prosince", "gruodzio", "дек", "груд", "δεκ", "ديسمبر", "דצמבר", "בדצמבר"],
];

/// The beginnings of longer names, which have endings in many languages: `januar` begins `January`, `Januari`, `januára`.
#[rustfmt::skip]
const STEMS: [&[&str]; 12] = [
    &["januar", "janvar", "janv", "janeir", "jaanuar", "ianuar", "janner", "jaenner", "gennai", "stycz", "tammiku", "январ", "януар", "јануар", "січн", "ιανουαρ"],
    &["februar", "fevr", "fevereir", "febbrai", "feber", "veebruar", "pebrer", "helmiku", "феврал", "февруар", "фебруар", "φεβρουαρ"],
    &["maaliskuu", "maart", "березн", "μαρτι"],
    &["huhtiku", "kwiet", "апрел", "април", "квітн", "απριλι"],
    &["toukoku", "травн"],
    &["kesaku", "czerwc", "червн", "ιουνι"],
    &["juill", "heinaku", "ιουλι"],
    &["eloku", "sierpn", "август", "серпн", "αυγουστ"],
    &["septem", "septiem", "setem", "settem", "setiem", "setyem", "szeptem", "syysku", "wrzes", "сентябр", "септем", "вересн", "σεπτεμ"],
    &["octob", "octub", "octom", "oktob", "oktub", "outub", "ottob", "lokaku", "pazdz", "октябр", "октом", "октоб", "жовтн", "οκτωβρ"],
    &["novem", "noviem", "noiem", "nobyem", "marrasku", "ноябр", "ноемвр", "новемб", "листопад", "νοεμβρ"],
    &["decem", "dezem", "dicem", "diciem", "desem", "detsem", "disyem", "jouluku", "grudn", "декабр", "декемвр", "децемб", "грудн", "δεκεμβρ"],
];

/// Arabic names of two words.
const ARABIC_PAIRS: [(&str, &str, i32); 4] =
    [("كانون", "الثاني", 1), ("تشرين", "الأول", 10), ("تشرين", "الثاني", 11), ("كانون", "الأول", 12)];

/// Letters of the longest name.
const MAX_LETTERS: usize = 16;

/// The month of each of [`NAMES`].
static MONTHS: LazyLock<HashMap<&str, i32>> = LazyLock::new(|| {
    let months = (1..).zip(NAMES);
    months.flat_map(|(month, names)| names.iter().map(move |name| (*name, month))).collect()
});

/// The month with a name or an abbreviation, in any inflection.
pub(crate) fn month_from_name(word: &str) -> Option<i32> {
    if word.len() < 3 || word.chars().nth(MAX_LETTERS).is_some() {
        return None;
    }
    let folded: String = word.chars().flat_map(char::to_lowercase).filter_map(fold).collect();
    if let Some(month) = MONTHS.get(folded.as_str()) {
        return Some(*month);
    }
    let mut stems = (1..).zip(STEMS);
    let found = stems.find(|(_, stems)| stems.iter().any(|stem| folded.starts_with(stem)))?;
    Some(found.0)
}

/// The month whose name is two words.
pub(crate) fn month_from_pair(first: &str, second: &str) -> Option<i32> {
    let named = ARABIC_PAIRS.iter().find(|pair| pair.0 == first && pair.1 == second)?;
    Some(named.2)
}

/// A letter without its accent; nothing for an accent on its own.
fn fold(letter: char) -> Option<char> {
    Some(match letter {
        '\u{300}'..='\u{36f}' => return None,
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' => 'e',
        'ğ' => 'g',
        'ì'..='ï' | 'ī' | 'į' | 'ı' => 'i',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò'..='ö' | 'ő' | 'ø' => 'o',
        'ř' => 'r',
        'ś' | 'š' | 'ş' | 'ș' => 's',
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' | 'ϊ' | 'ΐ' => 'ι',
        'ό' => 'ο',
        'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'ώ' => 'ω',
        'ς' => 'σ',
        other => other,
    })
}
