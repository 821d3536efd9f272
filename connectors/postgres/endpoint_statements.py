"""The statements of the endpoint store: what is asked of the table `outbox.endpoints`, and how the workers are told.

Place in the data's way: used by `EndpointStore`, and by nothing else. What is read comes in the order of
`stored_endpoint.COLUMNS`.
"""

from typing import Final

from connectors.postgres.stored_endpoint import COLUMNS

__all__ = [
    "DELETE",
    "FORGET",
    "INSERT",
    "SELECT_ALL",
    "SELECT_ALL_LOCKED",
    "SELECT_IDS",
    "SELECT_LOCKED",
    "SELECT_ONE",
    "SELECT_PAGE",
    "SELECT_REVISION_LOCKED",
    "TELL",
    "UPDATE",
]

INSERT: Final = """
insert into outbox.endpoints (id, url, event_types, secrets, enabled, description, created_at, headers, timeout,
                              schedule, max_age, concurrency, rate_limit_per_s, payload_filter, metadata)
values (%(id)s, %(url)s, %(event_types)s, %(secrets)s, %(enabled)s, %(description)s, %(created_at)s,
        %(headers)s::jsonb, %(timeout)s, %(schedule)s, %(max_age)s, %(concurrency)s, %(rate_limit_per_s)s,
        %(payload_filter)s::json, %(metadata)s::jsonb)
"""

UPDATE: Final = """
update outbox.endpoints
set url = %(url)s, event_types = %(event_types)s, secrets = %(secrets)s, enabled = %(enabled)s,
    description = %(description)s, headers = %(headers)s::jsonb, timeout = %(timeout)s, schedule = %(schedule)s,
    max_age = %(max_age)s, concurrency = %(concurrency)s, rate_limit_per_s = %(rate_limit_per_s)s,
    payload_filter = %(payload_filter)s::json, metadata = %(metadata)s::jsonb, revision = revision + %(steps)s,
    updated_at = case when %(steps)s > 0 then clock_timestamp() else updated_at end
where id = %(id)s
"""

SELECT_ONE: Final = f"select {COLUMNS} from outbox.endpoints where id = %(id)s"  # noqa: S608 - constants, here and below
SELECT_LOCKED: Final = f"{SELECT_ONE} for update"
SELECT_REVISION_LOCKED: Final = "select revision from outbox.endpoints where id = %(id)s for update"
SELECT_ALL: Final = f"select {COLUMNS} from outbox.endpoints order by created_at, id"  # noqa: S608
SELECT_ALL_LOCKED: Final = f"{SELECT_ALL} for update"
SELECT_PAGE: Final = f"""
select {COLUMNS} from outbox.endpoints
where %(created_at)s::timestamptz is null or (created_at, id) > (%(created_at)s, %(id)s)
order by created_at, id limit %(limit)s
"""  # noqa: S608
SELECT_IDS: Final = "select id from outbox.endpoints"
DELETE: Final = "delete from outbox.endpoints where id = %s"

TELL: Final = """
insert into outbox.outbox (id, channel, type, aggregate_type, aggregate_id, payload)
values (%s, 'endpoints', %s, 'endpoint', %s, %s)
"""
FORGET: Final = "delete from outbox.outbox where id = %s"
