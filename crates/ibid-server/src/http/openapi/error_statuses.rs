//! The error statuses of routes, for the OpenAPI document.
use super::routes::Route;

/// An error status: when it is returned, and by which routes.
pub(super) struct DocumentedStatus {
    pub(super) status: u16,
    pub(super) when: &'static str,
    by: fn(&Route) -> bool,
}

impl DocumentedStatus {
    /// Whether `route` may return it.
    pub(super) fn applies_to(&self, route: &Route) -> bool {
        // Browsers get error pages, and a redirect to the login page.
        let shown = !route.is_page() || [400, 422].contains(&self.status);
        shown && (self.by)(route)
    }
}

const fn documented_status(
    status: u16,
    when: &'static str,
    by: fn(&Route) -> bool,
) -> DocumentedStatus {
    DocumentedStatus { status, when, by }
}

/// Every error status except those of internal errors.
pub(super) const DOCUMENTED_STATUSES: &[DocumentedStatus] = &[
    documented_status(400, "The request is malformed.", |_| true),
    documented_status(401, "The token is missing or unknown.", |_| true),
    documented_status(402, "The daily budget of the account is spent or reserved.", starts_run),
    documented_status(
        403,
        "The request comes from a page of another site, or the route is for the operator only.",
        |_| true,
    ),
    documented_status(404, "It does not exist or belongs to another caller.", |it| {
        it.path.contains('{') || takes_question(it)
    }),
    documented_status(408, "The body took too long to arrive.", has_body),
    documented_status(
        409,
        "The request conflicts with the state of the run: it has ended or has not, is not waiting for this input, has no report, or is already writing it. Or the trace has ended, or is that of a run, or the schedule is paused.",
        |it| {
            sends_command(it) || needs_ended_run(it) || updates_trace(it) || last_part(it) == "run"
        },
    ),
    documented_status(413, "The body is too large.", has_body),
    documented_status(415, "The content type of the body is not JSON.", has_body),
    documented_status(421, "The requested host is not a host of this server.", |_| true),
    documented_status(
        422,
        "The request is well-formed but cannot be accepted: an unknown name, dates in the wrong order, nothing to search, or an order that is too long.",
        |it| {
            it.body == Some("Form")
                || takes_question(it)
                || ["approve", "answers"].contains(&last_part(it))
        },
    ),
    documented_status(
        429,
        "Too many waiting runs, orders for this run, traces that have not ended, schedules, unknown tokens or open requests. Retry-After says when to retry, if present.",
        |_| true,
    ),
    documented_status(503, "Temporarily unavailable, or the server is not set up for it.", |_| {
        true
    }),
];

fn last_part(it: &Route) -> &'static str {
    it.path.rsplit('/').next().unwrap_or_default()
}

fn has_body(it: &Route) -> bool {
    it.body.is_some()
}

/// Whether it starts a run.
fn starts_run(it: &Route) -> bool {
    let all = ["/v1/runs", "/v1/responses", "/v1/chat/completions"];
    it.method == "post" && all.contains(&it.path)
}

/// Whether it accepts a question, which may follow a run and name a model.
fn takes_question(it: &Route) -> bool {
    starts_run(it) || it.path == "/v1/plan" || (it.method, it.path) == ("post", "/v1/schedules")
}

/// Whether it sends an order to a run, which must not have ended.
fn sends_command(it: &Route) -> bool {
    let all = ["finish", "cancel", "steer", "approve", "answers"];
    // Like OpenAI's API, a late cancel returns the unchanged response.
    all.contains(&last_part(it)) && it.path != "/v1/responses/{id}/cancel"
}

/// Whether it writes to a trace, which must not have ended.
fn updates_trace(it: &Route) -> bool {
    it.method == "post" && it.path == "/v1/traces/{id}"
}

/// Whether it needs an ended run.
fn needs_ended_run(it: &Route) -> bool {
    let shares = last_part(it) == "share" && it.method != "get";
    (it.method == "delete" && !it.path.starts_with("/v1/schedules"))
        || shares
        || last_part(it) == "rating"
}

#[cfg(test)]
mod tests {
    use super::super::routes::ROUTES;
    use super::*;

    fn statuses(method: &str, path: &str) -> Vec<u16> {
        let mut routes = ROUTES.iter();
        let route = routes.find(|route| (route.method, route.path) == (method, path));
        let route = route.unwrap();
        let own = DOCUMENTED_STATUSES
            .iter()
            .filter(|documented_status| documented_status.applies_to(route));
        own.map(|it| it.status).collect()
    }

    #[test]
    fn what_a_route_may_refuse_with_is_described() {
        // Route, some of its statuses, some that it never returns.
        let rows: &[(&str, &str, &[u16], &[u16])] = &[
            ("post", "/v1/runs", &[402, 404, 422, 429], &[409]),
            ("post", "/v1/runs/{id}/steer", &[404, 409, 429], &[402, 422]),
            ("post", "/v1/runs/{id}/approve", &[409, 422, 429], &[402]),
            ("post", "/v1/runs/{id}/answers", &[409, 422, 429], &[402]),
            ("post", "/v1/runs/{id}/finish", &[409, 429], &[413, 422]),
            ("post", "/v1/runs/{id}/rating", &[404, 409], &[422]),
            ("get", "/v1/runs/{id}/share", &[404], &[409]),
            ("post", "/v1/runs/{id}/share", &[409, 415], &[422]),
            ("delete", "/v1/runs/{id}", &[404, 409], &[415]),
            ("post", "/v1/responses/{id}/cancel", &[404], &[409]),
            ("post", "/v1/responses/{id}/steer", &[409, 429], &[422]),
            ("post", "/v1/traces/{id}", &[404, 409], &[402, 422]),
            ("get", "/v1/traces/{id}", &[404], &[409]),
            ("get", "/metrics", &[403], &[404, 409]),
            ("post", "/new", &[400, 422], &[401, 429]),
        ];
        for (method, path, also, never) in rows {
            let all = statuses(method, path);
            let there = |number: &u16| all.contains(number);
            assert!(also.iter().all(there), "{method} {path}: {all:?}");
            assert!(!never.iter().any(there), "{method} {path}: {all:?}");
        }
    }
}
