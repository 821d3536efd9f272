-- depends: 0004.create-endpoints-table
-- What the admin API keeps of an endpoint. `headers` and `secrets` hold sealed text where there is a key ring
-- (docs/adr/0014-secrets-sealed-at-rest.md); beside a secret may stand when it ends (`;until=<time>`).
-- `metadata` is the operator's own, and no worker hears of it. `revision` counts changes: the API's ETag.
-- Constant defaults: no row is rewritten.

alter table outbox.endpoints
    add column if not exists headers   jsonb    not null default '{}',
    add column if not exists metadata  jsonb    not null default '{}',
    add column if not exists timeout   interval,
    add column if not exists schedule  interval[],
    add column if not exists max_age   interval,
    add column if not exists revision  bigint   not null default 1;

-- The pages of a list go along this.
create index if not exists endpoints_by_age on outbox.endpoints (created_at, id);
