//! Errors as pages for browsers.
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header, response};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::login;
use super::page::{HtmlPage, redirect, shell};
use crate::http::api_error::ErrorMessage;
use crate::http::auth::AuthMethod;
use crate::http::paths::is_api;
use crate::request_service::Caller;
use crate::view::basic_pages::ErrorPage;
use crate::view::render;

/// Middleware that turns errors into pages for browsers, and redirects to the login page if nobody is signed in. Other clients get
/// the error as JSON.
pub(in crate::http) async fn error_pages(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let path_and_query =
        request.uri().path_and_query().map_or_else(|| path.clone(), ToString::to_string);
    let is_get = *request.method() == Method::GET;
    let show_page = accepts_html(request.headers()) && !is_api(&path);
    let response = next.run(request).await;
    if !show_page {
        return response;
    }
    let Some(error) = response.extensions().get::<ErrorMessage>().cloned() else {
        return response;
    };
    let (mut head, _) = response.into_parts();
    let page = if head.status == StatusCode::UNAUTHORIZED && is_get {
        redirect(&login::login_url(&path_and_query))
    } else {
        error_page(&head, error)
    };
    let (page_head, body) = page.into_parts();
    head.status = page_head.status;
    head.headers.remove(header::CONTENT_LENGTH);
    for (name, value) in &page_head.headers {
        head.headers.insert(name, value.clone());
    }
    Response::from_parts(head, body)
}

/// The page of an error.
fn error_page(head: &response::Parts, error: ErrorMessage) -> Response {
    let caller = head.extensions.get::<Caller>().cloned();
    let caller = caller.unwrap_or_else(Caller::anonymous);
    let auth_method = head.extensions.get::<AuthMethod>().copied();
    let auth_method = auth_method.unwrap_or(AuthMethod::Anonymous);
    let shell = shell(&caller, auth_method, "");
    let page = ErrorPage::new(shell, head.status.as_u16(), &error.message, error.hint);
    match render(&page) {
        Ok(text) => (head.status, HtmlPage(text)).into_response(),
        Err(_) => head.status.into_response(),
    }
}

/// Whether the client accepts HTML, as browsers do.
fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|header| header.to_str().ok());
    accepted.is_some_and(|it| it.contains("text/html"))
}
