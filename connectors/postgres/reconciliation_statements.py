"""The statements of `connectors.postgres.reconciliation`, in the order in which they run.

The numbers of facts come from `Fact`. Joins are by hashes that go on in files beyond work_mem: without an index a plan
that loops would take hours, so after each table is filled its statistics are taken.
"""

from __future__ import annotations

from typing import Final, LiteralString

from connectors.postgres.event_facts import Fact

__all__ = [
    "ANALYZE_FOUND",
    "ANALYZE_ROWS",
    "CONFIRMED",
    "COUNTS",
    "COUNT_MISSING",
    "DELIVERIES",
    "EVENTS_OF",
    "PUT_TOGETHER",
    "READ_ONLY",
    "SESSION",
    "TABLES",
    "TAKE_OPEN",
    "TAKE_ROWS",
    "TYPES",
    "WAL_POSITION",
]

SESSION: Final[tuple[LiteralString, ...]] = (
    # What waits for somebody's lock gives up: nobody may queue behind it.
    "set lock_timeout = '5s'",
    "set work_mem = '32MB'",
    # One core at most, of a server that has other work.
    "set max_parallel_workers_per_gather = 0",
    "set jit = off",
    "set timezone = 'UTC'",
)

TABLES: Final[LiteralString] = """
create temporary table verify_rows (
    id uuid not null, type text not null, created_at timestamptz not null
);
create temporary table verify_found (
    id uuid not null, type text not null, created_at timestamptz not null, in_flight boolean not null,
    unwanted boolean not null
);
create temporary table verify_open (
    created_at timestamptz not null, id uuid not null, event_id uuid not null, target text not null,
    status text not null, replay_id text collate "C" not null, last_attempt_id uuid not null
);
create temporary table verify_held (
    event_id uuid not null, target text not null, replay_id text collate "C" not null
);
create temporary table verify_expected (
    type text not null, target text not null, since timestamptz not null
);
create temporary table verify_fates (
    created_at timestamptz not null, id uuid not null, last_attempt_id uuid not null, facts integer not null
);
create temporary table verify_committed (
    id uuid not null, type text not null, created_at timestamptz not null, facts integer not null
);
create temporary table verify_events (
    id uuid not null, type text not null, created_at timestamptz not null, facts integer not null
);
"""

#: From here on Postgres refuses every change but those of temporary tables.
READ_ONLY: Final[LiteralString] = "set default_transaction_read_only = on"

# In whole milliseconds, as the log and the dead letters have it.
TAKE_ROWS: Final = """
insert into verify_rows
select id, type, date_trunc('milliseconds', created_at)
from outbox.outbox
where channel = 'events' and created_at >= %(since)s and created_at < %(until)s
"""

ANALYZE_ROWS: Final = "analyze verify_rows"
ANALYZE_FOUND: Final = "analyze verify_found"

# Asked after the rows were taken: each of them was written before.
WAL_POSITION: Final = "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"

CONFIRMED: Final = (
    "select confirmed_flush_lsn - '0/0'::pg_lsn from pg_replication_slots "
    "where slot_name = %(slot)s and database = current_database()"
)

COUNT_MISSING: Final = """
select count(*)
from verify_rows one
where not exists (select from verify_found found where found.id = one.id)
  and not exists (
      select from outbox.deliveries known
      where known.event_id = one.id and known.created_at >= %(since)s and known.created_at < %(until)s
  )
  and not exists (select from outbox.dead_letters letter where letter.event_id = one.id)
"""

TAKE_OPEN: Final = """
insert into verify_open
select created_at, id, event_id, target, status, replay_id, last_attempt_id
from outbox.deliveries
where created_at >= %(since)s and created_at < %(until)s
  and status <> 'succeeded' -- which the index of the few is made for
  and (status in ('pending', 'retrying') or status = 'failed' and last_attempt_at >= %(letters_since)s)
"""

TYPES: Final = "select type from verify_rows union select type from verify_found"

# What the log says is open, where that is not so. A delivery whose record is on Kafka, in its replay or a later one,
# is as the log says, or further. A letter for one that waits: its record could not be read at its next hop.
_FATES: Final = f"""
insert into verify_fates
select open.created_at, open.id, open.last_attempt_id,
       case when letter.event_id is not null then {Fact.BURIED:d}
            when open.status = 'failed' then {Fact.LETTER_LOST:d}
            else {Fact.WAIT_LOST:d} end
from verify_open open
left join (
    select event_id, target, max(replay_id) as replay_id from verify_held group by event_id, target
) held on held.event_id = open.event_id and held.target = open.target and held.replay_id >= open.replay_id
left join (
    select distinct event_id, target, coalesce(died_in_replay_id, '') as replay_id from outbox.dead_letters
    where died_at >= %(died_since)s and event_id is not null and target is not null
) letter on letter.event_id = open.event_id and letter.target = open.target and letter.replay_id = open.replay_id
where held.event_id is null and (letter.event_id is null or open.status <> 'failed')
"""  # noqa: S608 - numbers of ours, here and below

# An event that is on Kafka twice is in flight while one of its records is.
_COMMITTED: Final = f"""
insert into verify_committed
select id, min(type), min(created_at), bit_or(facts)
from (
    select id, type, created_at, {Fact.HAS_ROW:d} as facts from verify_rows
    union all
    select id, type, created_at,
           {Fact.ON_KAFKA:d} | case when in_flight then {Fact.IN_FLIGHT:d} else 0 end
           | case when unwanted then {Fact.UNWANTED:d} else 0 end
    from verify_found
) known
group by id
having not %(rows_only)s or bit_or(facts) & {Fact.HAS_ROW:d} <> 0
"""  # noqa: S608

# A delivery that has moved on since it was taken is as it says now. Of the targets that an event should have, most want
# all events of the period: these are counted by type, and only the others by event.
_EVENTS: Final = f"""
insert into verify_events
with logged as (
    select delivery.event_id,
           bit_or(coalesce(fate.facts, case delivery.status
               when 'succeeded' then {Fact.SUCCEEDED:d}
               when 'cancelled' then {Fact.CANCELLED:d}
               when 'failed' then {Fact.BURIED:d}
               else {Fact.WAITS:d} end)) as facts,
           count(expected.target) as number
    from outbox.deliveries delivery
    left join verify_fates fate
        on fate.created_at = delivery.created_at and fate.id = delivery.id
        and fate.last_attempt_id = delivery.last_attempt_id
    left join verify_expected expected
        on expected.type = delivery.event_type and expected.target = delivery.target
        and expected.since <= delivery.created_at
    where delivery.created_at >= %(since)s and delivery.created_at < %(until)s
    group by delivery.event_id
),
by_type as (
    select type, count(*) as number from verify_expected where since <= %(since)s group by type
),
by_event as (
    select event.id, count(*) as number
    from verify_committed event
    join verify_expected expected on expected.type = event.type and expected.since <= event.created_at
    where expected.since > %(since)s
    group by event.id
),
letters as (
    select distinct event_id from outbox.dead_letters
    where died_at >= %(died_since)s and event_id is not null and target is null
),
again as (
    select distinct held.event_id from verify_held held
    where not exists (
        select from outbox.deliveries delivery
        where delivery.event_id = held.event_id and delivery.target = held.target
          and delivery.created_at >= %(since)s and delivery.created_at < %(until)s
    )
)
select event.id, event.type, event.created_at,
       event.facts | coalesce(logged.facts, 0)
       | case when letters.event_id is null then 0 else {Fact.WHOLE_LETTER:d} end
       | case when again.event_id is null then 0 else {Fact.ROUTED_AGAIN:d} end
       | case when coalesce(by_type.number, 0) + coalesce(by_event.number, 0) = 0 then 0
              when coalesce(by_type.number, 0) + coalesce(by_event.number, 0) > coalesce(logged.number, 0)
              then {Fact.EXPECTED | Fact.TARGET_MISSING:d}
              else {Fact.EXPECTED:d} end
from verify_committed event
left join logged on logged.event_id = event.id
left join letters on letters.event_id = event.id
left join again on again.event_id = event.id
left join by_type on by_type.type = event.type
left join by_event on by_event.id = event.id
"""  # noqa: S608

PUT_TOGETHER: Final[tuple[LiteralString, ...]] = (
    "analyze verify_found",
    "analyze verify_open",
    "analyze verify_held",
    "analyze verify_expected",
    _FATES,
    "analyze verify_fates",
    _COMMITTED,
    "analyze verify_committed",
    _EVENTS,
)

COUNTS: Final = "select facts, count(*) from verify_events group by facts"

DELIVERIES: Final = """
select status, count(*) from outbox.deliveries
where created_at >= %(since)s and created_at < %(until)s
group by status
"""

EVENTS_OF: Final = """
select id, type, created_at, facts from verify_events
where facts = any(%(facts)s) order by created_at, id limit %(most)s
"""
