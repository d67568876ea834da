-- Words are kept as JSON text, in which no NUL stands as itself: PostgreSQL takes none.
create table runs (
    id         text collate "C" primary key,
    -- Number of the last event.
    seq        bigint not null,
    -- One line of `ibid ls`, folded from the events in the transaction that adds them.
    "row"      text not null,
    owner_user text,
    owner_org  text,
    status     text not null,
    started_at text not null,
    updated_at text not null,
    usd        double precision not null default 0
);

create index runs_by_owner on runs (owner_user, started_at);

create table events (
    run  text collate "C" not null references runs(id) on delete cascade,
    seq  bigint not null,
    body text not null,
    primary key (run, seq)
);

create table steps (
    nth      bigint generated always as identity primary key,
    run      text collate "C" not null references runs(id) on delete cascade,
    key      text not null,
    door     text not null,
    asked    text not null,
    state    text not null check (state in ('intended', 'answered', 'failed')),
    answer   text,
    cost_usd double precision not null default 0,
    kind     text,
    message  text,
    -- How often it was sent: more than once only after a failure or a crash.
    sent     bigint not null default 1,
    schema_v bigint not null,
    unique (run, key)
);

create table pages (
    nth  bigint generated always as identity,
    hash text collate "C" primary key,
    body text not null,
    url  text not null
);

create table held (
    run  text collate "C" not null references runs(id) on delete cascade,
    page text collate "C" not null references pages(hash),
    primary key (run, page)
);

create index held_by_page on held (page);

create table orders (
    nth  bigint generated always as identity primary key,
    run  text collate "C" not null references runs(id) on delete cascade,
    word text not null
);

create index orders_by_run on orders (run);

-- What left the machine for a run, by host.
create table egress (
    run      text collate "C" not null references runs(id) on delete cascade,
    host     text not null,
    requests bigint not null,
    sent     bigint not null,
    received bigint not null,
    primary key (run, host)
);

-- Rows belong to whose run they are of, whatever a statement asks for. A session says who it acts for: `ibid.scope` is
-- `all`, or `owner` with `ibid.user` and `ibid.org`. One that says nothing sees nothing.
alter table runs enable row level security;
alter table runs force row level security;
create policy of_owner on runs using (
    (select current_setting('ibid.scope', true)) = 'all'
    or ((select current_setting('ibid.scope', true)) = 'owner'
        and owner_user = (select current_setting('ibid.user', true))
        and coalesce(owner_org, '') = (select current_setting('ibid.org', true)))
);

do $$
declare
    name text;
begin
    foreach name in array array['events', 'steps', 'held', 'orders', 'egress'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format(
            'create policy of_owner on %I using (
                (select current_setting(''ibid.scope'', true)) = ''all''
                or exists (select 1 from runs where runs.id = run))',
            name
        );
    end loop;
end
$$;
