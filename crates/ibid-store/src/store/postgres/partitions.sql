-- Events by the month in which their run began: ids of runs begin with the time. What there was until now becomes the first
-- partition as it is, so that an older server goes on writing to `events` beside this one. `{bound}` is the id at which it ends.
alter table events rename to events_first;

create table events (
    run  text collate "C" not null references runs(id) on delete cascade,
    seq  bigint not null,
    body text not null,
    primary key (run, seq)
) partition by range (run);

alter table events enable row level security;
alter table events force row level security;
create policy of_owner on events using (
    (select current_setting('ibid.scope', true)) = 'all'
    or exists (select 1 from runs where runs.id = run)
);

-- Runs that began in no month that has a partition, such as those with ids of another program.
create table events_other partition of events default;
alter table events_other enable row level security;
alter table events_other force row level security;

with moved as (delete from events_first where run >= '{bound}' returning run, seq, body)
insert into events_other (run, seq, body) select run, seq, body from moved;

alter table events attach partition events_first for values from (minvalue) to ('{bound}');
alter table events_first drop constraint if exists events_before_bound;
