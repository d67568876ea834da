//! What each write does on a connection that is inside a transaction.
//!
//! Other writes may share the transaction. Each write checks before it changes anything: a write that is refused leaves
//! nothing half done, so the others need no savepoint.
use std::collections::BTreeMap;

use super::append::append;
use super::columns::{StepColumns, command_text};
use super::spending::{accept, charge, reserve, settle_reservation, store_charge};
use super::statement::{DbConnection, query};
use super::write::{
    OwnerScope, RunChange, ScopedWrite, StoredPage, WriteError, WriteOp, WriteOutcome, refused,
};
use ibid_core::ErrorKind;
use ibid_core::domain::{RunId, Traffic};
use ibid_core::ports::{JournalCall, JournalCallState};

/// Version of the JSON in `steps`. Raise it when the meaning of an answer's shape changes.
const STEP_SCHEMA: i64 = 1;

/// Applies `request`.
pub(super) async fn apply(
    db: &mut DbConnection<'_>,
    request: &ScopedWrite,
) -> Result<WriteOutcome, WriteError> {
    let scope = &request.scope;
    match &request.write {
        WriteOp::Append(run, events, bodies) => append(db, scope, run, events, bodies).await?,
        WriteOp::Accept(accepted) => return accept(db, scope, accepted).await,
        WriteOp::Reserve(reservation) => return reserve(db, reservation).await,
        WriteOp::SettleReservation(id, usd) => settle_reservation(db, id, *usd).await?,
        WriteOp::Barrier => {}
        WriteOp::Run(run, change) => {
            check_visible(db, scope, run).await?;
            apply_to_run(db, run, change).await?;
        }
    }
    Ok(WriteOutcome::Written)
}

/// Refuses a write to a run that does not exist within `scope`.
async fn check_visible(
    db: &mut DbConnection<'_>,
    scope: &OwnerScope,
    run: &RunId,
) -> Result<(), WriteError> {
    let (user, org) = scope.parameters();
    let found: Option<(i32,)> = query(
        "select 1 from runs where id = $1 and (cast($2 as text) is null
         or (owner_user = $2 and coalesce(owner_org, '') = $3))",
    )
    .bind(run.as_str())
    .bind(user)
    .bind(org)
    .fetch_optional(db)
    .await?;
    match found {
        Some(_) => Ok(()),
        None => refused(ErrorKind::NotFound, format!("there is no run {run}")),
    }
}

/// Applies `change` to a run that exists.
async fn apply_to_run(
    db: &mut DbConnection<'_>,
    run: &RunId,
    change: &RunChange,
) -> Result<(), WriteError> {
    match change {
        RunChange::BeginStep(step) => begin_call(db, run, step).await,
        RunChange::FinishStep(key, state, page) => {
            finish_call(db, run, key, state).await?;
            match page {
                Some(page) => save_page(db, run, page).await,
                None => Ok(()),
            }
        }
        RunChange::SavePage(page) => save_page(db, run, page).await,
        RunChange::Command(command) => {
            query("insert into orders (run, word) values ($1, $2)")
                .bind(run.as_str())
                .bind(command_text(command))
                .execute(db)
                .await?;
            Ok(())
        }
        RunChange::Traffic(traffic) => add_traffic(db, run, traffic).await,
        RunChange::Charge(usd) => charge(db, run, *usd).await,
        RunChange::Remove => remove(db, run).await,
    }
}

async fn begin_call(
    db: &mut DbConnection<'_>,
    run: &RunId,
    step: &JournalCall,
) -> Result<(), WriteError> {
    // An answered call is never sent again, whatever the caller believes.
    let written = query(
        "insert into steps (run, key, door, asked, state, schema_v) values ($1, $2, $3, $4, 'intended', $5)
         on conflict (run, key) do update
         set state = 'intended', kind = null, message = null, sent = steps.sent + 1, schema_v = excluded.schema_v
         where steps.state <> 'answered'",
    )
    .bind(run.as_str())
    .bind(&step.key)
    .bind(&step.provider)
    .bind(step.request.to_string())
    .bind(STEP_SCHEMA)
    .execute(db)
    .await?;
    if written == 0 {
        return refused(
            ErrorKind::Internal,
            format!("call {} of run {run} already has an answer", step.key),
        );
    }
    Ok(())
}

async fn finish_call(
    db: &mut DbConnection<'_>,
    run: &RunId,
    key: &str,
    state: &JournalCallState,
) -> Result<(), WriteError> {
    let columns = StepColumns::from(state);
    let written = query(
        "update steps set state = $3, answer = $4, cost_usd = $5, kind = $6, message = $7
         where run = $1 and key = $2 and state <> 'answered'",
    )
    .bind(run.as_str())
    .bind(key)
    .bind(columns.state)
    .bind(columns.answer)
    .bind(columns.cost_usd)
    .bind(columns.kind)
    .bind(columns.message)
    .execute(db)
    .await?;
    if written == 0 {
        return refused(
            ErrorKind::Internal,
            format!("call {key} of run {run} was not begun, or already has an answer"),
        );
    }
    Ok(())
}

async fn save_page(
    db: &mut DbConnection<'_>,
    run: &RunId,
    page: &StoredPage,
) -> Result<(), WriteError> {
    // What the hash leaves out (warnings, the cut into sentences) follows the latest reading. An object with the same
    // content is kept.
    query(
        "insert into pages (hash, body, url, object, digest) values ($1, $2, $3, $4, $5)
         on conflict (hash) do update set body = excluded.body, url = excluded.url,
         object = excluded.object, digest = excluded.digest
         where pages.digest <> excluded.digest
         or (pages.object = '' and pages.body <> excluded.body)",
    )
    .bind(page.hash.as_str())
    .bind(&page.body)
    .bind(&page.url)
    .bind(&page.object)
    .bind(&page.digest)
    .execute(db)
    .await?;
    query("insert into held (run, page) values ($1, $2) on conflict do nothing")
        .bind(run.as_str())
        .bind(page.hash.as_str())
        .execute(db)
        .await?;
    Ok(())
}

async fn add_traffic(
    db: &mut DbConnection<'_>,
    run: &RunId,
    traffic: &BTreeMap<String, Traffic>,
) -> Result<(), WriteError> {
    let column = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    for (host, traffic) in traffic {
        query(
            "insert into egress (run, host, requests, sent, received) values ($1, $2, $3, $4, $5)
             on conflict (run, host) do update set requests = egress.requests + excluded.requests,
             sent = egress.sent + excluded.sent, received = egress.received + excluded.received",
        )
        .bind(run.as_str())
        .bind(host)
        .bind(column(traffic.requests))
        .bind(column(traffic.sent))
        .bind(column(traffic.received))
        .execute(db)
        .await?;
    }
    Ok(())
}

async fn remove(db: &mut DbConnection<'_>, run: &RunId) -> Result<(), WriteError> {
    // A page is kept while a run of any owner holds it.
    db.show_all_rows().await?;
    store_charge(db, run).await?;
    let pages: Vec<(String,)> =
        query("select page from held where run = $1").bind(run.as_str()).fetch_all(db).await?;
    query("delete from tool_traces where id = $1").bind(run.uuid()).execute(db).await?;
    // Events, calls, commands and holdings are deleted with the run.
    query("delete from runs where id = $1").bind(run.as_str()).execute(db).await?;
    for (page,) in pages {
        query(
            "delete from pages where hash = $1
             and not exists (select 1 from held where held.page = $1)",
        )
        .bind(page)
        .execute(db)
        .await?;
    }
    Ok(())
}
