//! The comparison of a report as blocks.
use super::{DocumentBlock, DocumentBuilder, InlineSpan, join_lines, text};
use crate::escape::plain_line;
use crate::text_chart::text_chart;
use ibid_core::domain::ComparisonTable;

impl DocumentBuilder<'_> {
    /// The comparison or the time line, and its chart.
    pub(super) fn comparison(&mut self) {
        let Some(it) = &self.report.comparison else {
            return;
        };
        self.heading(1, it.heading());
        let mut rows = Vec::new();
        for row in &it.rows {
            let mut cells = vec![vec![text(plain_line(&row.label))]];
            for (cell, converted) in row.converted_cells() {
                let figures = cell.iter().map(|claim| self.sentences(std::slice::from_ref(claim)));
                let figures: Vec<Vec<InlineSpan>> = figures.collect();
                let mut spans = if figures.is_empty() {
                    vec![text(ComparisonTable::UNKNOWN)]
                } else {
                    join_lines(figures)
                };
                spans.extend(converted.map(|it| text(format!(" ({}, computed)", plain_line(it)))));
                cells.push(spans);
            }
            rows.push(cells);
        }
        let head: Vec<String> = it.columns.iter().map(|name| plain_line(name)).collect();
        // The text of an event is longer than its date.
        let widths = if it.is_time_line { vec![1, 4] } else { vec![1; head.len()] };
        self.blocks.push(DocumentBlock::Table { widths, head, rows });
        if let Some(chart) = &self.report.chart {
            self.blocks.push(DocumentBlock::Chart { lines: text_chart(chart) });
        }
    }
}
