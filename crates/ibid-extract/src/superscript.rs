//! Raised digits after a digit: an exponent or the mark of a note, never more digits of the number.

/// Whether raised text would run into the number that `before` ends with: digits or a sign, as in ten to the sixth.
pub(crate) fn joins_number(before: &str, raised: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_digit())
        && raised.chars().any(|c| c.is_ascii_digit())
        && raised.chars().all(|c| c.is_ascii_digit() || "-−+".contains(c))
}

/// Separates the raised text from `from` on from the number before it: 10^6, not 106. A mark of a note is removed.
pub(crate) fn separate_from_number(words: &mut String, from: usize, is_mark: bool) {
    let Some((before, raised)) = words.split_at_checked(from) else {
        return;
    };
    if joins_number(before, raised.trim()) {
        if is_mark {
            words.truncate(from);
        } else {
            words.insert(from, '^');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raised_digits_are_no_digits_of_the_number() {
        let separated = |before: &str, raised: &str, is_mark| {
            let mut words = format!("{before}{raised}");
            separate_from_number(&mut words, before.len(), is_mark);
            words
        };
        assert_eq!(separated("2.5 × 10", "6", false), "2.5 × 10^6");
        assert_eq!(separated("10", "−3", false), "10^−3");
        assert_eq!(separated("15", "3", true), "15");
        // Squares and ordinals are not glued to a number.
        assert_eq!(separated("20 m", "2", false), "20 m2");
        assert_eq!(separated("the 2", "nd", false), "the 2nd");
        assert_eq!(separated("oak.", "[3]", true), "oak.[3]");
    }
}
