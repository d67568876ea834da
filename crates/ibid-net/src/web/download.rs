//! Downloads a large file piece by piece. The guard checks every URL, every resolved address and every redirect, as it does
//! for pages.
use std::io;

use futures_util::StreamExt;
use tokio::time::timeout;

use super::fetch::{FetchError, Fetcher, describe_error};
use super::outcome::status_error;
use ibid_core::ReadFailure;
use ibid_core::ports::host_and_port;

/// A piece of a file: its bytes, and the size of the whole file if the server states it.
pub type DownloadPiece<'a> = (&'a [u8], Option<u64>);

impl Fetcher {
    /// Downloads `url`, at most `most` bytes, and passes each piece to `each`. The file is not unpacked.
    ///
    /// # Errors
    /// Why it could not be fetched: a blocked address, an error status, too large, too slow, or an error of `each`.
    pub async fn download(
        &self,
        url: &str,
        most: u64,
        each: &mut (dyn FnMut(DownloadPiece<'_>) -> io::Result<()> + Send),
    ) -> Result<(), FetchError> {
        let too_large = || {
            let why = format!("the file is larger than {most} bytes");
            FetchError::new(ReadFailure::TooLarge, why)
        };
        let mut target = self.guard().check(url)?;
        let mut redirects = 0;
        let answer = loop {
            let answer = self.ask(&target, None, "identity").await?;
            let status = answer.status().as_u16();
            let location = answer.headers().get("location").map(|it| it.as_bytes().to_vec());
            let next = match location.filter(|_| status / 100 == 3) {
                Some(location) => {
                    let location = String::from_utf8_lossy(&location);
                    self.guard().check_redirect(&target, status, &location, redirects)?
                }
                None => None,
            };
            match next {
                Some(next) => {
                    redirects += 1;
                    target = next;
                }
                None if answer.status().is_success() => break answer,
                None => return Err(status_error(status)),
            }
        };
        let whole = answer.content_length();
        if whole.is_some_and(|bytes| bytes > most) {
            return Err(too_large());
        }
        let host = host_and_port(target.url().as_str());
        let mut pieces = answer.bytes_stream();
        let mut received = 0;
        loop {
            match timeout(self.silence(), pieces.next()).await {
                Ok(Some(Ok(piece))) => {
                    self.egress().record_received(&host, piece.len());
                    received += piece.len() as u64;
                    if received > most {
                        return Err(too_large());
                    }
                    each((&piece, whole))
                        .map_err(|why| FetchError::new(ReadFailure::Broken, why.to_string()))?;
                }
                Ok(Some(Err(fault))) => {
                    return Err(FetchError::new(ReadFailure::Broken, describe_error(&fault)));
                }
                Ok(None) => break,
                Err(_) => {
                    let why = "timed out while reading the response";
                    return Err(FetchError::new(ReadFailure::Timeout, why));
                }
            }
        }
        if whole.is_some_and(|bytes| bytes != received) {
            return Err(FetchError::new(ReadFailure::Broken, "the file ended too early"));
        }
        Ok(())
    }
}
