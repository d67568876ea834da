//! What the wrappers share that may call models several times for one answer.
use ibid_core::Result;
use ibid_core::ports::{Completion, LanguageModel, Prompt, TextSink};

/// A sink that receives the text of one call only: the first that produced any.
pub(crate) struct SinkOnce<'a> {
    sink: Option<TextSink<'a>>,
    has_streamed: bool,
}

impl<'a> SinkOnce<'a> {
    /// Wraps `sink`, if the caller has one.
    pub(crate) fn new(sink: Option<TextSink<'a>>) -> SinkOnce<'a> {
        SinkOnce { sink, has_streamed: false }
    }

    /// Whether a call has produced text.
    pub(crate) fn has_streamed(&self) -> bool {
        self.has_streamed
    }

    /// Calls `model`. The sink gets the text, unless an earlier call has produced any.
    pub(crate) async fn complete(
        &mut self,
        model: &dyn LanguageModel,
        prompt: &Prompt,
    ) -> Result<Completion> {
        let Some(sink) = &mut self.sink else {
            return model.complete(prompt, None).await;
        };
        let is_muted = self.has_streamed;
        let mut relay = |text: &str| {
            if !is_muted {
                self.has_streamed |= !text.is_empty();
                sink(text);
            }
        };
        model.complete(prompt, Some(&mut relay)).await
    }
}
