//! Telling somebody elsewhere that a run has ended, in the form of Standard Webhooks
//! (<https://www.standardwebhooks.com>): signed, tried again, and only sent to where the guard lets it.
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use super::App;
use super::web::deliverer;
use crate::error::{Error, Kind, Result};

/// How long to wait before each further try.
const RESTS: [Duration; 5] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
    Duration::from_secs(3600),
];

impl App {
    /// Whether anybody can be told of an end: a key is set to sign with.
    pub fn delivers(&self) -> bool {
        let settings = self.settings();
        let variable = &settings.serve.webhook_secret_env;
        settings.variables.get(variable).is_some()
    }

    /// Whether a webhook may be sent to `url`, as far as that can be said without asking. What the operator has opened with
    /// `allow_net` is open to webhooks only `by_operator`: a user's would reach any port inside.
    ///
    /// # Errors
    /// `Usage` for an address that is none or is not of the open web, and where no key is set to sign with.
    pub fn may_deliver(&self, url: &str, by_operator: bool) -> Result<()> {
        let settings = self.settings();
        let wrong = |why: String| Error::new(Kind::Usage, format!("webhook_url {why}"));
        if !self.delivers() {
            return Err(wrong("is not offered here".to_owned())
                .hint("the operator has to set a key to sign webhooks with"));
        }
        // Why an address is refused says what there is inside; the operator sees it with `ibid doctor --guard`.
        let fetcher = deliverer(settings, by_operator)?;
        let judged = fetcher.guard().target(url).map(drop);
        judged.map_err(|_| wrong("is no address that may be sent to".to_owned()))
    }

    /// Sends `body` to `url`, signed, under the id `id`, to where [`App::may_deliver`] lets it; tries again up to five times.
    ///
    /// # Errors
    /// `Setup` where no key is set, `Transient` where nobody took it in the end.
    pub async fn deliver(
        &self,
        url: &str,
        id: &str,
        body: &Value,
        by_operator: bool,
    ) -> Result<()> {
        let settings = self.settings();
        let variable = &settings.serve.webhook_secret_env;
        let Some(secret) = settings.variables.get(variable) else {
            return Err(
                Error::new(Kind::Setup, "no key is set to sign webhooks with")
                    .hint(format!("set {variable}")),
            );
        };
        let fetcher = deliverer(settings, by_operator)?;
        let body = body.to_string();
        let mut rests = RESTS.iter();
        loop {
            let at = (self.parts.clock.unix_ms() / 1000).to_string();
            let headers = [
                ("webhook-id", id.to_owned()),
                ("webhook-timestamp", at.clone()),
                ("webhook-signature", signature(secret, id, &at, &body)?),
            ];
            let sent = fetcher.deliver(url, &headers, body.clone()).await;
            if matches!(sent, Ok(200..=299)) {
                return Ok(());
            }
            let Some(rest) = rests.next() else {
                return Err(Error::new(Kind::Transient, "nobody took the webhook"));
            };
            tokio::time::sleep(*rest).await;
        }
    }
}

/// `v1,` and the HMAC of `id.timestamp.body` by the key: base64 after `whsec_`, else the words themselves.
fn signature(secret: &str, id: &str, at: &str, body: &str) -> Result<String> {
    let key = match secret.strip_prefix("whsec_").map(|it| STANDARD.decode(it)) {
        Some(Ok(key)) => key,
        _ => secret.as_bytes().to_vec(),
    };
    let mut mac = Hmac::<Sha256>::new_from_slice(&key)
        .map_err(|it| Error::new(Kind::Setup, "reading the key of webhooks").because(it))?;
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    Ok(format!(
        "v1,{}",
        STANDARD.encode(mac.finalize().into_bytes())
    ))
}

#[cfg(test)]
mod tests {
    use super::signature;

    /// The example of the specification's reference libraries.
    #[test]
    fn a_signature_is_that_of_standard_webhooks() {
        let made = signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            "{\"test\": 2432232314}",
        );
        assert_eq!(
            made.unwrap(),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }
}
