create table runs (
    id  text primary key,
    -- Number of the last event.
    seq integer not null,
    -- One line of `ibid ls`, folded from the events in the transaction that adds them.
    row text not null
) strict;

create table events (
    run  text not null references runs(id) on delete cascade,
    seq  integer not null,
    body text not null,
    primary key (run, seq)
) strict, without rowid;

create table steps (
    nth      integer primary key autoincrement,
    run      text not null references runs(id) on delete cascade,
    key      text not null,
    door     text not null,
    asked    text not null,
    state    text not null check (state in ('intended', 'answered', 'failed')),
    answer   text,
    cost_usd real not null default 0,
    kind     text,
    message  text,
    -- How often it was sent: more than once only after a failure or a crash.
    sent     integer not null default 1,
    schema_v integer not null,
    unique (run, key)
) strict;

create table pages (
    hash text primary key,
    body text not null
) strict;

create table held (
    run  text not null references runs(id) on delete cascade,
    page text not null references pages(hash),
    primary key (run, page)
) strict, without rowid;

create index held_by_page on held (page);

create table orders (
    nth  integer primary key autoincrement,
    run  text not null references runs(id) on delete cascade,
    word text not null
) strict;

create index orders_by_run on orders (run);
