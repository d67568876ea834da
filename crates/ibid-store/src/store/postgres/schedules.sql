-- Questions that are asked again at intervals. Times are RFC 3339 in UTC, with milliseconds.
create table schedules (
    id             text collate "C" primary key,
    owner_user     text,
    owner_org      text,
    request        text not null,
    interval_secs  bigint not null,
    next_at        text collate "C" not null,
    paused         bigint not null default 0,
    webhook_url    text,
    mail_dir       text,
    reruns         bigint not null default 0,
    active_run     text collate "C",
    delivery_until text collate "C",
    latest_run     text,
    previous_run   text,
    last_error     text,
    created_at     text collate "C" not null
);

create index schedules_due on schedules (next_at) where paused = 0 and active_run is null;
create index schedules_active on schedules (id) where active_run is not null;

alter table schedules enable row level security;
alter table schedules force row level security;
create policy of_owner on schedules using (
    (select current_setting('ibid.scope', true)) = 'all'
    or ((select current_setting('ibid.scope', true)) = 'owner'
        and owner_user = (select current_setting('ibid.user', true))
        and coalesce(owner_org, '') = (select current_setting('ibid.org', true)))
);

-- The reruns that were delivered. Runs may be deleted while their schedule stays.
create table reruns (
    schedule      text collate "C" not null references schedules(id) on delete cascade,
    nth           bigint not null,
    run           text not null,
    compared_with text,
    status        text not null,
    has_report    bigint not null,
    at            text not null,
    primary key (schedule, nth)
);

alter table reruns enable row level security;
alter table reruns force row level security;
create policy of_owner on reruns using (
    (select current_setting('ibid.scope', true)) = 'all'
    or exists (select 1 from schedules where schedules.id = schedule)
);
