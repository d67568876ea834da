//! Who speaks which dialect, where, and with which key: rows of data.
//!
//! A vendor that is compatible with one of the dialects is a row here and nothing else. Defaults are those of the
//! providers' own documentation, and variables the ones that their own tools read.
use std::fmt;

use super::request::{LimitField, ModelSettings, Schemas};
use super::wire::Dialect;
use crate::error::{Error, Kind, Result};

/// One provider.
#[derive(Debug)]
pub struct Provider {
    /// Its name in settings and reports.
    pub name: &'static str,
    /// What it speaks.
    pub dialect: Dialect,
    /// Where it is; empty where only a variable can tell.
    pub base_url: &'static str,
    /// Variables that move it, the first that is set counts.
    pub base_vars: &'static [&'static str],
    /// What is added to an address from a variable that does not end so already.
    pub base_suffix: &'static str,
    /// Variables that may hold the key, the first that is set counts.
    pub key_vars: &'static [&'static str],
    /// How the key is shown.
    pub auth: Auth,
    /// Whether it answers without a key.
    pub needs_key: bool,
    /// How it takes a JSON schema.
    pub schemas: Schemas,
    /// What it calls the bound on tokens.
    pub limit: LimitField,
    /// Whether tokens of a stream must be asked for.
    pub ask_usage: bool,
}

/// How a key is shown to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// The key alone in a header of this name.
    Header(&'static str),
}

const fn compatible(
    name: &'static str,
    base_url: &'static str,
    base_vars: &'static [&'static str],
    key_vars: &'static [&'static str],
    schemas: Schemas,
) -> Provider {
    Provider {
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

/// Every provider known by name. `custom` is any other that speaks OpenAI's Chat Completions.
#[rustfmt::skip]
pub static PROVIDERS: &[Provider] = &[
    Provider {
        limit: LimitField::MaxCompletionTokens,
        ..compatible("openai", "https://api.openai.com/v1", &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
            &["OPENAI_API_KEY"], Schemas::Native)
    },
    Provider {
        dialect: Dialect::OpenAiResponses,
        ..compatible("openai-responses", "https://api.openai.com/v1", &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
            &["OPENAI_API_KEY"], Schemas::Native)
    },
    Provider {
        dialect: Dialect::Anthropic,
        auth: Auth::Header("x-api-key"),
        ..compatible("anthropic", "https://api.anthropic.com", &["ANTHROPIC_BASE_URL"],
            &["ANTHROPIC_API_KEY"], Schemas::Native)
    },
    Provider {
        dialect: Dialect::Gemini,
        auth: Auth::Header("x-goog-api-key"),
        ..compatible("gemini", "https://generativelanguage.googleapis.com/v1beta",
            &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"], &["GEMINI_API_KEY", "GOOGLE_API_KEY"], Schemas::Native)
    },
    Provider {
        dialect: Dialect::Gemini,
        auth: Auth::Header("x-goog-api-key"),
        ..compatible("vertex", "https://aiplatform.googleapis.com/v1/publishers/google",
            &["VERTEX_BASE_URL", "GOOGLE_VERTEX_BASE_URL"], &["VERTEX_API_KEY", "GOOGLE_API_KEY"], Schemas::Native)
    },
    compatible("openrouter", "https://openrouter.ai/api/v1", &["OPENROUTER_BASE_URL"],
        &["OPENROUTER_API_KEY"], Schemas::Native),
    compatible("groq", "https://api.groq.com/openai/v1", &["GROQ_BASE_URL"], &["GROQ_API_KEY"], Schemas::Native),
    compatible("deepseek", "https://api.deepseek.com", &["DEEPSEEK_BASE_URL"], &["DEEPSEEK_API_KEY"],
        Schemas::JsonMode),
    Provider {
        ask_usage: false,
        ..compatible("mistral", "https://api.mistral.ai/v1", &["MISTRAL_BASE_URL"], &["MISTRAL_API_KEY"],
            Schemas::Native)
    },
    compatible("xai", "https://api.x.ai/v1", &["XAI_BASE_URL"], &["XAI_API_KEY", "GROK_API_KEY"], Schemas::Native),
    Provider {
        base_suffix: "/openai/v1",
        auth: Auth::Header("api-key"),
        limit: LimitField::MaxCompletionTokens,
        ..compatible("azure", "", &["AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL"], &["AZURE_OPENAI_API_KEY"],
            Schemas::Native)
    },
    Provider {
        dialect: Dialect::Ollama,
        needs_key: false,
        ..compatible("ollama", "http://127.0.0.1:11434", &["OLLAMA_BASE_URL", "OLLAMA_HOST"], &["OLLAMA_API_KEY"],
            Schemas::Native)
    },
    Provider {
        needs_key: false,
        ..compatible("vllm", "http://127.0.0.1:8000/v1", &["VLLM_BASE_URL"], &["VLLM_API_KEY"], Schemas::Native)
    },
    Provider {
        needs_key: false,
        ..compatible("llamacpp", "http://127.0.0.1:8080/v1", &["LLAMACPP_BASE_URL"], &["LLAMACPP_API_KEY"],
            Schemas::Native)
    },
    Provider {
        needs_key: false,
        ..compatible("lmstudio", "http://127.0.0.1:1234/v1", &["LMSTUDIO_BASE_URL"], &["LMSTUDIO_API_KEY"],
            Schemas::Native)
    },
    Provider {
        dialect: Dialect::Cohere,
        ..compatible("cohere", "https://api.cohere.com", &["COHERE_BASE_URL"], &["COHERE_API_KEY", "CO_API_KEY"],
            Schemas::Native)
    },
    Provider {
        ask_usage: false,
        ..compatible("perplexity", "https://api.perplexity.ai", &["PERPLEXITY_BASE_URL"],
            &["PERPLEXITY_API_KEY", "PPLX_API_KEY"], Schemas::Native)
    },
    compatible("together", "https://api.together.xyz/v1", &["TOGETHER_BASE_URL"], &["TOGETHER_API_KEY"],
        Schemas::Native),
    compatible("fireworks", "https://api.fireworks.ai/inference/v1", &["FIREWORKS_BASE_URL"],
        &["FIREWORKS_API_KEY"], Schemas::Native),
    Provider {
        needs_key: false,
        ..compatible("custom", "", &["IBID_MODEL_BASE_URL"], &["IBID_MODEL_API_KEY"], Schemas::Native)
    },
];

impl Provider {
    /// The provider of this name.
    pub fn named(name: &str) -> Option<&'static Provider> {
        PROVIDERS.iter().find(|it| it.name == name)
    }

    /// How `model` wants to be asked here.
    pub fn settings(&self, model: &str) -> ModelSettings {
        // Claude before 4.5 answers in a shape only through a tool.
        let older = [
            "claude-2",
            "claude-3",
            "claude-instant",
            "claude-sonnet-4-0",
            "claude-opus-4-0",
        ]
        .iter()
        .any(|it| model.starts_with(it));
        let dated = ["claude-sonnet-4-2025", "claude-opus-4-2025"]
            .iter()
            .any(|it| model.starts_with(it));
        let by_tool = self.dialect == Dialect::Anthropic && (older || dated);
        ModelSettings {
            model: model.to_owned(),
            schemas: if by_tool { Schemas::Tool } else { self.schemas },
            limit: self.limit,
            ask_usage: self.ask_usage,
        }
    }
}

/// A key. Shows nothing of itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key in, blanks around it left out.
    pub fn new(key: &str) -> Secret {
        Secret(key.trim().to_owned())
    }

    /// The key itself. Whoever calls this owns what happens to it.
    pub(in crate::adapters) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// One model at one provider, with everything it takes to ask it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The row of the provider.
    pub provider: &'static Provider,
    /// The provider's name for the model.
    pub model: String,
    /// Where requests go, without a slash at the end.
    pub base_url: String,
    /// The key, where there is one.
    pub key: Option<Secret>,
}

impl Target {
    /// Finds `spec`, written `PROVIDER/MODEL` or `PROVIDER:MODEL`, with the variables that `env` knows.
    ///
    /// # Errors
    /// `Usage` for a spec that names no provider or no model; `Setup` for a key or an address that is missing, with the
    /// variable to set.
    pub fn find(spec: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Target> {
        let names = || {
            PROVIDERS
                .iter()
                .map(|it| it.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let unknown = || {
            Error::new(Kind::Usage, format!("the model `{spec}`"))
                .hint(format!("Write PROVIDER/MODEL, with one of {}.", names()))
        };
        let (name, model) = spec.split_once(['/', ':']).ok_or_else(unknown)?;
        let provider = Provider::named(name).ok_or_else(unknown)?;
        let model = model.trim();
        if model.is_empty() {
            return Err(unknown());
        }
        let set = |vars: &'static [&'static str]| {
            vars.iter().find_map(|it| {
                env(it)
                    .filter(|value| !value.trim().is_empty())
                    .map(|value| (*it, value))
            })
        };
        let base_url = match set(provider.base_vars) {
            Some((var, value)) => address(var, value.trim(), provider.base_suffix)?,
            None if provider.base_url.is_empty() => {
                let var = provider.base_vars.first().copied().unwrap_or_default();
                return Err(
                    Error::new(Kind::Setup, format!("no address is known for {name}"))
                        .hint(format!("Set {var} to the server's URL.")),
                );
            }
            None => provider.base_url.to_owned(),
        };
        let key = set(provider.key_vars).map(|it| Secret::new(&it.1));
        if key.is_none() && provider.needs_key {
            return Err(
                Error::new(Kind::Setup, format!("no key is set for {name}")).hint(format!(
                    "Set {} to your key.",
                    provider.key_vars.join(" or ")
                )),
            );
        }
        Ok(Target {
            provider,
            model: model.to_owned(),
            base_url,
            key,
        })
    }

    /// Its name in events and reports: `openai/gpt-5.1`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider.name, self.model)
    }
}

/// An address from `var`, with a scheme, without a slash at the end. Ollama's variable may be a bare host and port, and
/// name every interface where a server is meant to listen.
fn address(var: &str, value: &str, suffix: &str) -> Result<String> {
    let whole = if value.contains("://") {
        value.to_owned()
    } else {
        format!("http://{value}")
    };
    let whole = whole.replacen("://0.0.0.0", "://127.0.0.1", 1);
    let fault = |why: &str| {
        Error::new(Kind::Setup, format!("the variable {var}: {why}")).hint(format!(
            "Set {var} to a URL such as http://127.0.0.1:8080/v1."
        ))
    };
    let url = url::Url::parse(&whole).map_err(|it| fault("not a URL").because(it))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(fault("not an http address"));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(fault("no user, password or query may stand in it"));
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
