//! Kinds of paths: pages, API, public.

/// Paths without private data. Load balancers request them without a token.
const PUBLIC_PATHS: [&str; 4] = ["/healthz", "/readyz", "/openapi.json", "/llms.txt"];

/// Whether a path needs no authentication: the public paths, and what a browser needs to sign in or open a shared report.
pub(super) fn is_public_path(path: &str) -> bool {
    PUBLIC_PATHS.contains(&path)
        || ["/login", "/favicon.ico"].contains(&path)
        || path.starts_with("/assets/")
        || is_share_path(path)
}

/// Whether a path is that of a shared report.
pub(super) fn is_share_path(path: &str) -> bool {
    path.starts_with("/s/")
}

/// Whether a path is that of a page, not of the API.
pub(super) fn is_page(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    ["", "new", "r", "runs", "diff", "costs", "doctor", "login", "logout"].contains(&first)
}

/// Whether a path is for programs, so that errors stay JSON.
pub(super) fn is_api(path: &str) -> bool {
    ["/v1/", "/mcp", "/metrics", "/healthz", "/readyz", "/openapi.json", "/llms.txt"]
        .iter()
        .any(|prefix| path.starts_with(prefix))
}
