//! Pages that show a run or many.
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::{Answer, Html, Visitor, remember, remembered};
use crate::record::{Envelope, Run};
use crate::seams::RunRow;
use crate::surfaces::desk::CallerService;
use crate::surfaces::export;
use crate::surfaces::export::escape::line;
use crate::surfaces::export::html::Body;
use crate::surfaces::http::Server;
use crate::surfaces::http::extract::{Mine, Params, Place};
use crate::surfaces::http::fault::Fault;
use crate::surfaces::http::runs::{Wanted, bad, listed};
use crate::surfaces::view::found::{EvidencePage, SourcesPage};
use crate::surfaces::view::live::{Head, Live, State};
use crate::surfaces::view::page;
use crate::surfaces::view::quote::QuotePage;
use crate::surfaces::view::report::ReportPage;
use crate::surfaces::view::runs::{Glance, Line, Runs};
use crate::surfaces::view::timeline::TimelinePage;
use crate::surfaces::view::trace::{StepPage, TracePage};
use crate::surfaces::view::words::clip;

/// Runs of one page of the list.
const PAGE: usize = 25;

#[derive(Deserialize)]
pub(super) struct Sought {
    q: Option<String>,
    status: Option<String>,
    model: Option<String>,
    since: Option<String>,
    until: Option<String>,
    after: Option<String>,
}

/// A day of a form, `YYYY-MM-DD`; none where it is left empty.
fn day(field: &str, text: Option<&str>) -> Answer<Option<String>> {
    match text.map(str::trim) {
        None | Some("") => Ok(None),
        Some(it) => match it.parse::<jiff::civil::Date>() {
            Ok(day) => Ok(Some(day.to_string())),
            Err(_) => Err(bad(field, "must be a day, as in 2026-11-23")),
        },
    }
}

/// Runs that are looked into at most for one page, where the list is of a model: which it was stands in their events alone.
const LOOKED: usize = 400;

/// What of a run does not stand in its row; read once where it has ended.
async fn glanced(server: &Server, service: &CallerService, row: &RunRow) -> Answer<Glance> {
    let ended = row.status.ended();
    if let Some(it) = remembered(server, &row.run_id).filter(|_| ended) {
        return Ok(it);
    }
    let events = service.run_of(row)?.events(0).await?;
    let it = Glance::of(&Run::of(row.run_id.clone(), &events), &events);
    if ended {
        remember(server, row.run_id.clone(), it.clone());
    }
    Ok(it)
}

/// `GET /`: the list of runs.
pub(super) async fn runs(visitor: Visitor, Params(sought): Params<Sought>) -> Answer<Html> {
    let q = sought.q.unwrap_or_default();
    let status = sought.status.unwrap_or_default();
    let model = sought.model.unwrap_or_default();
    let since = day("since", sought.since.as_deref())?;
    let until = day("until", sought.until.as_deref())?;
    let wanted = Wanted {
        words: q.clone(),
        status: match status.as_str() {
            "" => None,
            it => Some(
                serde_json::from_value(json!(it))
                    .map_err(|_| bad("status", "is none that runs have"))?,
            ),
        },
        since: since.clone(),
        until: until.clone(),
        after: match sought.after.as_deref() {
            None | Some("") => None,
            Some(it) => Some(
                it.parse()
                    .map_err(|_| bad("after", "must be the id of a run"))?,
            ),
        },
        limit: if model.is_empty() { PAGE } else { LOOKED },
    };
    let later = wanted.after.is_some();
    let (rows, mut more) = listed(&visitor.service, &wanted).await?;
    let now = Timestamp::now();
    let (mut lines, mut moving, mut last) = (Vec::new(), false, None);
    for row in &rows {
        let glance = glanced(&visitor.server, &visitor.service, row).await?;
        if !model.is_empty() && !glance.is_with(&model) {
            last = Some(&row.run_id);
            continue;
        }
        if lines.len() == PAGE {
            more = true;
            break;
        }
        moving |= !row.status.ended();
        lines.push(Line::of(row, &glance, now));
        last = Some(&row.run_id);
    }
    let older = last.filter(|_| more).map(|last| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in [
            ("q", q.as_str()),
            ("status", &status),
            ("model", &model),
            ("since", since.as_deref().unwrap_or_default()),
            ("until", until.as_deref().unwrap_or_default()),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.append_pair("after", last.as_str());
        format!("/?{}", query.finish())
    });
    Ok(Html(page(&Runs {
        shell: visitor.shell("Runs").at("runs"),
        models: models(&visitor, &model, &lines),
        moving,
        lines,
        q,
        status,
        model,
        since: since.unwrap_or_default(),
        until: until.unwrap_or_default(),
        older,
        later,
    })?))
}

/// The models that a list can be of: those that are set up, those that are seen, and the one that is asked for.
fn models(visitor: &Visitor, asked: &str, lines: &[Line]) -> Vec<(String, String)> {
    let (set, offered) = visitor.service.models_set_and_offered();
    let mut all: Vec<String> = set
        .iter()
        .chain(&offered)
        .map(|it| line(it))
        .chain(
            lines
                .iter()
                .flat_map(|it| it.models.split(", "))
                .map(str::to_owned),
        )
        .chain(std::iter::once(line(asked)))
        .filter(|it| !it.is_empty() && it != "none")
        .collect();
    all.sort();
    all.dedup();
    let named = all.into_iter().map(|it| (it.clone(), it));
    let fixed = [("", "any model"), ("none", "without a model")];
    fixed
        .map(|it| (it.0.to_owned(), it.1.to_owned()))
        .into_iter()
        .chain(named)
        .collect()
}

#[derive(Deserialize)]
pub(super) struct Before {
    before: Option<u64>,
}

async fn standing(mine: &Mine, before: Option<u64>) -> Answer<State> {
    let (run, events) = told(mine).await?;
    let plan = match (&run.brief, &run.plan) {
        (Some(brief), Some(plan)) if run.awaiting_approval => {
            Some(export::plan::prose(brief, plan))
        }
        _ => None,
    };
    Ok(State::of(&run, &events, before, plan, Timestamp::now()))
}

/// `GET /r/{id}`: the run as it goes.
pub(super) async fn live(
    mine: Mine,
    visitor: Visitor,
    Params(from): Params<Before>,
) -> Answer<Html> {
    let state = standing(&mine, from.before).await?;
    Ok(Html(page(&Live {
        shell: visitor.shell(clip(&state.head.question, 80)),
        past: from.before.is_some(),
        state,
    })?))
}

/// `GET /r/{id}/live`: the part of it that changes.
pub(super) async fn state(mine: Mine) -> Answer<Html> {
    Ok(Html(page(&standing(&mine, None).await?)?))
}

#[derive(Deserialize)]
pub(super) struct Cited {
    cite: Option<usize>,
}

/// `GET /r/{id}/report`: the report; with `?cite=` one of its quotes beside its page.
pub(super) async fn report(
    mine: Mine,
    visitor: Visitor,
    Params(wanted): Params<Cited>,
) -> Answer<Html> {
    if let Some(k) = wanted.cite {
        return beside(&mine, &visitor, k).await;
    }
    let (run, report) = mine.report().await?;
    let pages = mine.run.pages(Some(&report)).await?;
    let base = format!("/r/{}/quote/", mine.id());
    let head = Head::of(&run, "report");
    Ok(Html(page(&ReportPage {
        shell: visitor.shell(clip(&report.title, 80)),
        body: Body::of(&report, &pages, Some(&base)),
        coins: true,
        rated: run.rating.as_ref().map(|it| it.vote.word()),
        note: run
            .rating
            .as_ref()
            .and_then(|it| it.note.clone())
            .unwrap_or_default(),
        compare: head.follows.clone(),
        judged: run
            .judgement
            .as_ref()
            .map(|it| format!("{:.2} of 1", it.composite)),
        head,
    })?))
}

/// `GET /r/{id}/quote/{k}`: the `k`-th quote of the report, from 1, beside its page.
pub(super) async fn quote(
    mine: Mine,
    visitor: Visitor,
    Place((_, k)): Place<(String, String)>,
) -> Answer<Html> {
    let k = k.parse().map_err(|_| Fault::missing("quote"))?;
    beside(&mine, &visitor, k).await
}

async fn beside(mine: &Mine, visitor: &Visitor, k: usize) -> Answer<Html> {
    let (run, report) = mine.report().await?;
    let pages = mine.run.pages_as_stored(&report).await?;
    let shell = visitor.shell(format!("Quote {k} · {}", clip(&report.title, 60)));
    let found = QuotePage::of(shell, Head::of(&run, "report"), &report, &pages, k);
    let found = found
        .ok_or_else(|| Fault::new(StatusCode::NOT_FOUND, "not_found", "there is no such quote"))?;
    Ok(Html(page(&found)?))
}

#[derive(Deserialize)]
pub(super) struct Part {
    item: Option<String>,
    from: Option<usize>,
}

/// `GET /r/{id}/evidence`.
pub(super) async fn evidence(
    mine: Mine,
    visitor: Visitor,
    Params(part): Params<Part>,
) -> Answer<Html> {
    let (run, events) = told(&mine).await?;
    let item = part.item.as_deref().filter(|it| !it.is_empty());
    let known = |item: &str| {
        run.plan
            .iter()
            .flat_map(|it| it.items())
            .any(|it| it.id.to_string() == item)
    };
    if item.is_some_and(|it| !known(it)) {
        return Err(Fault::missing("question of this run"));
    }
    let shell = visitor.shell("Evidence");
    let shown = EvidencePage::of(shell, &run, &events, item, part.from.unwrap_or(0));
    Ok(Html(page(&shown)?))
}

/// `GET /r/{id}/sources`.
pub(super) async fn sources(mine: Mine, visitor: Visitor) -> Answer<Html> {
    let (run, events) = told(&mine).await?;
    let traffic = mine.run.traffic().await?;
    let shown = SourcesPage::of(visitor.shell("Sources"), &run, &events, &traffic);
    Ok(Html(page(&shown)?))
}

#[derive(Deserialize)]
pub(super) struct Window {
    from: Option<i64>,
    to: Option<i64>,
}

/// `GET /r/{id}/timeline`: all of it, or from one millisecond to another.
pub(super) async fn timeline(
    mine: Mine,
    visitor: Visitor,
    Params(window): Params<Window>,
) -> Answer<Html> {
    let (run, events) = told(&mine).await?;
    let window = match (window.from, window.to) {
        (None, None) => None,
        (from, to) => Some((from.unwrap_or(0), to.unwrap_or(i64::MAX))),
    };
    let shell = visitor.shell("Timeline");
    Ok(Html(page(&TimelinePage::of(shell, &run, &events, window))?))
}

/// `GET /r/{id}/trace`.
pub(super) async fn trace(
    mine: Mine,
    visitor: Visitor,
    Params(part): Params<Part>,
) -> Answer<Html> {
    let (run, steps) = (mine.run().await?, mine.run.steps().await?);
    let shown = TracePage::of(visitor.shell("Trace"), &run, &steps, part.from.unwrap_or(0));
    Ok(Html(page(&shown)?))
}

/// `GET /r/{id}/trace/{n}`: the `n`-th call, from 1.
pub(super) async fn step(
    mine: Mine,
    visitor: Visitor,
    Place((_, n)): Place<(String, String)>,
) -> Answer<Html> {
    let n = n.parse().map_err(|_| Fault::missing("call"))?;
    let (run, steps) = (mine.run().await?, mine.run.steps().await?);
    let shown = StepPage::of(visitor.shell(format!("Call {n}")), &run, &steps, n);
    Ok(Html(page(&shown.ok_or_else(|| Fault::missing("call"))?)?))
}

async fn told(mine: &Mine) -> Answer<(Run, Vec<Envelope>)> {
    let events = mine.run.events(0).await?;
    Ok((Run::of(mine.id().clone(), &events), events))
}
