-- The receivers of webhooks. Every change of a row is told to the workers by an outbox row on the channel `endpoints`,
-- written in the same transaction (connectors/postgres/endpoints.py): a change made here by hand reaches nobody.
-- Holds secrets: grant nothing on it to the roles that append.

create table if not exists outbox.endpoints (
    id           text        not null,
    url          text        not null,
    event_types  text[]      not null,
    secrets      text[]      not null, -- newest first; all of them sign
    enabled      boolean     not null default true,
    description  text        not null default '',
    created_at   timestamptz not null default clock_timestamp(),
    updated_at   timestamptz not null default clock_timestamp(),

    constraint endpoints_pkey primary key (id),
    constraint endpoints_id_is_prefixed check (id ~ '^ep_[A-Za-z0-9_-]{1,64}$'),
    constraint endpoints_has_event_types check (cardinality(event_types) >= 1),
    constraint endpoints_has_secrets check (cardinality(secrets) between 1 and 8)
);

comment on table outbox.endpoints is
    'Receivers of webhooks. Change them with `outbox endpoints`, which also tells the workers.';
