//! How many tokens a prompt has at most.
use ibid_core::ports::Prompt;

/// Tokens that providers add around a message, at most.
const MESSAGE_OVERHEAD: u64 = 16;

/// Tokens that providers add around a schema, at most. Some are sent the schema as a tool and bill the tool instructions
/// as well.
const SCHEMA_OVERHEAD: u64 = 500;

/// Estimates the tokens of `prompt` from above: one per three bytes, and one per digit, because several tokenizers
/// split numbers into digits. English has about four bytes per token; scripts with three bytes per letter have about
/// one token per letter. The overhead of messages and schemas is added.
pub fn max_input_tokens(prompt: &Prompt) -> u64 {
    let tokens = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        ((text.len() - digits).div_ceil(3) + digits) as u64
    };
    let turns: u64 =
        prompt.messages.iter().map(|message| tokens(&message.text) + MESSAGE_OVERHEAD).sum();
    let system = prompt.system.as_deref().map_or(0, |system| tokens(system) + MESSAGE_OVERHEAD);
    let schema = prompt
        .schema
        .as_ref()
        .map_or(0, |schema| tokens(&schema.json.to_string()) + SCHEMA_OVERHEAD);
    turns + system + schema
}
