//! What the runs of a fleet left in PostgreSQL and in the object store, read by SQL and JSON alone.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sqlx::{Connection as _, PgConnection, Row as _};

use super::super::left::{Left, Step};
use crate::Fault;

/// Everything about the run `id`. `objects` are the pages that are not in the database, by their keys.
pub(super) async fn read(
    connection: &mut PgConnection,
    id: &str,
    objects: &BTreeMap<String, Value>,
) -> Result<Left, Fault> {
    let row: String = sqlx::query_scalar("select \"row\" from runs where id = $1")
        .bind(id)
        .fetch_one(&mut *connection)
        .await?;
    let mut left = Left { row: serde_json::from_str(&row)?, ..Left::default() };
    for row in sqlx::query("select seq, body from events where run = $1 order by seq")
        .bind(id)
        .fetch_all(&mut *connection)
        .await?
    {
        left.events.push((row.get(0), serde_json::from_str(row.get(1))?));
    }
    let steps =
        "select key, door, asked, state, answer, sent from steps where run = $1 order by nth";
    for row in sqlx::query(steps).bind(id).fetch_all(&mut *connection).await? {
        let answer: Option<&str> = row.get(4);
        left.steps.push(Step {
            key: row.get(0),
            door: row.get(1),
            asked: serde_json::from_str(row.get(2))?,
            state: row.get(3),
            answer: answer.map(serde_json::from_str).transpose()?,
            sent: row.get(5),
        });
    }
    let pages = "select hash, body, object from pages join held on page = hash where run = $1";
    for row in sqlx::query(pages).bind(id).fetch_all(&mut *connection).await? {
        let (hash, body, object): (String, &str, &str) = (row.get(0), row.get(1), row.get(2));
        let page = match objects.get(object) {
            Some(page) => page.clone(),
            None => serde_json::from_str(body)?,
        };
        left.held.insert(hash.clone());
        left.pages.insert(hash, page);
    }
    Ok(left)
}

/// The keys of all pages in the object store.
pub(super) async fn object_keys(connection: &mut PgConnection) -> Result<Vec<String>, Fault> {
    let keys = "select object from pages where object <> ''";
    Ok(sqlx::query_scalar(keys).fetch_all(connection).await?)
}

/// The calls to models that are answered now: run and key.
pub(super) async fn answered_calls(url: &str) -> Result<BTreeSet<(String, String)>, Fault> {
    let mut connection = PgConnection::connect(url).await?;
    let answered = "select run, key from steps where state = 'answered' and door like 'model:%'";
    let rows = sqlx::query(answered).fetch_all(&mut connection).await?;
    connection.close().await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// When each event was committed, Unix seconds, by run and number.
pub(super) async fn commit_times(
    connection: &mut PgConnection,
) -> Result<BTreeMap<(String, u64), f64>, Fault> {
    let times = "select run, seq, extract(epoch from pg_xact_commit_timestamp(xmin))::float8 from events";
    let rows = sqlx::query(times).fetch_all(connection).await?;
    let time = |row: &sqlx::postgres::PgRow| {
        let seq: i64 = row.get(1);
        ((row.get(0), seq.unsigned_abs()), row.get(2))
    };
    Ok(rows.iter().map(time).collect())
}
