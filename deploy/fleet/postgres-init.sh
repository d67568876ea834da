#!/bin/sh
# Runs once, when the database server is created: roles and databases. Neither role is a superuser.
set -eu
psql -v ON_ERROR_STOP=1 -v ibid="$IBID_DB_PASSWORD" -v temporal="$TEMPORAL_DB_PASSWORD" -U "${POSTGRES_USER:-postgres}" -d postgres <<'SQL'
create role ibid login password :'ibid';
create role temporal login password :'temporal';
create database ibid owner ibid encoding 'UTF8' template template0;
create database temporal owner temporal;
create database temporal_visibility owner temporal;
revoke connect on database ibid, temporal, temporal_visibility from public;
SQL
