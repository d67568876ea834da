//! Queueing stations: places that serve visits first come, first served, and the random numbers that visits are drawn from.
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::f64::consts::TAU;

/// SplitMix64 of Steele, Lea and Flood (2014): small, fast, and the same on every machine.
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number above 0 and at most 1, so that its logarithm is finite.
    pub(super) fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A number of the exponential distribution.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// A number of the lognormal distribution with this mean; `sigma` is the deviation of its logarithm.
    pub(super) fn lognormal(&mut self, mean: f64, sigma: f64) -> f64 {
        let normal = (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos();
        mean * (sigma * normal - sigma * sigma / 2.0).exp()
    }
}

/// Seconds since the simulation began. Ordered, so that a heap can hold it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SimTime(pub(super) f64);

impl Eq for SimTime {}

impl PartialOrd for SimTime {
    fn partial_cmp(&self, other: &SimTime) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SimTime {
    fn cmp(&self, other: &SimTime) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The part of the simulated time that is measured, seconds. What comes before is warm-up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) begin: f64,
    pub(super) end: f64,
}

impl Window {
    pub(super) fn contains(self, at: f64) -> bool {
        (self.begin..self.end).contains(&at)
    }

    pub(super) fn length(self) -> f64 {
        self.end - self.begin
    }

    /// How much of the time between two moments is measured.
    pub(super) fn overlap(self, begin: f64, end: f64) -> f64 {
        (end.min(self.end) - begin.max(self.begin)).max(0.0)
    }
}

/// When a visit was served.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    pub(super) begin: f64,
    pub(super) end: f64,
}

/// A station with some places. Its visits must come in the order of time; then it is known at once when each will be served,
/// and no queue is kept.
#[derive(Debug)]
pub(super) struct Station {
    free_at: BinaryHeap<Reverse<SimTime>>,
    window: Window,
    busy: f64,
    offered: f64,
}

impl Station {
    /// A station without visits. It has at least one place.
    pub(super) fn new(places: usize, window: Window) -> Station {
        let free_at = std::iter::repeat_n(Reverse(SimTime(0.0)), places.max(1)).collect();
        Station { free_at, window, busy: 0.0, offered: 0.0 }
    }

    /// Serves a visit that arrives `now` and takes `service` seconds, after all that came before it.
    pub(super) fn visit(&mut self, now: f64, service: f64) -> Visit {
        let mut begin = now;
        if let Some(mut first) = self.free_at.peek_mut() {
            begin = begin.max(first.0.0);
            *first = Reverse(SimTime(begin + service));
        }
        let end = begin + service;
        self.busy += self.window.overlap(begin, end);
        if self.window.contains(now) {
            self.offered += service;
        }
        Visit { begin, end }
    }

    /// How long a visit that arrives `now` would wait, seconds.
    pub(super) fn wait(&self, now: f64) -> f64 {
        self.free_at.peek().map_or(0.0, |first| (first.0.0 - now).max(0.0))
    }

    /// Place-seconds in the measured time: how many there are, how many were busy, and how many the visits asked for.
    pub(super) fn place_seconds(&self) -> (f64, f64, f64) {
        (self.free_at.len() as f64 * self.window.length(), self.busy, self.offered)
    }
}

/// A number that goes up and down, and its mean over the measured time.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) value: f64,
    since: f64,
    area: f64,
    window: Window,
}

impl Level {
    /// A level of nought.
    pub(super) fn new(window: Window) -> Level {
        Level { value: 0.0, since: 0.0, area: 0.0, window }
    }

    /// Changes the level by `by`.
    pub(super) fn change(&mut self, now: f64, by: f64) {
        self.area += self.value * self.window.overlap(self.since, now);
        self.since = now;
        self.value += by;
    }

    /// The mean over the measured time.
    pub(super) fn mean(&self) -> f64 {
        let rest = self.value * self.window.overlap(self.since, self.window.end);
        (self.area + rest) / self.window.length()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean wait in a station of `places` places, each of which serves one visit a second, with `rate` visits a second.
    fn mean_wait(places: usize, rate: f64) -> f64 {
        let mut rng = SplitMix64(7);
        let mut station = Station::new(places, Window { begin: 0.0, end: f64::MAX });
        let (mut now, mut waited, visits) = (0.0, 0.0, 500_000);
        for _ in 0..visits {
            now += rng.exponential(1.0 / rate);
            waited += station.visit(now, rng.exponential(1.0)).begin - now;
        }
        waited / f64::from(visits)
    }

    #[test]
    fn one_place_waits_as_the_theory_of_m_m_1_says() {
        for rate in [0.5, 0.8] {
            let theory = rate / (1.0 - rate);
            let wait = mean_wait(1, rate);
            assert!((wait / theory - 1.0).abs() < 0.03, "{wait} beside {theory}");
        }
    }

    #[test]
    fn several_places_wait_as_erlang_c_says() {
        let (places, rate) = (4, 3.2);
        let mut blocking = 1.0;
        for nth in 1..=places {
            blocking = rate * blocking / (nth as f64 + rate * blocking);
        }
        let used = rate / places as f64;
        let waits = blocking / (1.0 - used * (1.0 - blocking));
        let theory = waits / (places as f64 - rate);
        let wait = mean_wait(places, rate);
        assert!((wait / theory - 1.0).abs() < 0.03, "{wait} beside {theory}");
    }

    #[test]
    fn lognormal_numbers_have_the_mean_that_was_asked_for() {
        let mut rng = SplitMix64(3);
        let sum: f64 = (0..200_000).map(|_| rng.lognormal(4.0, 0.5)).sum();
        assert!((sum / 200_000.0 - 4.0).abs() < 0.02, "{sum}");
    }

    #[test]
    fn a_station_counts_what_falls_into_the_measured_time() {
        let mut station = Station::new(1, Window { begin: 10.0, end: 20.0 });
        station.visit(8.0, 4.0);
        station.visit(11.0, 12.0);
        assert_eq!(station.place_seconds(), (10.0, 10.0, 12.0));
        assert_eq!(station.wait(13.0), 11.0);
    }
}
