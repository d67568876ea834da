-- Where the JSON of a page is if not in `body`: the key of an object, and the SHA-256 of its bytes.
alter table pages add column object text not null default '';
alter table pages add column digest text not null default '';

create index pages_by_object on pages (object) where object <> '';

-- The folder of this database's objects: several databases may share a bucket, and each deletes only its own.
create table object_folder (name text not null) strict;
insert into object_folder (name) values (lower(hex(randomblob(8))));
