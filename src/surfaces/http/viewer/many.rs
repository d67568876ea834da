//! What is done with several runs at once: taken along, deleted.
use axum::body::Bytes;
use axum::extract::RawQuery;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{Answer, Html, Visitor, fields, to};
use crate::error::{Error, Kind};
use crate::surfaces::export::{Form, Made, Options};
use crate::surfaces::http::extract::Mine;
use crate::surfaces::http::fault::Fault;
use crate::surfaces::http::runs::bad;
use crate::surfaces::view::page;
use crate::surfaces::view::runs::{DeletePage, Doomed};
use crate::surfaces::view::words::clip;

/// Runs that are taken at once, at most.
const MOST: usize = 100;

/// The runs that were chosen, each of which must be the caller's.
async fn chosen(visitor: &Visitor, said: &[(String, String)]) -> Answer<Vec<Mine>> {
    let mut ids: Vec<&str> = Vec::new();
    for it in said.iter().filter(|it| it.0 == "run") {
        if !ids.contains(&it.1.as_str()) {
            ids.push(&it.1);
        }
    }
    if ids.is_empty() {
        let none =
            Fault::new(StatusCode::BAD_REQUEST, "invalid_value", "no run is ticked").at("run");
        return Err(none.hint("go back and tick the runs that are meant"));
    }
    if ids.len() > MOST {
        return Err(bad("run", &format!("may be given {MOST} times at most")));
    }
    let mut out = Vec::new();
    for id in ids {
        out.push(Mine::named(&visitor.server, &visitor.service, id).await?);
    }
    Ok(out)
}

fn asked(query: Option<String>) -> Vec<(String, String)> {
    let query = query.unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

/// `GET /runs/export?run=…&run=…&form=html`: their reports in one archive.
pub(super) async fn export(visitor: Visitor, RawQuery(query): RawQuery) -> Answer<Response> {
    let said = asked(query);
    let name = said
        .iter()
        .find(|it| it.0 == "form")
        .map_or("html", |it| &it.1);
    let Some(form) = Form::named(name).filter(|it| it.is_built()) else {
        return Err(bad("form", "is none of a report").hint(format!("there are {}", Form::names())));
    };
    let mut reports = Vec::new();
    for mine in chosen(&visitor, &said).await? {
        let Some(report) = mine.run().await?.report else {
            continue;
        };
        let pages = mine.run.pages(Some(&report)).await?;
        reports.push((report, pages));
    }
    if reports.is_empty() {
        let none = Fault::new(
            StatusCode::CONFLICT,
            "no_report",
            "none of these runs has a report",
        );
        return Err(none.hint("choose runs that are completed"));
    }
    // Laying out pages takes a while, and others wait for this thread.
    let making = tokio::task::spawn_blocking(move || {
        let mut files = Vec::new();
        for (report, pages) in reports {
            let run = &report.run;
            match form.make(&report, &pages, Options::default())? {
                Made::Folder(all) => {
                    let inside = all
                        .into_iter()
                        .map(|(path, bytes)| (format!("{run}/{path}"), bytes));
                    files.extend(inside);
                }
                made => files.push((format!("{run}.{}", form.ending(&report)), made.bytes()?)),
            }
        }
        Made::Folder(files).bytes()
    });
    let bytes = making
        .await
        .map_err(|it| Error::new(Kind::Internal, "making an archive of reports").because(it))??;
    let named = format!("attachment; filename=\"ibid-reports-{name}.zip\"");
    let mut response = ([(header::CONTENT_TYPE, "application/zip")], bytes).into_response();
    if let Ok(value) = HeaderValue::from_str(&named) {
        response
            .headers_mut()
            .insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// `GET /runs/delete?run=…`: asks whether they are to be deleted.
pub(super) async fn sure(visitor: Visitor, RawQuery(query): RawQuery) -> Answer<Html> {
    let chosen = chosen(&visitor, &asked(query)).await?;
    let runs = chosen.iter().map(|it| Doomed {
        id: it.id().to_string(),
        question: clip(&it.run.row().question, 200),
        ended: it.has_ended(),
    });
    Ok(Html(page(&DeletePage {
        runs: runs.collect(),
        shell: visitor.shell("Delete runs").narrow(),
    })?))
}

/// `POST /runs/delete`: deletes them, all or none where one of them has not ended.
pub(super) async fn delete(
    visitor: Visitor,
    bytes: Result<Bytes, BytesRejection>,
) -> Answer<Response> {
    let chosen = chosen(&visitor, &fields(bytes)?).await?;
    for it in &chosen {
        it.ended()?;
    }
    for it in &chosen {
        it.remove().await?;
    }
    Ok(to("/"))
}
