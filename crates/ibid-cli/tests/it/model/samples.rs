//! One short stream a dialect, written by hand in the form that its documentation describes. All say the same.
use ibid_llm::Dialect;

/// What every stream here says.
pub(super) const TEXT: &str = "Moss holds water — about 20×.";

/// A dialect, its stream, and how much of the stream's end belongs to the mark that ends it.
pub(super) struct Sample {
    pub(super) dialect: Dialect,
    pub(super) stream: String,
    /// The stream up to, and without, whatever shows that the answer is whole.
    pub(super) cut: String,
}

fn sample(dialect: Dialect, before: &str, end: &str) -> Sample {
    Sample { dialect, stream: format!("{before}{end}"), cut: before.to_owned() }
}

/// All of them.
pub(super) fn all() -> Vec<Sample> {
    vec![
        sample(
            Dialect::OpenAiChat,
            concat!(
                ": comment\r\n\r\n",
                "data: {\"model\":\"m-1\",\"object\":\"chat.completion.chunk\",\"choices\":[]}\r\n\r\n",
                "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"hm\"}}]}\r\n\r\n",
                "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Moss holds\"}}]}\r\n\r\n",
                "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":1,\"delta\":{\"content\":\"another choice\"}}]}\r\n\r\n",
                "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" water — about 20×.\"}}]}\r\n\r\n",
            ),
            concat!(
                "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n",
                "data: {\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\":2}}}\r\n\r\n",
                "data: [DONE]\r\n\r\n",
            ),
        ),
        sample(
            Dialect::OpenAiResponses,
            concat!(
                "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\",\"output\":[]}}\n\n",
                "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Moss holds\"}\n\n",
                "event: something.new\ndata: {\"type\":\"something.new\",\"delta\":\"not this\"}\n\n",
                "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\" water — about 20×.\"}\n\n",
            ),
            concat!(
                "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"model\":\"m-1\",\"error\":null,",
                "\"output\":[{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"hm\"}]},",
                "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Moss holds water — about 20×.\",\"annotations\":[]}]}],",
                "\"usage\":{\"input_tokens\":7,\"output_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":2}}}}\n\n",
            ),
        ),
        sample(
            Dialect::Anthropic,
            concat!(
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m-1\",\"content\":[],\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}\n\n",
                "event: ping\ndata: {\"type\":\"ping\"}\n\n",
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"Moss holds\"}}\n\n",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\" water — about 20×.\"}}\n\n",
                "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n",
            ),
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        sample(
            Dialect::Gemini,
            concat!(
                "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true}]}}],\"modelVersion\":\"m-1\"}\n,\r\n",
                "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Moss holds\"},{\"text\":\" water\"}]}}]},\n",
            ),
            concat!(
                "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" — about 20×.\"}]},\"finishReason\":\"STOP\"}],",
                "\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":6,\"thoughtsTokenCount\":3,\"cachedContentTokenCount\":2}}]",
            ),
        ),
        sample(
            Dialect::Ollama,
            concat!(
                "{\"model\":\"m-1\",\"message\":{\"role\":\"assistant\",\"content\":\"<think>\\nh\"},\"done\":false}\n",
                "{\"model\":\"m-1\",\"message\":{\"content\":\"m</thi\"},\"done\":false}\n",
                "{\"model\":\"m-1\",\"message\":{\"content\":\"nk>\\n\\nMoss holds\"},\"done\":false}\n",
            ),
            "{\"model\":\"m-1\",\"message\":{\"content\":\" water — about 20×.\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":7,\"eval_count\":9}\n",
        ),
        sample(
            Dialect::Cohere,
            concat!(
                "data: {\"type\":\"message-start\",\"delta\":{\"message\":{\"content\":[]}}}\n\n",
                "data: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"thinking\":\"hm\"}}}}\n\n",
                "data: {\"type\":\"content-delta\",\"index\":1,\"delta\":{\"message\":{\"content\":{\"text\":\"Moss holds\"}}}}\n\n",
                "data: {\"type\":\"content-delta\",\"index\":1,\"delta\":{\"message\":{\"content\":{\"text\":\" water — about 20×.\"}}}}\n\n",
            ),
            "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\",\"usage\":{\"tokens\":{\"input_tokens\":7,\"output_tokens\":9}}}}\n\n",
        ),
    ]
}
