-- Sessions of browsers. Hash and token are SHA-256, in hexadecimal; times are milliseconds since 1970.
create table browser_sessions (
    hash     text primary key,
    token    text not null,
    begun_ms integer not null,
    used_ms  integer not null
);

create index browser_sessions_by_token on browser_sessions (token, used_ms);
