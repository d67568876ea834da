//! The writers of a process: writes that arrive together share one commit, and one that is cut off is brought to an end.
//!
//! Each run has its writer, so that its writes keep their order. A connection that is lost while a commit is on its way
//! leaves open whether it happened. The database knows: each transaction leaves its number in its writer's row, and that
//! row says afterwards what was committed last. Only what was not is done again.
use std::collections::BTreeSet;

use sqlx::{Connection, PgConnection};
use tokio::sync::mpsc;

use super::super::fault::Fault;
use super::super::write::{Asked, Done, Failed, Request, Scope};
use super::fault::{Patience, fault, of_one, passing};
use super::open::Access;
use super::write::{apply, narrow, still_held};
use crate::adapters::system::SystemChance;
use crate::seams::Chance as _;

/// How many writes one commit takes at most.
const GROUP: usize = 256;

type Outcomes = Vec<Result<Done, Fault>>;

/// How one try to commit ended.
enum Tried {
    Done(Outcomes),
    /// Certainly not committed; a new connection may do better.
    CutOff(sqlx::Error),
    /// The answer to the commit did not come.
    InDoubt(Outcomes, sqlx::Error),
    /// Certainly not committed, and no connection will do better.
    Refused(sqlx::Error),
}

/// Takes requests until all who could send one are gone.
pub(super) async fn serve(access: Access, mut requests: mpsc::Receiver<Request>) {
    let mut writer = Writer {
        access,
        db: None,
        id: format!("{:032x}", SystemChance.bits()),
        nth: 0,
    };
    let mut group = Vec::new();
    while requests.recv_many(&mut group, GROUP).await > 0 {
        if group.len() == 1 {
            // Siblings that are about to ask (a wave of searches) get one turn to do so.
            tokio::task::yield_now().await;
            while group.len() < GROUP
                && let Ok(more) = requests.try_recv()
            {
                group.push(more);
            }
        }
        let asked: Vec<&Asked> = group.iter().map(|it| &it.asked).collect();
        let outcomes = writer.commit(&asked).await;
        for (request, outcome) in group.drain(..).zip(outcomes) {
            // A caller that went away does not undo its write.
            let _ = request.done.send(outcome);
        }
    }
    if let Some(mut db) = writer.db {
        let row = sqlx::query("delete from writers where id = $1").bind(&writer.id);
        let _ = row.execute(&mut db).await;
        let _ = db.close().await;
    }
}

struct Writer {
    access: Access,
    db: Option<PgConnection>,
    /// By what its row is found.
    id: String,
    /// The number of the transaction it is at.
    nth: i64,
}

impl Writer {
    /// Commits all that is asked together; where one of it breaks a rule, each by itself.
    async fn commit(&mut self, asked: &[&Asked]) -> Outcomes {
        let fault = match self.patiently(asked).await {
            Ok(outcomes) => return outcomes,
            Err(fault) => fault,
        };
        if !fault.of_one || asked.len() == 1 {
            return asked.iter().map(|_| Err(fault.clone())).collect();
        }
        let mut outcomes = Vec::with_capacity(asked.len());
        for it in asked {
            let alone = self.patiently(&[it]).await;
            outcomes.push(alone.and_then(only));
        }
        outcomes
    }

    /// Tries until it is known how the commit ended, or patience is at its end.
    async fn patiently(&mut self, asked: &[&Asked]) -> Result<Outcomes, Fault> {
        let mut patience = Patience::new();
        loop {
            let cause = match self.together(asked).await {
                Tried::Done(outcomes) => return Ok(outcomes),
                Tried::Refused(it) => return Err(self.fault(&it)),
                Tried::CutOff(it) => it,
                Tried::InDoubt(outcomes, cause) => {
                    self.db = None;
                    match self.happened(&mut patience).await {
                        Some(true) => return Ok(outcomes),
                        Some(false) => cause,
                        None => return Err(self.in_doubt(&cause)),
                    }
                }
            };
            self.db = None;
            if !patience.wait().await {
                return Err(self.fault(&cause));
            }
        }
    }

    async fn together(&mut self, asked: &[&Asked]) -> Tried {
        let sorted = |it: sqlx::Error| match passing(&it) {
            true => Tried::CutOff(it),
            false => Tried::Refused(it),
        };
        self.nth += 1;
        let (id, nth) = (self.id.clone(), self.nth);
        let db = match self.connected().await {
            Ok(db) => db,
            Err(it) => return sorted(it),
        };
        match written(db, (&id, nth), asked).await {
            Ok(outcomes) => match sqlx::raw_sql("commit").execute(db).await {
                Ok(_) => Tried::Done(outcomes),
                Err(it) if passing(&it) => Tried::InDoubt(outcomes, it),
                Err(it) => Tried::Refused(it),
            },
            Err(it) => {
                if !passing(&it) && sqlx::raw_sql("rollback").execute(db).await.is_err() {
                    self.db = None;
                }
                sorted(it)
            }
        }
    }

    /// Whether the transaction it is at was committed; `None` where nobody could say in time.
    async fn happened(&mut self, patience: &mut Patience) -> Option<bool> {
        let (id, nth) = (self.id.clone(), self.nth);
        loop {
            let told: sqlx::Result<i64> = async {
                let db = self.connected().await?;
                // The server may not have noticed yet that nobody listens to that transaction: whoever puts in the same row
                // waits until it has ended, either way.
                let last = sqlx::query_scalar(ROW).bind(&id).bind(0_i64);
                last.fetch_one(db).await
            }
            .await;
            match told {
                Ok(last) => return Some(last >= nth),
                Err(_) => self.db = None,
            }
            if !patience.wait().await {
                return None;
            }
        }
    }

    async fn connected(&mut self) -> sqlx::Result<&mut PgConnection> {
        if self.db.is_none() {
            self.db = Some(self.access.connect().await?);
        }
        self.db.as_mut().ok_or(sqlx::Error::WorkerCrashed)
    }

    fn fault(&self, it: &sqlx::Error) -> Fault {
        Fault {
            of_one: of_one(it),
            ..fault(self.access.place(), "writing to", it)
        }
    }

    fn in_doubt(&self, it: &sqlx::Error) -> Fault {
        let told = fault(self.access.place(), "writing to", it);
        Fault {
            doing: format!("{}: whether it was written could not be learnt", told.doing),
            ..told
        }
    }
}

/// Puts a writer's row in, where there is none; raises its number otherwise. Answers the number.
const ROW: &str = "insert into writers (id, last) values ($1, $2)
    on conflict (id) do update set last = greatest(writers.last, excluded.last), at = now()
    returning last";

/// Does all that is asked in a transaction that is left open, the `by.1`th of the writer `by.0`: how each went.
async fn written(
    db: &mut PgConnection,
    by: (&str, i64),
    asked: &[&Asked],
) -> sqlx::Result<Outcomes> {
    sqlx::raw_sql("begin").execute(&mut *db).await?;
    let row = sqlx::query(ROW).bind(by.0).bind(by.1);
    row.execute(&mut *db).await?;
    let mut outcomes = Vec::with_capacity(asked.len());
    // A session begins with the rows of everybody in sight.
    let mut seen = Some(Scope::default().words());
    let mut held = BTreeSet::new();
    for it in asked {
        if seen.as_ref() != Some(&it.scope.words()) {
            narrow(db, &it.scope, false).await?;
            seen = Some(it.scope.words());
        }
        // Once for all that is written to a run: nobody takes it until this is committed.
        let fence = it.fenced().filter(|it| !held.contains(it));
        let done = match fence {
            Some((run, epoch)) => still_held(db, run, epoch).await,
            None => Ok(()),
        };
        let done = match done {
            Ok(()) => {
                held.extend(fence);
                apply(db, it).await
            }
            Err(refused) => Err(refused),
        };
        match done {
            Ok(done) => outcomes.push(Ok(done)),
            Err(Failed::Refused(fault)) => outcomes.push(Err(fault)),
            Err(Failed::Database(fault)) => return Err(fault),
        }
        if it.widens() {
            seen = None;
        }
    }
    Ok(outcomes)
}

/// How the only write of a commit went.
fn only(outcomes: Outcomes) -> Result<Done, Fault> {
    let alone = outcomes.into_iter().next();
    alone.unwrap_or(Ok(Done::Written))
}
