-- depends: 0008.create-audit-table
-- What an endpoint takes at most, and which payloads it wants (docs/adr/0016-limits-and-filters-of-an-endpoint.md).
-- `payload_filter` is json rather than jsonb, which would write numbers and the order of names in its own way.

alter table outbox.endpoints
    add column if not exists concurrency       integer,
    add column if not exists rate_limit_per_s  double precision,
    add column if not exists payload_filter    json;
