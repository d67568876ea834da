//! The login page and the error page.
use askama::Template;

use super::format::sentence;
use super::shell::PageLayout;

/// The login page.
#[derive(Template)]
#[template(path = "login.html")]
pub struct LoginPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// Why the last attempt failed.
    pub fault: Option<String>,
    /// Where to go after signing in: a path of this server.
    pub next: String,
}

/// The error page.
#[derive(Template)]
#[template(path = "error.html")]
pub struct ErrorPage {
    /// The frame of the page.
    pub shell: PageLayout,
    /// The HTTP status.
    pub status: u16,
    /// The short description.
    pub title: &'static str,
    /// The full message.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

impl ErrorPage {
    /// The page of an error.
    pub fn new(shell: PageLayout, status: u16, message: &str, hint: Option<String>) -> ErrorPage {
        let title = match status {
            401 => "You are not signed in",
            403 => "Not allowed",
            404 => "Page not found",
            405 => "Not supported here",
            409 => "Too late",
            429 => "Too many requests",
            400..=499 => "Invalid request",
            503 => "Temporarily unavailable",
            _ => "Internal error",
        };
        ErrorPage {
            shell: shell.with_title(title).narrow(),
            status,
            title,
            message: sentence(message),
            hint: hint.as_deref().map(sentence),
        }
    }
}
