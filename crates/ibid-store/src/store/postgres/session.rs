//! Which rows a session sees, and whether a run is still its own.
use sqlx::PgConnection;

use super::super::write::{OwnerScope, WriteError, taken_over_error};
use ibid_core::domain::RunId;

/// Shows the rows of all owners until the transaction ends or another scope is set.
pub(in super::super) async fn show_all_rows(db: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("select set_config('ibid.scope', 'all', true)").execute(db).await?;
    Ok(())
}

/// Shows only the rows within `scope` until another scope is set: in this transaction, or in the whole session when
/// `for_session` is set.
pub(super) async fn restrict_to_scope(
    db: &mut PgConnection,
    scope: &OwnerScope,
    for_session: bool,
) -> sqlx::Result<()> {
    let (user, org) = scope.parameters();
    let word = match user {
        Some(_) => "owner",
        None => "all",
    };
    sqlx::query(
        "select set_config('ibid.scope', $1, $4), set_config('ibid.user', $2, $4),
         set_config('ibid.org', $3, $4)",
    )
    .bind(word)
    .bind(user.unwrap_or_default())
    .bind(org)
    .bind(!for_session)
    .execute(db)
    .await?;
    Ok(())
}

/// Checks that no other process has taken `run` since `epoch`, and keeps others from taking it until the transaction
/// ends.
pub(super) async fn check_lease(
    db: &mut PgConnection,
    run: &RunId,
    epoch: u64,
) -> std::result::Result<(), WriteError> {
    let current: Option<i64> = sqlx::query_scalar("select epoch from runs where id = $1 for share")
        .bind(run.as_str())
        .fetch_optional(db)
        .await?;
    // A run without a row cannot have been taken by another process.
    if current.is_none_or(|current| current as u64 == epoch) {
        Ok(())
    } else {
        taken_over_error(run)
    }
}
