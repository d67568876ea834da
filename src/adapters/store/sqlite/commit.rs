//! One writer for the process: writes that arrive together share one commit, and so one sync.
use std::path::{Path, PathBuf};

use sqlx::{Connection, SqliteConnection};
use tokio::sync::mpsc;

use super::super::fault::Fault;
use super::super::write::{Asked, Done, Failed, Request};
use super::fault::fault;
use super::write::apply;

/// How many writes one commit takes at most: bounds what a failed commit has to tell its callers.
const GROUP: usize = 256;

/// Takes requests until the store that owns the other end is dropped.
///
/// While one commit is being synced the next group gathers by itself; nobody waits for company.
pub(super) async fn serve(
    mut db: SqliteConnection,
    path: PathBuf,
    mut requests: mpsc::Receiver<Request>,
) {
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
        let writes: Vec<&Asked> = group.iter().map(|it| &it.asked).collect();
        let outcomes = commit(&mut db, &path, &writes).await;
        for (request, outcome) in group.drain(..).zip(outcomes) {
            // A caller that went away does not undo its write.
            let _ = request.done.send(outcome);
        }
    }
    // Folds the log file back into the database; what was acknowledged is safe without it.
    let _ = db.close().await;
}

/// Commits all `writes` together; where one of them breaks a rule, each by itself.
async fn commit(
    db: &mut SqliteConnection,
    path: &Path,
    writes: &[&Asked],
) -> Vec<Result<Done, Fault>> {
    let fault = match together(db, path, writes).await {
        Ok(outcomes) => return outcomes,
        Err(fault) => fault,
    };
    if !fault.of_one || writes.len() == 1 {
        return writes.iter().map(|_| Err(fault.clone())).collect();
    }
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        let alone = together(db, path, &[write]).await;
        outcomes.push(alone.and_then(only));
    }
    outcomes
}

async fn together(
    db: &mut SqliteConnection,
    path: &Path,
    writes: &[&Asked],
) -> Result<Vec<Result<Done, Fault>>, Fault> {
    let broken = |it: sqlx::Error| fault(path, "writing to", &it);
    let mut tx = db.begin_with("begin immediate").await.map_err(broken)?;
    let mut outcomes = Vec::with_capacity(writes.len());
    for write in writes {
        match apply(&mut tx, write).await {
            Ok(done) => outcomes.push(Ok(done)),
            Err(Failed::Refused(fault)) => outcomes.push(Err(fault)),
            Err(Failed::Database(it)) => {
                let fault = broken(it);
                // SQLite may have rolled back by itself (full disk); then there is nothing to undo.
                let _ = tx.rollback().await;
                return Err(fault);
            }
        }
    }
    tx.commit().await.map_err(broken)?;
    Ok(outcomes)
}

/// How the only write of a commit went.
fn only(outcomes: Vec<Result<Done, Fault>>) -> Result<Done, Fault> {
    let alone = outcomes.into_iter().next();
    alone.unwrap_or(Ok(Done::Written))
}
