-- Superusers see every row, whatever the policies say. Sessions of one take on this role, which can do what the program
-- does and no more. Roles belong to the whole server: another database may be making the same one just now.
do $$
begin
    if not exists (select 1 from pg_roles where rolname = 'ibid_plain') then
        create role ibid_plain nologin nosuperuser nobypassrls;
    end if;
exception when duplicate_object or unique_violation then
    null;
end
$$;

grant usage on schema ibid to ibid_plain;
grant select, insert, update, delete on all tables in schema ibid to ibid_plain;
grant usage on all sequences in schema ibid to ibid_plain;
