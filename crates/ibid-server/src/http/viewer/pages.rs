//! The list of runs and the pages of one run.
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::ask_form::ask_form;
use super::page::{HtmlPage, Visitor};
use crate::http::api_error::{ApiError, ApiResult};
use crate::http::extract::{OwnedRun, PathParams, QueryParams};
use crate::http::runs::{RunFilter, filter_runs};
use crate::http::state::ServerState;
use crate::http::values::invalid_value;
use crate::request_service::CallerService;
use crate::view::evidence::{EvidencePage, SourcesPage};
use crate::view::format::truncate;
use crate::view::live::{LivePage, RunHeader, RunStateView};
use crate::view::new_run::QuestionForm;
use crate::view::quote::QuotePage;
use crate::view::render;
use crate::view::report::ReportPage;
use crate::view::runs::{RunLine, RunStats, RunsPage};
use crate::view::timeline::TimelinePage;
use crate::view::trace::{CallPage, TracePage};
use ibid_core::domain::RunId;
use ibid_core::ports::RunRow;
use ibid_core::record::{Envelope, Run};
use ibid_report::escape::single_line;
use ibid_report::html::ReportBody;

/// Runs per page of the list.
const PAGE_SIZE: usize = 25;

#[derive(Deserialize)]
pub(super) struct RunListParams {
    q: Option<String>,
    status: Option<String>,
    model: Option<String>,
    since: Option<String>,
    until: Option<String>,
    after: Option<String>,
}

/// Parses a date of a form, `YYYY-MM-DD`; `None` if it is empty.
fn parse_day(field: &str, text: Option<&str>) -> ApiResult<Option<String>> {
    match text.map(str::trim) {
        None | Some("") => Ok(None),
        Some(it) => match it.parse::<jiff::civil::Date>() {
            Ok(day) => Ok(Some(day.to_string())),
            Err(_) => Err(invalid_value(field, "must be a date, as in 2026-11-23")),
        },
    }
}

/// Maximum number of runs examined for one page of a list filtered by model: the models of a run are only in its events.
const MAX_EXAMINED: usize = 400;

/// The figures of a run that are not in its row; cached once it has ended.
async fn load_run_stats(
    server: &ServerState,
    service: &CallerService,
    row: &RunRow,
) -> ApiResult<RunStats> {
    let ended = row.status.ended();
    if let Some(stats) = server.run_stats.get(&row.run_id).filter(|_| ended) {
        return Ok(stats);
    }
    let events = service.run_for_row(row)?.events(0).await?;
    let stats = RunStats::from_events(&Run::from_events(row.run_id.clone(), &events), &events);
    if ended {
        server.run_stats.insert(row.run_id.clone(), stats.clone());
    }
    Ok(stats)
}

/// `GET /`: the list of runs.
pub(super) async fn runs(
    visitor: Visitor,
    QueryParams(params): QueryParams<RunListParams>,
) -> ApiResult<HtmlPage> {
    let q = params.q.unwrap_or_default();
    let status = params.status.unwrap_or_default();
    let model = params.model.unwrap_or_default();
    let since = parse_day("since", params.since.as_deref())?;
    let until = parse_day("until", params.until.as_deref())?;
    let filter = RunFilter {
        words: q.clone(),
        status: match status.as_str() {
            "" => None,
            name => Some(
                serde_json::from_value(json!(name))
                    .map_err(|_| invalid_value("status", "is not a status of runs"))?,
            ),
        },
        since: since.clone(),
        until: until.clone(),
        after: match params.after.as_deref() {
            None | Some("") => None,
            Some(id) => {
                Some(id.parse().map_err(|_| invalid_value("after", "must be the id of a run"))?)
            }
        },
        limit: if model.is_empty() { PAGE_SIZE } else { MAX_EXAMINED },
    };
    let later = filter.after.is_some();
    let listed = list_page(&visitor, &filter, &model).await?;
    let (since, until) = (since.unwrap_or_default(), until.unwrap_or_default());
    let older = listed.older.map(|last| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in [
            ("q", &q),
            ("status", &status),
            ("model", &model),
            ("since", &since),
            ("until", &until),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.append_pair("after", last.as_str());
        format!("/?{}", query.finish())
    });
    // Whoever looks for a run is not asked for a question.
    let is_whole = !later && [&q, &status, &model, &since, &until].iter().all(|it| it.is_empty());
    let (ask, nav_entry) = match is_whole {
        true => (Some(ask_form(&visitor, QuestionForm::default(), None, true).await), "ask"),
        false => (None, "runs"),
    };
    Ok(HtmlPage(render(&RunsPage {
        shell: visitor.shell("Runs").with_nav_entry(nav_entry),
        ask,
        models: model_choices(&visitor, &model, &listed.lines),
        moving: listed.moving,
        lines: listed.lines,
        q,
        status,
        model,
        since,
        until,
        older,
        later,
    })?))
}

/// One page of the list.
struct ListedRuns {
    lines: Vec<RunLine>,
    /// Whether any of them has not ended.
    moving: bool,
    /// The run after which the next page begins, if there is one.
    older: Option<RunId>,
}

/// The runs that match `filter` and used `model`, if it is not empty.
async fn list_page(visitor: &Visitor, filter: &RunFilter, model: &str) -> ApiResult<ListedRuns> {
    let (rows, mut more) = filter_runs(&visitor.service, filter).await?;
    let now = Timestamp::now();
    let (mut lines, mut moving, mut last) = (Vec::new(), false, None);
    for row in &rows {
        let stats = load_run_stats(&visitor.server, &visitor.service, row).await?;
        if !model.is_empty() && !stats.uses_model(model) {
            last = Some(&row.run_id);
            continue;
        }
        if lines.len() == PAGE_SIZE {
            more = true;
            break;
        }
        moving |= !row.status.ended();
        lines.push(RunLine::new(row, &stats, now));
        last = Some(&row.run_id);
    }
    Ok(ListedRuns { lines, moving, older: last.filter(|_| more).cloned() })
}

/// The choices of the model filter: the configured models, those of the listed runs, and the `selected` one.
fn model_choices(visitor: &Visitor, selected: &str, lines: &[RunLine]) -> Vec<(String, String)> {
    let (configured, offered) = visitor.service.models_set_and_offered();
    let mut all: Vec<String> = configured
        .iter()
        .chain(&offered)
        .map(|it| single_line(it))
        .chain(lines.iter().flat_map(|line| line.models.split(", ")).map(str::to_owned))
        .chain(std::iter::once(single_line(selected)))
        .filter(|it| !it.is_empty() && it != "none")
        .collect();
    all.sort();
    all.dedup();
    let named = all.into_iter().map(|text| (text.clone(), text));
    let fixed = [("", "any model"), ("none", "without a model")];
    fixed.map(|fixed| (fixed.0.to_owned(), fixed.1.to_owned())).into_iter().chain(named).collect()
}

#[derive(Deserialize)]
pub(super) struct BeforeParam {
    before: Option<u64>,
}

async fn load_state(mine: &OwnedRun, before: Option<u64>) -> ApiResult<RunStateView> {
    let (run, events) = load_events(mine).await?;
    let plan = match (&run.brief, &run.plan) {
        (Some(brief), Some(plan)) if run.awaiting_approval => {
            Some(ibid_report::plan::to_prose(brief, plan))
        }
        _ => None,
    };
    Ok(RunStateView::new(&run, &events, before, plan, Timestamp::now()))
}

/// `GET /r/{id}`: the live page of a run.
pub(super) async fn live(
    mine: OwnedRun,
    visitor: Visitor,
    QueryParams(params): QueryParams<BeforeParam>,
) -> ApiResult<HtmlPage> {
    let state = load_state(&mine, params.before).await?;
    Ok(HtmlPage(render(&LivePage {
        shell: visitor.shell(truncate(&state.head.question, 80)),
        past: params.before.is_some(),
        state,
    })?))
}

/// `GET /r/{id}/live`: the part of the live page that the script refreshes.
pub(super) async fn state(mine: OwnedRun) -> ApiResult<HtmlPage> {
    Ok(HtmlPage(render(&load_state(&mine, None).await?)?))
}

#[derive(Deserialize)]
pub(super) struct CiteParam {
    cite: Option<usize>,
}

/// `GET /r/{id}/report`: the report, or with `?cite=` one of its quotes in its page.
pub(super) async fn report(
    mine: OwnedRun,
    visitor: Visitor,
    QueryParams(params): QueryParams<CiteParam>,
) -> ApiResult<HtmlPage> {
    if let Some(k) = params.cite {
        return quote_page(&mine, &visitor, k).await;
    }
    let (run, report) = mine.report().await?;
    let pages = mine.run.pages(Some(&report)).await?;
    let base = format!("/r/{}/quote/", mine.id());
    let head = RunHeader::new(&run, "report");
    Ok(HtmlPage(render(&ReportPage {
        shell: visitor.shell(truncate(&report.title, 80)),
        body: ReportBody::from_report(&report, &pages, Some(&base)),
        coins: true,
        rated: run.rating.as_ref().map(|rating| rating.vote.as_str()),
        note: run.rating.as_ref().and_then(|rating| rating.note.clone()).unwrap_or_default(),
        compare: head.follows.clone(),
        judged: run.judgement.as_ref().map(|judgement| format!("{:.2} of 1", judgement.composite)),
        head,
    })?))
}

/// `GET /r/{id}/quote/{k}`: the `k`-th quote of the report, from 1, in its page.
pub(super) async fn quote(
    mine: OwnedRun,
    visitor: Visitor,
    PathParams((_, k)): PathParams<(String, String)>,
) -> ApiResult<HtmlPage> {
    let k = k.parse().map_err(|_| ApiError::not_found("quote"))?;
    quote_page(&mine, &visitor, k).await
}

async fn quote_page(mine: &OwnedRun, visitor: &Visitor, k: usize) -> ApiResult<HtmlPage> {
    let (run, report) = mine.report().await?;
    let pages = mine.run.pages_as_stored(&report).await?;
    let shell = visitor.shell(format!("Quote {k} · {}", truncate(&report.title, 60)));
    let found = QuotePage::new(shell, RunHeader::new(&run, "report"), &report, &pages, k);
    let found =
        found.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "not_found", "no such quote"))?;
    Ok(HtmlPage(render(&found)?))
}

#[derive(Deserialize)]
pub(super) struct PageParams {
    item: Option<String>,
    from: Option<usize>,
}

/// `GET /r/{id}/evidence`.
pub(super) async fn evidence(
    mine: OwnedRun,
    visitor: Visitor,
    QueryParams(params): QueryParams<PageParams>,
) -> ApiResult<HtmlPage> {
    let (run, events) = load_events(&mine).await?;
    let item = params.item.as_deref().filter(|item| !item.is_empty());
    let known =
        |item: &str| run.plan.iter().flat_map(|it| it.items()).any(|it| it.id.to_string() == item);
    if item.is_some_and(|item| !known(item)) {
        return Err(ApiError::not_found("question of this run"));
    }
    let shell = visitor.shell("Evidence");
    let shown = EvidencePage::new(shell, &run, &events, item, params.from.unwrap_or(0));
    Ok(HtmlPage(render(&shown)?))
}

/// `GET /r/{id}/sources`.
pub(super) async fn sources(mine: OwnedRun, visitor: Visitor) -> ApiResult<HtmlPage> {
    let (run, events) = load_events(&mine).await?;
    let traffic = mine.run.traffic().await?;
    let shown = SourcesPage::new(visitor.shell("Sources"), &run, &events, &traffic);
    Ok(HtmlPage(render(&shown)?))
}

#[derive(Deserialize)]
pub(super) struct TimelineWindow {
    from: Option<i64>,
    to: Option<i64>,
}

/// `GET /r/{id}/timeline`: the whole run, or a window in milliseconds.
pub(super) async fn timeline(
    mine: OwnedRun,
    visitor: Visitor,
    QueryParams(window): QueryParams<TimelineWindow>,
) -> ApiResult<HtmlPage> {
    let (run, events) = load_events(&mine).await?;
    let window = match (window.from, window.to) {
        (None, None) => None,
        (from, to) => Some((from.unwrap_or(0), to.unwrap_or(i64::MAX))),
    };
    let shell = visitor.shell("Timeline");
    Ok(HtmlPage(render(&TimelinePage::new(shell, &run, &events, window))?))
}

/// `GET /r/{id}/trace`.
pub(super) async fn trace(
    mine: OwnedRun,
    visitor: Visitor,
    QueryParams(params): QueryParams<PageParams>,
) -> ApiResult<HtmlPage> {
    let (run, steps) = (mine.run().await?, mine.run.steps().await?);
    let shown = TracePage::new(visitor.shell("Trace"), &run, &steps, params.from.unwrap_or(0));
    Ok(HtmlPage(render(&shown)?))
}

/// `GET /r/{id}/trace/{n}`: the `n`-th call, from 1.
pub(super) async fn step(
    mine: OwnedRun,
    visitor: Visitor,
    PathParams((_, n)): PathParams<(String, String)>,
) -> ApiResult<HtmlPage> {
    let n = n.parse().map_err(|_| ApiError::not_found("call"))?;
    let (run, steps) = (mine.run().await?, mine.run.steps().await?);
    let shown = CallPage::new(visitor.shell(format!("Call {n}")), &run, &steps, n);
    Ok(HtmlPage(render(&shown.ok_or_else(|| ApiError::not_found("call"))?)?))
}

async fn load_events(mine: &OwnedRun) -> ApiResult<(Run, Vec<Envelope>)> {
    let events = mine.run.events(0).await?;
    Ok((Run::from_events(mine.id().clone(), &events), events))
}
