-- Tokens that each process has taken of those that a key allows in a minute, for calls that start within two seconds.
create table call_tokens (
    key      text collate "C" not null,
    worker   text collate "C" not null,
    nth      bigint not null,
    tokens   bigint not null,
    taken_at timestamptz not null,
    primary key (key, worker, nth)
);

create index call_tokens_taken on call_tokens (key, taken_at);

-- The tokens of the call that has waited longest in a process, and since when.
alter table call_shares add column tokens_wanted bigint not null default 0;
alter table call_shares add column waits_since timestamptz;

-- Until when a provider asked not to be called with a key.
create table call_pauses (
    key   text collate "C" primary key,
    until timestamptz not null
);

-- When the next turn at a service is, and until when it asked not to be called.
create table service_turns (
    service      text collate "C" primary key,
    next_at      timestamptz not null,
    paused_until timestamptz
);

-- Sessions of browsers. Hash and token are SHA-256, in hexadecimal; times are milliseconds since 1970.
create table browser_sessions (
    hash     text collate "C" primary key,
    token    text collate "C" not null,
    begun_ms bigint not null,
    used_ms  bigint not null
);

create index browser_sessions_by_token on browser_sessions (token, used_ms);

alter table browser_sessions enable row level security;
alter table browser_sessions force row level security;
create policy of_server on browser_sessions using ((select current_setting('ibid.scope', true)) = 'all');
