//! Who sends a request.
use ibid_core::domain::Owner;
use ibid_core::ports::{Account, KeyOwner};

/// Maximum length of a `traceparent` header that is kept, in bytes; the W3C format has 55.
const MAX_TRACEPARENT_BYTES: usize = 64;

/// The sender of a request. Only a token, a session or start-up code creates one.
#[derive(Debug, Clone, PartialEq)]
pub struct Caller {
    /// The owner whose rows the caller sees; `None` for the operator, who sees all.
    pub(super) owner: Option<Owner>,
    /// The name in the audit log.
    pub(super) name: String,
    /// The account with its limits, if there is one.
    account: Option<Account>,
    /// The hash of the token that identified the account.
    pub(super) token: Option<String>,
    /// The `traceparent` header of the request.
    pub(super) traceparent: Option<String>,
}

impl Caller {
    /// The person who runs the server.
    pub(crate) fn operator() -> Caller {
        Caller {
            owner: None,
            name: KeyOwner::Operator.storage_name().into_owned(),
            account: None,
            token: None,
            traceparent: None,
        }
    }

    /// A user with an account, identified by the token with this hash.
    pub(super) fn from_account(account: Account, token: String) -> Caller {
        Caller {
            owner: Some(account.owner()),
            name: KeyOwner::User(&account.user.id).storage_name().into_owned(),
            account: Some(account),
            token: Some(token),
            traceparent: None,
        }
    }

    /// The owner of a schedule, whose reruns a server starts without a request.
    pub(super) fn from_owner(account: Account) -> Caller {
        Caller { token: None, ..Caller::from_account(account, String::new()) }
    }

    /// An unauthenticated caller, who owns nothing.
    pub(crate) fn anonymous() -> Caller {
        Caller {
            owner: Some(Owner { user: String::new(), org: None }),
            name: "nobody".to_owned(),
            account: None,
            token: None,
            traceparent: None,
        }
    }

    /// Sets the trace of the request. A missing or overlong `traceparent` changes nothing.
    #[must_use]
    pub(crate) fn with_trace(mut self, traceparent: Option<&str>) -> Caller {
        if let Some(header) = traceparent.filter(|header| header.len() <= MAX_TRACEPARENT_BYTES) {
            self.traceparent = Some(header.to_owned());
        }
        self
    }

    /// The name in the audit log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hash of the caller's token; a session ends when that token is revoked.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether the caller is the operator.
    pub(crate) fn is_operator(&self) -> bool {
        self.owner.is_none()
    }

    /// Whether the caller is unauthenticated.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.owner.is_some() && self.account.is_none()
    }
}
