//! Keys taken out of what servers say: some quote the key that they do not like, others the whole request.
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;

/// What stands where a key stood.
const VEIL: &[u8] = b"[key]";
/// Shorter ones could be ordinary words.
const SHORTEST: usize = 6;

/// The secrets that one server knows of us.
#[derive(Clone, Default)]
pub(super) struct Veil(Vec<Vec<u8>>);

impl Veil {
    /// Hides `secret` too.
    pub(super) fn hide(&mut self, secret: &str) {
        if secret.len() >= SHORTEST {
            self.0.push(secret.as_bytes().to_vec());
        }
    }

    /// Hides the password that an address holds, as it stands there and as it is sent.
    pub(super) fn hide_password(&mut self, url: &str) {
        let Ok(url) = url::Url::parse(url) else {
            return;
        };
        if let Some(password) = url.password() {
            let plain = percent_encoding::percent_decode_str(password).decode_utf8_lossy();
            self.hide(password);
            self.hide(&plain);
            let name = percent_encoding::percent_decode_str(url.username()).decode_utf8_lossy();
            self.hide(&STANDARD.encode(format!("{name}:{plain}")));
        }
    }

    /// `said` without them.
    pub(super) fn over(&self, mut said: Vec<u8>) -> Vec<u8> {
        for secret in &self.0 {
            let finder = memmem::Finder::new(secret);
            if finder.find(&said).is_none() {
                continue;
            }
            let mut out = Vec::with_capacity(said.len());
            let mut from = 0;
            for at in finder.find_iter(&said) {
                out.extend_from_slice(&said[from..at]);
                out.extend_from_slice(VEIL);
                from = at + secret.len();
            }
            out.extend_from_slice(&said[from..]);
            said = out;
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::Veil;

    #[test]
    fn keys_and_passwords_are_taken_out_however_they_are_said() {
        let mut veil = Veil::default();
        veil.hide("sk-12345");
        veil.hide("abc");
        veil.hide_password("http://me:p%40ssword@h/");
        let over = |it: &str| String::from_utf8(veil.over(it.into())).unwrap();
        assert_eq!(over("sk-12345sk-12345 is bad"), "[key][key] is bad");
        assert_eq!(
            over("p@ssword p%40ssword bWU6cEBzc3dvcmQ="),
            "[key] [key] [key]"
        );
        assert_eq!(over("abc"), "abc");
    }
}
