//! The model that a key alone stands for, so that setting one key is all the set-up there is.
use super::Variables;

/// Dollars that a run on such a model may cost unless a budget says otherwise: nobody named it, so it must not surprise.
pub const CAP_USD: f64 = 1.0;

/// Variables of keys, and what is asked where one of them is set and no model is named. The first that is set counts. The
/// models are mid-sized ones that hold to a JSON schema, with a list price in `adapters/model/prices.toml`.
static BY_KEY: &[(&str, &str)] = &[
    ("OPENAI_API_KEY", "openai:gpt-5-mini"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-haiku-4-5"),
    ("GEMINI_API_KEY", "gemini:gemini-2.5-flash"),
    ("OPENROUTER_API_KEY", "openrouter:openai/gpt-5-mini"),
    ("DEEPSEEK_API_KEY", "deepseek:deepseek-chat"),
    ("MISTRAL_API_KEY", "mistral:mistral-medium-latest"),
    ("GROQ_API_KEY", "groq:openai/gpt-oss-120b"),
    ("XAI_API_KEY", "xai:grok-4-fast"),
];

/// The model by the first key that is set, and the variable that holds it.
pub(super) fn model(variables: &Variables) -> Option<(&'static str, &'static str)> {
    let set = BY_KEY.iter().find(|it| variables.get(it.0).is_some());
    set.map(|it| (it.1, it.0))
}

/// Every row, for documents and tests.
pub fn rows() -> &'static [(&'static str, &'static str)] {
    BY_KEY
}
