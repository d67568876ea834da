//! Runs, events, calls and pages: [`Store`] on either database.
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use super::backend::{Backend, SqlStore};
use super::columns::{FailureDetails, parse_command, parse_enum_word, parse_message};
use super::statement::query;
use super::write::{OwnerScope, RunChange, WriteOp};
use ibid_core::domain::{Owner, Page, PageHash, RunId, Traffic};
use ibid_core::ports::{JournalCall, JournalCallState, RunCommand, RunRow, Store, StoredAnswer};
use ibid_core::record::Envelope;
use ibid_core::{Error, ErrorKind, Result};

/// The columns of [`STEP_COLUMNS`].
type StepRow =
    (String, String, String, String, Option<String>, f64, Option<String>, Option<String>);

const STEP_COLUMNS: &str = "key, door, asked, state, answer, cost_usd, kind, message";

/// The call in a row of `steps`.
fn step_of(row: StepRow) -> serde_json::Result<JournalCall> {
    let (key, provider, asked, state, answer, cost_usd, kind, message) = row;
    let state = match state.as_str() {
        "answered" => JournalCallState::Answered(StoredAnswer {
            answer: serde_json::from_str(&answer.unwrap_or_default())?,
            cost_usd,
        }),
        "failed" => {
            let details = FailureDetails::from_column(answer.as_deref());
            JournalCallState::Failed {
                kind: parse_enum_word(&kind.unwrap_or_default()).unwrap_or(ErrorKind::Internal),
                message: parse_message(&message.unwrap_or_default()),
                reason: details.reason,
                status: details.status,
                hint: details.hint,
            }
        }
        _ => JournalCallState::Intended,
    };
    Ok(JournalCall { provider, request: serde_json::from_str(&asked)?, key, state })
}

/// The row of a run, from its JSON and the number of its last event.
fn run_row((json, seq): &(String, i64)) -> serde_json::Result<RunRow> {
    let row: RunRow = serde_json::from_str(json)?;
    Ok(RunRow { seq: u64::try_from(*seq).unwrap_or_default(), ..row })
}

fn no_run(run: &RunId) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no run {run}"))
        .with_hint("see `ibid ls` for the ids of your runs")
}

impl<B: Backend> SqlStore<B> {
    /// Whether `run` exists within the scope.
    async fn is_visible(&self, run: &RunId) -> Result<bool> {
        let (user, org) = self.scope.parameters();
        let statement = query(
            "select 1 from runs where id = $1 and (cast($2 as text) is null
             or (owner_user = $2 and coalesce(owner_org, '') = $3))",
        );
        let statement = statement.bind(run.as_str()).bind(user).bind(org);
        let found: Option<(i32,)> = self.fetch_optional(statement).await?;
        Ok(found.is_some())
    }

    /// Whether `run` is outside the scope, so that reads must not return anything of it.
    async fn is_hidden(&self, run: &RunId) -> Result<bool> {
        Ok(self.scope.is_limited() && !self.is_visible(run).await?)
    }

    fn decode_step(&self, row: StepRow) -> Result<JournalCall> {
        let what = format!("call {}", row.0);
        step_of(row).map_err(self.decode_error(what))
    }

    fn decode_hash(&self, hash: String) -> Result<PageHash> {
        let what = format!("the name of page {hash}");
        serde_json::from_value(hash.into()).map_err(self.decode_error(what))
    }
}

#[async_trait]
impl<B: Backend> Store for SqlStore<B> {
    async fn append(&self, run: &RunId, events: &[Envelope]) -> Result<()> {
        self.write(WriteOp::append(run, events)?).await
    }

    async fn events(&self, run: &RunId, after: u64) -> Result<Vec<Envelope>> {
        let bodies: Vec<(String,)> = if self.is_hidden(run).await? {
            Vec::new()
        } else {
            let statement =
                query("select body from events where run = $1 and seq > $2 order by seq")
                    .bind(run.as_str())
                    .bind(i64::try_from(after).unwrap_or(i64::MAX));
            self.fetch_all(statement).await?
        };
        if bodies.is_empty() && !self.is_visible(run).await? {
            return Err(no_run(run));
        }
        let decode = |(body,): &(String,)| {
            serde_json::from_str(body).map_err(self.decode_error(format!("an event of run {run}")))
        };
        bodies.iter().map(decode).collect()
    }

    async fn run_row(&self, run: &RunId) -> Result<RunRow> {
        let row = if self.is_hidden(run).await? {
            None
        } else {
            let statement = query("select \"row\", seq from runs where id = $1").bind(run.as_str());
            self.fetch_optional(statement).await?
        };
        let row = row.ok_or_else(|| no_run(run))?;
        run_row(&row).map_err(self.decode_error(format!("run {run}")))
    }

    async fn runs(&self) -> Result<Vec<RunRow>> {
        self.latest_runs(u32::MAX).await
    }

    async fn latest_runs(&self, most: u32) -> Result<Vec<RunRow>> {
        let (user, org) = self.scope.parameters();
        // Ids begin with the time, so they sort by it.
        let statement = query(
            "select \"row\", seq from runs where cast($1 as text) is null
             or (owner_user = $1 and coalesce(owner_org, '') = $2) order by id desc limit $3",
        );
        let statement = statement.bind(user).bind(org).bind(i64::from(most));
        let rows: Vec<(String, i64)> = self.fetch_all(statement).await?;
        rows.iter().map(|row| run_row(row).map_err(self.decode_error("a run".to_owned()))).collect()
    }

    async fn remove_run(&self, run: &RunId) -> Result<()> {
        self.write(WriteOp::Run(run.clone(), RunChange::Remove)).await
    }

    async fn begin_call(&self, run: &RunId, step: &JournalCall) -> Result<()> {
        let change = RunChange::BeginStep(step.clone());
        self.write(WriteOp::Run(run.clone(), change)).await
    }

    async fn finish_call(&self, run: &RunId, key: &str, state: &JournalCallState) -> Result<()> {
        self.write(WriteOp::finish_call(run, key, state, None)).await
    }

    async fn finish_call_with_page(
        &self,
        run: &RunId,
        key: &str,
        state: &JournalCallState,
        page: &Page,
    ) -> Result<()> {
        let page = self.place_page(page).await?;
        self.write(WriteOp::finish_call(run, key, state, Some(page))).await
    }

    async fn steps(&self, run: &RunId) -> Result<Vec<JournalCall>> {
        if self.is_hidden(run).await? {
            return Ok(Vec::new());
        }
        let statement =
            query(format!("select {STEP_COLUMNS} from steps where run = $1 order by nth"));
        let rows = self.fetch_all(statement.bind(run.as_str())).await?;
        rows.into_iter().map(|row| self.decode_step(row)).collect()
    }

    async fn save_page(&self, run: &RunId, page: &Page) -> Result<()> {
        let change = RunChange::SavePage(self.place_page(page).await?);
        self.write(WriteOp::Run(run.clone(), change)).await
    }

    async fn page(&self, hash: &PageHash) -> Result<Option<Page>> {
        self.load_page(hash).await
    }

    async fn add_traffic(&self, run: &RunId, traffic: &BTreeMap<String, Traffic>) -> Result<()> {
        let change = RunChange::Traffic(traffic.clone());
        self.write(WriteOp::Run(run.clone(), change)).await
    }

    async fn traffic(&self, run: &RunId) -> Result<BTreeMap<String, Traffic>> {
        if self.is_hidden(run).await? {
            return Ok(BTreeMap::new());
        }
        let statement = query("select host, requests, sent, received from egress where run = $1");
        let rows: Vec<(String, i64, i64, i64)> =
            self.fetch_all(statement.bind(run.as_str())).await?;
        let count = |column: i64| u64::try_from(column).unwrap_or(0);
        let by_host = rows.into_iter().map(|(host, requests, sent, received)| {
            let traffic =
                Traffic { requests: count(requests), sent: count(sent), received: count(received) };
            (host, traffic)
        });
        Ok(by_host.collect())
    }

    async fn charge(&self, run: &RunId, usd: Option<f64>) -> Result<()> {
        self.write(WriteOp::Run(run.clone(), RunChange::Charge(usd))).await
    }

    async fn send_command(&self, run: &RunId, command: RunCommand) -> Result<()> {
        let change = RunChange::Command(command);
        self.write(WriteOp::Run(run.clone(), change)).await
    }

    async fn commands(&self, run: &RunId) -> Result<Vec<RunCommand>> {
        if self.is_hidden(run).await? {
            return Ok(Vec::new());
        }
        let statement = query("select word from orders where run = $1 order by nth");
        let words: Vec<(String,)> = self.fetch_all(statement.bind(run.as_str())).await?;
        let commands = words.iter().filter_map(|(word,)| parse_command(word));
        Ok(commands.collect())
    }

    async fn run_pages(&self, run: &RunId) -> Result<Vec<PageHash>> {
        if self.is_hidden(run).await? {
            return Ok(Vec::new());
        }
        let statement = query("select page from held where run = $1 order by page");
        let pages: Vec<(String,)> = self.fetch_all(statement.bind(run.as_str())).await?;
        let hashes = pages.into_iter().map(|(hash,)| self.decode_hash(hash));
        hashes.collect()
    }

    async fn page_urls(&self) -> Result<Vec<(PageHash, String)>> {
        let (user, org) = self.scope.parameters();
        let statement = query(format!(
            "select hash, url from pages where cast($1 as text) is null or exists (
             select 1 from held join runs on runs.id = held.run where held.page = pages.hash
             and owner_user = $1 and coalesce(owner_org, '') = $2) order by {}",
            B::LATEST_PAGE_FIRST
        ));
        let rows: Vec<(String, String)> = self.fetch_all(statement.bind(user).bind(org)).await?;
        rows.into_iter().map(|(hash, url)| Ok((self.decode_hash(hash)?, url))).collect()
    }

    async fn drop_event_months(&self, before: &str) -> Result<u64> {
        if self.scope.is_limited() {
            // A month has the runs of all owners.
            return Ok(0);
        }
        self.backend.drop_event_months(before).await
    }

    async fn sweep_pages(&self, before: jiff::Timestamp) -> Result<u64> {
        self.sweep_objects(before).await
    }

    async fn drain(&self) -> Result<()> {
        self.backend.drain().await
    }

    async fn check_integrity(&self) -> Result<()> {
        self.backend.check_integrity().await
    }

    fn location(&self) -> String {
        self.backend.location()
    }

    fn for_owner(&self, owner: &Owner) -> Arc<dyn Store> {
        Arc::new(SqlStore { scope: OwnerScope(Some(owner.clone())), ..self.clone() })
    }

    fn fenced(&self, run: &RunId, epoch: u64) -> Option<Arc<dyn Store>> {
        let backend = self.backend.fenced(run, epoch)?;
        Some(Arc::new(SqlStore { backend, ..self.clone() }))
    }
}
