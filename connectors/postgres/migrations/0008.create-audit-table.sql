-- depends: 0004.create-endpoints-table
-- Who changed which endpoint, when, and which of its fields; written in the transaction of the change. Names of fields
-- only: a value may be a secret. Nothing deletes from it; rows older than somebody needs them may be deleted at any time.

create table if not exists outbox.audit (
    id           bigint      not null generated always as identity,
    at           timestamptz not null default clock_timestamp(),
    actor        text        not null,
    action       text        not null,
    endpoint_id  text,
    fields       text[]      not null default '{}',
    request_id   text,

    constraint audit_pkey primary key (id)
);

create index if not exists audit_by_endpoint on outbox.audit (endpoint_id, id);

comment on table outbox.audit is
    'Changes of endpoints: who, when, what. Read it with GET /v1/audit.';
