//! The chart of a report as shapes of an SVG. Places across are shares of its width, so that its text has one size on every screen.
use std::collections::HashMap;

use crate::escape::{single_line, truncate};
use ibid_core::domain::{Chart, ChartKind, ChartPoint, ClaimId};

/// The height of a row of bars or ranges, and of its text.
const ROW: u32 = 46;
const TEXT: u32 = 16;
/// The upper edge and the height of a line's field, and of the whole chart with its text.
const FIELD: (u32, u32) = (34, 130);
const LINE_HEIGHT: u32 = 200;
/// The left edge and the width of a line's field, of 100.
const ACROSS: (f64, f64) = (4.0, 92.0);
/// Maximum number of labels of a line.
const LINE_LABELS: usize = 5;
/// Number of characters of a label and of a figure that fit beside each other on a narrow screen.
const LABEL_CHARS: usize = 26;
const FIGURE_CHARS: usize = 20;
/// A longer unit is told by the heading alone.
const MAX_SHOWN_UNIT: usize = 8;
/// The least width of a bar, of 100.
const MIN_BAR: f64 = 0.4;

/// A shape. Places across are in percent; those down in pixels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChartShape {
    /// The element: `rect`, `circle`, `line` or `text`.
    pub tag: &'static str,
    /// The place across.
    pub x: String,
    /// The place down.
    pub y: u32,
    /// Of a line the end across, of a bar the width.
    pub to: String,
    /// Of a line the end down.
    pub low: u32,
    /// Whether words begin, end or are centred at the place: `start`, `end`, `middle`.
    pub anchor: &'static str,
    /// The words of a text.
    pub words: String,
}

impl ChartShape {
    fn bar(x: f64, y: u32, wide: f64) -> ChartShape {
        ChartShape { tag: "rect", x: percent(x), y, to: percent(wide), ..ChartShape::default() }
    }

    fn dot(x: f64, y: u32) -> ChartShape {
        ChartShape { tag: "circle", x: percent(x), y, ..ChartShape::default() }
    }

    fn line(from: (f64, u32), to: (f64, u32)) -> ChartShape {
        let (x, end) = (percent(from.0), percent(to.0));
        ChartShape { tag: "line", x, y: from.1, to: end, low: to.1, ..ChartShape::default() }
    }

    fn text(x: f64, y: u32, anchor: &'static str, words: String) -> ChartShape {
        ChartShape { tag: "text", x: percent(x), y, anchor, words, ..ChartShape::default() }
    }
}

fn percent(share: f64) -> String {
    format!("{share:.2}%")
}

/// A figure with its shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartMark {
    /// Where its quote is.
    pub link: Option<String>,
    /// What it says.
    pub says: String,
    /// Its shapes.
    pub shapes: Vec<ChartShape>,
}

/// A chart with its layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartDrawing {
    /// The title.
    pub title: String,
    /// What it shows, in words.
    pub says: String,
    /// The height.
    pub high: u32,
    /// The lines between the points.
    pub joints: Vec<ChartShape>,
    /// The figures.
    pub marks: Vec<ChartMark>,
}

impl ChartDrawing {
    /// The drawing of a chart. `links`: where the quote of each claim is.
    pub fn new(chart: &Chart, links: &HashMap<ClaimId, String>) -> ChartDrawing {
        let shapes: Vec<Vec<ChartShape>> = match chart.kind {
            ChartKind::Line => (0..chart.points.len()).map(|nth| line_point(chart, nth)).collect(),
            ChartKind::Bar | ChartKind::Interval => chart
                .points
                .iter()
                .zip(0..)
                .map(|(point, nth)| row_shapes(chart, point, nth))
                .collect(),
        };
        let marks = chart.points.iter().zip(shapes).map(|(point, shapes)| ChartMark {
            link: links.get(&point.claim).cloned(),
            says: figure_text(point),
            shapes,
        });
        let ends =
            |pair: &[ChartPoint]| ChartShape::line(place(chart, &pair[0]), place(chart, &pair[1]));
        let joints = chart.points.windows(2).filter(|_| chart.kind == ChartKind::Line).map(ends);
        ChartDrawing {
            title: single_line(&chart.heading()),
            says: single_line(&chart.description()),
            high: match chart.kind {
                ChartKind::Line => LINE_HEIGHT,
                ChartKind::Bar | ChartKind::Interval => ROW * chart.points.len() as u32,
            },
            joints: joints.collect(),
            marks: marks.collect(),
        }
    }
}

/// "Natural cork: 3.5 in (computed: 89 mm)".
fn figure_text(point: &ChartPoint) -> String {
    let computed = point.converted.as_ref().map(|it| format!(" (computed: {it})"));
    single_line(&format!("{}: {}{}", point.label, point.text, computed.unwrap_or_default()))
}

/// A figure without a long unit that the heading of the chart tells.
fn without_unit<'a>(chart: &Chart, figure: &'a str) -> &'a str {
    let bare = figure.strip_suffix(chart.unit.as_str()).map(str::trim_end);
    let is_long = chart.unit.chars().count() > MAX_SHOWN_UNIT;
    bare.filter(|bare| is_long && !bare.is_empty()).unwrap_or(figure)
}

/// A row: the label, the figure, and below them the bar or the range.
fn row_shapes(chart: &Chart, point: &ChartPoint, nth: u32) -> Vec<ChartShape> {
    let top = ROW * nth;
    let shown = point.converted.as_ref().unwrap_or(&point.text);
    let mark = if point.converted.is_some() { "≈ " } else { "" };
    let figure = format!("{mark}{}", without_unit(chart, shown));
    // Each may have the room that the other leaves.
    let room = LABEL_CHARS + FIGURE_CHARS;
    let for_figure = room.saturating_sub(point.label.chars().count()).max(FIGURE_CHARS);
    let for_label = room.saturating_sub(figure.chars().count()).max(LABEL_CHARS);
    let mut shapes = vec![
        ChartShape::text(0.0, top + TEXT, "start", truncate(&point.label, for_label)),
        ChartShape::text(100.0, top + TEXT, "end", truncate(&figure, for_figure)),
    ];
    let across = |figure: f64| 100.0 * chart.place(figure);
    let middle = top + TEXT + 14;
    if chart.kind == ChartKind::Bar {
        let (from, to) = (across(point.value.min(0.0)), across(point.value.max(0.0)));
        shapes.push(ChartShape::bar(
            from.min(100.0 - MIN_BAR),
            middle - 6,
            (to - from).max(MIN_BAR),
        ));
        return shapes;
    }
    // The ends keep the dots inside.
    let across = |figure: f64| ACROSS.0 + ACROSS.1 * chart.place(figure);
    if let (Some(low), Some(high)) = (point.low, point.high) {
        let (from, to) = (across(low), across(high));
        shapes.push(ChartShape::line((from, middle), (to, middle)));
        shapes.extend([from, to].map(|at| ChartShape::line((at, middle - 6), (at, middle + 6))));
    } else {
        shapes.push(ChartShape::dot(across(point.value), middle));
    }
    shapes
}

/// A point of a line, with its label where there is room for it.
fn line_point(chart: &Chart, nth: usize) -> Vec<ChartShape> {
    let point = &chart.points[nth];
    let (x, y) = place(chart, point);
    let mut shapes = vec![ChartShape::dot(x, y)];
    if let (Some(low), Some(high)) = (point.low, point.high) {
        shapes.push(ChartShape::line((x, down(chart, low)), (x, down(chart, high))));
    }
    let last = chart.points.len() - 1;
    let step = last.div_ceil(LINE_LABELS - 1).max(1);
    let room = nth == last || nth.is_multiple_of(step) && nth + step <= last;
    if room {
        let anchor = match nth {
            0 => "start",
            nth if nth == last => "end",
            _ => "middle",
        };
        let x = match anchor {
            "start" => 0.0,
            "end" => 100.0,
            _ => x,
        };
        let figure = point.converted.as_ref().unwrap_or(&point.text);
        let figure = truncate(figure, LABEL_CHARS / 2);
        shapes.push(ChartShape::text(x, y - 12, anchor, figure));
        let label = truncate(&point.label, LABEL_CHARS / 2);
        shapes.push(ChartShape::text(x, LINE_HEIGHT - 8, anchor, label));
    }
    shapes
}

/// The place of a point of a line: across by its year, down by its figure.
fn place(chart: &Chart, point: &ChartPoint) -> (f64, u32) {
    let year = |point: &ChartPoint| point.label.parse::<f64>().unwrap_or_default();
    let ends = chart.points.first().map(year).zip(chart.points.last().map(year));
    let share = ends.map_or(0.0, |(from, to)| (year(point) - from) / (to - from).max(1.0));
    (ACROSS.0 + ACROSS.1 * share, down(chart, point.value))
}

fn down(chart: &Chart, figure: f64) -> u32 {
    FIELD.0 + (f64::from(FIELD.1) * (1.0 - chart.place(figure))).round() as u32
}
