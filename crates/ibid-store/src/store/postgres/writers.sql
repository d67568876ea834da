-- What each writer of each process committed last, so that one whose connection was lost within a commit learns what
-- became of it. Numbers of transactions would not say: a server that crashed gives those of lost ones out again.
create table writers (
    id   text collate "C" primary key,
    last bigint not null,
    at   timestamptz not null default now()
);
