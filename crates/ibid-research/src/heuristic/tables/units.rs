//! Units of measurement with their exact factors, and what a text says of them: `kg/m²`, `euros per square metre`.
use std::collections::BTreeMap;

use ibid_core::domain::words::stem;

/// A unit: how many of each base quantity it is made of, and how many of the base units it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unit {
    /// As it is written.
    pub(super) text: String,
    /// The exponent of each base quantity. A unit that is not known is a quantity of its own.
    pub(super) dimensions: BTreeMap<String, i8>,
    /// How many base units one of it is.
    pub(super) factor: f64,
    /// Its zero in the base unit, of scales of temperature.
    pub(super) zero: f64,
}

/// The names of a unit, its base quantity with the exponent, and its factor. All factors are exact by definition. Units of which
/// there are several kinds (gallon, ton, calorie, ounce) are left out, and so are months and years as days.
const UNITS: [(&[&str], &str, i8, f64); 34] = [
    (&["kg", "kilogram", "kilograms", "kilo", "kilos"], "mass", 1, 1.0),
    (&["g", "gram", "grams"], "mass", 1, 1e-3),
    (&["mg", "milligram", "milligrams"], "mass", 1, 1e-6),
    (&["t", "tonne", "tonnes"], "mass", 1, 1e3),
    (&["lb", "lbs"], "mass", 1, 0.453_592_37),
    (&["m", "metre", "metres", "meter", "meters"], "length", 1, 1.0),
    (&["dm", "decimetre", "decimetres"], "length", 1, 0.1),
    (&["cm", "centimetre", "centimetres", "centimeter", "centimeters"], "length", 1, 1e-2),
    (&["mm", "millimetre", "millimetres", "millimeter", "millimeters"], "length", 1, 1e-3),
    (&["km", "kilometre", "kilometres", "kilometer", "kilometers"], "length", 1, 1e3),
    (&["in", "inch", "inches", "″"], "length", 1, 0.0254),
    (&["ft", "foot", "feet"], "length", 1, 0.3048),
    (&["yd", "yard", "yards"], "length", 1, 0.9144),
    (&["mi", "mile", "miles"], "length", 1, 1_609.344),
    (&["ha", "hectare", "hectares"], "length", 2, 1e4),
    (&["acre", "acres"], "length", 2, 4_046.856_422_4),
    (&["l", "L", "litre", "litres", "liter", "liters"], "length", 3, 1e-3),
    (&["ml", "mL", "millilitre", "millilitres", "milliliter", "milliliters"], "length", 3, 1e-6),
    (&["s", "second", "seconds"], "time", 1, 1.0),
    (&["min", "minute", "minutes"], "time", 1, 60.0),
    (&["h", "hour", "hours"], "time", 1, 3_600.0),
    (&["day", "days"], "time", 1, 86_400.0),
    (&["week", "weeks"], "time", 1, 604_800.0),
    (&["month", "months"], "year", 1, 1.0 / 12.0),
    (&["year", "years"], "year", 1, 1.0),
    (&["decade", "decades"], "year", 1, 10.0),
    (&["J", "joule", "joules"], "energy", 1, 1.0),
    (&["kJ"], "energy", 1, 1e3),
    (&["MJ"], "energy", 1, 1e6),
    (&["GJ"], "energy", 1, 1e9),
    (&["Wh"], "energy", 1, 3.6e3),
    (&["kWh"], "energy", 1, 3.6e6),
    (&["MWh"], "energy", 1, 3.6e9),
    (&["K", "kelvin"], "temperature", 1, 1.0),
];
/// Scales of temperature: their names, the size of a degree, and their zero in kelvin.
const SCALES: [(&[&str], f64, f64); 2] =
    [(&["°C", "celsius"], 1.0, 273.15), (&["°F", "fahrenheit"], 5.0 / 9.0, 459.67 * 5.0 / 9.0)];
/// Power, which is energy by time.
const POWERS: [(&str, f64); 3] = [("W", 1.0), ("kW", 1e3), ("MW", 1e6)];
/// Names of currencies with their sign. What one costs in another changes by the day.
const CURRENCIES: [(&[&str], &str); 4] = [
    (&["euro", "euros", "eur", "€"], "€"),
    (&["dollar", "dollars", "usd", "us$", "$"], "$"),
    (&["gbp", "£"], "£"),
    (&["yen", "jpy", "¥"], "¥"),
];
/// Abbreviations of several units.
const ABBREVIATIONS: [(&str, &str); 3] =
    [("mph", "miles / h"), ("kph", "km / h"), ("psf", "lb / ft2")];
const MAGNITUDES: [(&str, f64); 3] = [("thousand", 1e3), ("million", 1e6), ("billion", 1e9)];

impl Unit {
    /// The unit that a text states. A text without one is the unit of counts.
    pub(super) fn parse(text: &str) -> Unit {
        let mut unit = Unit {
            text: text.trim().to_owned(),
            dimensions: BTreeMap::new(),
            factor: 1.0,
            zero: 0.0,
        };
        let spaced = text
            .replace(['·', '×', '*', ','], " ")
            .replace('²', "2")
            .replace('³', "3")
            .replace('/', " / ")
            .replace('(', " ( ")
            .replace(')', " ) ");
        let (mut power, mut below, mut grouped) = (1, false, false);
        let whole =
            |word| ABBREVIATIONS.iter().find(|it| it.0 == word).map_or(word, |it| it.1).split(' ');
        for word in spaced.split_whitespace().flat_map(whole) {
            match word.trim_end_matches('.').to_lowercase().as_str() {
                "" | "of" | "degree" | "degrees" => {}
                "/" | "per" | "a" | "an" | "each" => below = true,
                "(" => grouped = below,
                ")" => (below, grouped) = (false, false),
                "square" | "sq" => power = 2,
                "cubic" | "cu" => power = 3,
                // "Per million people" is below the line to its end.
                lower if magnitude(lower).is_some() => {
                    let exponent = if below { -1 } else { 1 };
                    unit.factor *= magnitude(lower).unwrap_or(1.0).powi(exponent);
                }
                _ => {
                    let exponent = if below { -power } else { power };
                    unit.multiply(word.trim_end_matches('.'), exponent);
                    power = 1;
                    below = grouped;
                }
            }
        }
        unit.dimensions.retain(|_, exponent| *exponent != 0);
        // A temperature has a zero of its own; a rate of temperatures has none.
        if unit.dimensions != BTreeMap::from([("temperature".to_owned(), 1)]) {
            unit.zero = 0.0;
        }
        unit
    }

    /// Whether it is made of units whose factors are known, or of a currency with such units.
    pub(super) fn is_known(&self) -> bool {
        let known = |name: &String| {
            UNITS.iter().any(|it| it.1 == name)
                || name == "%"
                || CURRENCIES.iter().any(|it| it.1 == name)
        };
        !self.dimensions.is_empty() && self.dimensions.keys().all(known)
    }

    /// Whether a figure of this unit is the same in `other`, which is of the same quantity.
    pub(super) fn is_same(&self, other: &Unit) -> bool {
        self.factor.to_bits() == other.factor.to_bits()
            && self.zero.to_bits() == other.zero.to_bits()
    }

    /// A figure of this unit in `other`, which is of the same quantity.
    pub(super) fn convert(&self, figure: f64, other: &Unit) -> f64 {
        if self.is_same(other) {
            return figure;
        }
        ((figure * self.factor + self.zero) - other.zero) / other.factor
    }

    fn multiply(&mut self, word: &str, exponent: i8) {
        let lower = word.to_lowercase();
        let (base, own) = match lower.chars().next_back() {
            Some(digit @ ('2' | '3'))
                if lower.len() > 1 && find(&word[..word.len() - 1]).is_some() =>
            {
                (&word[..word.len() - 1], if digit == '2' { 2 } else { 3 })
            }
            _ => (word, 1),
        };
        let exponent = exponent * own;
        let names = |names: &[&str]| names.iter().any(|name| *name == word || *name == lower);
        if let Some((_, quantity, of, factor)) = find(base) {
            self.raise(quantity, of * exponent, factor.powi(exponent.into()));
        } else if let Some(scale) = SCALES.iter().find(|scale| names(scale.0)) {
            self.raise("temperature", exponent, scale.1.powi(exponent.into()));
            self.zero = scale.2;
        } else if let Some(of) = POWERS.iter().find(|of| of.0 == word) {
            self.raise("energy", exponent, of.1.powi(exponent.into()));
            self.raise("time", -exponent, 1.0);
        } else if let Some(currency) = CURRENCIES.iter().find(|it| names(it.0)) {
            self.raise(currency.1, exponent, 1.0);
        } else {
            let name = if matches!(lower.as_str(), "percent" | "%") {
                "%".to_owned()
            } else {
                stem(&lower)
            };
            self.raise(&name, exponent, 1.0);
        }
    }

    fn raise(&mut self, quantity: &str, exponent: i8, factor: f64) {
        let all = self.dimensions.entry(quantity.to_owned()).or_default();
        *all = all.saturating_add(exponent);
        self.factor *= factor;
    }
}

/// What a word such as "million" multiplies by.
fn magnitude(lower: &str) -> Option<f64> {
    MAGNITUDES.iter().find(|it| it.0 == lower).map(|it| it.1)
}

/// The row of [`UNITS`] of a name. Symbols are of one case; words of any.
fn find(name: &str) -> Option<&'static (&'static [&'static str], &'static str, i8, f64)> {
    let lower = name.to_lowercase();
    let is_named = |known: &&str| *known == name || known.len() > 2 && *known == lower;
    UNITS.iter().find(|unit| unit.0.iter().any(is_named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_quantity_convert_exactly() {
        for (figure, from, to, expected) in [
            (1.0, "inch", "mm", 25.4),
            (10.0, "lb/ft²", "kg/m²", 48.824_276_363_830_4),
            (1.0, "kWh", "MJ", 3.6),
            (68.0, "°F", "°C", 20.0),
            (0.0, "°C", "°F", 32.0),
            (68.0, "degrees Fahrenheit", "degrees Celsius", 20.0),
            (5.0, "per thousand people", "per million people", 5_000.0),
            (5.0, "l per square metre", "mm", 5.0),
            (12.0, "€ per m2 a month", "euros/m²/year", 144.0),
            (2.0, "million euros", "€", 2e6),
            (36.0, "km/h", "m/s", 10.0),
            (1.0, "kW h", "kWh", 1.0),
        ] {
            let (from, to) = (Unit::parse(from), Unit::parse(to));
            assert_eq!(from.dimensions, to.dimensions, "{from:?} {to:?}");
            let found = from.convert(figure, &to);
            assert!(
                (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
                "{found} {expected}"
            );
        }
    }

    #[test]
    fn other_quantities_do_not_compare() {
        for (one, other) in [
            ("€ per kg", "€ per kWh"),
            ("€", "$"),
            ("kN/m²", "kg/m²"),
            ("kg", "kg of water"),
            ("pounds", "lb"),
            ("gallons", "l"),
            ("year", "days"),
            ("Mg", "mg"),
            ("", "%"),
            ("mm", "mm/h"),
        ] {
            assert_ne!(Unit::parse(one).dimensions, Unit::parse(other).dimensions, "{one} {other}");
        }
    }
}
