-- depends: 0008.create-audit-table
-- Replays: deliveries that somebody asked to be made again, or for the first time after the fact. A row is the request,
-- its progress, and where whoever takes it over goes on; docs/adr/0018 says how nothing is left out or sent twice.
-- Written by who asks (API, command line) and by the replayer that executes it, who holds an advisory lock meanwhile.
--
-- Nothing deletes from it; rows of replays that have ended may be deleted at any time, with their idempotency keys.

create table if not exists outbox.replays (
    id               text collate "C"  not null, -- a UUIDv7: later replays have greater ids, which the delivery log needs
    kind             text              not null,
    target           text,                       -- handler:<name> or endpoint:<id>; null: of several
    selection        jsonb             not null, -- what was asked for
    rate_per_s       double precision  not null, -- at most so many are sent a second
    status           text              not null default 'waiting',
    requested_by     text              not null,
    requested_at     timestamptz       not null default clock_timestamp(),
    request_id       text,
    idempotency_key  text,                       -- null: asked for without
    started_at       timestamptz,
    ended_at         timestamptz,
    waits_for        text,                       -- why it is not running yet
    warning          text,                       -- what it can't reach
    error            text,                       -- why it failed
    events_read      bigint            not null default 0,
    events_to_read   bigint,                     -- null until it has started
    sent             bigint            not null default 0,
    skipped          bigint            not null default 0,
    -- Per partition: where the next batch begins, where reading ends, and where outbox.redelivery ended when the
    -- batch that is under way began: from there on stands what of it was sent already.
    next_offsets     jsonb             not null default '{}',
    end_offsets      jsonb,
    sent_offsets     jsonb,

    constraint replays_pkey primary key (id),
    constraint replays_kind_is_known check (kind in ('resend', 'recovery', 'redrive', 'range')),
    constraint replays_status_is_known check (status in ('waiting', 'running', 'done', 'stopped', 'failed'))
);

-- One replay for each key: whoever repeats a request gets the same one.
create unique index if not exists replays_by_key on outbox.replays (requested_by, kind, idempotency_key);
-- What there is to do.
create index if not exists replays_open on outbox.replays (id) where status in ('waiting', 'running');

comment on table outbox.replays is 'Deliveries made again on purpose: who asked, how far it is. `outbox replay list`.';
