//! Pages that are soon said: signing in, and what is not there.
use askama::Template;

use super::Shell;
use super::words::sentence;

/// Signing in.
#[derive(Template)]
#[template(path = "login.html")]
pub struct Login {
    /// What surrounds it.
    pub shell: Shell,
    /// Why it did not go the last time.
    pub fault: Option<String>,
    /// Where to go then: a path of this server.
    pub next: String,
}

/// What went wrong.
#[derive(Template)]
#[template(path = "fault.html")]
pub struct FaultPage {
    /// What surrounds it.
    pub shell: Shell,
    /// The status.
    pub status: u16,
    /// In a few words.
    pub title: &'static str,
    /// In more.
    pub message: String,
    /// What would help.
    pub hint: Option<String>,
}

impl FaultPage {
    /// The page of a refusal.
    pub fn of(shell: Shell, status: u16, message: &str, hint: Option<String>) -> FaultPage {
        let title = match status {
            401 => "You are not signed in",
            403 => "That is not allowed",
            404 => "There is nothing here",
            405 => "That cannot be done here",
            409 => "It is too late for that",
            429 => "Too much is going on",
            400..=499 => "That cannot be done so",
            503 => "Not just now",
            _ => "Something went wrong here",
        };
        FaultPage {
            shell: shell.titled(title).narrow(),
            status,
            title,
            message: sentence(message),
            hint: hint.as_deref().map(sentence),
        }
    }
}
