//! Which rows a session sees, and whether a run is still its own.
use super::super::statement::{DbConnection, query};
use super::super::write::{OwnerScope, WriteError, taken_over_error};
use ibid_core::domain::RunId;

/// How long a scope lasts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeLasts {
    Transaction,
    /// Until another scope is set.
    Session,
}

/// Shows the rows of all owners until the transaction ends or another scope is set.
pub(in super::super) async fn show_all_rows(db: &mut DbConnection<'_>) -> sqlx::Result<()> {
    query("select set_config('ibid.scope', 'all', true)").execute(db).await?;
    Ok(())
}

/// Shows only the rows within `scope`.
pub(super) async fn restrict_to_scope(
    db: &mut DbConnection<'_>,
    scope: &OwnerScope,
    lasts: ScopeLasts,
) -> sqlx::Result<()> {
    let (user, org) = scope.parameters();
    let word = match user {
        Some(_) => "owner",
        None => "all",
    };
    query(
        "select set_config('ibid.scope', $1, it.local), set_config('ibid.user', $2, it.local),
         set_config('ibid.org', $3, it.local) from (values ($4::bigint = 1)) as it (local)",
    )
    .bind(word)
    .bind(user.unwrap_or_default())
    .bind(org)
    .bind(i64::from(lasts == ScopeLasts::Transaction))
    .execute(db)
    .await?;
    Ok(())
}

/// Checks that no other process has taken `run` since `epoch`, and keeps others from taking it until the transaction
/// ends.
pub(super) async fn check_lease(
    db: &mut DbConnection<'_>,
    run: &RunId,
    epoch: u64,
) -> std::result::Result<(), WriteError> {
    let current: Option<(i64,)> = query("select epoch from runs where id = $1 for share")
        .bind(run.as_str())
        .fetch_optional(db)
        .await?;
    // A run without a row cannot have been taken by another process.
    if current.is_none_or(|(current,)| current as u64 == epoch) {
        Ok(())
    } else {
        taken_over_error(run)
    }
}
