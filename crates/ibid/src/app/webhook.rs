//! Webhooks at the end of a run, as Standard Webhooks (<https://www.standardwebhooks.com>): signed, retried, and sent only where the
//! SSRF guard allows.
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use super::App;
use super::web::webhook_fetcher;
use ibid_core::retry::RetryPolicy;
use ibid_core::{Error, ErrorKind, Result};

/// Delays of 5 s, 25 s, 2 min, 10 min and 52 min.
const WEBHOOK_RETRY: RetryPolicy = RetryPolicy {
    tries: 6,
    first: Duration::from_secs(5),
    factor: 5,
    longest: Duration::from_secs(3600),
    deadline: Duration::MAX,
};

impl App {
    /// Whether webhooks can be sent: a signing key is set.
    pub fn has_webhooks(&self) -> bool {
        let settings = self.settings();
        let variable = &settings.serve.webhook_secret_env;
        settings.variables.get(variable).is_some()
    }

    /// Checks, without a request, that a webhook may be sent to `url`. `allow_net` applies to webhooks `by_operator` only: a user's webhook
    /// could else reach any port of the internal network.
    ///
    /// # Errors
    /// `Usage` for an invalid or non-public address, and when no signing key is set.
    pub fn check_webhook_url(&self, url: &str, by_operator: bool) -> Result<()> {
        let settings = self.settings();
        let refused = |why: &str| Error::new(ErrorKind::Usage, format!("webhook_url {why}"));
        if !self.has_webhooks() {
            return Err(refused("is not supported by this server")
                .with_hint("the operator must set a signing key"));
        }
        // The reason would reveal the internal network. The operator sees it with `ibid doctor --guard`.
        let fetcher = webhook_fetcher(settings, by_operator)?;
        let checked = fetcher.guard().check(url).map(drop);
        checked.map_err(|_| refused("is not an address that webhooks may be sent to"))
    }

    /// Sends `body` to `url`, signed, with the message id `id`, where [`App::check_webhook_url`] allows it. Retries up to five times.
    ///
    /// # Errors
    /// `Setup` when no signing key is set, `Transient` when no try succeeded.
    pub async fn deliver_webhook(
        &self,
        url: &str,
        id: &str,
        body: &Value,
        by_operator: bool,
    ) -> Result<()> {
        let settings = self.settings();
        let variable = &settings.serve.webhook_secret_env;
        let Some(secret) = settings.variables.get(variable) else {
            return Err(Error::new(ErrorKind::Setup, "no key for signing webhooks is set")
                .with_hint(format!("set {variable}")));
        };
        let fetcher = webhook_fetcher(settings, by_operator)?;
        let body = body.to_string();
        let mut backoff = WEBHOOK_RETRY.begin();
        loop {
            let at = (self.components.clock.unix_ms() / 1000).to_string();
            let headers = [
                ("webhook-id", id.to_owned()),
                ("webhook-timestamp", at.clone()),
                ("webhook-signature", signature(secret, id, &at, &body)?),
            ];
            let sent = fetcher.post(url, &headers, body.clone()).await;
            if matches!(sent, Ok(200..=299)) {
                return Ok(());
            }
            if !backoff.wait().await {
                return Err(Error::new(ErrorKind::Transient, "the webhook was not delivered"));
            }
        }
    }
}

/// `v1,` and the HMAC-SHA256 of `id.timestamp.body`. A key with the prefix `whsec_` is base64; any other is used as it is.
fn signature(secret: &str, id: &str, at: &str, body: &str) -> Result<String> {
    let key = match secret.strip_prefix("whsec_").map(|rest| STANDARD.decode(rest)) {
        Some(Ok(key)) => key,
        _ => secret.as_bytes().to_vec(),
    };
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|error| {
        Error::new(ErrorKind::Setup, "reading the webhook key").with_source(error)
    })?;
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    Ok(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
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
        assert_eq!(made.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
