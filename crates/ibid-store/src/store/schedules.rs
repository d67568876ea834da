//! Schedules of reruns: [`Schedules`] on either database.
use async_trait::async_trait;

use super::backend::{Backend, SqlStore};
use super::columns::{enum_word, parse_enum_word, without_null};
use super::statement::{SqlStatement, query};
use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::{EndedRerun, Schedule, Schedules, StartedRerun};
use ibid_core::{Error, ErrorKind, Result};

const COLUMNS: &str =
    "id, owner_user, owner_org, request, interval_secs, next_at, paused, webhook_url, mail_dir,
     reruns, active_run, latest_run, previous_run, last_error, created_at";

/// The rows of the scope, whose user and organisation are `$1` and `$2`. PostgreSQL filters by itself, too.
const IN_SCOPE: &str =
    "(cast($1 as text) is null or (owner_user = $1 and coalesce(owner_org, '') = $2))";

/// The columns of [`COLUMNS`].
type ScheduleRow = (
    String,
    Option<String>,
    Option<String>,
    String,
    i64,
    String,
    i64,
    Option<String>,
    Option<String>,
    i64,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    String,
);

/// The columns of a row of `reruns`.
type RerunRow = (String, i64, String, Option<String>, String, i64, String);

/// A number as the databases store it.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn run_id(text: Option<String>) -> Result<Option<RunId>> {
    text.map(|text| text.parse()).transpose()
}

impl<B: Backend> SqlStore<B> {
    /// A statement whose first two parameters are the scope.
    fn scoped(&self, sql: String) -> SqlStatement {
        let (user, org) = self.scope.parameters();
        query(sql).bind(user).bind(org)
    }

    /// Runs a statement that changes schedules; returns whether it changed one.
    async fn changes_schedule(&self, statement: SqlStatement) -> Result<bool> {
        let changed = self.execute(statement).await.map_err(|cause| self.write_error(&cause))?;
        Ok(changed > 0)
    }

    async fn read_schedules(&self, statement: SqlStatement) -> Result<Vec<Schedule>> {
        let rows: Vec<ScheduleRow> = self.fetch_all(statement).await?;
        rows.into_iter().map(|row| self.schedule_of(row)).collect()
    }

    fn schedule_of(&self, row: ScheduleRow) -> Result<Schedule> {
        let (id, user, org, request, interval_secs, next_at, paused, webhook_url, mail_dir, ..) =
            row;
        let (.., reruns, active_run, latest_run, previous_run, last_error, created_at) = row;
        let request = serde_json::from_str(&request)
            .map_err(self.decode_error(format!("the request of schedule {id}")))?;
        Ok(Schedule {
            owner: user.map(|user| Owner { user, org }),
            request,
            interval_secs: natural(interval_secs),
            next_at,
            paused: paused != 0,
            webhook_url,
            mail_dir,
            reruns: natural(reruns),
            active_run: run_id(active_run)?,
            latest_run: run_id(latest_run)?,
            previous_run: run_id(previous_run)?,
            last_error,
            created_at,
            id,
        })
    }
}

#[async_trait]
impl<B: Backend> Schedules for SqlStore<B> {
    async fn add_schedule(&self, schedule: &Schedule) -> Result<()> {
        if !self.scope.admits(schedule.owner.as_ref()) {
            return Err(Error::new(ErrorKind::NotFound, "the schedule belongs to another owner"));
        }
        let owner = schedule.owner.as_ref();
        let statement = query(
            "insert into schedules (id, owner_user, owner_org, request, interval_secs, next_at, webhook_url, mail_dir,
             created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(&schedule.id)
        .bind(owner.map(|owner| owner.user.clone()))
        .bind(owner.and_then(|owner| owner.org.clone()))
        .bind(schedule.request.to_string())
        .bind(integer(schedule.interval_secs))
        .bind(&schedule.next_at)
        .bind(&schedule.webhook_url)
        .bind(&schedule.mail_dir)
        .bind(&schedule.created_at);
        self.changes_schedule(statement).await.map(drop)
    }

    async fn schedule(&self, id: &str) -> Result<Option<Schedule>> {
        let sql = format!("select {COLUMNS} from schedules where {IN_SCOPE} and id = $3");
        let found = self.read_schedules(self.scoped(sql).bind(id)).await?;
        Ok(found.into_iter().next())
    }

    async fn schedules(&self) -> Result<Vec<Schedule>> {
        let sql = format!(
            "select {COLUMNS} from schedules where {IN_SCOPE} order by created_at desc, id desc"
        );
        self.read_schedules(self.scoped(sql)).await
    }

    async fn remove_schedule(&self, id: &str) -> Result<bool> {
        let sql = format!("delete from schedules where {IN_SCOPE} and id = $3");
        self.changes_schedule(self.scoped(sql).bind(id)).await
    }

    async fn set_schedule_paused(&self, id: &str, paused: bool) -> Result<bool> {
        let sql = format!("update schedules set paused = $4 where {IN_SCOPE} and id = $3");
        self.changes_schedule(self.scoped(sql).bind(id).bind(i64::from(paused))).await
    }

    async fn set_schedule_time(&self, id: &str, next_at: &str) -> Result<bool> {
        let sql = format!("update schedules set next_at = $4 where {IN_SCOPE} and id = $3");
        self.changes_schedule(self.scoped(sql).bind(id).bind(next_at)).await
    }

    async fn pending_schedules(&self, at: &str) -> Result<Vec<Schedule>> {
        let sql = format!(
            "select {COLUMNS} from schedules where {IN_SCOPE}
             and ((paused = 0 and active_run is null and next_at <= $3)
             or (active_run is not null and coalesce(delivery_until, '') <= $3
             and not exists (select 1 from runs where runs.id = active_run and ended_on = '')))
             order by next_at, id"
        );
        self.read_schedules(self.scoped(sql).bind(at)).await
    }

    async fn record_rerun_start(&self, rerun: &StartedRerun) -> Result<bool> {
        let sql = format!(
            "update schedules set reruns = $4, active_run = $5, next_at = $6, delivery_until = null, last_error = null
             where {IN_SCOPE} and id = $3 and reruns = $4 - 1 and active_run is null"
        );
        let statement = self.scoped(sql).bind(&rerun.schedule).bind(integer(rerun.nth));
        let statement = statement.bind(rerun.run.as_str()).bind(&rerun.next_at);
        self.changes_schedule(statement).await
    }

    async fn postpone_rerun(
        &self,
        id: &str,
        reruns: u64,
        next_at: &str,
        reason: &str,
    ) -> Result<bool> {
        let sql = format!(
            "update schedules set next_at = $5, last_error = $6
             where {IN_SCOPE} and id = $3 and reruns = $4 and active_run is null"
        );
        let statement = self.scoped(sql).bind(id).bind(integer(reruns));
        self.changes_schedule(statement.bind(next_at).bind(without_null(reason))).await
    }

    async fn claim_delivery(&self, id: &str, nth: u64, now: &str, until: &str) -> Result<bool> {
        let sql = format!(
            "update schedules set delivery_until = $6 where {IN_SCOPE} and id = $3 and reruns = $4
             and active_run is not null and coalesce(delivery_until, '') <= $5"
        );
        let statement = self.scoped(sql).bind(id).bind(integer(nth)).bind(now).bind(until);
        self.changes_schedule(statement).await
    }

    async fn record_delivery(&self, rerun: &EndedRerun, error: Option<&str>) -> Result<()> {
        // The row first: after a crash between the two, the rerun is delivered again and the row is there already.
        let statement = query(
            "insert into reruns (schedule, nth, run, compared_with, status, has_report, at)
             select id, $2, $3, $4, $5, $6, $7 from schedules where id = $1
             on conflict (schedule, nth) do nothing",
        )
        .bind(&rerun.schedule)
        .bind(integer(rerun.nth))
        .bind(rerun.run.as_str())
        .bind(rerun.compared_with.as_ref().map(RunId::as_str))
        .bind(enum_word(&rerun.status))
        .bind(i64::from(rerun.has_report))
        .bind(&rerun.at);
        self.changes_schedule(statement).await?;
        let latest = if rerun.has_report {
            ", previous_run = latest_run, latest_run = active_run"
        } else {
            ""
        };
        let sql = format!(
            "update schedules set active_run = null, delivery_until = null, last_error = $5 {latest}
             where {IN_SCOPE} and id = $3 and reruns = $4 and active_run is not null"
        );
        let statement = self.scoped(sql).bind(&rerun.schedule).bind(integer(rerun.nth));
        self.changes_schedule(statement.bind(error.map(without_null))).await.map(drop)
    }

    async fn ended_reruns(&self, id: &str, most: u32) -> Result<Vec<EndedRerun>> {
        let sql = format!(
            "select schedule, nth, run, compared_with, status, has_report, at from reruns
             where schedule = (select id from schedules where {IN_SCOPE} and id = $3)
             order by nth desc limit $4"
        );
        let statement = self.scoped(sql).bind(id).bind(i64::from(most));
        let rows: Vec<RerunRow> = self.fetch_all(statement).await?;
        let rerun = |(schedule, nth, run, compared_with, status, has_report, at): RerunRow| {
            let unknown = || Error::new(ErrorKind::Setup, format!("unknown status `{status}`"));
            Ok(EndedRerun {
                schedule,
                nth: natural(nth),
                run: run.parse()?,
                compared_with: run_id(compared_with)?,
                status: parse_enum_word(&status).ok_or_else(unknown)?,
                has_report: has_report != 0,
                at,
            })
        };
        rows.into_iter().map(rerun).collect()
    }
}
