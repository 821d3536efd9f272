-- depends: 0012.create-dead-letters
-- When the capture of rows was whole again: a new slot, a publication put right, a position forgotten. What was committed
-- before that may never have been sent, though the slot of today has confirmed all that it knows of, and the rows in the
-- table are then the only copy. `outbox setup` writes it, before it closes the gap; `outbox prune` leaves every row alone
-- until its retention has passed since (docs/adr/0024-pruning-the-outbox.md).

create table if not exists outbox.capture_gaps (
    slot      text        not null,
    ended_at  timestamptz not null,

    constraint capture_gaps_pkey primary key (slot)
);

comment on table outbox.capture_gaps is
    'When `outbox setup` last closed a gap in the capture of rows; `outbox prune` waits from there.';
