//! The dialects behind one face: a request out, a completion or a stream in. Nothing here does I/O.
use super::draft::Draft;
use super::fault::ModelFault;
use super::frames::{Frame, Frames};
use super::request::{ModelSettings, Outgoing};
use super::retry_after::Headers;
use super::{anthropic, cohere, gemini, ollama, openai_chat, openai_responses};
use crate::seams::{Completion, Prompt};

/// The ways in which providers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// OpenAI's Chat Completions, and everything compatible with it.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's `generateContent`, of the Gemini API and of Vertex AI.
    Gemini,
    /// Ollama's own `/api/chat` and `/api/generate`.
    Ollama,
    /// Cohere's chat, version 2.
    Cohere,
}

/// Reads the values of one answer in one dialect.
pub(super) trait Reader: Send + std::fmt::Debug {
    /// Takes in what arrived next.
    fn frame(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), ModelFault>;

    /// Whether the mark was seen by which the dialect ends an answer.
    fn ended(&self) -> bool;

    /// The stream is over: what was kept for its end goes into the draft.
    fn close(&mut self, _draft: &mut Draft) {}
}

impl Dialect {
    /// The request for `prompt`.
    pub fn request(self, prompt: &Prompt, settings: &ModelSettings, stream: bool) -> Outgoing {
        match self {
            Dialect::OpenAiChat => openai_chat::request(prompt, settings, stream),
            Dialect::OpenAiResponses => openai_responses::request(prompt, settings, stream),
            Dialect::Anthropic => anthropic::request(prompt, settings, stream),
            Dialect::Gemini => gemini::request(prompt, settings, stream),
            Dialect::Ollama => ollama::request(prompt, settings, stream),
            Dialect::Cohere => cohere::request(prompt, settings, stream),
        }
    }

    /// The completion that an answer is. `answer_tool` is the tool that the model had to answer through, if it had.
    ///
    /// # Errors
    /// What the provider said instead, or `Malformed` when the answer is none of this dialect.
    pub fn parse(
        self,
        status: u16,
        headers: &Headers,
        body: &[u8],
        answer_tool: Option<&str>,
    ) -> Result<Completion, ModelFault> {
        if !(200..300).contains(&status) {
            return Err(ModelFault::of_answer(status, headers, body));
        }
        let mut stream = self.stream(answer_tool);
        stream.feed(body)?;
        stream.close(|| ModelFault::malformed("the answer holds no completion"))
    }

    /// A reader of this dialect's stream.
    pub fn stream(self, answer_tool: Option<&str>) -> Stream {
        let reader: Box<dyn Reader> = match self {
            Dialect::OpenAiChat => Box::<openai_chat::OpenAiChat>::default(),
            Dialect::OpenAiResponses => Box::<openai_responses::OpenAiResponses>::default(),
            Dialect::Anthropic => Box::<anthropic::Anthropic>::default(),
            Dialect::Gemini => Box::<gemini::Gemini>::default(),
            Dialect::Ollama => Box::<ollama::Ollama>::default(),
            Dialect::Cohere => Box::<cohere::Cohere>::default(),
        };
        Stream {
            frames: Frames::Unknown,
            draft: Draft::new(matches!(self, Dialect::OpenAiChat | Dialect::Ollama)),
            reader,
            answer_tool: answer_tool.map(str::to_owned),
        }
    }
}

/// An answer that arrives in pieces of any size.
#[derive(Debug)]
pub struct Stream {
    frames: Frames,
    reader: Box<dyn Reader>,
    draft: Draft,
    answer_tool: Option<String>,
}

impl Stream {
    /// Takes in `bytes`; gives the text that they add to the answer.
    ///
    /// # Errors
    /// What the provider says inside the stream, or `Malformed` when it is none. After an error nothing more can be
    /// learned from the stream.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<String, ModelFault> {
        let mut found = Vec::new();
        let outcome = self.frames.feed(bytes, &mut found);
        for frame in found {
            self.reader.frame(&frame, &mut self.draft)?;
        }
        outcome?;
        Ok(self.draft.fresh())
    }

    /// The completion, once no more bytes will come.
    ///
    /// # Errors
    /// `Transient` when the stream ended before the answer did.
    pub fn finish(self) -> Result<Completion, ModelFault> {
        self.close(ModelFault::cut_off)
    }

    fn close(mut self, unended: fn() -> ModelFault) -> Result<Completion, ModelFault> {
        for frame in self.frames.rest() {
            self.reader.frame(&frame, &mut self.draft)?;
        }
        if !self.reader.ended() {
            return Err(unended());
        }
        self.reader.close(&mut self.draft);
        self.draft.close();
        Ok(self.draft.completion(self.answer_tool.as_deref()))
    }
}
