//! The schemas that the routes refer to.
use schemars::generate::Contract;
use serde_json::{Map, Value, json};

use super::super::bodies::{
    AnswersBody, ApprovalBody, CreatedShare, DeletedBody, NewTraceBody, RatedBody, RatingBody,
    RevokedShares, ShareBody, SteerBody, TraceUpdateBody,
};
use super::super::schedules::{DeletedSchedule, ScheduleBody, ScheduleObject};
use crate::request::{ResearchRequest, component_generator};

/// Schemas that no type of the server describes: of parameters, of OpenAI's APIs, and of formats recorded in golden files.
const WRITTEN: &str = include_str!("../schemas.json");

/// All schemas: the written ones, and those of the request and response types.
pub(super) fn components() -> Map<String, Value> {
    let mut all: Map<String, Value> = serde_json::from_str(WRITTEN).unwrap_or_default();
    let mut generator = component_generator(Contract::Deserialize);
    generator.subschema_for::<ResearchRequest>();
    generator.subschema_for::<SteerBody>();
    generator.subschema_for::<ApprovalBody>();
    generator.subschema_for::<AnswersBody>();
    generator.subschema_for::<RatingBody>();
    generator.subschema_for::<ShareBody>();
    generator.subschema_for::<NewTraceBody>();
    generator.subschema_for::<TraceUpdateBody>();
    generator.subschema_for::<ScheduleBody>();
    all.extend(generator.take_definitions(true));
    let mut generator = component_generator(Contract::Serialize);
    generator.subschema_for::<RatedBody>();
    generator.subschema_for::<DeletedBody>();
    generator.subschema_for::<CreatedShare>();
    generator.subschema_for::<RevokedShares>();
    generator.subschema_for::<ScheduleObject>();
    generator.subschema_for::<DeletedSchedule>();
    all.extend(generator.take_definitions(true));
    if let Some(question) = all.get("Question").cloned() {
        all.insert("Own".to_owned(), without_question(question));
    }
    all
}

/// The fields of a question without the question itself, as the requests of OpenAI's APIs take them.
fn without_question(mut schema: Value) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("oneOf");
        fields.insert("type".to_owned(), json!(["object", "null"]));
        fields.insert(
            "description".to_owned(),
            "The fields of Question without the question.".into(),
        );
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| name != "question" && name != "query");
    }
    schema
}
