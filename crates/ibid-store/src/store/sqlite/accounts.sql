create table orgs (
    id        text primary key,
    name      text not null,
    daily_usd real
) strict;

create table users (
    id          text primary key,
    name        text not null,
    org         text references orgs(id),
    admin       integer not null,
    disabled    integer not null,
    daily_usd   real,
    concurrency integer
) strict;

create table tokens (
    -- SHA-256, in hexadecimal: who reads this table can ask for nothing with it.
    hash    text primary key,
    prefix  text not null,
    user_id text not null references users(id) on delete cascade,
    made_at text not null
) strict;

create index tokens_by_user on tokens (user_id);

create table audit (
    nth     integer primary key autoincrement,
    at      text not null,
    who     text not null,
    what    text not null,
    on_what text not null,
    outcome text not null
) strict;

create trigger audit_only_grows before update on audit begin
    select raise(abort, 'the audit log only grows');
end;
create trigger audit_keeps_all before delete on audit begin
    select raise(abort, 'the audit log only grows');
end;

create table request_keys (
    user_id text not null,
    key     text not null,
    hash    text not null,
    run     text not null,
    at      text not null,
    primary key (user_id, key)
) strict;
