//! Sessions of browsers: [`BrowserSessions`] on either database.
use async_trait::async_trait;

use super::backend::{Backend, SqlStore};
use super::statement::query;
use ibid_core::Result;
use ibid_core::ports::{BrowserSession, BrowserSessions, SessionLimits};

/// Ends the sessions of a token that were unused for longest, but so many.
const END_SURPLUS: &str = "delete from browser_sessions where hash in (
    select hash from browser_sessions where token = $1 order by used_ms desc, hash limit 1000000 offset $2)";

/// Ends the session of the token with the most that was unused for longest, while there are so many.
const END_ONE: &str =
    "delete from browser_sessions where (select count(*) from browser_sessions) >= $1 and hash = (
    select hash from browser_sessions where token = (
        select token from browser_sessions group by token order by count(*) desc, token limit 1)
    order by used_ms, hash limit 1)";

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[async_trait]
impl<B: Backend> BrowserSessions for SqlStore<B> {
    async fn begin_session(&self, session: &BrowserSession, limits: SessionLimits) -> Result<()> {
        let BrowserSession { hash, token, begun_ms, used_ms } = session;
        let (oldest, unused) =
            (begun_ms - limits.age_ms.min(*begun_ms), used_ms - limits.idle_ms.min(*used_ms));
        let expired = query("delete from browser_sessions where begun_ms <= $1 or used_ms <= $2");
        self.change(expired.bind(number(oldest)).bind(number(unused))).await?;
        let own = i64::from(limits.each.saturating_sub(1));
        self.change(query(END_SURPLUS).bind(token).bind(own)).await?;
        self.change(query(END_ONE).bind(i64::from(limits.all))).await?;
        let begin = query(
            "insert into browser_sessions (hash, token, begun_ms, used_ms) values ($1, $2, $3, $4)",
        );
        let begin = begin.bind(hash).bind(token).bind(number(*begun_ms)).bind(number(*used_ms));
        self.change(begin).await.map(drop)
    }

    async fn session(&self, hash: &str) -> Result<Option<BrowserSession>> {
        let statement =
            query("select hash, token, begun_ms, used_ms from browser_sessions where hash = $1");
        let row: Option<(String, String, i64, i64)> =
            self.fetch_optional(statement.bind(hash)).await?;
        let ms = |value: i64| u64::try_from(value).unwrap_or(0);
        Ok(row.map(|(hash, token, begun, used)| BrowserSession {
            hash,
            token,
            begun_ms: ms(begun),
            used_ms: ms(used),
        }))
    }

    async fn touch_session(&self, hash: &str, used_ms: u64) -> Result<()> {
        let touch =
            query("update browser_sessions set used_ms = $2 where hash = $1 and used_ms < $2");
        self.change(touch.bind(hash).bind(number(used_ms))).await.map(drop)
    }

    async fn end_session(&self, hash: &str) -> Result<()> {
        let end = query("delete from browser_sessions where hash = $1");
        self.change(end.bind(hash)).await.map(drop)
    }
}
