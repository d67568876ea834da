-- What counts against an account. A run that has not ended counts with what it has reserved, whatever day it began; one that has,
-- with what it cost, to the day it ended.
alter table runs add column reserved_usd double precision not null default 0;
-- What its models cost at most, also calls whose answers never came.
alter table runs add column charged_usd double precision not null default 0;
-- The day it ended, YYYY-MM-DD in UTC; empty before.
alter table runs add column ended_on text not null default '';
-- 1 where a server accepted it: another may go on with it.
alter table runs add column served bigint not null default 0;

update runs set ended_on = substr(started_at, 1, 10) where status not in ('pending', 'in_progress');
update runs set
    reserved_usd = coalesce((
        select (body::json #>> '{data,question,budget,usd}')::double precision from events where run = id and events.seq = 1), 0),
    served = coalesce((
        select 1 from events where run = id and body::json ->> 'type' = 'run.queued' limit 1), 0)
where ended_on = '';

create index runs_by_user_and_end on runs (owner_user, ended_on);
create index runs_by_org_and_end on runs (owner_org, ended_on);
create index runs_unended on runs (id) where ended_on = '' and served = 1;

-- What tools asked of models outside runs, and what runs cost that are forgotten.
create table bookings (
    id           text collate "C" primary key,
    user_id      text not null,
    org_id       text,
    what         text not null,
    at           text not null,
    day          text not null,
    reserved_usd double precision not null,
    -- Null until it has said how it ended.
    spent_usd    double precision
);

create index bookings_by_user on bookings (user_id, day);
create index bookings_by_org on bookings (org_id, day);
create index request_keys_by_time on request_keys (at);
