//! Language models as doors: one for each role that has a name set.
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::adapters::model::http::{Deadlines, HttpModel};
use crate::adapters::model::providers::Target;
use crate::config::Settings;
use crate::domain::Question;
use crate::error::{Error, Result};
use crate::seams::{LanguageModel, Mind, Models};

/// Opens the models that the question names. Roles that name the same share one.
///
/// # Errors
/// `Usage` for a name that is none, `Setup` for a key or an address that is missing; both name the role.
pub(super) fn open(settings: &Settings, question: &Question) -> Result<Models> {
    let mut opened: BTreeMap<&str, Arc<dyn LanguageModel>> = BTreeMap::new();
    let mut models = Models::default();
    for (role, spec) in &question.models {
        let model = match opened.get(spec.as_str()) {
            Some(it) => Arc::clone(it),
            None => {
                let fault = |it: Error| {
                    let doing = format!("opening the model of the {}", role.word());
                    let hint = it.help().unwrap_or_default().to_owned();
                    Error::new(it.kind(), doing).because(it).hint(hint)
                };
                let variable = |name: &str| settings.variables.get(name).map(str::to_owned);
                let target = Target::find(spec, &variable).map_err(fault)?;
                let model: Arc<dyn LanguageModel> =
                    Arc::new(HttpModel::open(target, Deadlines::default()).map_err(fault)?);
                opened.insert(spec, Arc::clone(&model));
                model
            }
        };
        let window = settings.model_window;
        models.give(*role, Mind { model, window });
    }
    Ok(models)
}
