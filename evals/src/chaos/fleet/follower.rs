//! A follower of a run, who goes on at another server when his own breaks.
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt as _;

/// An event as it came: its number, and when, Unix seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) seq: u64,
    pub(super) at: f64,
    /// When the connection was made on which it came, Unix seconds.
    pub(super) connected_at: f64,
}

/// What a follower saw of a run.
#[derive(Debug, Default)]
pub(super) struct Followed {
    pub(super) arrivals: Vec<Arrival>,
    /// How often he had to connect again.
    pub(super) reconnects: usize,
    pub(super) ended: bool,
}

impl Followed {
    /// What is wrong with the numbers: each comes once, in order, from 1.
    pub(super) fn breach(&self) -> Option<String> {
        let in_order = self.arrivals.iter().zip(1..).all(|(arrival, seq)| arrival.seq == seq);
        match (in_order, self.ended) {
            (false, _) => Some("a follower missed an event, or saw one twice".to_owned()),
            (_, false) => Some("a follower did not see the end".to_owned()),
            _ => None,
        }
    }
}

/// Follows `run` at the servers `urls` in turn, from the `first`, until it ends. `client` has no timeout for a whole answer.
pub(super) async fn follow(
    client: reqwest::Client,
    urls: Vec<String>,
    first: usize,
    run: String,
) -> Followed {
    let mut followed = Followed::default();
    for url in urls.iter().cycle().skip(first) {
        let last = followed.arrivals.last().map_or(0, |arrival| arrival.seq);
        let request = client
            .get(format!("{url}/v1/runs/{run}/events"))
            .header("accept", "text/event-stream")
            .header("last-event-id", last.to_string());
        if let Ok(response) = request.send().await
            && response.status().is_success()
        {
            read_stream(response, &mut followed).await;
        }
        if followed.ended {
            break;
        }
        followed.reconnects += 1;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    followed
}

async fn read_stream(response: reqwest::Response, followed: &mut Followed) {
    let mut body = response.bytes_stream();
    let mut text = Vec::new();
    let connected_at = unix_seconds();
    while let Some(Ok(bytes)) = body.next().await {
        let at = unix_seconds();
        text.extend_from_slice(&bytes);
        while let Some(end) = text.windows(2).position(|window| window == b"\n\n") {
            let message: Vec<u8> = text.drain(..end + 2).collect();
            let message = String::from_utf8_lossy(&message);
            let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
            if let Some(seq) = field("id:").and_then(|id| id.trim().parse().ok()) {
                followed.arrivals.push(Arrival { seq, at, connected_at });
            }
            let ends = ["run.completed", "run.failed", "run.cancelled"];
            followed.ended |= field("event:").is_some_and(|name| ends.contains(&name.trim()));
        }
        if followed.ended {
            return;
        }
    }
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_missed_or_seen_twice_is_told() {
        let followed = |seqs: &[u64], ended| {
            let arrival = |seq: &u64| Arrival { seq: *seq, at: 0.0, connected_at: 0.0 };
            Followed { arrivals: seqs.iter().map(arrival).collect(), reconnects: 0, ended }
        };
        assert_eq!(followed(&[1, 2, 3], true).breach(), None);
        for wrong in [&[1, 3][..], &[1, 2, 2], &[2, 3], &[1, 3, 2]] {
            assert!(followed(wrong, true).breach().is_some(), "{wrong:?}");
        }
        assert!(followed(&[1, 2], false).breach().is_some());
    }
}
