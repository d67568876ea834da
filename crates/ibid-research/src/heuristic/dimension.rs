//! The dimensions that questions ask for, such as height and cost: their words and units.
use ibid_core::domain::words::{stem, tokens};

use super::measures::measures;
use crate::thresholds::{DIMENSION_WITHOUT_UNIT_FIT, OTHER_DIMENSION_FIT, UNNAMED_DIMENSION_FIT};

/// What "how deep" and "how heavy" ask for.
pub(crate) struct Dimension {
    /// The words that ask for it.
    asks: &'static [&'static str],
    /// Stems of the words that state it.
    stems: &'static [&'static str],
    /// Its units, by kind.
    units: &'static [&'static [&'static str]],
    /// Whether a thing keeps it, as a mountain its height, so that two figures of it contradict each other.
    lasting: bool,
}

/// Stems of the names of units, and their signs.
const LENGTHS: &[&str] = &[
    "mm",
    "cm",
    "m",
    "km",
    "µm",
    "nm",
    "metr",
    "meter",
    "centimetr",
    "centimet",
    "millimetr",
    "millimet",
    "kilometr",
    "kilomet",
    "inch",
    "foot",
    "feet",
    "ft",
    "mile",
    "yard",
];

/// Stems of units of time.
pub(super) const TIMES: &[&str] =
    &["second", "minut", "hour", "h", "dai", "day", "week", "month", "year", "decad", "centuri"];

const DIMENSIONS: &[Dimension] = &[
    Dimension {
        asks: &["how deep", "how thick"],
        stems: &["deep", "depth", "thick"],
        units: &[LENGTHS],
        lasting: true,
    },
    Dimension {
        asks: &["cost", "costs", "price"],
        stems: &["cost", "price", "pay", "paid", "charg", "fee"],
        units: &[&["€", "$", "£", "¥", "euro", "dollar", "pound", "eur", "usd", "gbp", "cent"]],
        lasting: false,
    },
    Dimension {
        asks: &["how high", "how tall"],
        stems: &["high", "height", "tall", "elev", "altitud"],
        units: &[LENGTHS],
        lasting: true,
    },
    Dimension {
        asks: &["how wide", "how broad"],
        stems: &["wide", "width", "broad", "diamet", "across"],
        units: &[LENGTHS],
        lasting: true,
    },
    Dimension {
        asks: &["how far"],
        stems: &["far", "distanc", "away", "from"],
        units: &[LENGTHS],
        lasting: false,
    },
    Dimension {
        asks: &["how heavy", "how much does it weigh"],
        stems: &["heavi", "weigh", "weight", "mass", "load"],
        units: &[&["mg", "g", "kg", "t", "tonn", "ton", "pound", "lb", "ounc", "gram", "kilogram"]],
        lasting: true,
    },
    Dimension {
        asks: &["how hot", "how cold", "how warm"],
        stems: &["temperatur", "hot", "warm", "cold"],
        units: &[&["°c", "°f", "°", "k", "degre", "celsiu"]],
        lasting: false,
    },
    Dimension {
        asks: &[
            "how long do",
            "how long does",
            "how long did",
            "how long will",
            "how long must",
            "how long can",
            "how long should",
            "how many years",
        ],
        stems: &["last", "life", "lifetim", "lifespan", "durat", "live", "surviv", "take", "took"],
        units: &[TIMES],
        lasting: false,
    },
    Dimension {
        asks: &["how long is", "how long are", "how long was", "how long were"],
        stems: &["long", "length", "last", "durat"],
        units: &[LENGTHS, TIMES],
        lasting: false,
    },
    Dimension {
        asks: &["how loud", "how noisy"],
        stems: &["loud", "nois", "sound"],
        units: &[&["db", "dba", "decibel"]],
        lasting: false,
    },
    Dimension { asks: &["how old"], stems: &["old", "age"], units: &[TIMES], lasting: false },
];

impl Dimension {
    pub(crate) fn is_lasting(&self) -> bool {
        self.lasting
    }

    /// Whether a stem is a word that states it.
    pub(crate) fn is_stated_by(&self, stem: &str) -> bool {
        self.stems.contains(&stem)
    }

    pub(crate) fn has_unit(&self, unit: &str) -> bool {
        self.units.iter().any(|kind| kind.contains(&unit.to_lowercase().as_str()))
    }

    /// The dimension that a question, in lower case, asks for.
    pub(crate) fn from_question(lower: &str) -> Option<&'static Dimension> {
        let padded = format!("{lower} ");
        DIMENSIONS
            .iter()
            .find(|dimension| dimension.asks.iter().any(|ask| padded.contains(&format!("{ask} "))))
    }

    /// Whether a text has a figure of it.
    pub(crate) fn is_measured_in(&self, text: &str) -> bool {
        measures(text).iter().any(|it| it.unit.as_ref().is_some_and(|it| self.has_unit(it)))
    }

    /// Best where a number has such a unit and the dimension is named. A number of another kind is not an answer.
    pub(crate) fn fit(&self, text: &str) -> f32 {
        let measured = self.is_measured_in(text);
        let named =
            tokens(text).iter().any(|token| self.stems.contains(&stem(&token.text).as_str()));
        match (measured, named) {
            (true, true) => 1.0,
            (true, false) => UNNAMED_DIMENSION_FIT,
            (false, true) => DIMENSION_WITHOUT_UNIT_FIT,
            (false, false) => OTHER_DIMENSION_FIT,
        }
    }
}

/// Whether two figures of one unit cannot be the same, one of them rounded: 1,904 and 1,911 m, and not 1,900 and 1,904 m.
pub(crate) fn figures_differ(one: f64, other: f64) -> bool {
    (one - other).abs() > precision(one).max(precision(other)) * 1.001
}

/// The value of the last digit of a figure that is not 0: 100 of 1,900 and 0.1 of 4.5.
fn precision(value: f64) -> f64 {
    let written = format!("{value}");
    match written.split_once('.') {
        Some((_, decimals)) => 0.1_f64.powi(decimals.len().min(9) as i32),
        None => {
            let zeros = written.len() - written.trim_end_matches('0').len();
            10.0_f64.powi(zeros.min(18) as i32)
        }
    }
}
