//! Tables as data: which rows of a table answer a question, as sentences, and the comparison table of a report.
mod asked_unit;
mod chart;
mod compare;
mod contrast;
mod kinds;
mod measure;
mod named_rows;
mod quantity;
mod request;
mod row_text;
mod rows;
mod table_points;
mod top_row;
mod units;
mod view;

pub(crate) use asked_unit::asked_unit;
pub(crate) use chart::{add_conversions, chart_of};
pub(crate) use request::{TableRequest, table_requests};
pub(crate) use rows::rows_of_page;
pub(crate) use table_points::TablePoints;
