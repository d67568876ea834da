-- One table for every tool that takes long. JSON as text.
create table tool_traces (
    id            text primary key,
    user_id       text not null,
    org_id        text,
    tool_name     text not null,
    input_params  text,
    status        text not null default 'pending',
    progress      real not null default 0,
    current_stage text,
    state         text not null default '{}',
    result        text,
    error_message text,
    created_at    text not null,
    started_at    text,
    completed_at  text,
    metrics       text not null default '{}'
) strict;

create index idx_tool_traces_user_tool on tool_traces (user_id, tool_name);
create index idx_tool_traces_status on tool_traces (status);

-- The columns of the older table of that name.
create view research_traces as
select
    id, user_id, org_id,
    input_params ->> '$.question' as question,
    input_params ->> '$.context' as context,
    input_params ->> '$.max_iterations' as max_iterations,
    state ->> '$.refined_question' as refined_question,
    state -> '$.checklist' as checklist,
    state -> '$.knowledge_base' as knowledge_base,
    state -> '$.iterations' as iterations,
    result ->> '$.answer' as final_answer,
    result -> '$.sources' as sources,
    status, error_message, created_at, started_at, completed_at,
    coalesce(metrics ->> '$.pubmed_queries', 0) as total_pubmed_queries,
    coalesce(metrics ->> '$.web_queries', 0) as total_web_queries,
    coalesce(metrics ->> '$.articles_processed', 0) as total_articles_processed,
    coalesce(metrics ->> '$.pages_processed', 0) as total_pages_processed
from tool_traces where tool_name = 'deep_research';
