//! Actions on several runs: export and delete.
use axum::body::Bytes;
use axum::extract::RawQuery;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::page::{FormFields, HtmlPage, Visitor, redirect};
use crate::http::api_error::{ApiError, ApiResult};
use crate::http::extract::OwnedRun;
use crate::http::values::invalid_value;
use crate::view::format::truncate;
use crate::view::render;
use crate::view::runs::{DeletePage, DeletionCandidate};
use ibid_core::{Error, ErrorKind};
use ibid_report::{ExportOptions, ExportOutput, ReportFormat};

/// Maximum number of runs of one action.
const MAX_RUNS: usize = 100;

/// The selected runs.
///
/// # Errors
/// 400 for no run or too many; 404 if one is not the caller's.
async fn selected_runs(visitor: &Visitor, fields: &FormFields) -> ApiResult<Vec<OwnedRun>> {
    let mut ids: Vec<&str> = Vec::new();
    for id in fields.all("run") {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if ids.is_empty() {
        let none = ApiError::new(StatusCode::BAD_REQUEST, "invalid_value", "no run is selected")
            .with_param("run");
        return Err(none.with_hint("go back and select runs"));
    }
    if ids.len() > MAX_RUNS {
        let limit = format!("may be given at most {MAX_RUNS} times");
        return Err(invalid_value("run", &limit));
    }
    let mut out = Vec::new();
    for id in ids {
        out.push(OwnedRun::lookup(&visitor.server, &visitor.service, id).await?);
    }
    Ok(out)
}

/// `GET /runs/export?run=…&run=…&form=html`: their reports in one archive.
pub(super) async fn export(visitor: Visitor, RawQuery(query): RawQuery) -> ApiResult<Response> {
    let fields = FormFields::from_query(query);
    let name = fields.all("form").next().unwrap_or("html");
    let Some(format) = ReportFormat::from_name(name).filter(|format| format.is_built()) else {
        return Err(invalid_value("form", "is not a report format")
            .with_hint(format!("the formats are {}", ReportFormat::names())));
    };
    let mut reports = Vec::new();
    for mine in selected_runs(&visitor, &fields).await? {
        let Some(report) = mine.run().await?.report else {
            continue;
        };
        let pages = mine.run.pages(Some(&report)).await?;
        reports.push((report, pages));
    }
    if reports.is_empty() {
        let none =
            ApiError::new(StatusCode::CONFLICT, "no_report", "none of these runs has a report");
        return Err(none.with_hint("select completed runs"));
    }
    // Rendering takes a while and must not block the async threads.
    let archiving = tokio::task::spawn_blocking(move || {
        let mut files = Vec::new();
        for (report, pages) in reports {
            let run = &report.run;
            match format.render(&report, &pages, ExportOptions::default())? {
                ExportOutput::Folder(all) => {
                    let inside =
                        all.into_iter().map(|(path, bytes)| (format!("{run}/{path}"), bytes));
                    files.extend(inside);
                }
                made => {
                    files.push((format!("{run}.{}", format.extension(&report)), made.into_bytes()?))
                }
            }
        }
        ExportOutput::Folder(files).into_bytes()
    });
    let bytes = archiving.await.map_err(|error| {
        Error::new(ErrorKind::Internal, "creating an archive of reports").with_source(error)
    })??;
    let disposition = format!("attachment; filename=\"ibid-reports-{name}.zip\"");
    let mut response = ([(header::CONTENT_TYPE, "application/zip")], bytes).into_response();
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// `GET /runs/delete?run=…`: asks for confirmation.
pub(super) async fn confirm_delete(
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> ApiResult<HtmlPage> {
    let chosen = selected_runs(&visitor, &FormFields::from_query(query)).await?;
    let runs = chosen.iter().map(|it| DeletionCandidate {
        id: it.id().to_string(),
        question: truncate(&it.run.row().question, 200),
        ended: it.has_ended(),
    });
    Ok(HtmlPage(render(&DeletePage {
        runs: runs.collect(),
        shell: visitor.shell("Delete runs").narrow(),
    })?))
}

/// `POST /runs/delete`: deletes the selected runs, or none if one of them has not ended.
pub(super) async fn delete(
    visitor: Visitor,
    bytes: Result<Bytes, BytesRejection>,
) -> ApiResult<Response> {
    let chosen = selected_runs(&visitor, &FormFields::parse(bytes)?).await?;
    for it in &chosen {
        it.require_ended()?;
    }
    for it in &chosen {
        it.remove().await?;
    }
    Ok(redirect("/"))
}
