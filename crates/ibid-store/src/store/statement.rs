//! SQL statements that run on either database.
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{
    AssertSqlSafe, Encode, FromRow, PgConnection, Postgres, Sqlite, SqliteConnection, Transaction,
    Type,
};
use std::borrow::Cow;

/// A connection to either database.
pub(super) enum DbConnection<'a> {
    Sqlite(&'a mut SqliteConnection),
    Postgres {
        db: &'a mut PgConnection,
        /// Whether the server keeps prepared statements under names for this client. A pooler in transaction mode gives each
        /// transaction another session, which knows none of them.
        named: bool,
    },
}

/// A connection borrowed from the pool of either database.
pub enum DbSession {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
    /// A transaction through a pooler.
    Pooled(Transaction<'static, Postgres>),
}

impl DbSession {
    pub(super) fn connection(&mut self) -> DbConnection<'_> {
        match self {
            DbSession::Sqlite(db) => DbConnection::Sqlite(db),
            DbSession::Postgres(db) => DbConnection::Postgres { db, named: true },
            DbSession::Pooled(transaction) => {
                DbConnection::Postgres { db: transaction, named: false }
            }
        }
    }

    /// Ends the transaction, if it is one, so that what was written lasts.
    pub(super) async fn finish(self) -> sqlx::Result<()> {
        match self {
            DbSession::Sqlite(_) | DbSession::Postgres(_) => Ok(()),
            DbSession::Pooled(transaction) => transaction.commit().await,
        }
    }
}

/// A row that can be read from either database.
pub(super) trait AnyRow:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<T> AnyRow for T where
    T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

/// A value of a parameter.
#[derive(Clone)]
pub(super) enum SqlValue {
    Text(Option<String>),
    Integer(Option<i64>),
    Real(Option<f64>),
}

/// A statement with its parameters, which the SQL names `$1`, `$2`, and so on.
pub(super) struct SqlStatement {
    sql: Cow<'static, str>,
    values: Vec<SqlValue>,
}

/// A statement without parameters; add them with [`SqlStatement::bind`].
pub(super) fn query(sql: impl Into<Cow<'static, str>>) -> SqlStatement {
    SqlStatement { sql: sql.into(), values: Vec::new() }
}

impl SqlStatement {
    /// Adds the next parameter.
    pub(super) fn bind(mut self, value: impl Into<SqlValue>) -> SqlStatement {
        self.values.push(value.into());
        self
    }

    /// Runs the statement and returns the number of rows that it changed.
    pub(super) async fn execute(&self, db: &mut DbConnection<'_>) -> sqlx::Result<u64> {
        match db {
            DbConnection::Sqlite(db) => {
                let query = sqlx::query_with(self.sql(), self.sqlite_arguments()?);
                Ok(query.execute(&mut **db).await?.rows_affected())
            }
            DbConnection::Postgres { db, named } => {
                let query = sqlx::query_with(self.sql(), self.postgres_arguments()?);
                Ok(query.persistent(*named).execute(&mut **db).await?.rows_affected())
            }
        }
    }

    /// Returns all rows.
    pub(super) async fn fetch_all<T: AnyRow>(
        &self,
        db: &mut DbConnection<'_>,
    ) -> sqlx::Result<Vec<T>> {
        match db {
            DbConnection::Sqlite(db) => {
                let query = sqlx::query_as_with(self.sql(), self.sqlite_arguments()?);
                query.fetch_all(&mut **db).await
            }
            DbConnection::Postgres { db, named } => {
                let query = sqlx::query_as_with(self.sql(), self.postgres_arguments()?);
                query.persistent(*named).fetch_all(&mut **db).await
            }
        }
    }

    /// Returns the first row, if there is one.
    pub(super) async fn fetch_optional<T: AnyRow>(
        &self,
        db: &mut DbConnection<'_>,
    ) -> sqlx::Result<Option<T>> {
        Ok(self.fetch_all(db).await?.into_iter().next())
    }

    /// Returns the only row.
    ///
    /// # Errors
    /// `RowNotFound` when there is none.
    pub(super) async fn fetch_one<T: AnyRow>(&self, db: &mut DbConnection<'_>) -> sqlx::Result<T> {
        let row = self.fetch_optional(db).await?;
        row.ok_or(sqlx::Error::RowNotFound)
    }

    /// The SQL is a constant or made of constants: values are always bound.
    fn sql(&self) -> AssertSqlSafe<Cow<'static, str>> {
        AssertSqlSafe(self.sql.clone())
    }

    fn sqlite_arguments(&self) -> sqlx::Result<SqliteArguments> {
        let mut arguments = SqliteArguments::default();
        for value in &self.values {
            add::<Sqlite>(&mut arguments, value)?;
        }
        Ok(arguments)
    }

    fn postgres_arguments(&self) -> sqlx::Result<PgArguments> {
        let mut arguments = PgArguments::default();
        for value in &self.values {
            add::<Postgres>(&mut arguments, value)?;
        }
        Ok(arguments)
    }
}

fn add<DB: sqlx::Database>(arguments: &mut DB::Arguments, value: &SqlValue) -> sqlx::Result<()>
where
    for<'q> Option<String>: Encode<'q, DB> + Type<DB>,
    for<'q> Option<i64>: Encode<'q, DB> + Type<DB>,
    for<'q> Option<f64>: Encode<'q, DB> + Type<DB>,
{
    use sqlx::Arguments as _;
    match value {
        SqlValue::Text(text) => arguments.add(text.clone()),
        SqlValue::Integer(number) => arguments.add(*number),
        SqlValue::Real(number) => arguments.add(*number),
    }
    .map_err(sqlx::Error::Encode)
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> SqlValue {
        SqlValue::Text(Some(text.to_owned()))
    }
}

impl From<&String> for SqlValue {
    fn from(text: &String) -> SqlValue {
        SqlValue::Text(Some(text.clone()))
    }
}

impl From<String> for SqlValue {
    fn from(text: String) -> SqlValue {
        SqlValue::Text(Some(text))
    }
}

impl From<Option<&str>> for SqlValue {
    fn from(text: Option<&str>) -> SqlValue {
        SqlValue::Text(text.map(str::to_owned))
    }
}

impl From<&Option<String>> for SqlValue {
    fn from(text: &Option<String>) -> SqlValue {
        SqlValue::Text(text.clone())
    }
}

impl From<Option<String>> for SqlValue {
    fn from(text: Option<String>) -> SqlValue {
        SqlValue::Text(text)
    }
}

impl From<i64> for SqlValue {
    fn from(number: i64) -> SqlValue {
        SqlValue::Integer(Some(number))
    }
}

impl From<Option<i64>> for SqlValue {
    fn from(number: Option<i64>) -> SqlValue {
        SqlValue::Integer(number)
    }
}

impl From<f64> for SqlValue {
    fn from(number: f64) -> SqlValue {
        SqlValue::Real(Some(number))
    }
}

impl From<Option<f64>> for SqlValue {
    fn from(number: Option<f64>) -> SqlValue {
        SqlValue::Real(number)
    }
}
