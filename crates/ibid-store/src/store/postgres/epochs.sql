-- Which process took a run last, and how often it has changed hands: whoever had it before, and does not know yet that it lost
-- the run, can no longer write to it.
alter table runs add column taker text;
alter table runs add column epoch bigint not null default 0;
