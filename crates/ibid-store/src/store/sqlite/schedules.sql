-- Questions that are asked again at intervals. Times are RFC 3339 in UTC, with milliseconds.
create table schedules (
    id             text primary key,
    owner_user     text,
    owner_org      text,
    request        text not null,
    interval_secs  integer not null,
    next_at        text not null,
    paused         integer not null default 0,
    webhook_url    text,
    mail_dir       text,
    reruns         integer not null default 0,
    active_run     text,
    delivery_until text,
    latest_run     text,
    previous_run   text,
    last_error     text,
    created_at     text not null
) strict;

create index schedules_due on schedules (next_at) where paused = 0 and active_run is null;
create index schedules_active on schedules (id) where active_run is not null;

-- The reruns that were delivered. Runs may be deleted while their schedule stays.
create table reruns (
    schedule      text not null references schedules(id) on delete cascade,
    nth           integer not null,
    run           text not null,
    compared_with text,
    status        text not null,
    has_report    integer not null,
    at            text not null,
    primary key (schedule, nth)
) strict;
