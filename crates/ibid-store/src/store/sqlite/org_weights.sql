-- How many turns an organisation has for one of an organisation of weight 1.
alter table orgs add column weight real not null default 1;
