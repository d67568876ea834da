//! Pages about several runs, or about the server.
use std::sync::Arc;

use super::page::{HtmlPage, Visitor};
use crate::health::{
    HealthFinding, HealthState, changed_settings, local_findings, service_findings,
};
use crate::http::api_error::{ApiError, ApiResult};
use crate::http::extract::{OwnedRun, PathParams};
use crate::view::overview::{CostsPage, DiffPage, DoctorPage, HealthCheckRow};
use crate::view::render;
use ibid::app::diff_reports;
use ibid_report::escape::single_line;

/// `GET /diff/{a}/{b}`.
pub(super) async fn diff(
    visitor: Visitor,
    PathParams((a, b)): PathParams<(String, String)>,
) -> ApiResult<HtmlPage> {
    let before = OwnedRun::lookup(&visitor.server, &visitor.service, &a).await?.report().await?;
    let after = OwnedRun::lookup(&visitor.server, &visitor.service, &b).await?.report().await?;
    let found = diff_reports(&before.1, &after.1)?;
    let shell = visitor.shell("What changed");
    Ok(HtmlPage(render(&DiffPage::new(shell.narrow(), &found))?))
}

/// `GET /costs`: aggregate metrics of the caller's runs.
pub(super) async fn costs(visitor: Visitor) -> ApiResult<HtmlPage> {
    let service = &visitor.service;
    let (tally, rows) = (service.tally().await?, service.rows().await?);
    let shell = visitor.shell("Costs").with_nav_entry("costs");
    Ok(HtmlPage(render(&CostsPage::new(shell, &tally, &rows))?))
}

/// `GET /doctor`: the local health checks.
pub(super) async fn doctor(visitor: Visitor) -> ApiResult<HtmlPage> {
    doctor_page(&visitor, false).await
}

/// `POST /doctor`: the local health checks, and a small request to each configured model, engine and reader.
pub(super) async fn doctor_with_probes(visitor: Visitor) -> ApiResult<HtmlPage> {
    doctor_page(&visitor, true).await
}

async fn doctor_page(visitor: &Visitor, probe_services: bool) -> ApiResult<HtmlPage> {
    // Only the operator may see the setup of the server.
    let Some(operator) = visitor.service.operator() else {
        return Err(ApiError::not_found("page"));
    };
    let mut loaded = visitor.service.load_settings(&[])?;
    let settings = changed_settings(&loaded);
    // The served folders, including those of the command line.
    loaded.settings.folders = operator.folders().to_vec();
    let loaded = Arc::new(loaded);
    let mut found = local_findings(&loaded).await;
    if probe_services {
        found.extend(service_findings(&loaded.settings).await);
    }
    Ok(HtmlPage(render(&DoctorPage {
        shell: visitor.shell("Doctor").with_nav_entry("doctor").narrow(),
        looked: found.iter().map(check_row).collect(),
        outside: probe_services,
        settings: settings
            .iter()
            .map(|setting| {
                (single_line(&setting.0), single_line(&setting.1), single_line(&setting.2))
            })
            .collect(),
    })?))
}

fn check_row(it: &HealthFinding) -> HealthCheckRow {
    HealthCheckRow {
        name: it.name.to_owned(),
        state: match it.state {
            HealthState::Ok => ("covered", "ok"),
            HealthState::Warning => ("partial", "warning"),
            HealthState::Error => ("conflict", "error"),
        },
        found: single_line(&it.found),
        fix: it.fix.as_deref().map(single_line),
    }
}
