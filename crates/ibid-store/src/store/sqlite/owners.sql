-- What runs are looked for by, besides their ids. No owner: the program serves one person alone.
alter table runs add column owner_user text;
alter table runs add column owner_org text;
alter table runs add column status text not null default '';
alter table runs add column started_at text not null default '';
alter table runs add column updated_at text not null default '';
alter table runs add column usd real not null default 0;

update runs set
    status = coalesce(json_extract(row, '$.status'), ''),
    started_at = coalesce(json_extract(row, '$.started_at'), ''),
    updated_at = coalesce(json_extract(row, '$.updated_at'), ''),
    usd = coalesce(json_extract(row, '$.usage.usd'), 0);

create index runs_by_owner on runs (owner_user, started_at);

alter table pages add column url text not null default '';
update pages set url = coalesce(json_extract(body, '$.url'), '');
