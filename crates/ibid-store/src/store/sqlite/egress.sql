-- What left the machine for a run, by host.
create table egress (
    run      text not null references runs(id) on delete cascade,
    host     text not null,
    requests integer not null,
    sent     integer not null,
    received integer not null,
    primary key (run, host)
) strict, without rowid;
