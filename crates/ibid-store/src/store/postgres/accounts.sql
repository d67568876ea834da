create table orgs (
    id        text collate "C" primary key,
    name      text not null,
    daily_usd double precision
);

create table users (
    id          text collate "C" primary key,
    name        text not null,
    org         text collate "C" references orgs(id),
    admin       bigint not null,
    disabled    bigint not null,
    daily_usd   double precision,
    concurrency bigint
);

create table tokens (
    -- SHA-256, in hexadecimal: who reads this table can ask for nothing with it.
    hash    text primary key,
    prefix  text not null,
    user_id text collate "C" not null references users(id) on delete cascade,
    made_at text not null
);

create index tokens_by_user on tokens (user_id);

create table audit (
    nth     bigint generated always as identity primary key,
    at      text not null,
    who     text not null,
    what    text not null,
    on_what text not null,
    outcome text not null
);

create function audit_only_grows() returns trigger language plpgsql as $$
begin
    raise exception 'the audit log only grows';
end
$$;

create trigger audit_only_grows before update or delete or truncate on audit
    for each statement execute function audit_only_grows();

create table request_keys (
    user_id text not null,
    key     text not null,
    hash    text not null,
    run     text not null,
    at      text not null,
    primary key (user_id, key)
);
