//! Users, organisations, tokens, spending and the audit log: [`Accounts`] on either database.
use async_trait::async_trait;
use sqlx::error as sqlx_error;

use super::backend::{Backend, SqlStore};
use super::columns::without_null;
use super::spending::{
    INSERT_AUDIT, REQUEST_BY_KEY, SPENDING_QUERY, repeated_outcome, spending_of,
};
use super::statement::{SqlStatement, query};
use super::write::{AcceptRun, WriteOp, WriteOutcome};
use ibid_core::domain::{Owner, RunId};
use ibid_core::ports::{
    AcceptOutcome, AcceptRequest, Account, Accounts, ApiToken, AuditEntry, IdempotencyKey,
    IdempotencyStatus, KeyClaim, Org, Spending, ToolReservation, User, WaitingRuns,
};
use ibid_core::record::{Envelope, RUN_TOOLS};
use ibid_core::{Error, ErrorKind, Result};

/// The columns of [`USER_COLUMNS`].
type UserRow = (String, String, Option<String>, i64, i64, Option<f64>, Option<i64>);

const USER_COLUMNS: &str = "users.id, users.name, users.org, users.admin, users.disabled, users.daily_usd, users.concurrency";

fn user_of((id, name, org, admin, disabled, daily_usd, concurrency): UserRow) -> User {
    User {
        id,
        name,
        org,
        admin: admin != 0,
        disabled: disabled != 0,
        daily_usd,
        concurrency: concurrency.and_then(|count| u32::try_from(count).ok()),
    }
}

/// A row of `orgs`: id, name and daily limit.
type OrgRow = (String, String, Option<f64>, f64);

const ORG_COLUMNS: &str = "id, name, daily_usd, weight";

fn org_of((id, name, daily_usd, weight): OrgRow) -> Org {
    Org { id, name, daily_usd, weight }
}

/// Reports that a statement changed nothing because `what` does not exist.
fn check_changed(changed: u64, what: &str) -> Result<()> {
    if changed > 0 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::NotFound, format!("there is no {what}"))
        .with_hint("see `ibid admin user ls` and `ibid admin org ls`"))
}

/// The error for a writer that returns the outcome of another kind of write.
fn unexpected_outcome(doing: &str) -> Error {
    Error::new(ErrorKind::Internal, doing)
}

impl<B: Backend> SqlStore<B> {
    /// Runs a statement that changes rows and returns their number.
    pub(super) async fn change(&self, statement: SqlStatement) -> Result<u64> {
        let changed = self.execute(statement).await;
        changed.map_err(|cause| self.write_error(&cause))
    }

    /// Runs a statement that adds the row of `what`.
    ///
    /// # Errors
    /// `Usage` when it exists, `NotFound` when it refers to a row that does not.
    async fn insert(&self, what: String, statement: SqlStatement) -> Result<()> {
        let Err(cause) = self.execute(statement).await else {
            return Ok(());
        };
        Err(match cause.as_database_error().map(|error| error.kind()) {
            Some(sqlx_error::ErrorKind::UniqueViolation) => {
                Error::new(ErrorKind::Usage, format!("{what} already exists"))
                    .with_hint("choose another id")
            }
            Some(sqlx_error::ErrorKind::ForeignKeyViolation) => Error::new(
                ErrorKind::NotFound,
                format!("{what} refers to a user or organisation that does not exist"),
            )
            .with_hint("add that user or organisation first"),
            _ => self.write_error(&cause),
        })
    }
}

#[async_trait]
impl<B: Backend> Accounts for SqlStore<B> {
    async fn add_org(&self, org: &Org) -> Result<()> {
        let statement = query(format!("insert into orgs ({ORG_COLUMNS}) values ($1, $2, $3, $4)"))
            .bind(&org.id)
            .bind(&org.name)
            .bind(org.daily_usd)
            .bind(org.weight);
        self.insert(format!("organisation {}", org.id), statement).await
    }

    async fn orgs(&self) -> Result<Vec<Org>> {
        let statement = query(format!("select {ORG_COLUMNS} from orgs order by id"));
        let rows: Vec<OrgRow> = self.fetch_all(statement).await?;
        Ok(rows.into_iter().map(org_of).collect())
    }

    async fn set_weight(&self, org: &str, weight: f64) -> Result<()> {
        let statement = query("update orgs set weight = $2 where id = $1").bind(org).bind(weight);
        check_changed(self.change(statement).await?, &format!("organisation {org}"))
    }

    async fn add_user(&self, user: &User) -> Result<()> {
        let statement = query(
            "insert into users (id, name, org, admin, disabled, daily_usd, concurrency)
             values ($1, $2, $3, $4, $5, $6, $7)",
        );
        let statement = statement
            .bind(&user.id)
            .bind(&user.name)
            .bind(&user.org)
            .bind(i64::from(user.admin))
            .bind(i64::from(user.disabled))
            .bind(user.daily_usd)
            .bind(user.concurrency.map(i64::from));
        self.insert(format!("user {}", user.id), statement).await
    }

    async fn users(&self) -> Result<Vec<User>> {
        let statement = query(format!("select {USER_COLUMNS} from users order by id"));
        let rows: Vec<UserRow> = self.fetch_all(statement).await?;
        Ok(rows.into_iter().map(user_of).collect())
    }

    async fn user(&self, id: &str) -> Result<Option<User>> {
        let statement = query(format!("select {USER_COLUMNS} from users where id = $1")).bind(id);
        Ok(self.fetch_optional(statement).await?.map(user_of))
    }

    async fn has_runs(&self, user: &str) -> Result<bool> {
        let statement =
            query("select cast(1 as bigint) from runs where owner_user = $1 limit 1").bind(user);
        let found: Option<(i64,)> = self.fetch_optional(statement).await?;
        Ok(found.is_some())
    }

    async fn set_disabled(&self, user: &str, disabled: bool) -> Result<()> {
        let statement = query("update users set disabled = $2 where id = $1")
            .bind(user)
            .bind(i64::from(disabled));
        check_changed(self.change(statement).await?, &format!("user {user}"))
    }

    async fn remove_user(&self, user: &str) -> Result<()> {
        let statement = query("delete from users where id = $1").bind(user);
        check_changed(self.change(statement).await?, &format!("user {user}"))?;
        // A later user with this id must not read them. The traces of runs go with the runs.
        let [one, other] = RUN_TOOLS;
        let statement =
            query("delete from tool_traces where user_id = $1 and tool_name not in ($2, $3)");
        self.change(statement.bind(user).bind(one).bind(other)).await?;
        let statement = query("delete from schedules where owner_user = $1").bind(user);
        self.change(statement).await.map(drop)
    }

    async fn add_token(&self, token: &ApiToken) -> Result<()> {
        let statement =
            query("insert into tokens (hash, prefix, user_id, made_at) values ($1, $2, $3, $4)")
                .bind(&token.hash)
                .bind(&token.prefix)
                .bind(&token.user)
                .bind(&token.made_at);
        self.insert(format!("token {}", token.prefix), statement).await
    }

    async fn tokens(&self) -> Result<Vec<ApiToken>> {
        let statement = query(
            "select hash, prefix, user_id, made_at from tokens order by user_id, made_at, hash",
        );
        let rows: Vec<(String, String, String, String)> = self.fetch_all(statement).await?;
        let token = |(hash, prefix, user, made_at)| ApiToken { hash, prefix, user, made_at };
        Ok(rows.into_iter().map(token).collect())
    }

    async fn revoke_tokens(&self, user: &str, prefix: &str) -> Result<()> {
        let statement =
            query("delete from tokens where user_id = $1 and prefix = $2").bind(user).bind(prefix);
        let what = format!("token {prefix} of user {user}");
        check_changed(self.change(statement).await?, &what)
    }

    async fn account_by_token(&self, hash: &str) -> Result<Option<Account>> {
        let statement = query(format!(
            "select {USER_COLUMNS} from tokens join users on users.id = tokens.user_id
             where tokens.hash = $1 and users.disabled = 0"
        ));
        let row = self.fetch_optional(statement.bind(hash)).await?;
        let Some(user) = row.map(user_of) else {
            return Ok(None);
        };
        let Some(id) = &user.org else {
            return Ok(Some(Account { user, org: None }));
        };
        let statement = query(format!("select {ORG_COLUMNS} from orgs where id = $1")).bind(id);
        let org = self.fetch_optional(statement).await?.map(org_of);
        Ok(Some(Account { user, org }))
    }

    async fn waiting_runs(&self, user: Option<&str>) -> Result<WaitingRuns> {
        let statement = query(
            "select count(*), coalesce(sum(case when coalesce(owner_user, '') = $1 then 1 else 0 end), 0)
             from runs where ended_on = '' and served = 1 and status = 'pending'",
        );
        let (all, own): (i64, i64) = self.fetch_one(statement.bind(user.unwrap_or(""))).await?;
        let count = |number: i64| usize::try_from(number).unwrap_or(0);
        Ok(WaitingRuns { all: count(all), own: count(own) })
    }

    async fn waiting_runs_by_org(&self) -> Result<Vec<(Option<String>, usize)>> {
        let statement = query(
            "select owner_org, count(*) from runs where ended_on = '' and served = 1 and status = 'pending'
             group by owner_org order by count(*) desc, owner_org",
        );
        let counts: Vec<(Option<String>, i64)> = self.fetch_all(statement).await?;
        let count = |(org, number)| (org, usize::try_from(number).unwrap_or(0));
        Ok(counts.into_iter().map(count).collect())
    }

    async fn spending(&self, owner: &Owner, day: &str, alive_since: &str) -> Result<Spending> {
        let statement =
            query(SPENDING_QUERY).bind(&owner.user).bind(&owner.org).bind(day).bind(alive_since);
        Ok(spending_of(self.fetch_one(statement).await?))
    }

    async fn accept(
        &self,
        run: &RunId,
        events: &[Envelope],
        on: &AcceptRequest,
    ) -> Result<AcceptOutcome> {
        let accepted = AcceptRun { run: run.clone(), events: events.to_vec(), on: on.clone() };
        match self.submit(WriteOp::Accept(Box::new(accepted))).await? {
            WriteOutcome::Accepted(outcome) => Ok(outcome),
            WriteOutcome::Written | WriteOutcome::Granted(_) => {
                Err(unexpected_outcome("accepting a run"))
            }
        }
    }

    async fn find_request(&self, key: &IdempotencyKey) -> Result<Option<AcceptOutcome>> {
        let statement = query(REQUEST_BY_KEY).bind(&key.user).bind(&key.key).bind(&key.since);
        let earlier: Option<(String, String)> = self.fetch_optional(statement).await?;
        Ok(earlier.and_then(|earlier| repeated_outcome(key, &earlier)))
    }

    async fn reserve_for_tool(&self, reservation: &ToolReservation) -> Result<Option<f64>> {
        let write = WriteOp::Reserve(Box::new(reservation.clone()));
        match self.submit(write).await? {
            WriteOutcome::Granted(usd) => Ok(usd),
            WriteOutcome::Written | WriteOutcome::Accepted(_) => {
                Err(unexpected_outcome("reserving money for a tool"))
            }
        }
    }

    fn settle_reservation(&self, id: &str, usd: f64) {
        let write = WriteOp::SettleReservation(id.to_owned(), usd);
        self.backend.submit_later(&self.scope, write);
    }

    async fn append_audit(&self, line: &AuditEntry) -> Result<()> {
        // It may contain words of strangers.
        let statement = query(INSERT_AUDIT)
            .bind(&line.at)
            .bind(without_null(&line.who))
            .bind(without_null(&line.what))
            .bind(without_null(&line.on))
            .bind(without_null(&line.outcome));
        self.change(statement).await.map(drop)
    }

    async fn audit_log(&self, most: u32) -> Result<Vec<AuditEntry>> {
        let statement =
            query("select at, who, what, on_what, outcome from audit order by nth desc limit $1")
                .bind(i64::from(most));
        let rows: Vec<(String, String, String, String, String)> = self.fetch_all(statement).await?;
        let line = |(at, who, what, on, outcome)| AuditEntry { at, who, what, on, outcome };
        Ok(rows.into_iter().map(line).collect())
    }

    async fn claim_key(&self, claim: &KeyClaim) -> Result<IdempotencyStatus> {
        let KeyClaim { user, key, hash, run, at } = claim;
        // Of two requests with one key that arrive together, the database accepts one.
        let statement = query(
            "insert into request_keys (user_id, key, hash, run, at) values ($1, $2, $3, $4, $5)
             on conflict (user_id, key) do nothing",
        );
        let statement = statement.bind(user).bind(key).bind(hash).bind(run.as_str()).bind(at);
        self.change(statement).await?;
        let statement = query("select hash, run from request_keys where user_id = $1 and key = $2")
            .bind(user)
            .bind(key);
        let (first_hash, first_run): (String, String) = self.fetch_one(statement).await?;
        if first_run == run.as_str() {
            return Ok(IdempotencyStatus::New);
        }
        if first_hash != *hash {
            return Ok(IdempotencyStatus::Other);
        }
        Ok(IdempotencyStatus::Same(first_run.parse()?))
    }

    async fn prune_keys(&self, at: &str) -> Result<u64> {
        self.change(query("delete from request_keys where at < $1").bind(at)).await
    }

    async fn runs_ended_before(&self, at: &str) -> Result<Vec<RunId>> {
        let statement = query(
            "select id from runs where updated_at < $1 and status not in ('pending', 'in_progress') order by id",
        );
        let ids: Vec<(String,)> = self.fetch_all(statement.bind(at)).await?;
        ids.iter().map(|(id,)| id.parse()).collect()
    }
}
