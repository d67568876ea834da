//! The figure of a cell with its unit, and the figures of a column in one unit.
use super::measure::is_ambiguous;
use super::units::Unit;
use ibid_core::domain::words::{numbers, stem, tokens};

/// Words and signs of bounds, which are no figures.
const BOUND_WORDS: [&str; 10] =
    ["from", "under", "over", "below", "above", "least", "most", "less", "more", "up"];
const BOUND_SIGNS: [char; 5] = ['<', '>', '≤', '≥', '~'];
/// What joins the two figures of a range.
const RANGE_JOINTS: [&str; 5] = ["–", "—", "-", "‑", "to"];
/// Stems of words of differences: a difference of 5 °C is one of 9 °F, and not of 41 °F.
const DIFFERENCES: [&str; 30] = [
    "accur", "accuraci", "anomali", "chang", "colder", "cooler", "cool", "decreas", "deviat",
    "differ", "drop", "error", "fall", "fell", "fluctuat", "hotter", "increas", "margin", "more",
    "less", "reduc", "reduct", "rise", "risen", "rose", "swing", "toler", "vari", "warm", "warmer",
];
/// Significant digits of a converted figure.
const DIGITS: i32 = 3;

/// A figure or a range of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    pub(super) low: f64,
    pub(super) value: f64,
    pub(super) high: f64,
    pub(super) unit: Unit,
}

/// The figures of a column, converted to the unit of most cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConvertedColumn {
    pub(super) quantities: Vec<Quantity>,
    /// Which of them were converted.
    pub(super) converted: Vec<bool>,
}

impl Quantity {
    /// The figure of a cell under `name`, which may state its unit; `None` if it can be read in two ways, or is a bound.
    pub(super) fn read(cell: &str, name: &str) -> Option<Quantity> {
        let (cell, inside) = match cell.split_once('(') {
            Some((before, inside)) if !numbers(before).is_empty() => {
                (before, inside.split_once(')').filter(|it| it.1.trim().is_empty())?.0)
            }
            _ => (cell, ""),
        };
        let bound = tokens(cell).iter().any(|token| BOUND_WORDS.contains(&token.text.as_str()));
        if bound || cell.contains(BOUND_SIGNS) || is_ambiguous(cell) {
            return None;
        }
        let parts = FigureParts::read(cell)?;
        let (low, value, high) = match (parts.figures.as_slice(), parts.joint.trim()) {
            ([one], "") => (*one, *one, *one),
            ([one, by], "±" | "+/-") => (one - by, *one, one + by),
            ([low, high], joint) if low <= high && RANGE_JOINTS.contains(&joint) => {
                (*low, f64::midpoint(*low, *high), *high)
            }
            _ => return None,
        };
        let (low, high) = match interval(inside) {
            _ if inside.is_empty() => (low, high),
            Some((from, to)) if from <= value && value <= to && low >= high => (from, to),
            _ => return None,
        };
        let stated = Unit::parse(&parts.unit);
        let unit =
            if stated.text.is_empty() { unit_of_name(name).unwrap_or(stated) } else { stated };
        Some(Quantity { low, value, high, unit })
    }

    /// Whether it is one figure.
    pub(super) fn is_point(&self) -> bool {
        self.low >= self.high
    }

    /// It in another unit of its quantity.
    fn in_unit(&self, unit: &Unit) -> Quantity {
        let convert = |figure: f64| self.unit.convert(figure, unit);
        Quantity {
            low: convert(self.low),
            value: convert(self.value),
            high: convert(self.high),
            unit: unit.clone(),
        }
    }

    /// "89 mm", "76 to 102 mm".
    pub(super) fn text(&self) -> String {
        let figures = if self.is_point() {
            rounded(self.value, DIGITS)
        } else {
            format!("{} to {}", rounded(self.low, DIGITS), rounded(self.high, DIGITS))
        };
        format!("{figures} {}", self.unit.text).trim().to_owned()
    }
}

/// The figures of cells under `name` in one unit; `None` if they are of different quantities.
pub(super) fn align(quantities: &[Quantity], name: &str) -> Option<ConvertedColumn> {
    let first = quantities.first()?;
    let count =
        |it: &Quantity| quantities.iter().filter(|other| other.unit.text == it.unit.text).count();
    let common =
        quantities.iter().fold(first, |best, it| if count(it) > count(best) { it } else { best });
    let unit = &common.unit;
    if quantities.iter().any(|it| it.unit.dimensions != unit.dimensions) {
        return None;
    }
    let differs = |it: &Quantity| !it.unit.is_same(unit);
    let difference = tells_difference(name);
    if difference
        && quantities.iter().any(|it| differs(it) && (it.unit.zero > 0.0 || unit.zero > 0.0))
    {
        return None;
    }
    let converted: Vec<bool> = quantities.iter().map(differs).collect();
    Some(ConvertedColumn {
        quantities: quantities.iter().map(|it| it.in_unit(unit)).collect(),
        converted,
    })
}

/// What a cell consists of.
#[derive(Default)]
struct FigureParts {
    figures: Vec<f64>,
    /// What stands between two figures.
    joint: String,
    /// All other words.
    unit: String,
}

impl FigureParts {
    /// The one or two figures of a cell, and the words around them.
    fn read(cell: &str) -> Option<FigureParts> {
        let mut parts = FigureParts::default();
        let mut words = String::new();
        let mut rest = cell.trim();
        let mut negative = false;
        while let Some(c) = rest.chars().next() {
            let after_letter = words.ends_with(char::is_alphabetic);
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
            let digits = rest[..digits.unwrap_or(rest.len())].trim_end_matches(['.', ',']);
            if !c.is_ascii_digit() || after_letter || digits.is_empty() {
                words.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
            if parts.figures.is_empty() {
                negative = words.trim_end().ends_with(['-', '−', '–']);
                words = words.replace(['-', '−', '–'], " ");
                parts.unit = std::mem::take(&mut words);
            } else if parts.figures.len() == 1 {
                parts.joint = std::mem::take(&mut words);
            } else {
                return None;
            }
            let value = numbers(digits).first()?.value;
            parts.figures.push(if negative { -value } else { value });
            negative = false;
            rest = &rest[digits.len()..];
        }
        let unit = format!("{} {words}", parts.unit.trim());
        // "3 cm to 5 cm" says its unit twice.
        if let Some((own, joint)) = parts.joint.trim().rsplit_once(' ')
            && own == words.trim()
        {
            parts.joint = joint.to_owned();
        }
        parts.unit = unit.trim().to_owned();
        (!parts.figures.is_empty()).then_some(parts)
    }
}

/// The figures between which the true one lies, as a bracket says: "95 % CI 1.2 to 3.4", "1.2–3.4".
fn interval(inside: &str) -> Option<(f64, f64)> {
    let inside = inside.trim();
    let after =
        inside.find("CI").map_or(inside, |at| inside[at + 2..].trim_start_matches([':', ',', ' ']));
    let parts = FigureParts::read(after).filter(|it| it.unit.is_empty())?;
    match parts.figures.as_slice() {
        [low, high] if low <= high && RANGE_JOINTS.contains(&parts.joint.trim()) => {
            Some((*low, *high))
        }
        _ => None,
    }
}

/// The unit that the name of a column states: "Weight (kg/m²)", "Cost in euros", "Depth, mm".
fn unit_of_name(name: &str) -> Option<Unit> {
    let bracket = name.rsplit_once(['(', '[']).map(|it| it.1.trim_end_matches([')', ']']));
    let after_in = name.rsplit_once(" in ").map(|it| it.1);
    let after_comma = name.rsplit_once(", ").map(|it| it.1);
    let stated = [bracket, after_in, after_comma].into_iter().flatten().map(Unit::parse);
    stated.into_iter().find(Unit::is_known)
}

/// Whether a text, or the name of a column, is on a difference.
pub(super) fn tells_difference(text: &str) -> bool {
    text.contains('±')
        || tokens(text).iter().any(|word| DIFFERENCES.contains(&stem(&word.text).as_str()))
}

/// A figure with so many significant digits, without zeros at its end.
pub(super) fn rounded(figure: f64, digits: i32) -> String {
    if figure.abs() < f64::MIN_POSITIVE {
        return "0".to_owned();
    }
    let decimals = digits - 1 - figure.abs().log10().floor() as i32;
    let scale = 10_f64.powi(decimals);
    let figure = (figure * scale).round() / scale;
    let text = format!("{figure:.*}", decimals.clamp(0, 12) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cell: &str, name: &str) -> Option<(f64, f64, f64, String)> {
        let it = Quantity::read(cell, name)?;
        Some((it.low, it.value, it.high, it.unit.text))
    }

    #[test]
    fn a_cell_is_a_figure_a_range_or_an_interval() {
        let unit = |text: &str| text.to_owned();
        for (cell, name, expected) in [
            ("95 kg/m²", "Weight", (95.0, 95.0, 95.0, unit("kg/m²"))),
            ("95 to 105", "Weight (kg/m²)", (95.0, 100.0, 105.0, unit("kg/m²"))),
            ("3 cm to 5 cm", "", (3.0, 4.0, 5.0, unit("cm"))),
            ("€0.30", "Price", (0.3, 0.3, 0.3, unit("€"))),
            ("−9 °C", "Low", (-9.0, -9.0, -9.0, unit("°C"))),
            ("5 ± 2 mm", "", (3.0, 5.0, 7.0, unit("mm"))),
            ("2.1 (95 % CI 1.2 to 3.4)", "Risk ratio", (1.2, 2.1, 3.4, unit(""))),
            ("2.1 (1.2–3.4)", "Risk ratio", (1.2, 2.1, 3.4, unit(""))),
            ("1,250", "Cost in euros", (1250.0, 1250.0, 1250.0, unit("euros"))),
            ("10m2", "", (10.0, 10.0, 10.0, unit("m2"))),
        ] {
            assert_eq!(read(cell, name), Some(expected), "{cell}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_no_figure() {
        for cell in [
            "1.234",
            "€1.2k",
            "(40)",
            "from 90",
            "< 130",
            "at least 5 kg",
            "up to 9",
            "n/a",
            "1 234",
            "5 per 100",
            "1 of 2 of 3",
            "9 (2024)",
            "5 (1 to 2)",
            "5 to 3",
        ] {
            assert_eq!(read(cell, "Price"), None, "{cell}");
        }
    }

    #[test]
    fn figures_of_one_quantity_get_one_unit_and_others_none() {
        let all = |cells: &[&str], name: &str| {
            let read: Vec<Quantity> =
                cells.iter().map(|it| Quantity::read(it, name).unwrap()).collect();
            align(&read, name)
                .map(|it| it.quantities.iter().map(Quantity::text).collect::<Vec<_>>())
        };
        assert_eq!(all(&["90 mm", "3.5 in", "80 mm"], "Depth").unwrap()[1], "88.9 mm");
        assert_eq!(all(&["20 °C", "68 °F"], "Air").unwrap(), ["20 °C", "20 °C"]);
        assert_eq!(all(&["5 °C", "9 °F"], "Change of the air"), None);
        assert_eq!(all(&["5 € per kg", "3 € per kWh"], "Price"), None);
        assert_eq!(all(&["95 kg", "95"], "Weight"), None);
        assert_eq!(all(&["3 to 4 ft", "1 m", "2 m"], "Depth").unwrap()[0], "0.914 to 1.22 m");
    }
}
