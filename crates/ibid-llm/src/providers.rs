//! The table of providers: dialect, address and key of each.
//!
//! A provider that is compatible with one of the dialects only needs a row here. Defaults come from the providers'
//! documentation; environment variables are those that their own tools read.

use super::capabilities::{ModelCapabilities, ModelTable, SchemaMode};
use super::dialect::Dialect;
use super::request::{LimitField, ModelSettings};
use ibid_core::{Error, ErrorKind, Result};
use ibid_net::secret::ApiKey;

/// A provider.
#[derive(Debug)]
pub struct ModelProvider {
    /// Its name in settings and reports.
    pub name: &'static str,
    /// Its API format.
    pub dialect: Dialect,
    /// Its address; empty if it must be configured.
    pub base_url: &'static str,
    /// Environment variables that override the address; the first one set is used.
    pub base_vars: &'static [&'static str],
    /// Appended to an address from a variable, unless it already ends with it.
    pub base_suffix: &'static str,
    /// Environment variables that may hold the key; the first one set is used.
    pub key_vars: &'static [&'static str],
    /// How the key is sent.
    pub auth: Auth,
    /// Whether a key is required.
    pub needs_key: bool,
    /// How it accepts a JSON schema.
    pub schemas: SchemaMode,
    /// Its name for the token limit.
    pub limit: LimitField,
    /// Whether token counts of a stream must be requested.
    pub ask_usage: bool,
}

/// How a key is sent to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// The bare key in a header of this name.
    Header(&'static str),
}

const fn compatible(
    name: &'static str,
    base_url: &'static str,
    base_vars: &'static [&'static str],
    key_vars: &'static [&'static str],
    schemas: SchemaMode,
) -> ModelProvider {
    ModelProvider {
        name,
        dialect: Dialect::OpenAiChat,
        base_url,
        base_vars,
        base_suffix: "",
        key_vars,
        auth: Auth::Bearer,
        needs_key: true,
        schemas,
        limit: LimitField::MaxTokens,
        ask_usage: true,
    }
}

/// All providers known by name. `custom` is any other with OpenAI's Chat Completions.
#[rustfmt::skip]
pub static PROVIDERS: &[ModelProvider] = &[
    ModelProvider {
        limit: LimitField::MaxCompletionTokens,
        ..compatible("openai", "https://api.openai.com/v1", &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
            &["OPENAI_API_KEY"], SchemaMode::Native)
    },
    ModelProvider {
        dialect: Dialect::OpenAiResponses,
        ..compatible("openai-responses", "https://api.openai.com/v1", &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
            &["OPENAI_API_KEY"], SchemaMode::Native)
    },
    ModelProvider {
        dialect: Dialect::Anthropic,
        auth: Auth::Header("x-api-key"),
        ..compatible("anthropic", "https://api.anthropic.com", &["ANTHROPIC_BASE_URL"],
            &["ANTHROPIC_API_KEY"], SchemaMode::Native)
    },
    ModelProvider {
        dialect: Dialect::Gemini,
        auth: Auth::Header("x-goog-api-key"),
        ..compatible("gemini", "https://generativelanguage.googleapis.com/v1beta",
            &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"], &["GEMINI_API_KEY", "GOOGLE_API_KEY"], SchemaMode::Native)
    },
    ModelProvider {
        dialect: Dialect::Gemini,
        auth: Auth::Header("x-goog-api-key"),
        ..compatible("vertex", "https://aiplatform.googleapis.com/v1/publishers/google",
            &["VERTEX_BASE_URL", "GOOGLE_VERTEX_BASE_URL"], &["VERTEX_API_KEY", "GOOGLE_API_KEY"], SchemaMode::Native)
    },
    compatible("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_BASE_URL"],
        &["OPENROUTER_API_KEY"], SchemaMode::Native),
    compatible("groq", "https://api.groq.com/openai/v1", &["GROQ_BASE_URL"], &["GROQ_API_KEY"], SchemaMode::Native),
    compatible("deepseek", "https://api.deepseek.com", &["DEEPSEEK_BASE_URL"], &["DEEPSEEK_API_KEY"],
        SchemaMode::JsonMode),
    ModelProvider {
        ask_usage: false,
        ..compatible("mistral", "https://api.mistral.ai/v1", &["MISTRAL_BASE_URL"], &["MISTRAL_API_KEY"],
            SchemaMode::Native)
    },
    compatible("xai", "https://api.x.ai/v1", &["XAI_BASE_URL"], &["XAI_API_KEY", "GROK_API_KEY"], SchemaMode::Native),
    ModelProvider {
        base_suffix: "/openai/v1",
        auth: Auth::Header("api-key"),
        limit: LimitField::MaxCompletionTokens,
        ..compatible("azure", "", &["AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL"], &["AZURE_OPENAI_API_KEY"],
            SchemaMode::Native)
    },
    ModelProvider {
        dialect: Dialect::Ollama,
        needs_key: false,
        ..compatible("ollama", "http://127.0.0.1:11434", &["OLLAMA_BASE_URL", "OLLAMA_HOST"], &["OLLAMA_API_KEY"],
            SchemaMode::Native)
    },
    ModelProvider {
        needs_key: false,
        ..compatible("vllm", "http://127.0.0.1:8000/v1", &["VLLM_BASE_URL"], &["VLLM_API_KEY"], SchemaMode::Native)
    },
    ModelProvider {
        needs_key: false,
        ..compatible("llamacpp", "http://127.0.0.1:8080/v1", &["LLAMACPP_BASE_URL"], &["LLAMACPP_API_KEY"],
            SchemaMode::Native)
    },
    ModelProvider {
        needs_key: false,
        ..compatible("lmstudio", "http://127.0.0.1:1234/v1", &["LMSTUDIO_BASE_URL"], &["LMSTUDIO_API_KEY"],
            SchemaMode::Native)
    },
    ModelProvider {
        dialect: Dialect::Cohere,
        ..compatible("cohere", "https://api.cohere.com", &["COHERE_BASE_URL"], &["COHERE_API_KEY", "CO_API_KEY"],
            SchemaMode::Native)
    },
    ModelProvider {
        ask_usage: false,
        ..compatible("perplexity", "https://api.perplexity.ai", &["PERPLEXITY_BASE_URL"],
            &["PERPLEXITY_API_KEY", "PPLX_API_KEY"], SchemaMode::Native)
    },
    compatible("together", "https://api.together.xyz/v1", &["TOGETHER_BASE_URL"], &["TOGETHER_API_KEY"],
        SchemaMode::Native),
    compatible("fireworks", "https://api.fireworks.ai/inference/v1", &["FIREWORKS_BASE_URL"],
        &["FIREWORKS_API_KEY"], SchemaMode::Native),
    ModelProvider {
        needs_key: false,
        ..compatible("custom", "", &["IBID_MODEL_BASE_URL"], &["IBID_MODEL_API_KEY"], SchemaMode::Native)
    },
];

impl ModelProvider {
    /// Returns the provider of this name.
    pub fn by_name(name: &str) -> Option<&'static ModelProvider> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// Whether its server runs on this machine unless an address says otherwise.
    pub fn is_local(&self) -> bool {
        self.base_url.starts_with("http://127.0.0.1")
    }

    /// Returns the request settings for `model`, with what the embedded table knows of it.
    pub fn settings(&self, model: &str) -> ModelSettings {
        let known = ModelTable::embedded().capabilities(self.name, model);
        self.settings_with(model, &known)
    }

    /// Returns the request settings for `model`, with what is `known` of it.
    pub(crate) fn settings_with(&self, model: &str, known: &ModelCapabilities) -> ModelSettings {
        let settings = ModelSettings {
            schemas: self.schemas,
            limit: self.limit,
            ask_usage: self.ask_usage,
            ..ModelSettings::new(model)
        };
        settings.with_capabilities(known)
    }
}

/// A model at a provider, with everything needed to call it.
#[derive(Debug, Clone)]
pub struct ModelTarget {
    /// The provider.
    pub provider: &'static ModelProvider,
    /// The provider's name for the model.
    pub model: String,
    /// The address for requests, without trailing slash.
    pub base_url: String,
    /// The key, if there is one.
    pub key: Option<ApiKey>,
    /// The variable that holds the key.
    key_var: Option<String>,
}

impl ModelTarget {
    /// Resolves `spec`, written `PROVIDER/MODEL` or `PROVIDER:MODEL`, with the environment variables from `env`.
    ///
    /// # Errors
    /// `Usage` if `spec` lacks a known provider or a model; `Setup` if a key or address is missing, with the variable
    /// to set.
    pub fn resolve(spec: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<ModelTarget> {
        let names =
            || PROVIDERS.iter().map(|provider| provider.name).collect::<Vec<_>>().join(", ");
        let unknown = || {
            Error::new(ErrorKind::Usage, format!("invalid model `{spec}`"))
                .with_hint(format!("write PROVIDER/MODEL, with one of {}", names()))
        };
        let (name, model) = spec.split_once(['/', ':']).ok_or_else(unknown)?;
        let provider = ModelProvider::by_name(name).ok_or_else(unknown)?;
        let model = model.trim();
        if model.is_empty() {
            return Err(unknown());
        }
        let set = |vars: &'static [&'static str]| {
            vars.iter().find_map(|var| {
                env(var).filter(|value| !value.trim().is_empty()).map(|value| (*var, value))
            })
        };
        let base_url = match set(provider.base_vars) {
            Some((var, value)) => address(var, value.trim(), provider.base_suffix)?,
            None if provider.base_url.is_empty() => {
                let var = provider.base_vars.first().copied().unwrap_or_default();
                return Err(Error::new(ErrorKind::Setup, format!("no address is set for {name}"))
                    .with_hint(format!("set {var} to the server's URL")));
            }
            None => provider.base_url.to_owned(),
        };
        let key = set(provider.key_vars);
        if key.is_none() && provider.needs_key {
            return Err(Error::new(ErrorKind::Setup, format!("no key is set for {name}"))
                .with_hint(format!("set {} to your key", provider.key_vars.join(" or "))));
        }
        Ok(ModelTarget {
            provider,
            model: model.to_owned(),
            base_url,
            key_var: key.as_ref().map(|set| set.0.to_owned()),
            key: key.map(|set| ApiKey::new(&set.1)),
        })
    }

    /// The target, whose key `variable` holds instead of a variable of the provider.
    #[must_use]
    pub fn with_key_var(mut self, variable: &str) -> ModelTarget {
        self.key_var = Some(variable.to_owned());
        self
    }

    /// The variable that holds the key; the provider's name if it has none. Never the key.
    pub fn key_name(&self) -> &str {
        self.key_var.as_deref().unwrap_or(self.provider.name)
    }

    /// The name in events and reports: `openai/gpt-5.1`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider.name, self.model)
    }
}

/// Parses an address from `var`: adds a missing scheme and removes the trailing slash. Ollama's variable may be a
/// bare host and port, or the wildcard address that a server listens on.
fn address(var: &str, value: &str, suffix: &str) -> Result<String> {
    let whole = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let whole = whole.replacen("://0.0.0.0", "://127.0.0.1", 1);
    let fault = |why: &str| {
        Error::new(ErrorKind::Setup, format!("invalid {var}: {why}"))
            .with_hint(format!("set {var} to a URL such as http://127.0.0.1:8080/v1"))
    };
    let url = url::Url::parse(&whole).map_err(|error| fault("not a URL").with_source(error))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(fault("not an http URL"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(fault("it must not contain a user, password or query"));
    }
    let mut text = whole.trim_end_matches('/').to_owned();
    if var == "OLLAMA_HOST" && url.port().is_none() && url.scheme() == "http" && url.path() == "/" {
        text.push_str(":11434");
    }
    if !suffix.is_empty() && !text.ends_with(suffix) {
        text.push_str(suffix);
    }
    Ok(text)
}
