-- depends: 0001.create-outbox-table
-- The delivery log: what became of each event at each target, and every attempt. The recorder alone writes it, from
-- outbox.attempts on Kafka; docs/reference/delivery-log.md says what stands in it, docs/adr/0012 why it is cut so.
--
-- One partition a day, in UTC, by when the event was committed: every attempt record says that, so a row is found again
-- without a search, and a delivery and its attempts are dropped together. The recorder makes the partitions and drops
-- them. It must own the tables for that, as setup does that creates them.
--
-- Not in the publication: Debezium passes none of it on.

create table if not exists outbox.deliveries (
    created_at      timestamptz       not null, -- when the event was committed, in whole milliseconds
    id              uuid              not null, -- made of created_at, event_id and target
    event_id        uuid              not null,
    event_type      text              not null,
    target          text              not null, -- handler:<name> or endpoint:<id>
    origin          text              not null, -- where the event stands on Kafka: topic/partition/offset
    status          text              not null,
    attempts        integer           not null, -- made so far, of this replay
    error_code      text,
    error           text,
    http_status     smallint,
    next_attempt_at timestamptz,
    -- Which attempt record says all this. The greatest of these six wins, in this order, whoever comes first.
    replay_id       text collate "C"  not null, -- '' for the first run; a later replay's is greater
    standing        smallint          not null, -- 2 succeeded, 1 ended otherwise, 0 goes on
    attempt         integer           not null,
    deferrals       integer           not null,
    last_attempt_at timestamptz       not null,
    last_attempt_id uuid              not null,

    constraint deliveries_pkey primary key (created_at, id),
    constraint deliveries_status_is_known check (
        status in ('pending', 'retrying', 'succeeded', 'failed', 'cancelled')
    )
) partition by range (created_at);

-- Lists are newest first, and cut by time and id. What has not succeeded is little, and what people look for.
create index if not exists deliveries_by_target on outbox.deliveries (target, created_at, id);
create index if not exists deliveries_by_event_type on outbox.deliveries (event_type, created_at, id);
create index if not exists deliveries_by_event on outbox.deliveries (event_id);
create index if not exists deliveries_not_succeeded on outbox.deliveries (created_at, id) where status <> 'succeeded';
create index if not exists deliveries_not_succeeded_by_target on outbox.deliveries (target, created_at, id)
    where status <> 'succeeded';

create table if not exists outbox.attempts (
    created_at      timestamptz       not null, -- of the delivery: an attempt lives in its delivery's day
    delivery_id     uuid              not null,
    id              uuid              not null,
    attempt         integer           not null,
    deferrals       integer           not null,
    replay_id       text              not null,
    started_at      timestamptz       not null,
    duration_ms     double precision  not null,
    outcome         text              not null,
    http_status     smallint,
    error_code      text,
    error           text,
    excerpt         text,                       -- the receiver's words
    next            text              not null, -- done, a retry topic, or dead-letter
    next_attempt_at timestamptz,

    constraint attempts_pkey primary key (created_at, delivery_id, id)
) partition by range (created_at);

comment on table outbox.deliveries is 'One row for each event and target; written by `outbox recorder` alone.';
comment on table outbox.attempts is 'One row for each turn of a delivery; written by `outbox recorder` alone.';
