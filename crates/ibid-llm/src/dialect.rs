//! One interface to all dialects: builds requests, and parses responses and streams. Does no I/O.
use super::builder::CompletionBuilder;
use super::dialect_reader::{DialectReader, reported_error};
use super::frames::{Frame, FrameDecoder};
use super::request::{ModelRequest, ModelSettings};
use super::{anthropic, cohere, gemini, ollama, openai_chat, openai_responses};
use ibid_core::ports::{Completion, Prompt};
use ibid_net::retry_after::ResponseHeaders;
use ibid_net::service_error::ServiceError;

/// The API formats of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// OpenAI's Chat Completions, and everything compatible with it.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's `generateContent`, for the Gemini API and Vertex AI.
    Gemini,
    /// Ollama's own `/api/chat` and `/api/generate`.
    Ollama,
    /// Cohere's chat API, version 2.
    Cohere,
}

impl Dialect {
    /// Builds the request for `prompt`.
    pub fn request(self, prompt: &Prompt, settings: &ModelSettings, stream: bool) -> ModelRequest {
        match self {
            Dialect::OpenAiChat => openai_chat::request(prompt, settings, stream),
            Dialect::OpenAiResponses => openai_responses::request(prompt, settings, stream),
            Dialect::Anthropic => anthropic::request(prompt, settings, stream),
            Dialect::Gemini => gemini::request(prompt, settings, stream),
            Dialect::Ollama => ollama::request(prompt, settings, stream),
            Dialect::Cohere => cohere::request(prompt, settings, stream),
        }
    }

    /// Parses a complete response. `answer_tool` is the tool that the model had to answer with, if any.
    ///
    /// # Errors
    /// The error that the provider reported, or `Malformed` if the response is not in this dialect.
    pub fn parse(
        self,
        status: u16,
        headers: &ResponseHeaders,
        body: &[u8],
        answer_tool: Option<&str>,
    ) -> Result<Completion, ServiceError> {
        if !(200..300).contains(&status) {
            return Err(ServiceError::from_response(status, headers, body));
        }
        let mut stream = self.stream(answer_tool);
        stream.feed(body)?;
        stream.close(|| ServiceError::malformed("the response contains no completion"))
    }

    /// Returns a parser for streams of this dialect.
    pub fn stream(self, answer_tool: Option<&str>) -> CompletionStream {
        let reader: Box<dyn DialectReader> = match self {
            Dialect::OpenAiChat => Box::<openai_chat::OpenAiChat>::default(),
            Dialect::OpenAiResponses => Box::<openai_responses::OpenAiResponses>::default(),
            Dialect::Anthropic => Box::<anthropic::Anthropic>::default(),
            Dialect::Gemini => Box::<gemini::Gemini>::default(),
            Dialect::Ollama => Box::<ollama::Ollama>::default(),
            Dialect::Cohere => Box::<cohere::Cohere>::default(),
        };
        CompletionStream {
            frames: FrameDecoder::Unknown,
            draft: CompletionBuilder::new(matches!(self, Dialect::OpenAiChat | Dialect::Ollama)),
            reader,
            answer_tool: answer_tool.map(str::to_owned),
        }
    }
}

/// A completion that arrives in pieces of any size.
#[derive(Debug)]
pub struct CompletionStream {
    frames: FrameDecoder,
    reader: Box<dyn DialectReader>,
    draft: CompletionBuilder,
    answer_tool: Option<String>,
}

impl CompletionStream {
    /// Parses `bytes` and returns the text that they add to the answer.
    ///
    /// # Errors
    /// The error that the provider reported in the stream, or `Malformed` if it reported none. The stream cannot be
    /// used after an error.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<String, ServiceError> {
        let mut found = Vec::new();
        let outcome = self.frames.feed(bytes, &mut found);
        for frame in found {
            self.read(frame)?;
        }
        outcome?;
        Ok(self.draft.take_new_text())
    }

    /// Returns the completion after the last bytes.
    ///
    /// # Errors
    /// `Transient` if the stream ended before the answer was complete.
    pub fn finish(self) -> Result<Completion, ServiceError> {
        self.close(ServiceError::truncated)
    }

    fn read(&mut self, frame: Frame) -> Result<(), ServiceError> {
        let Frame::Json(event, value) = frame else {
            self.reader.read_done();
            return Ok(());
        };
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(reported_error(&value));
        }
        self.reader.read_json(event.as_deref().unwrap_or_default(), &value, &mut self.draft)
    }

    fn close(mut self, unended: fn() -> ServiceError) -> Result<Completion, ServiceError> {
        for frame in self.frames.finish() {
            self.read(frame)?;
        }
        if !self.reader.is_ended() {
            return Err(unended());
        }
        self.reader.finish(&mut self.draft);
        self.draft.flush();
        Ok(self.draft.into_completion(self.answer_tool.as_deref()))
    }
}
