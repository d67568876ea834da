//! A chart of a comparison: figures of one measure, each of them from a quote.
use serde::{Deserialize, Serialize};

use super::ClaimId;

/// How figures are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// A bar for each thing, from zero.
    Bar,
    /// A line through the years.
    Line,
    /// For each thing the range that its figure lies in.
    Interval,
}

/// A chart of one measure of the comparison. It says nothing that the table beside it does not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// How its figures are drawn.
    pub kind: ChartKind,
    /// The measure, as its column is named.
    pub title: String,
    /// The unit of all figures; empty for counts.
    pub unit: String,
    /// Its points, in the order of the rows, or of the years of a line. At least three.
    pub points: Vec<ChartPoint>,
}

/// A figure of a chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChartPoint {
    /// What the figure is of.
    pub label: String,
    /// The cell that states it, which is a claim of the comparison with its quotes.
    pub claim: ClaimId,
    /// The cell as it is quoted.
    pub text: String,
    /// The figure in the unit of the chart; of a range without one its middle.
    pub value: f64,
    /// The lower end, if the cell is a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end, if the cell is a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The figure in the unit of the chart, if it was computed from a quote in another unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converted: Option<String>,
}

impl Chart {
    /// The lowest and the highest figure, ranges included; of bars, zero is one of them.
    pub fn extent(&self) -> (f64, f64) {
        let lows = self.points.iter().map(|point| point.low.unwrap_or(point.value));
        let highs = self.points.iter().map(|point| point.high.unwrap_or(point.value));
        let zero = match self.kind {
            ChartKind::Bar => (0.0, 0.0),
            ChartKind::Line | ChartKind::Interval => (f64::INFINITY, f64::NEG_INFINITY),
        };
        (lows.fold(zero.0, f64::min), highs.fold(zero.1, f64::max))
    }

    /// Where a figure lies between the lowest and the highest one, 0 to 1.
    pub fn place(&self, figure: f64) -> f64 {
        let (low, high) = self.extent();
        if high > low { (figure - low) / (high - low) } else { 1.0 }
    }

    /// The title with the unit, if the title does not state it.
    pub fn heading(&self) -> String {
        if self.unit.is_empty() || self.title.contains(&self.unit) {
            self.title.clone()
        } else {
            format!("{} ({})", self.title, self.unit)
        }
    }

    /// What the chart shows, in words.
    pub fn description(&self) -> String {
        let point = |point: &ChartPoint| match &point.converted {
            Some(converted) => format!("{}: {} (computed: {converted})", point.label, point.text),
            None => format!("{}: {}", point.label, point.text),
        };
        let points: Vec<String> = self.points.iter().map(point).collect();
        format!("{}. {}.", self.heading(), points.join("; "))
    }
}
