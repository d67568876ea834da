//! Whether the score of a verdict is the probability that it claims to be: a reliability diagram as text.
use std::io::Write;

/// Number of bins, each as wide as the others.
const BINS: usize = 10;
/// Width of a full bar in characters.
const BAR: f64 = 40.0;

/// The rows whose score is in one bin.
struct Bin {
    rows: usize,
    /// Mean score.
    said: f64,
    /// Share of supported claims.
    held: f64,
}

/// The bins of `rows`, each a score from 0 to 1 and whether the claim is supported.
fn bins(rows: &[(f64, bool)]) -> Vec<Bin> {
    let bin_of = |score: f64| ((score * BINS as f64) as usize).min(BINS - 1);
    (0..BINS)
        .map(|nth| {
            let own: Vec<&(f64, bool)> = rows.iter().filter(|row| bin_of(row.0) == nth).collect();
            let count = own.len().max(1) as f64;
            Bin {
                rows: own.len(),
                said: own.iter().map(|row| row.0).sum::<f64>() / count,
                held: own.iter().filter(|row| row.1).count() as f64 / count,
            }
        })
        .collect()
}

/// The expected calibration error (Naeini et al. 2015): the mean distance of score and share over the bins, weighted by rows.
fn calibration_error(bins: &[Bin]) -> f64 {
    let all: usize = bins.iter().map(|bin| bin.rows).sum();
    let apart = bins.iter().map(|bin| bin.rows as f64 * (bin.said - bin.held).abs());
    apart.sum::<f64>() / all.max(1) as f64
}

/// Prints the diagram: `=` up to the share of supported claims, `|` at the mean score.
pub(super) fn write(rows: &[(f64, bool)], out: &mut impl Write) -> std::io::Result<()> {
    let bins = bins(rows);
    writeln!(out, "score      rows   mean   supported")?;
    for (nth, bin) in bins.iter().enumerate().filter(|(_, bin)| bin.rows > 0) {
        let at = |share: f64| (share * BAR).round() as usize;
        let bar: String = (0..=BAR as usize)
            .map(|place| match (place == at(bin.said), place < at(bin.held)) {
                (true, _) => '|',
                (false, true) => '=',
                (false, false) => ' ',
            })
            .collect();
        let from = nth as f64 / BINS as f64;
        writeln!(
            out,
            "{from:.1}-{:.1} {:>7}   {:.3}  {:.3} {}",
            from + 0.1,
            bin.rows,
            bin.said,
            bin.held,
            bar.trim_end()
        )?;
    }
    writeln!(out, "expected calibration error {:.3}", calibration_error(&bins))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_that_says_what_holds_has_no_error_and_a_sure_one_that_fails_has_all() {
        let right = [(0.25, true), (0.25, false), (0.25, false), (0.25, false), (1.0, true)];
        assert!(calibration_error(&bins(&right)) < 1e-9);
        assert!((calibration_error(&bins(&[(1.0, false)])) - 1.0).abs() < 1e-9);
        let mut text = Vec::new();
        write(&right, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("0.2-0.3       4   0.250  0.250"), "{text}");
        assert!(text.ends_with("expected calibration error 0.000\n"), "{text}");
    }
}
