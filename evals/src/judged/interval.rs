//! Means with bootstrap intervals.
use ibid_core::ports::{Rng as _, SeededRng};

/// How often tasks are drawn anew.
const RESAMPLES: usize = 10_000;

/// A value over tasks with the interval that holds it in 95 of 100 draws of as many tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BootstrapInterval {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The sum of the first numbers divided by the sum of the second; `None` without tasks or where the second sum is 0.
///
/// Tasks are drawn with the same seed every time, so the same tasks give the same interval.
pub(crate) fn ratio(tasks: &[(f64, f64)]) -> Option<BootstrapInterval> {
    let of = |(above, below): (f64, f64)| (below != 0.0).then(|| above / below);
    let add = |sum: (f64, f64), it: (f64, f64)| (sum.0 + it.0, sum.1 + it.1);
    let value = of(tasks.iter().copied().fold((0.0, 0.0), add))?;
    let random = SeededRng::new(20_251);
    let mut draws: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let draw = (0..tasks.len())
                .map(|_| tasks[(random.next_u128() % tasks.len() as u128) as usize]);
            of(draw.fold((0.0, 0.0), add))
        })
        .collect();
    draws.sort_by(f64::total_cmp);
    let at = |share: f64| draws.get(((draws.len() as f64 * share) as usize).min(draws.len() - 1));
    let (low, high) = (*at(0.025)?, *at(0.975)?);
    Some(BootstrapInterval { value, low, high })
}

/// The mean of `values`.
pub(crate) fn mean(values: &[f64]) -> Option<BootstrapInterval> {
    ratio(&values.iter().map(|value| (*value, 1.0)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_about_two_standard_errors_and_always_the_same() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let it = mean(&values).unwrap();
        assert_eq!(it.value, 49.5);
        // The standard error of these is 2.89.
        assert!((it.low - (49.5 - 5.66)).abs() < 0.6, "{it:?}");
        assert!((it.high - (49.5 + 5.66)).abs() < 0.6, "{it:?}");
        assert_eq!(mean(&values), Some(it));
        assert_eq!(mean(&[]), None);
        let one = mean(&[7.0]).unwrap();
        assert_eq!((one.low, one.high), (7.0, 7.0));
    }

    #[test]
    fn a_ratio_is_of_sums_and_not_a_mean_of_ratios() {
        assert_eq!(ratio(&[(1.0, 1.0), (0.0, 3.0)]).unwrap().value, 0.25);
        assert_eq!(ratio(&[(0.0, 0.0)]), None);
    }
}
