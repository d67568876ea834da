//! Sessions for reading, and for writes of one statement.
use sqlx::PgPool;

use super::super::statement::DbSession;
use super::super::write::OwnerScope;
use super::open::PostgresAccess;
use super::session::{ScopeLasts, restrict_to_scope};

/// The connections that read, and those that do single writes.
#[derive(Clone)]
pub(super) struct Readers {
    /// They see all rows, and are never restricted to an owner.
    unrestricted: PgPool,
    /// They are restricted to an owner each time they are used.
    of_owner: PgPool,
    access: PostgresAccess,
}

impl Readers {
    /// Connections by `access`. Each opens when first needed.
    pub(super) fn new(access: &PostgresAccess) -> Readers {
        Readers {
            unrestricted: access.unrestricted_readers(),
            of_owner: access.readers(),
            access: access.clone(),
        }
    }

    /// A session that sees all rows.
    pub(super) async fn unrestricted(&self) -> sqlx::Result<DbSession> {
        self.session(&self.unrestricted).await
    }

    /// A session that sees the rows within `scope`.
    pub(super) async fn within(&self, scope: &OwnerScope) -> sqlx::Result<DbSession> {
        let lasts = match self.access.is_pooled() {
            true => ScopeLasts::Transaction,
            false => ScopeLasts::Session,
        };
        let mut session = self.session(&self.of_owner).await?;
        restrict_to_scope(&mut session.connection(), scope, lasts).await?;
        Ok(session)
    }

    async fn session(&self, pool: &PgPool) -> sqlx::Result<DbSession> {
        if self.access.is_pooled() {
            return Ok(DbSession::Pooled(pool.begin_with(self.access.begin()).await?));
        }
        Ok(DbSession::Postgres(pool.acquire().await?))
    }
}
