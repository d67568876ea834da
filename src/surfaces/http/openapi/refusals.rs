//! What routes refuse with, and when.
use super::routes::Route;

/// A refusal: its status, when it is answered, and by which routes.
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) when: &'static str,
    by: fn(&Route) -> bool,
}

impl Refusal {
    /// Whether `route` may answer so.
    pub(super) fn is_of(&self, route: &Route) -> bool {
        // A browser is shown a page, and sent to where one signs in.
        let shown = !route.is_page() || [400, 422].contains(&self.status);
        shown && (self.by)(route)
    }
}

const fn refusal(status: u16, when: &'static str, by: fn(&Route) -> bool) -> Refusal {
    Refusal { status, when, by }
}

/// Every refusal, but those of a server that fails.
pub(super) const REFUSALS: &[Refusal] = &[
    refusal(400, "The form of the request is wrong.", |_| true),
    refusal(
        401,
        "There is no token, or one that is not known here.",
        |_| true,
    ),
    refusal(
        402,
        "What the account may spend today is spent or reserved.",
        begins,
    ),
    refusal(
        403,
        "A page of another site sends it, or it is for whoever runs the server.",
        |_| true,
    ),
    refusal(
        404,
        "There is no such thing here, or it is somebody else's.",
        |it| it.path.contains('{') || asks(it),
    ),
    refusal(408, "The body took too long to come.", has_body),
    refusal(
        409,
        "This does not fit to how the run stands: it has ended or has not, does not wait for this word, has no report, or is being written.",
        |it| orders(it) || wants_end(it),
    ),
    refusal(413, "The body is too large.", has_body),
    refusal(415, "The body does not say that it is JSON.", has_body),
    refusal(
        421,
        "The host that the request names is not served here.",
        |_| true,
    ),
    refusal(
        422,
        "The form is right, and what it asks cannot be done here: a name that is not offered, days in the wrong order, nothing to search, words or a plan too long for an order.",
        |it| it.body == Some("Form") || asks(it) || ["approve", "answers"].contains(&last_part(it)),
    ),
    refusal(
        429,
        "Too much at once: runs that wait, orders left for this run, wrong tokens, or requests that are open. Where Retry-After is sent, it says when to come again.",
        |_| true,
    ),
    refusal(
        503,
        "This cannot be done just now, or the server is not set up for it.",
        |_| true,
    ),
];

fn last_part(it: &Route) -> &'static str {
    it.path.rsplit('/').next().unwrap_or_default()
}

fn has_body(it: &Route) -> bool {
    it.body.is_some()
}

/// Whether it begins a run.
fn begins(it: &Route) -> bool {
    let all = ["/v1/runs", "/v1/responses", "/v1/chat/completions"];
    it.method == "post" && all.contains(&it.path)
}

/// Whether it takes a question, which may follow a run and name a model.
fn asks(it: &Route) -> bool {
    begins(it) || it.path == "/v1/plan"
}

/// Whether it leaves an order for a run that has not ended.
fn orders(it: &Route) -> bool {
    let all = ["finish", "cancel", "steer", "approve", "answers"];
    // OpenAI's API answers a cancel that comes too late with the response as it is.
    all.contains(&last_part(it)) && it.path != "/v1/responses/{id}/cancel"
}

/// Whether it wants a run that has ended.
fn wants_end(it: &Route) -> bool {
    let shares = last_part(it) == "share" && it.method != "get";
    it.method == "delete" || shares || last_part(it) == "rating"
}

#[cfg(test)]
mod tests {
    use super::super::routes::ROUTES;
    use super::*;

    fn statuses(method: &str, path: &str) -> Vec<u16> {
        let mut routes = ROUTES.iter();
        let route = routes.find(|it| (it.method, it.path) == (method, path));
        let route = route.unwrap();
        let own = REFUSALS.iter().filter(|it| it.is_of(route));
        own.map(|it| it.status).collect()
    }

    #[test]
    fn what_a_route_may_refuse_with_is_described() {
        // Some of what it answers, and what it never does.
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
            ("get", "/metrics", &[403], &[404, 409]),
            ("post", "/new", &[400, 422], &[401, 429]),
        ];
        for (method, path, also, never) in rows {
            let all = statuses(method, path);
            let there = |it: &u16| all.contains(it);
            assert!(also.iter().all(there), "{method} {path}: {all:?}");
            assert!(!never.iter().any(there), "{method} {path}: {all:?}");
        }
    }
}
