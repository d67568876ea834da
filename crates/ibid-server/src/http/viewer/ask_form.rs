//! The form for a question, with the engines, folders, models and prices of this server.
use serde_json::{Value, json};

use super::page::Visitor;
use crate::http::api_error::ApiError;
use crate::request::ResearchRequest;
use crate::view::new_run::{
    AskForm, EFFORTS, FormFault, PLACES, QuestionForm, effort_label, place_label, price_sentence,
};
use ibid_core::Result;
use ibid_core::domain::Question;
use ibid_report::escape::single_line;

/// Stands for a question that is not typed yet: engines and prices do not depend on its words.
const ANY_QUESTION: &str = "Which sources are searched?";

/// The form. Every folder of a `fresh` form is ticked.
pub(super) async fn ask_form(
    visitor: &Visitor,
    form: QuestionForm,
    fault: Option<&ApiError>,
    fresh: bool,
) -> AskForm {
    let service = &visitor.service;
    let (configured, offered) = service.models_set_and_offered();
    let mut used = configured.clone();
    used.sort();
    used.dedup();
    let (as_configured, unready) = match question(visitor, json!({})).await {
        Ok(question) => (Some(question), None),
        Err(error) => (None, Some(ApiError::from(error))),
    };
    let most = as_configured.as_ref().and_then(|it| service.cost_at_most(it).ok().flatten());
    let fault = match (fault, &unready) {
        (Some(fault), _) => Some(("This question cannot be started", fault)),
        (None, Some(fault)) => Some(("As configured, a run cannot be started", fault)),
        (None, None) => None,
    };
    let fault = fault.map(|(title, fault)| {
        let (message, hint) = fault.user_message();
        FormFault { title, message, hint }
    });
    AskForm {
        folders: folder_choices(visitor, &form, fresh),
        models: model_choices(&configured, offered),
        efforts: effort_choices(visitor).await,
        places: place_choices(visitor, as_configured).await,
        price: price_sentence(&used, most.as_ref()),
        fault,
        form,
    }
}

/// A question with these fields of a request.
async fn question(visitor: &Visitor, mut fields: Value) -> Result<Question> {
    fields["question"] = ANY_QUESTION.into();
    visitor.service.question(&ResearchRequest::parse(fields)?).await
}

/// The served folders: name, whether ticked, label.
fn folder_choices(
    visitor: &Visitor,
    form: &QuestionForm,
    fresh: bool,
) -> Vec<(String, bool, String)> {
    let folders = visitor.service.folders().into_iter().map(|name| {
        let ticked = fresh || form.folders.contains(&name);
        let shown = single_line(&name);
        (name, ticked, shown)
    });
    folders.collect()
}

fn model_choices(configured: &[String], offered: Vec<String>) -> Vec<(String, String)> {
    let mut models = Vec::new();
    if configured.is_empty() {
        models.push((String::new(), "none".to_owned()));
    } else {
        models.push((String::new(), "as configured".to_owned()));
        models.push(("none".to_owned(), "none".to_owned()));
    }
    for model in configured.iter().cloned().chain(offered) {
        if !models.iter().any(|known: &(String, String)| known.0 == model) {
            let shown = single_line(&model);
            models.push((model, shown));
        }
    }
    models
}

async fn effort_choices(visitor: &Visitor) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    for (value, label) in EFFORTS {
        let fields = if value.is_empty() { json!({}) } else { json!({"effort": value}) };
        let most = match question(visitor, fields).await {
            Ok(question) => visitor.service.cost_at_most(&question).ok().flatten(),
            Err(_) => None,
        };
        out.push((value, effort_label(label, most.as_ref())));
    }
    out
}

async fn place_choices(
    visitor: &Visitor,
    as_configured: Option<Question>,
) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    for (value, label) in PLACES {
        let engines = match value {
            "" => as_configured.as_ref().map(|it| it.engines.clone()),
            "web" | "scholar" => {
                question(visitor, json!({"engines": [value]})).await.ok().map(|it| it.engines)
            }
            _ => None,
        };
        out.push((value, place_label(label, engines.as_deref())));
    }
    out
}
