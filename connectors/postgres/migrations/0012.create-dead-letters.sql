-- depends: 0006.create-delivery-log
-- The dead letters: what each record on outbox.dead-letter says of itself, and what became of it. Never the payload: that
-- stays in Kafka, and a redrive reads it there. The recorder alone adds rows; docs/reference/dead-letters.md says what
-- stands in them, docs/adr/0019 why.
--
-- One partition a day, in UTC, by when Kafka got the record: its retention counts from then, too, and a day's rows are
-- dropped together. The recorder makes the partitions and drops them, as it does those of the delivery log.

create table if not exists outbox.dead_letters (
    died_at             timestamptz not null, -- when Kafka got it, in whole milliseconds
    id                  uuid        not null, -- made of died_at and of the place
    place_partition     integer     not null, -- where it stands on outbox.dead-letter
    place_offset        bigint      not null,
    class               text        not null, -- poison: can't be read; undelivered: a target's matter
    code                text        not null,
    error               text,
    event_id            uuid,                 -- null where the record doesn't say, here and below
    event_type          text,
    target              text,                 -- null for a whole record: one that can't be read, or that nobody wants
    attempts            integer     not null, -- made before it died
    origin              text,                 -- where the event was first read: topic/partition/offset
    created_at          timestamptz,          -- when the event was committed
    first_failed_at     timestamptz,          -- the first failure or deferral
    died_in_replay_id   text,                 -- which replay of the delivery died; null before any
    status              text        not null default 'open',
    changed_at          timestamptz,          -- when it was redriven or discarded, and by whom
    changed_by          text,
    replay_id           text,                 -- the replay that redrove it

    constraint dead_letters_pkey primary key (died_at, id),
    constraint dead_letters_class_is_known check (class in ('poison', 'undelivered')),
    constraint dead_letters_status_is_known check (status in ('open', 'redriven', 'discarded'))
) partition by range (died_at);

create index if not exists dead_letters_by_target on outbox.dead_letters (target, died_at, id);
create index if not exists dead_letters_by_event_type on outbox.dead_letters (event_type, died_at, id);
create index if not exists dead_letters_by_code on outbox.dead_letters (code, died_at, id);
create index if not exists dead_letters_by_event on outbox.dead_letters (event_id);
create index if not exists dead_letters_open on outbox.dead_letters (died_at, id) where status = 'open';
create index if not exists dead_letters_by_replay on outbox.dead_letters (replay_id, place_partition, place_offset)
    where replay_id is not null;

comment on table outbox.dead_letters is 'One row for each record on outbox.dead-letter; added by `outbox recorder` alone.';
