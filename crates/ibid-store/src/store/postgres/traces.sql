-- One table for every tool that takes long.
create table tool_traces (
    id            varchar(36) primary key,
    user_id       text not null,
    org_id        text,
    tool_name     varchar(100) not null,
    input_params  json,
    status        varchar(50) not null default 'pending',
    progress      double precision not null default 0,
    current_stage varchar(100),
    state         json not null default '{}',
    result        json,
    error_message text,
    created_at    text not null,
    started_at    text,
    completed_at  text,
    metrics       json not null default '{}'
);

create index idx_tool_traces_user_tool on tool_traces (user_id, tool_name);
create index idx_tool_traces_status on tool_traces (status);

alter table tool_traces enable row level security;
alter table tool_traces force row level security;
create policy of_owner on tool_traces using (
    (select current_setting('ibid.scope', true)) = 'all'
    or ((select current_setting('ibid.scope', true)) = 'owner'
        and user_id = (select current_setting('ibid.user', true))
        and coalesce(org_id, '') = (select current_setting('ibid.org', true)))
);

-- The columns of the older table of that name, with the rights of who looks.
create view research_traces with (security_invoker = true) as
select
    id, user_id, org_id,
    input_params ->> 'question' as question,
    input_params ->> 'context' as context,
    (input_params ->> 'max_iterations')::bigint as max_iterations,
    state ->> 'refined_question' as refined_question,
    state -> 'checklist' as checklist,
    state -> 'knowledge_base' as knowledge_base,
    state -> 'iterations' as iterations,
    result ->> 'answer' as final_answer,
    result -> 'sources' as sources,
    status, error_message, created_at, started_at, completed_at,
    coalesce((metrics ->> 'pubmed_queries')::bigint, 0) as total_pubmed_queries,
    coalesce((metrics ->> 'web_queries')::bigint, 0) as total_web_queries,
    coalesce((metrics ->> 'articles_processed')::bigint, 0) as total_articles_processed,
    coalesce((metrics ->> 'pages_processed')::bigint, 0) as total_pages_processed
from tool_traces where tool_name = 'deep_research';
