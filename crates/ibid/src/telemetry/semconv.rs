//! All names of telemetry. The semantic conventions are in development and names change between releases
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/>). Langfuse, Phoenix and others read version 1.41 today.

/// The release whose names are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SemConvVersion {
    /// Version 1.41.
    #[default]
    Stable,
    /// The latest draft, by `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`.
    Latest,
}

impl SemConvVersion {
    /// Parses `OTEL_SEMCONV_STABILITY_OPT_IN`, a list separated by commas.
    pub(super) fn parse(list: &str) -> SemConvVersion {
        if list.split(',').any(|part| part.trim() == LATEST) {
            SemConvVersion::Latest
        } else {
            SemConvVersion::Stable
        }
    }

    /// Its name, exported as a resource attribute.
    pub(super) fn name(self) -> &'static str {
        match self {
            SemConvVersion::Stable => "gen_ai_1.41",
            SemConvVersion::Latest => LATEST,
        }
    }

    /// The number of requested hits.
    pub(super) fn top_k(self) -> &'static str {
        match self {
            SemConvVersion::Stable => "gen_ai.request.top_k",
            SemConvVersion::Latest => "gen_ai.retrieval.top_k",
        }
    }

    /// The metric of tokens by direction; `None` if the conventions require a histogram of calls, which is not recorded.
    pub(super) fn tokens(self, direction: &str) -> Option<&'static str> {
        match (self, direction) {
            (SemConvVersion::Stable, _) => None,
            (SemConvVersion::Latest, "in") => Some("gen_ai.client.inference.usage.input_tokens"),
            (SemConvVersion::Latest, _) => Some("gen_ai.client.inference.usage.output_tokens"),
        }
    }

    /// The metric of the duration of a model call, in seconds.
    pub(super) fn model_seconds(self) -> &'static str {
        match self {
            SemConvVersion::Stable => "gen_ai.client.operation.duration",
            SemConvVersion::Latest => "gen_ai.client.inference.duration",
        }
    }

    /// Whether spans of agents in this process name the provider, which later drafts removed.
    pub(super) fn agents_have_providers(self) -> bool {
        self == SemConvVersion::Stable
    }
}

const LATEST: &str = "gen_ai_latest_experimental";

/// Resource attributes.
pub(super) const SERVICE_NAME: &str = "service.name";
pub(super) const SERVICE_VERSION: &str = "service.version";
pub(super) const CONVENTIONS: &str = "ibid.semconv";

/// Attributes of the semantic conventions.
pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const PROMPT_NAME: &str = "gen_ai.prompt.name";
pub(super) const DATA_SOURCE: &str = "gen_ai.data_source.id";
pub(super) const QUERY: &str = "gen_ai.retrieval.query.text";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(super) const ERROR: &str = "error.type";
pub(super) const URL: &str = "url.full";

/// The span event for one check of one claim.
pub(super) const EVALUATION: &str = "gen_ai.evaluation.result";
pub(super) const EVALUATION_NAME: &str = "gen_ai.evaluation.name";
pub(super) const EVALUATION_SCORE: &str = "gen_ai.evaluation.score.value";
pub(super) const EVALUATION_LABEL: &str = "gen_ai.evaluation.score.label";

/// Attributes of Ibid.
pub(super) const EFFORT: &str = "ibid.effort";
pub(super) const STRATEGY: &str = "ibid.strategy";
pub(super) const STATUS: &str = "ibid.status";
pub(super) const STOP: &str = "ibid.stop_reason";
pub(super) const COST: &str = "ibid.cost_usd";
pub(super) const COVERAGE: &str = "ibid.coverage.ratio";
pub(super) const QUOTES_HELD: &str = "ibid.quotes.verified";
pub(super) const QUOTES: &str = "ibid.quotes.total";
pub(super) const WAVE: &str = "ibid.wave";
pub(super) const ITEM: &str = "ibid.question_id";
pub(super) const HITS: &str = "ibid.hits";
pub(super) const NEW_HITS: &str = "ibid.hits.new";
pub(super) const OUTCOME: &str = "ibid.outcome";
pub(super) const EVIDENCE: &str = "ibid.evidence.new";
pub(super) const CLAIM: &str = "ibid.claim_id";
pub(super) const ROLE: &str = "ibid.role";
pub(super) const RESUMED: &str = "ibid.resumed";

/// OpenInference, which Phoenix reads (<https://github.com/Arize-ai/openinference>).
pub(super) const SPAN_KIND: &str = "openinference.span.kind";
pub(super) const INPUT: &str = "input.value";
pub(super) const OUTPUT: &str = "output.value";
pub(super) const LLM_MODEL: &str = "llm.model_name";
pub(super) const LLM_INPUT_TOKENS: &str = "llm.token_count.prompt";
pub(super) const LLM_OUTPUT_TOKENS: &str = "llm.token_count.completion";
pub(super) const SESSION: &str = "session.id";

/// Langfuse (<https://langfuse.com/integrations/native/opentelemetry>).
pub(super) const LANGFUSE_TRACE: &str = "langfuse.trace.name";
pub(super) const LANGFUSE_TYPE: &str = "langfuse.observation.type";
pub(super) const LANGFUSE_COST: &str = "langfuse.observation.cost_details";
pub(super) const USER: &str = "user.id";

/// The name of a provider in the conventions.
pub(super) fn provider(name: &str) -> &str {
    match name {
        "gemini" | "google" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "azure" => "azure.ai.openai",
        other => other,
    }
}
