//! What is the same for every database: the statements, and the store made of them. They are written once, as a
//! macro over the connection, because the types of two databases have nothing in common but the words.

/// The writes, each done inside a transaction that it may share with others.
///
/// Each looks before it writes: a refusal leaves nothing half done, so that the other writes of the same commit need
/// no savepoint. `$locked` ends a read of a row that is about to be written.
macro_rules! writes {
    ($connection:ty, $locked:literal) => {
        /// Does what is asked on a connection that is inside a transaction.
        pub(super) async fn apply(
            db: &mut $connection,
            asked: &Asked,
        ) -> std::result::Result<Done, Failed> {
            let scope = &asked.scope;
            match &asked.write {
                Write::Append(run, events, bodies) => append(db, scope, run, events, bodies).await,
                Write::Accept(it) => return accept(db, scope, it).await,
                Write::Book(it) => return book(db, it).await,
                Write::SettleBooking(id, usd) => settle_booking(db, id, *usd).await,
                Write::Nothing => Ok(()),
                Write::Intend(run, _)
                | Write::Charge(run, _)
                | Write::Settle(run, ..)
                | Write::Keep(run, _)
                | Write::Order(run, _)
                | Write::Traffic(run, _)
                | Write::Remove(run) => {
                    known(db, scope, run).await?;
                    to_known(db, run, &asked.write).await
                }
            }
            .map(|()| Done::Written)
        }

        /// Does a write to a run that is there.
        async fn to_known(
            db: &mut $connection,
            run: &RunId,
            write: &Write,
        ) -> std::result::Result<(), Failed> {
            match write {
                Write::Intend(_, step) => intend(db, run, step).await,
                Write::Settle(_, key, state, page) => {
                    settle(db, run, key, state).await?;
                    match page {
                        Some(page) => keep(db, run, page).await,
                        None => Ok(()),
                    }
                }
                Write::Keep(_, page) => keep(db, run, page).await,
                Write::Order(_, order) => {
                    sqlx::query("insert into orders (run, word) values ($1, $2)")
                        .bind(run.as_str())
                        .bind(order_text(order))
                        .execute(db)
                        .await?;
                    Ok(())
                }
                Write::Traffic(_, traffic) => carry(db, run, traffic).await,
                Write::Charge(_, usd) => charge(db, run, *usd).await,
                Write::Remove(_) => remove(db, run).await,
                Write::Append(..)
                | Write::Accept(_)
                | Write::Book(_)
                | Write::SettleBooking(..)
                | Write::Nothing => Ok(()),
            }
        }

        async fn known(
            db: &mut $connection,
            scope: &Scope,
            run: &RunId,
        ) -> std::result::Result<(), Failed> {
            let (user, org) = scope.words();
            let found = sqlx::query(
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
                None => refused(Kind::NotFound, format!("there is no run {run}")),
            }
        }

        async fn append(
            db: &mut $connection,
            scope: &Scope,
            run: &RunId,
            events: &[Envelope],
            bodies: &[String],
        ) -> std::result::Result<(), Failed> {
            let before = sqlx::query(concat!(
                "select seq, \"row\" from runs where id = $1",
                $locked
            ))
            .bind(run.as_str())
            .fetch_optional(&mut *db)
            .await?;
            let (last, row) = match &before {
                None => (0, None),
                Some(it) => (
                    it.try_get::<i64, _>(0)? as u64,
                    serde_json::from_str::<RunRow>(it.try_get(1)?).ok(),
                ),
            };
            in_order(run, last, events)?;
            let told = told(run, row, events);
            if !scope.admits(told.owner.as_ref()) {
                return refused(Kind::NotFound, format!("there is no run {run}"));
            }
            let seq = last + events.len() as u64;
            let statement = match before {
                None => {
                    "insert into runs (id, seq, \"row\", owner_user, owner_org, status, started_at, updated_at, usd, ended_on, reserved_usd, served)
                     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
                }
                Some(_) => {
                    "update runs set seq = $2, \"row\" = $3, owner_user = $4, owner_org = $5, status = $6,
                     started_at = $7, updated_at = $8, usd = $9,
                     ended_on = case when ended_on = '' then $10 else ended_on end,
                     reserved_usd = reserved_usd + $11, served = served + $12 where id = $1"
                }
            };
            let owner = told.owner.as_ref();
            sqlx::query(statement)
                .bind(run.as_str())
                .bind(seq as i64)
                .bind(serde_json::to_string(&told).unwrap_or_default())
                .bind(owner.map(|it| it.user.as_str()))
                .bind(owner.and_then(|it| it.org.as_deref()))
                .bind(word(&told.status))
                .bind(&told.started_at)
                .bind(&told.updated_at)
                .bind(told.usage.usd.unwrap_or(0.0))
                .bind(ended_on(&told))
                .bind(reserved_usd(events))
                .bind(i64::from(is_served(events)))
                .execute(&mut *db)
                .await?;
            put_events(db, run, events, bodies).await?;
            retell(db, run, events).await?;
            Ok(())
        }

        async fn intend(
            db: &mut $connection,
            run: &RunId,
            step: &Step,
        ) -> std::result::Result<(), Failed> {
            // An answered call is never sent again, whatever the caller believes.
            let written = sqlx::query(
                "insert into steps (run, key, door, asked, state, schema_v) values ($1, $2, $3, $4, 'intended', $5)
                 on conflict (run, key) do update
                 set state = 'intended', kind = null, message = null, sent = steps.sent + 1, schema_v = excluded.schema_v
                 where steps.state <> 'answered'",
            )
            .bind(run.as_str())
            .bind(&step.key)
            .bind(&step.door)
            .bind(step.asked.to_string())
            .bind(STEP_SCHEMA)
            .execute(db)
            .await?;
            if written.rows_affected() == 0 {
                return refused(
                    Kind::Internal,
                    format!("call {} of run {run} is answered already", step.key),
                );
            }
            Ok(())
        }

        async fn settle(
            db: &mut $connection,
            run: &RunId,
            key: &str,
            state: &StepState,
        ) -> std::result::Result<(), Failed> {
            let columns = columns(state);
            let written = sqlx::query(
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
            if written.rows_affected() == 0 {
                return refused(
                    Kind::Internal,
                    format!("call {key} of run {run} was not written down, or is answered already"),
                );
            }
            Ok(())
        }

        async fn keep(
            db: &mut $connection,
            run: &RunId,
            page: &Kept,
        ) -> std::result::Result<(), Failed> {
            // What the hash leaves out (warnings, the cut into sentences) follows the latest reading.
            sqlx::query(
                "insert into pages (hash, body, url) values ($1, $2, $3)
                 on conflict (hash) do update set body = excluded.body, url = excluded.url
                 where pages.body <> excluded.body",
            )
            .bind(page.hash.as_str())
            .bind(&page.body)
            .bind(&page.url)
            .execute(&mut *db)
            .await?;
            sqlx::query("insert into held (run, page) values ($1, $2) on conflict do nothing")
                .bind(run.as_str())
                .bind(page.hash.as_str())
                .execute(db)
                .await?;
            Ok(())
        }

        async fn carry(
            db: &mut $connection,
            run: &RunId,
            traffic: &BTreeMap<String, Traffic>,
        ) -> std::result::Result<(), Failed> {
            for (host, it) in traffic {
                let count = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
                sqlx::query(
                    "insert into egress (run, host, requests, sent, received) values ($1, $2, $3, $4, $5)
                     on conflict (run, host) do update set requests = egress.requests + excluded.requests,
                     sent = egress.sent + excluded.sent, received = egress.received + excluded.received",
                )
                .bind(run.as_str())
                .bind(host)
                .bind(count(it.requests))
                .bind(count(it.sent))
                .bind(count(it.received))
                .execute(&mut *db)
                .await?;
            }
            Ok(())
        }

        async fn remove(
            db: &mut $connection,
            run: &RunId,
        ) -> std::result::Result<(), Failed> {
            // Whether another run holds a page must be seen, whoever asks.
            widen(db).await?;
            still_charged(db, run).await?;
            let pages: Vec<String> = sqlx::query_scalar("select page from held where run = $1")
                .bind(run.as_str())
                .fetch_all(&mut *db)
                .await?;
            sqlx::query("delete from tool_traces where id = $1")
                .bind(run.uuid())
                .execute(&mut *db)
                .await?;
            // Events, calls, orders and holdings go with the run.
            sqlx::query("delete from runs where id = $1")
                .bind(run.as_str())
                .execute(&mut *db)
                .await?;
            for page in pages {
                sqlx::query(
                    "delete from pages where hash = $1
                     and not exists (select 1 from held where held.page = $1)",
                )
                .bind(page)
                .execute(&mut *db)
                .await?;
            }
            Ok(())
        }
    };
}

/// The store over a type with `scope`, `write`, `session`, `unread`, `damaged` and `place`; `$latest` puts pages kept last first.
macro_rules! store {
    ($store:ty, $row:ty, $latest:literal) => {
        impl $store {
            fn step(&self, row: &$row) -> Result<Step> {
                let read = |it: sqlx::Error| self.unread(&it);
                let text = |column| row.try_get::<String, _>(column).map_err(read);
                let key = text("key")?;
                let json = |column| -> Result<serde_json::Value> {
                    serde_json::from_str(&text(column)?).map_err(self.damaged(format!("call {key}")))
                };
                let state = match text("state")?.as_str() {
                    "answered" => StepState::Answered(Answered {
                        answer: json("answer")?,
                        cost_usd: row.try_get("cost_usd").map_err(read)?,
                    }),
                    "failed" => StepState::Failed {
                        kind: unword(&text("kind")?).unwrap_or(Kind::Internal),
                        message: message_of(&text("message")?),
                    },
                    _ => StepState::Intended,
                };
                Ok(Step {
                    door: text("door")?,
                    asked: json("asked")?,
                    key,
                    state,
                })
            }

            /// Whether `run` is there for who asks.
            async fn sees(&self, run: &RunId) -> Result<bool> {
                let (user, org) = self.scope.words();
                let found: Option<i32> = patiently!(self, db => sqlx::query_scalar(
                    "select 1 from runs where id = $1 and (cast($2 as text) is null
                     or (owner_user = $2 and coalesce(owner_org, '') = $3))",
                )
                .bind(run.as_str())
                .bind(&user)
                .bind(&org)
                .fetch_optional(db))?;
                Ok(found.is_some())
            }

            /// Whether `run` is another's, of which nothing may be told.
            async fn foreign(&self, run: &RunId) -> Result<bool> {
                Ok(self.scope.is_some() && !self.sees(run).await?)
            }
        }

        #[async_trait]
        impl Store for $store {
            async fn append(&self, run: &RunId, events: &[Envelope]) -> Result<()> {
                self.write(Write::append(run, events)?).await
            }

            async fn events(&self, run: &RunId, after: u64) -> Result<Vec<Envelope>> {
                let seen = !self.foreign(run).await?;
                let bodies: Vec<String> = match seen {
                    true => patiently!(self, db => sqlx::query_scalar(
                        "select body from events where run = $1 and seq > $2 order by seq",
                    )
                    .bind(run.as_str())
                    .bind(i64::try_from(after).unwrap_or(i64::MAX))
                    .fetch_all(db))?,
                    false => Vec::new(),
                };
                if bodies.is_empty() && !self.sees(run).await? {
                    return Err(Error::new(Kind::NotFound, format!("there is no run {run}"))
                        .hint("see `ibid ls` for the ids of your runs"));
                }
                bodies
                    .iter()
                    .map(|it| {
                        serde_json::from_str(it)
                            .map_err(self.damaged(format!("an event of run {run}")))
                    })
                    .collect()
            }

            async fn row(&self, run: &RunId) -> Result<RunRow> {
                let seen = !self.foreign(run).await?;
                let row: Option<(String, i64)> = match seen {
                    true => patiently!(self, db => sqlx::query_as(
                        "select \"row\", seq from runs where id = $1",
                    )
                    .bind(run.as_str())
                    .fetch_optional(db))?,
                    false => None,
                };
                let Some(row) = row else {
                    return Err(Error::new(Kind::NotFound, format!("there is no run {run}"))
                        .hint("see `ibid ls` for the ids of your runs"));
                };
                row_of(&row).map_err(self.damaged(format!("run {run}")))
            }

            async fn runs(&self) -> Result<Vec<RunRow>> {
                self.latest(u32::MAX).await
            }

            async fn latest(&self, most: u32) -> Result<Vec<RunRow>> {
                // Ids begin with the time, so they sort by it.
                let (user, org) = self.scope.words();
                let rows: Vec<(String, i64)> = patiently!(self, db => sqlx::query_as(
                    "select \"row\", seq from runs where cast($1 as text) is null
                     or (owner_user = $1 and coalesce(owner_org, '') = $2) order by id desc limit $3",
                )
                .bind(&user)
                .bind(&org)
                .bind(i64::from(most))
                .fetch_all(db))?;
                rows.iter()
                    .map(|it| row_of(it).map_err(self.damaged("a run".to_owned())))
                    .collect()
            }

            async fn remove(&self, run: &RunId) -> Result<()> {
                self.write(Write::Remove(run.clone())).await
            }

            async fn intend(&self, run: &RunId, step: &Step) -> Result<()> {
                self.write(Write::Intend(run.clone(), step.clone())).await
            }

            async fn settle(&self, run: &RunId, key: &str, state: &StepState) -> Result<()> {
                self.write(Write::settle(run, key, state, None)).await
            }

            async fn settle_page(
                &self,
                run: &RunId,
                key: &str,
                state: &StepState,
                page: &Page,
            ) -> Result<()> {
                let page = Kept::of(page)?;
                self.write(Write::settle(run, key, state, Some(page))).await
            }

            async fn recall(&self, run: &RunId, key: &str) -> Result<Option<Step>> {
                if self.foreign(run).await? {
                    return Ok(None);
                }
                let row = patiently!(self, db => sqlx::query(
                    "select * from steps where run = $1 and key = $2",
                )
                .bind(run.as_str())
                .bind(key)
                .fetch_optional(db))?;
                row.as_ref().map(|it| self.step(it)).transpose()
            }

            async fn steps(&self, run: &RunId) -> Result<Vec<Step>> {
                if self.foreign(run).await? {
                    return Ok(Vec::new());
                }
                let rows = patiently!(self, db => sqlx::query(
                    "select * from steps where run = $1 order by nth",
                )
                .bind(run.as_str())
                .fetch_all(db))?;
                rows.iter().map(|it| self.step(it)).collect()
            }

            async fn keep_page(&self, run: &RunId, page: &Page) -> Result<()> {
                self.write(Write::Keep(run.clone(), Kept::of(page)?)).await
            }

            async fn page(&self, hash: &PageHash) -> Result<Option<Page>> {
                let (user, org) = self.scope.words();
                let body: Option<String> = patiently!(self, db => sqlx::query_scalar(
                    "select body from pages where hash = $1 and (cast($2 as text) is null or exists (
                     select 1 from held join runs on runs.id = held.run where held.page = pages.hash
                     and owner_user = $2 and coalesce(owner_org, '') = $3))",
                )
                .bind(hash.as_str())
                .bind(&user)
                .bind(&org)
                .fetch_optional(db))?;
                body.map(|it| serde_json::from_str(&it).map_err(self.damaged(format!("page {hash}"))))
                    .transpose()
            }

            async fn note_traffic(
                &self,
                run: &RunId,
                traffic: &BTreeMap<String, Traffic>,
            ) -> Result<()> {
                self.write(Write::Traffic(run.clone(), traffic.clone()))
                    .await
            }

            async fn traffic(&self, run: &RunId) -> Result<BTreeMap<String, Traffic>> {
                if self.foreign(run).await? {
                    return Ok(BTreeMap::new());
                }
                let rows: Vec<(String, i64, i64, i64)> = patiently!(self, db => sqlx::query_as(
                    "select host, requests, sent, received from egress where run = $1",
                )
                .bind(run.as_str())
                .fetch_all(db))?;
                let count = |it: i64| u64::try_from(it).unwrap_or(0);
                let told = rows.into_iter().map(|(host, requests, sent, received)| {
                    let traffic = Traffic {
                        requests: count(requests),
                        sent: count(sent),
                        received: count(received),
                    };
                    (host, traffic)
                });
                Ok(told.collect())
            }

            async fn order(&self, run: &RunId, order: Order) -> Result<()> {
                self.write(Write::Order(run.clone(), order)).await
            }

            async fn orders(&self, run: &RunId) -> Result<Vec<Order>> {
                if self.foreign(run).await? {
                    return Ok(Vec::new());
                }
                let words: Vec<String> = patiently!(self, db => sqlx::query_scalar(
                    "select word from orders where run = $1 order by nth",
                )
                .bind(run.as_str())
                .fetch_all(db))?;
                Ok(words.iter().filter_map(|it| order_of(it)).collect())
            }

            async fn held(&self, run: &RunId) -> Result<Vec<PageHash>> {
                if self.foreign(run).await? {
                    return Ok(Vec::new());
                }
                let pages: Vec<String> = patiently!(self, db => sqlx::query_scalar(
                    "select page from held where run = $1 order by page",
                )
                .bind(run.as_str())
                .fetch_all(db))?;
                let hash = |it: String| {
                    let what = format!("the name of page {it}");
                    serde_json::from_value(it.into()).map_err(self.damaged(what))
                };
                pages.into_iter().map(hash).collect()
            }

            async fn addresses(&self) -> Result<Vec<(PageHash, String)>> {
                let (user, org) = self.scope.words();
                let rows: Vec<(String, String)> = patiently!(self, db => sqlx::query_as(concat!(
                    "select hash, url from pages where cast($1 as text) is null or exists (
                     select 1 from held join runs on runs.id = held.run where held.page = pages.hash
                     and owner_user = $1 and coalesce(owner_org, '') = $2) order by ",
                    $latest
                ))
                .bind(&user)
                .bind(&org)
                .fetch_all(db))?;
                rows.into_iter()
                    .map(|(hash, url)| {
                        let what = format!("the name of page {hash}");
                        let hash = serde_json::from_value(hash.into()).map_err(self.damaged(what))?;
                        Ok((hash, url))
                    })
                    .collect()
            }

            async fn drain(&self) -> Result<()> {
                self.write_all().await
            }

            async fn check(&self) -> Result<()> {
                self.integrity_check().await
            }

            fn place(&self) -> String {
                self.place_name()
            }

            fn as_owner(&self, owner: &Owner) -> Arc<dyn Store> {
                Arc::new(self.scoped(owner))
            }

            fn fenced(&self, run: &RunId, epoch: u64) -> Option<Arc<dyn Store>> {
                self.within(run, epoch).map(|it| Arc::new(it) as Arc<dyn Store>)
            }
        }
    };
}

/// What a query says on a session of a store, asked again while the connection to it is broken.
macro_rules! patiently {
    ($store:ident, $db:ident => $query:expr) => {{
        let mut patience = $store.patience();
        loop {
            let outcome = async {
                let mut session = $store.session().await?;
                let $db = &mut *session;
                $query.await
            };
            match outcome.await {
                Ok(it) => break Ok(it),
                Err(fault) if patience.again(&fault).await => {}
                Err(fault) => break Err($store.unread(&fault)),
            }
        }
    }};
}

pub(super) use {patiently, store, writes};
