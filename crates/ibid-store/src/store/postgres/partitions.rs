//! The events of runs by month, so that a month whose runs have all expired is dropped as one table.
//!
//! A partition holds the runs whose ids, which begin with the time, are of its month. The first holds all that there was when the
//! table was divided; the default one what is of no month.
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use ibid_core::domain::RunId;

/// The version of the schema with the first divided table.
pub(super) const DIVIDED: i64 = 11;

/// The months for which there are partitions, the current one among them.
const MONTHS_AHEAD: i32 = 24;

/// The longest wait for a lock that all writers would wait behind.
const LOCK_TIMEOUT: &str = "set local lock_timeout = '3s'";

/// Name and first and last moment in ms of the partition of each of $1 months from the one $2 months ahead.
const MONTHS: &str = "select to_char(it.at, '\"events_\"YYYY_MM'),
    extract(epoch from it.at at time zone 'utc')::bigint * 1000,
    extract(epoch from (it.at + interval '1 month') at time zone 'utc')::bigint * 1000
    from generate_series($2, $2 + $1 - 1) as nth,
    lateral (select date_trunc('month', now() at time zone 'utc') + nth * interval '1 month') as it (at)";

/// The partition of a month.
type Month = (String, i64, i64);

/// The partitions of months: name, first id and the id at which it ends, empty for the first partition's beginning.
const PARTITIONS: &str = "select relname::text,
    coalesce(substring(pg_get_expr(relpartbound, oid) from 'FROM \\(''([^'']*)'''), ''),
    substring(pg_get_expr(relpartbound, oid) from 'TO \\(''([^'']*)''')
    from pg_class where oid in (select inhrelid from pg_inherits where inhparent = 'ibid.events'::regclass)
    and pg_get_expr(relpartbound, oid) <> 'DEFAULT' order by 1";

/// The first id of a moment.
fn first_id(ms: i64) -> RunId {
    RunId::new(u64::try_from(ms).unwrap_or(0), 0)
}

/// The id at which the first partition ends: two months ahead, so that servers that know no partitions can go on until then.
async fn bound(db: &mut PgConnection) -> sqlx::Result<RunId> {
    let (_, from, _): Month = sqlx::query_as(MONTHS).bind(1).bind(2).fetch_one(db).await?;
    Ok(first_id(from))
}

/// Checks the events of a schema of before [`DIVIDED`] while others read and write, so that the step to it holds its locks for a
/// moment only. Does nothing in a newer or an empty database.
pub(super) async fn check_before_step(db: &mut PgConnection) -> sqlx::Result<()> {
    let version: Option<i64> =
        match sqlx::query_scalar("select to_regclass('ibid.schema_version') is not null")
            .fetch_one(&mut *db)
            .await?
        {
            true => {
                sqlx::query_scalar("select version from ibid.schema_version")
                    .fetch_optional(&mut *db)
                    .await?
            }
            false => None,
        };
    if version.is_none_or(|it| it == 0 || it >= DIVIDED) {
        return Ok(());
    }
    let bound = bound(db).await?;
    // Ids of another program may be greater: then the step itself looks at all rows.
    let beyond: bool =
        sqlx::query_scalar("select exists (select 1 from ibid.events where run >= $1)")
            .bind(bound.as_str())
            .fetch_one(&mut *db)
            .await?;
    if beyond {
        return Ok(());
    }
    let mut tx = db.begin().await?;
    sqlx::raw_sql(LOCK_TIMEOUT).execute(&mut *tx).await?;
    let add = format!(
        "alter table ibid.events drop constraint if exists events_before_bound;
         alter table ibid.events add constraint events_before_bound check (run < '{bound}') not valid"
    );
    sqlx::raw_sql(AssertSqlSafe(add)).execute(&mut *tx).await?;
    tx.commit().await?;
    sqlx::raw_sql("alter table ibid.events validate constraint events_before_bound")
        .execute(db)
        .await?;
    Ok(())
}

/// The statements of a step, with the bound of the first partition.
pub(super) async fn fill_in(tx: &mut PgConnection, step: &str) -> sqlx::Result<String> {
    if !step.contains("{bound}") {
        return Ok(step.to_owned());
    }
    sqlx::raw_sql(LOCK_TIMEOUT).execute(&mut *tx).await?;
    let bound = bound(tx).await?;
    Ok(step.replace("{bound}", bound.as_str()))
}

/// Makes the partitions of the coming months that there are not.
pub(super) async fn add_months(tx: &mut PgConnection) -> sqlx::Result<()> {
    let existing: Vec<(String, String, String)> =
        sqlx::query_as(PARTITIONS).fetch_all(&mut *tx).await?;
    let months: Vec<Month> =
        sqlx::query_as(MONTHS).bind(MONTHS_AHEAD).bind(0).fetch_all(&mut *tx).await?;
    for (name, from, to) in months {
        let (from, to) = (first_id(from), first_id(to));
        let covered =
            existing.iter().any(|it| it.1.as_str() < to.as_str() && from.as_str() < it.2.as_str());
        // Events of a month that came before its partition stay where they are.
        let late = "select exists (select 1 from ibid.events_other where run >= $1 and run < $2)";
        let late = sqlx::query_scalar(late).bind(from.as_str()).bind(to.as_str());
        if covered || late.fetch_one(&mut *tx).await? {
            continue;
        }
        let add = format!(
            "set local lock_timeout = '3s';
             create table ibid.{name} partition of ibid.events for values from ('{from}') to ('{to}');
             alter table ibid.{name} enable row level security;
             alter table ibid.{name} force row level security"
        );
        sqlx::raw_sql(AssertSqlSafe(add)).execute(&mut *tx).await?;
    }
    Ok(())
}

/// Drops the partitions of past months in which every run has ended and changed last before `before`. Returns how many. What cannot
/// be locked in time stays for the next time. `db` is a session of the owner of the tables, who alone may drop them.
pub(super) async fn drop_months(db: &mut PgConnection, before: &str) -> sqlx::Result<u64> {
    let partitions: Vec<(String, String, String)> =
        sqlx::query_as(PARTITIONS).fetch_all(&mut *db).await?;
    let mut dropped = 0;
    for (name, from, to) in partitions {
        dropped += u64::from(drop_month(db, &name, (&from, &to), before).await?);
    }
    Ok(dropped)
}

async fn drop_month(
    db: &mut PgConnection,
    name: &str,
    (from, to): (&str, &str),
    before: &str,
) -> sqlx::Result<bool> {
    let mut tx = db.begin().await?;
    sqlx::raw_sql(LOCK_TIMEOUT).execute(&mut *tx).await?;
    let (_, current, _): Month = sqlx::query_as(MONTHS).bind(1).bind(0).fetch_one(&mut *tx).await?;
    let kept: bool = sqlx::query_scalar(
        "select exists (select 1 from ibid.runs where id >= $1 and id < $2
         and (status in ('pending', 'in_progress') or updated_at >= $3))",
    )
    .bind(from)
    .bind(to)
    .bind(before)
    .fetch_one(&mut *tx)
    .await?;
    if to > first_id(current).as_str() || kept {
        return Ok(false);
    }
    let drop = format!(
        "alter table ibid.events detach partition ibid.\"{name}\"; drop table ibid.\"{name}\""
    );
    match sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *tx).await {
        Ok(_) => tx.commit().await.map(|()| true),
        Err(sqlx::Error::Database(cause)) if cause.code().as_deref() == Some("55P03") => Ok(false),
        Err(cause) => Err(cause),
    }
}
