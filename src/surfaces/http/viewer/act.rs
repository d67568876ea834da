//! Forms: asking, and saying something to a run.
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::{Answer, Html, Visitor, fields, to};
use crate::seams::Order;
use crate::surfaces::asked::Asked;
use crate::surfaces::export;
use crate::surfaces::export::escape::line;
use crate::surfaces::http::extract::Mine;
use crate::surfaces::http::fault::Fault;
use crate::surfaces::http::runs::{accept, approval, rated, replying, room, steering};
use crate::surfaces::view::ask::{Form, New, Preview};
use crate::surfaces::view::page;

type Sent = Result<Bytes, BytesRejection>;

/// The page with the form. Before anybody has filled it in, every folder is ticked.
fn form(
    visitor: &Visitor,
    form: Form,
    fault: Option<&Fault>,
    plan: Option<Preview>,
    fresh: bool,
) -> Answer<Html> {
    let service = &visitor.service;
    let (set, offered) = service.models_set_and_offered();
    let mut models = Vec::new();
    match set.first() {
        Some(_) => {
            models.push((String::new(), "the one that is set".to_owned()));
            models.push(("none".to_owned(), "none".to_owned()));
        }
        None => models.push((String::new(), "none".to_owned())),
    }
    for it in set.into_iter().chain(offered) {
        if !models.iter().any(|known: &(String, String)| known.0 == it) {
            let shown = line(&it);
            models.push((it, shown));
        }
    }
    let folders = service.folders().into_iter().map(|name| {
        let ticked = fresh || form.folders.contains(&name);
        let shown = line(&name);
        (name, ticked, shown)
    });
    Ok(Html(page(&New {
        shell: visitor.shell("New run").at("new").narrow(),
        folders: folders.collect(),
        models,
        fault: fault.map(Fault::told),
        plan,
        form,
    })?))
}

/// `GET /new`.
pub(super) async fn new(visitor: Visitor) -> Answer<Html> {
    form(&visitor, Form::default(), None, None, true)
}

/// `POST /new`: the plan, or the run itself.
pub(super) async fn ask(visitor: Visitor, bytes: Sent) -> Answer<Response> {
    let filled = Form::of(&fields(bytes)?);
    let done = match filled.preview {
        true => planned(&visitor, &filled).await,
        false => begun(&visitor, &filled).await,
    };
    match done {
        Ok(it) => Ok(it),
        // What the person can mend is told above what they have filled in.
        Err(fault) if fault.status().is_client_error() => {
            let shown = form(&visitor, filled, Some(&fault), None, false)?;
            Ok((fault.status(), shown).into_response())
        }
        Err(fault) => Err(fault),
    }
}

fn asked(visitor: &Visitor, filled: &Form) -> Answer<Asked> {
    let all = visitor.service.folders();
    Ok(Asked::parse(&filled.request(&all), &[])?)
}

async fn begun(visitor: &Visitor, filled: &Form) -> Answer<Response> {
    room(&visitor.service, &HeaderMap::new())?;
    let asked = asked(visitor, filled)?;
    let run = accept(&visitor.service, &asked, None, None).await?;
    Ok(to(&format!("/r/{}", run.id())))
}

async fn planned(visitor: &Visitor, filled: &Form) -> Answer<Response> {
    let asked = asked(visitor, filled)?;
    let question = visitor.service.question(&asked).await?;
    let (brief, plan, models) = visitor.service.plan(&question).await?;
    let plan = export::plan::json(&question, &brief, &plan, models.as_ref())?;
    let shown = form(
        visitor,
        filled.clone(),
        None,
        Some(Preview::of(&plan)),
        false,
    )?;
    Ok(shown.into_response())
}

fn back(mine: &Mine) -> Response {
    to(&format!("/r/{}", mine.id()))
}

/// `POST /r/{id}/finish`.
pub(super) async fn finish(mine: Mine) -> Answer<Response> {
    mine.order(Order::Finish).await?;
    Ok(back(&mine))
}

/// `POST /r/{id}/cancel`.
pub(super) async fn cancel(mine: Mine) -> Answer<Response> {
    mine.order(Order::Cancel).await?;
    Ok(back(&mine))
}

/// `POST /r/{id}/steer`: what the person wants to know besides.
pub(super) async fn steer(mine: Mine, bytes: Sent) -> Answer<Response> {
    let said = fields(bytes)?;
    let text = said.iter().find(|it| it.0 == "text");
    let order = steering(&mine, text.map_or("", |it| &it.1)).await?;
    mine.order(order).await?;
    Ok(back(&mine))
}

/// `POST /r/{id}/approve`: go, or what to change.
pub(super) async fn approve(mine: Mine, bytes: Sent) -> Answer<Response> {
    let said = fields(bytes)?;
    let one = |name: &str| {
        said.iter()
            .find(|it| it.0 == name)
            .map_or("", |it| it.1.trim())
    };
    let value = match one("word") {
        "change" => json!({"change": one("change")}),
        _ => json!({}),
    };
    let word = approval(&mine, &value).await?;
    mine.order(Order::Approve(word)).await?;
    Ok(back(&mine))
}

/// `POST /r/{id}/answers`.
pub(super) async fn answers(mine: Mine, bytes: Sent) -> Answer<Response> {
    let said = fields(bytes)?.into_iter().filter(|it| it.0 == "answer");
    let reply = replying(&mine, said.map(|it| it.1).collect()).await?;
    mine.order(reply).await?;
    Ok(back(&mine))
}

/// `POST /r/{id}/rate`.
pub(super) async fn rate(mine: Mine, bytes: Sent) -> Answer<Response> {
    let said = fields(bytes)?;
    let one = |name: &str| {
        said.iter()
            .find(|it| it.0 == name)
            .map_or("", |it| it.1.trim())
    };
    let note = Some(one("note")).filter(|it| !it.is_empty());
    rated(&mine, &json!({"vote": one("vote"), "note": note})).await?;
    Ok(to(&format!("/r/{}/report#rate", mine.id())))
}

/// `POST /r/{id}/follow`: a question that goes on with the report.
pub(super) async fn follow(mine: Mine, visitor: Visitor, bytes: Sent) -> Answer<Response> {
    room(&visitor.service, &HeaderMap::new())?;
    let said = fields(bytes)?;
    let question = said
        .iter()
        .find(|it| it.0 == "question")
        .map_or("", |it| &it.1);
    let asked = Asked::parse(&json!({"question": question, "follows": mine.id()}), &[])?;
    let run = accept(&visitor.service, &asked, None, None).await?;
    Ok(to(&format!("/r/{}", run.id())))
}
