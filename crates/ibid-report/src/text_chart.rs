//! A chart as lines of text, for forms without pictures.
use unicode_width::UnicodeWidthStr as _;

use crate::escape::{single_line, truncate};
use ibid_core::domain::{Chart, ChartKind, ChartPoint};

/// The width of a bar in characters, and the most of a label.
const WIDTH: usize = 24;
const LABEL_CHARS: usize = 30;

/// The lines of a chart: for each figure its label, its bar or its range, and its words.
pub(crate) fn text_chart(chart: &Chart) -> Vec<String> {
    let label = |point: &ChartPoint| truncate(&point.label, LABEL_CHARS);
    let wide = chart.points.iter().map(|point| label(point).width()).max().unwrap_or(0);
    let line = |point: &ChartPoint| {
        let label = label(point);
        let pad = " ".repeat(wide - label.width());
        let computed = point.converted.as_ref().map(|it| format!(" ({it}, computed)"));
        let figure = single_line(&format!("{}{}", point.text, computed.unwrap_or_default()));
        format!("{label}{pad}  {}  {figure}", drawn(chart, point))
    };
    std::iter::once(single_line(&chart.heading())).chain(chart.points.iter().map(line)).collect()
}

/// The bar of a figure from zero, or the range that it lies in.
fn drawn(chart: &Chart, point: &ChartPoint) -> String {
    let at = |figure: f64| (chart.place(figure) * (WIDTH - 1) as f64).round() as usize;
    let (from, to, of) = match (chart.kind, point.low, point.high) {
        (ChartKind::Bar, ..) => (at(point.value.min(0.0)), at(point.value.max(0.0)), '█'),
        (_, Some(low), Some(high)) => (at(low), at(high), '─'),
        _ => (at(point.value), at(point.value), '●'),
    };
    (0..WIDTH).map(|nth| if (from..=to).contains(&nth) { of } else { '·' }).collect()
}
