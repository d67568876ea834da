//! Who may ask, kept beside the runs: the statements, written once as a macro for every database.

/// The accounts over a store with `desk` (a session that writes), `session`, `unread` and `unwritten`.
macro_rules! accounts {
    ($store:ty, $row:ty) => {
        impl $store {
            /// Adds a row, which must not be there yet and must not name what is not there.
            fn unadded(&self, what: &str, it: &sqlx::Error) -> Error {
                use sqlx::error::ErrorKind;
                match it.as_database_error().map(|it| it.kind()) {
                    Some(ErrorKind::UniqueViolation) => {
                        Error::new(Kind::Usage, format!("{what} is there already"))
                            .hint("choose another id")
                    }
                    Some(ErrorKind::ForeignKeyViolation) => {
                        Error::new(Kind::NotFound, format!("{what} names what is not there"))
                            .hint("add the user or organisation that it names first")
                    }
                    _ => self.unwritten(it),
                }
            }
        }

        fn user_of(row: &$row) -> sqlx::Result<User> {
            Ok(User {
                id: row.try_get("id")?,
                name: row.try_get("name")?,
                org: row.try_get("org")?,
                admin: row.try_get::<i64, _>("admin")? != 0,
                disabled: row.try_get::<i64, _>("disabled")? != 0,
                daily_usd: row.try_get("daily_usd")?,
                concurrency: row
                    .try_get::<Option<i64>, _>("concurrency")?
                    .and_then(|it| u32::try_from(it).ok()),
            })
        }

        fn org_of(row: &$row) -> sqlx::Result<Org> {
            Ok(Org {
                id: row.try_get("id")?,
                name: row.try_get("name")?,
                daily_usd: row.try_get("daily_usd")?,
            })
        }

        #[async_trait]
        impl Accounts for $store {
            async fn add_org(&self, org: &Org) -> Result<()> {
                let added = desk!(self, db => sqlx::query(
                    "insert into orgs (id, name, daily_usd) values ($1, $2, $3)",
                )
                .bind(&org.id)
                .bind(&org.name)
                .bind(org.daily_usd)
                .execute(db));
                added.map_err(|it| self.unadded(&format!("organisation {}", org.id), &it))?;
                Ok(())
            }

            async fn orgs(&self) -> Result<Vec<Org>> {
                let rows = patiently!(self, db => sqlx::query("select * from orgs order by id").fetch_all(db))?;
                rows.iter()
                    .map(|it| org_of(it).map_err(|it| self.unread(&it)))
                    .collect()
            }

            async fn add_user(&self, user: &User) -> Result<()> {
                let added = desk!(self, db => sqlx::query(
                    "insert into users (id, name, org, admin, disabled, daily_usd, concurrency)
                     values ($1, $2, $3, $4, $5, $6, $7)",
                )
                .bind(&user.id)
                .bind(&user.name)
                .bind(&user.org)
                .bind(i64::from(user.admin))
                .bind(i64::from(user.disabled))
                .bind(user.daily_usd)
                .bind(user.concurrency.map(i64::from))
                .execute(db));
                added.map_err(|it| self.unadded(&format!("user {}", user.id), &it))?;
                Ok(())
            }

            async fn users(&self) -> Result<Vec<User>> {
                let rows = patiently!(self, db => sqlx::query("select * from users order by id").fetch_all(db))?;
                rows.iter()
                    .map(|it| user_of(it).map_err(|it| self.unread(&it)))
                    .collect()
            }

            async fn user(&self, id: &str) -> Result<Option<User>> {
                let row = patiently!(self, db => sqlx::query("select * from users where id = $1")
                    .bind(id)
                    .fetch_optional(db))?;
                let user = row.as_ref().map(user_of).transpose();
                user.map_err(|it| self.unread(&it))
            }

            async fn owns_runs(&self, user: &str) -> Result<bool> {
                let found: Option<i64> = patiently!(self, db => sqlx::query_scalar(
                    "select cast(1 as bigint) from runs where owner_user = $1 limit 1",
                )
                .bind(user)
                .fetch_optional(db))?;
                Ok(found.is_some())
            }

            async fn disable(&self, user: &str, disabled: bool) -> Result<()> {
                let changed = desk!(self, db => sqlx::query("update users set disabled = $2 where id = $1")
                    .bind(user)
                    .bind(i64::from(disabled))
                    .execute(db))
                .map_err(|it| self.unwritten(&it))?;
                there(changed.rows_affected(), &format!("user {user}"))
            }

            async fn remove_user(&self, user: &str) -> Result<()> {
                let changed = desk!(self, db => sqlx::query("delete from users where id = $1")
                    .bind(user)
                    .execute(db))
                .map_err(|it| self.unwritten(&it))?;
                there(changed.rows_affected(), &format!("user {user}"))
            }

            async fn add_token(&self, token: &Token) -> Result<()> {
                let added = desk!(self, db => sqlx::query(
                    "insert into tokens (hash, prefix, user_id, made_at) values ($1, $2, $3, $4)",
                )
                .bind(&token.hash)
                .bind(&token.prefix)
                .bind(&token.user)
                .bind(&token.made_at)
                .execute(db));
                added.map_err(|it| self.unadded(&format!("token {}", token.prefix), &it))?;
                Ok(())
            }

            async fn tokens(&self) -> Result<Vec<Token>> {
                let rows: Vec<(String, String, String, String)> = patiently!(self, db => sqlx::query_as(
                    "select hash, prefix, user_id, made_at from tokens order by user_id, made_at, hash",
                )
                .fetch_all(db))?;
                let token = |(hash, prefix, user, made_at)| Token {
                    hash,
                    prefix,
                    user,
                    made_at,
                };
                Ok(rows.into_iter().map(token).collect())
            }

            async fn revoke(&self, user: &str, prefix: &str) -> Result<()> {
                let changed = desk!(self, db => sqlx::query(
                    "delete from tokens where user_id = $1 and prefix = $2",
                )
                .bind(user)
                .bind(prefix)
                .execute(db))
                .map_err(|it| self.unwritten(&it))?;
                there(changed.rows_affected(), &format!("token {prefix} of user {user}"))
            }

            async fn identify(&self, hash: &str) -> Result<Option<Account>> {
                let found = patiently!(self, db => sqlx::query(
                    "select users.* from tokens join users on users.id = tokens.user_id
                     where tokens.hash = $1 and users.disabled = 0",
                )
                .bind(hash)
                .fetch_optional(db))?;
                let Some(row) = found else { return Ok(None) };
                let user = user_of(&row).map_err(|it| self.unread(&it))?;
                let Some(id) = &user.org else {
                    return Ok(Some(Account { user, org: None }));
                };
                let row = patiently!(self, db => sqlx::query("select * from orgs where id = $1")
                    .bind(id)
                    .fetch_optional(db))?;
                let org = row.as_ref().map(org_of).transpose();
                let org = org.map_err(|it| self.unread(&it))?;
                Ok(Some(Account { user, org }))
            }

            async fn spent(&self, owner: &Owner, day: &str, alive_since: &str) -> Result<Spent> {
                let sums: (f64, f64, i64) = patiently!(self, db => sqlx::query_as(SUMS)
                    .bind(&owner.user)
                    .bind(&owner.org)
                    .bind(day)
                    .bind(alive_since)
                    .fetch_one(db))?;
                Ok(spent_of(sums))
            }

            async fn accept(
                &self,
                run: &RunId,
                events: &[Envelope],
                on: &Acceptance,
            ) -> Result<Accepted> {
                let accept = Accept {
                    run: run.clone(),
                    events: events.to_vec(),
                    on: on.clone(),
                };
                match self.ask(Write::Accept(Box::new(accept))).await? {
                    Done::Accepted(it) => Ok(it),
                    Done::Written | Done::Granted(_) => Err(unanswered("accepting a run")),
                }
            }

            async fn requested(&self, key: &RequestKey) -> Result<Option<Accepted>> {
                let known: Option<(String, String)> = patiently!(self, db => sqlx::query_as(REQUESTED)
                    .bind(&key.user)
                    .bind(&key.key)
                    .bind(&key.since)
                    .fetch_optional(db))?;
                Ok(known.and_then(|it| accepted_before(key, &it)))
            }

            async fn book(&self, booking: &Booking) -> Result<Option<f64>> {
                match self.ask(Write::Book(Box::new(booking.clone()))).await? {
                    Done::Granted(usd) => Ok(usd),
                    Done::Written | Done::Accepted(_) => Err(unanswered("booking a tool")),
                }
            }

            fn settle_booking(&self, id: &str, usd: f64) {
                self.ask_later(Write::SettleBooking(id.to_owned(), usd));
            }

            async fn charge(&self, run: &RunId, usd: Option<f64>) -> Result<()> {
                self.write(Write::Charge(run.clone(), usd)).await
            }

            async fn audit(&self, line: &Audited) -> Result<()> {
                // Words of strangers may be in it.
                let plain = |it: &str| it.replace('\0', "\u{FFFD}");
                desk!(self, db => sqlx::query(
                    "insert into audit (at, who, what, on_what, outcome) values ($1, $2, $3, $4, $5)",
                )
                .bind(&line.at)
                .bind(plain(&line.who))
                .bind(plain(&line.what))
                .bind(plain(&line.on))
                .bind(plain(&line.outcome))
                .execute(db))
                .map_err(|it| self.unwritten(&it))?;
                Ok(())
            }

            async fn audited(&self, most: u32) -> Result<Vec<Audited>> {
                let rows: Vec<(String, String, String, String, String)> = patiently!(self, db => sqlx::query_as(
                    "select at, who, what, on_what, outcome from audit order by nth desc limit $1",
                )
                .bind(i64::from(most))
                .fetch_all(db))?;
                let line = |(at, who, what, on, outcome)| Audited {
                    at,
                    who,
                    what,
                    on,
                    outcome,
                };
                Ok(rows.into_iter().map(line).collect())
            }

            async fn remember(
                &self,
                user: &str,
                key: &str,
                hash: &str,
                run: &RunId,
                at: &str,
            ) -> Result<Remembered> {
                // Two requests with one key that arrive together: the database lets one of them in.
                desk!(self, db => sqlx::query(
                    "insert into request_keys (user_id, key, hash, run, at) values ($1, $2, $3, $4, $5)
                     on conflict (user_id, key) do nothing",
                )
                .bind(user)
                .bind(key)
                .bind(hash)
                .bind(run.as_str())
                .bind(at)
                .execute(db))
                .map_err(|it| self.unwritten(&it))?;
                let (known, begun): (String, String) = patiently!(self, db => sqlx::query_as(
                    "select hash, run from request_keys where user_id = $1 and key = $2",
                )
                .bind(user)
                .bind(key)
                .fetch_one(db))?;
                if begun == run.as_str() {
                    return Ok(Remembered::New);
                }
                if known != hash {
                    return Ok(Remembered::Other);
                }
                Ok(Remembered::Same(begun.parse()?))
            }

            async fn forget_keys(&self, at: &str) -> Result<u64> {
                let gone = desk!(self, db => sqlx::query("delete from request_keys where at < $1")
                    .bind(at)
                    .execute(db))
                .map_err(|it| self.unwritten(&it))?;
                Ok(gone.rows_affected())
            }

            async fn ended_before(&self, at: &str) -> Result<Vec<RunId>> {
                let ids: Vec<String> = patiently!(self, db => sqlx::query_scalar(
                    "select id from runs where updated_at < $1 and status not in ('pending', 'in_progress') order by id",
                )
                .bind(at)
                .fetch_all(db))?;
                ids.iter().map(|it| it.parse()).collect()
            }
        }
    };
}

/// What a statement that writes says, once: who calls knows whether it may be said again.
macro_rules! desk {
    ($store:ident, $db:ident => $query:expr) => {
        async {
            let mut session = $store.desk().await?;
            let $db = &mut *session;
            $query.await
        }
        .await
    };
}

/// That something was changed, or that it is not there.
pub(super) fn there(changed: u64, what: &str) -> Result<()> {
    match changed {
        0 => Err(Error::new(Kind::NotFound, format!("there is no {what}"))
            .hint("see `ibid admin user ls` and `ibid admin org ls`")),
        _ => Ok(()),
    }
}

/// A writer that says something else than it was asked.
pub(super) fn unanswered(doing: &str) -> Error {
    Error::new(Kind::Internal, doing)
}

use crate::error::{Error, Kind, Result};

pub(super) use {accounts, desk};
