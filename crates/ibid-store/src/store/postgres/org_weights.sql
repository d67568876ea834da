-- How many turns an organisation has for one of an organisation of weight 1.
alter table orgs add column weight double precision not null default 1;

-- Counts the runs that wait for a first turn.
create index runs_waiting on runs (owner_user) where ended_on = '' and served = 1 and status = 'pending';
