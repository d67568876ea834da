//! Why a call failed, where that decides what is tried next.
use serde::{Deserialize, Serialize};

/// Why a call failed. The journal stores it, so that a replay and a resumed run decide as the first run did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// A page could not be read.
    Read(ReadFailure),
    /// The prompt does not fit the context window of the model. A shorter one may be answered.
    PromptTooLong {
        /// The window in tokens, if the service named it.
        window: Option<u32>,
    },
    /// The model does not accept a parameter of the request, named as the service names it.
    RefusedParameter(String),
    /// The model or a content filter declined to answer. The same prompt will be declined again.
    Declined,
    /// The service is overloaded or limits the rate. The same request may be answered later.
    Overloaded,
    /// The quota or the credit of the account is used up.
    Quota,
    /// The key is missing, wrong or lacks a permission.
    Key,
    /// No connection to the service could be made, so nothing was sent.
    Unreachable,
    /// The service did not answer in time.
    Timeout,
    /// The budget of the run is spent.
    Budget,
}

/// Why a page could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadFailure {
    /// The server blocks automated requests.
    BotBlock,
    /// Payment or login is required.
    Paywall,
    /// The request timed out.
    Timeout,
    /// The page is too large.
    TooLarge,
    /// robots.txt forbids it.
    Robots,
    /// The address is blocked.
    BlockedAddress,
    /// The page has no text.
    Empty,
    /// The journal has retracted the work or published an expression of concern.
    Retracted,
    /// No reader supports this format.
    Unsupported,
    /// The document is damaged.
    Broken,
    /// The page does not exist.
    NotFound,
}

impl ReadFailure {
    /// All reasons with their names in JSON.
    pub const ALL: [(ReadFailure, &'static str); 11] = [
        (ReadFailure::BotBlock, "bot_block"),
        (ReadFailure::Paywall, "paywall"),
        (ReadFailure::Timeout, "timeout"),
        (ReadFailure::TooLarge, "too_large"),
        (ReadFailure::Robots, "robots"),
        (ReadFailure::BlockedAddress, "blocked_address"),
        (ReadFailure::Retracted, "retracted"),
        (ReadFailure::Empty, "empty"),
        (ReadFailure::Unsupported, "unsupported"),
        (ReadFailure::Broken, "broken"),
        (ReadFailure::NotFound, "not_found"),
    ];

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        let named = ReadFailure::ALL.iter().find(|pair| pair.0 == self);
        named.map_or("broken", |pair| pair.1)
    }
}
