//! Forms: start a run, and send commands to it.
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::ask_form::ask_form;
use super::page::{FormFields, HtmlPage, Visitor, redirect};
use crate::http::api_error::{ApiError, ApiResult};
use crate::http::bodies::ApprovalBody;
use crate::http::extract::OwnedRun;
use crate::http::runs::{
    accept, check_capacity, read_approval, reply_command, save_rating, steer_command,
};
use crate::request::{ResearchRequest, read_fields};
use crate::view::new_run::{NewRunPage, PlanPreview, QuestionForm};
use crate::view::render;
use ibid_core::ports::RunCommand;

type FormBytes = Result<Bytes, BytesRejection>;

/// The page with the form. Every folder of a `fresh` form is ticked.
async fn question_page(
    visitor: &Visitor,
    form: QuestionForm,
    fault: Option<&ApiError>,
    plan: Option<PlanPreview>,
    fresh: bool,
) -> ApiResult<HtmlPage> {
    Ok(HtmlPage(render(&NewRunPage {
        shell: visitor.shell("Ask a question").with_nav_entry("ask").narrow(),
        ask: ask_form(visitor, form, fault, fresh).await,
        plan,
    })?))
}

/// `GET /new`.
pub(super) async fn new(visitor: Visitor) -> ApiResult<HtmlPage> {
    question_page(&visitor, QuestionForm::default(), None, None, true).await
}

/// `POST /new`: shows the plan, or starts the run.
pub(super) async fn submit(visitor: Visitor, bytes: FormBytes) -> ApiResult<Response> {
    let form = QuestionForm::from_pairs(FormFields::parse(bytes)?.pairs());
    let response = if form.preview {
        preview_plan(&visitor, &form).await
    } else {
        start_run(&visitor, &form).await
    };
    match response {
        Ok(response) => Ok(response),
        // Show errors of the user above the form as they filled it in.
        Err(fault) if fault.status().is_client_error() => {
            let page = question_page(&visitor, form, Some(&fault), None, false).await?;
            Ok((fault.status(), page).into_response())
        }
        Err(fault) => Err(fault),
    }
}

fn parse_form(visitor: &Visitor, form: &QuestionForm) -> ApiResult<ResearchRequest> {
    let folders = visitor.service.folders();
    Ok(ResearchRequest::parse(form.to_request(&folders))?)
}

async fn start_run(visitor: &Visitor, form: &QuestionForm) -> ApiResult<Response> {
    check_capacity(&visitor.service, &HeaderMap::new())?;
    let request = parse_form(visitor, form)?;
    let run = accept(&visitor.service, &request, None, None).await?;
    Ok(redirect(&format!("/r/{}", run.id())))
}

async fn preview_plan(visitor: &Visitor, form: &QuestionForm) -> ApiResult<Response> {
    let request = parse_form(visitor, form)?;
    let question = visitor.service.question(&request).await?;
    let plan = visitor.service.plan(question).await?.to_json()?;
    let preview = Some(PlanPreview::from_json(&plan));
    let page = question_page(visitor, form.clone(), None, preview, false).await?;
    Ok(page.into_response())
}

fn redirect_to_run(mine: &OwnedRun) -> Response {
    redirect(&format!("/r/{}", mine.id()))
}

/// `POST /r/{id}/finish`.
pub(super) async fn finish(mine: OwnedRun) -> ApiResult<Response> {
    mine.send_command(RunCommand::Finish).await?;
    Ok(redirect_to_run(&mine))
}

/// `POST /r/{id}/cancel`.
pub(super) async fn cancel(mine: OwnedRun) -> ApiResult<Response> {
    mine.send_command(RunCommand::Cancel).await?;
    Ok(redirect_to_run(&mine))
}

/// `POST /r/{id}/steer`: adds to what the run should find out.
pub(super) async fn steer(mine: OwnedRun, bytes: FormBytes) -> ApiResult<Response> {
    let fields = FormFields::parse(bytes)?;
    let command = steer_command(&mine, fields.get("text")).await?;
    mine.send_command(command).await?;
    Ok(redirect_to_run(&mine))
}

/// `POST /r/{id}/approve`: approves the plan, or requests changes.
pub(super) async fn approve(mine: OwnedRun, bytes: FormBytes) -> ApiResult<Response> {
    let fields = FormFields::parse(bytes)?;
    let change = (fields.get("word") == "change").then(|| fields.get("change").to_owned());
    let approval = read_approval(&mine, ApprovalBody { plan: None, change }).await?;
    mine.send_command(RunCommand::Approve(approval)).await?;
    Ok(redirect_to_run(&mine))
}

/// `POST /r/{id}/answers`.
pub(super) async fn answers(mine: OwnedRun, bytes: FormBytes) -> ApiResult<Response> {
    let fields = FormFields::parse(bytes)?;
    let answers = fields.all("answer").map(str::to_owned).collect();
    let reply = reply_command(&mine, answers).await?;
    mine.send_command(reply).await?;
    Ok(redirect_to_run(&mine))
}

/// `POST /r/{id}/rate`.
pub(super) async fn rate(mine: OwnedRun, bytes: FormBytes) -> ApiResult<Response> {
    let fields = FormFields::parse(bytes)?;
    let note = Some(fields.get("note")).filter(|it| !it.is_empty());
    let rating = read_fields(json!({"vote": fields.get("vote"), "note": note}))?;
    save_rating(&mine, rating).await?;
    Ok(redirect(&format!("/r/{}/report#rate", mine.id())))
}

/// `POST /r/{id}/follow`: starts a follow-up.
pub(super) async fn follow_up(
    mine: OwnedRun,
    visitor: Visitor,
    bytes: FormBytes,
) -> ApiResult<Response> {
    check_capacity(&visitor.service, &HeaderMap::new())?;
    let fields = FormFields::parse(bytes)?;
    let value = json!({"question": fields.get("question"), "follows": mine.id()});
    let request = ResearchRequest::parse(value)?;
    let run = accept(&visitor.service, &request, None, None).await?;
    Ok(redirect(&format!("/r/{}", run.id())))
}
