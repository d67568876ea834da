//! What a run left in the store, read by SQL and JSON alone: none of the program's own reading is trusted.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use sqlx::{Connection, Row};

use super::disk;
use crate::Fault;

/// A call in the journal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) key: String,
    pub(super) door: String,
    pub(super) asked: Value,
    pub(super) state: String,
    pub(super) answer: Option<Value>,
    pub(super) sent: i64,
}

/// Everything about the one run of a store.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Left {
    pub(super) events: Vec<(i64, Value)>,
    pub(super) steps: Vec<Step>,
    pub(super) pages: BTreeMap<String, Value>,
    /// The hashes of the pages that the run holds.
    pub(super) held: BTreeSet<String>,
    /// The row of `ibid ls`.
    pub(super) row: Value,
}

impl Left {
    /// Reads the store in `data`; `None` if it has no run.
    pub(super) async fn read(data: &Path) -> Result<Option<Left>, Fault> {
        let mut store = disk::connect(data).await?;
        let sound: Vec<String> =
            sqlx::query_scalar("pragma integrity_check").fetch_all(&mut store).await?;
        if sound != ["ok"] {
            return Err(format!("the store is damaged: {}", sound.join("; ")).into());
        }
        let tables = "select count(*) from sqlite_master where name = 'runs'";
        if sqlx::query_scalar::<_, i64>(tables).fetch_one(&mut store).await? == 0 {
            return Ok(None);
        }
        let Some(row) = sqlx::query_scalar::<_, String>("select row from runs")
            .fetch_optional(&mut store)
            .await?
        else {
            return Ok(None);
        };
        let mut left = Left { row: serde_json::from_str(&row)?, ..Left::default() };
        for row in
            sqlx::query("select seq, body from events order by seq").fetch_all(&mut store).await?
        {
            left.events.push((row.get(0), serde_json::from_str(row.get(1))?));
        }
        let steps = "select key, door, asked, state, answer, sent from steps order by nth";
        for row in sqlx::query(steps).fetch_all(&mut store).await? {
            left.steps.push(Step {
                key: row.get(0),
                door: row.get(1),
                asked: serde_json::from_str(row.get(2))?,
                state: row.get(3),
                answer: match row.get::<Option<&str>, _>(4) {
                    Some(text) => Some(serde_json::from_str(text)?),
                    None => None,
                },
                sent: row.get(5),
            });
        }
        for row in sqlx::query("select hash, body from pages").fetch_all(&mut store).await? {
            left.pages.insert(row.get(0), serde_json::from_str(row.get(1))?);
        }
        let held = sqlx::query_scalar("select page from held").fetch_all(&mut store).await?;
        left.held = held.into_iter().collect();
        store.close().await?;
        Ok(Some(left))
    }

    /// The data of the last event of this type.
    pub(super) fn last(&self, name: &str) -> Option<&Value> {
        let found = self.events.iter().rev().find(|it| it.1["type"] == name);
        found.map(|it| &it.1["data"])
    }

    /// The calls that are answered, with how often each was sent.
    pub(super) fn answered(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.state == "answered")
    }
}
