//! The default model of each provider key, so that setting one key is enough.
use super::variables::EnvVars;

/// The default budget of a run on a default model, US dollars. The user did not choose the model, so its cost must not surprise.
pub const CAP_USD: f64 = 1.0;

/// Key variables and the model of each, used when no model is named. The first one that is set wins. The models are of medium size, follow
/// a JSON schema, and have a list price in `models.toml` of `ibid-llm`.
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

/// The model of the first key that is set, and its variable.
pub(super) fn default_model(variables: &EnvVars) -> Option<(&'static str, &'static str)> {
    let set = BY_KEY.iter().find(|pair| variables.get(pair.0).is_some());
    set.map(|set| (set.1, set.0))
}

/// All rows, for the documentation and for tests.
pub fn rows() -> &'static [(&'static str, &'static str)] {
    BY_KEY
}
