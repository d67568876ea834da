-- How many calls to a model each process may have in flight with a key, and how many it has or waits for.
create table call_shares (
    key        text collate "C" not null,
    worker     text collate "C" not null,
    places     integer not null,
    wanted     integer not null,
    renewed_at timestamptz not null,
    primary key (key, worker)
);
