-- The outbox: applications write a row in the transaction that writes what the row tells of. The table is the contract
-- for programs in any language (docs/reference/outbox-table.md); `outbox.append` in Python and in SQL refuse the same
-- rows, with better words. Every constraint keeps out what would be changed on its way, or would stop the connector:
-- one row that Debezium or Kafka can't take holds up all that come after it.
--
-- No index but the primary key: nothing queries this table; Debezium reads the WAL. Rows may be deleted at any time,
-- also in the transaction that wrote them.

create table if not exists outbox.outbox (
    id              uuid        not null default gen_random_uuid(),
    channel         text        not null default 'events',
    type            text        not null,
    aggregate_type  text        not null,
    aggregate_id    text        not null,
    payload         text,
    content_type    text        not null default 'application/json',
    headers         jsonb       not null default '{}',
    created_at      timestamptz not null default clock_timestamp(),

    constraint outbox_pkey primary key (id),

    -- A channel is a topic (outbox.<channel>); the connector would fail on one that doesn't exist.
    constraint outbox_channel_is_known check (channel in ('events', 'endpoints')),

    constraint outbox_type_is_dotted_words check (
        length(type) <= 200 and type ~ '^[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*$'
    ),

    constraint outbox_aggregate_type_is_short_text check (
        octet_length(aggregate_type) between 1 and 200 and aggregate_type !~ '[\u0001-\u001f\u007f]'
    ),

    constraint outbox_aggregate_id_is_short_text check (
        octet_length(aggregate_id) between 1 and 512 and aggregate_id !~ '[\u0001-\u001f\u007f]'
    ),

    -- 960 KiB: room for key and headers below Kafka's default limits (outbox/payload.py has the sum).
    constraint outbox_payload_fits_a_record check (octet_length(payload) <= 983040),

    -- Debezium makes a tombstone of a payload that is NULL, empty or all white space (what Java's trim() removes).
    -- On the channel of events that would lose the payload; on the others NULL is the tombstone that is meant.
    constraint outbox_payload_is_not_blank check (
        case when payload is null then channel <> 'events' else payload ~ '[^\u0001-\u0020]' end
    ),

    constraint outbox_content_type_is_media_type check (
        length(content_type) <= 200
        and content_type ~ '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(;[\u0020-\u007e]*[\u0021-\u007e])?$'
    ),

    -- Headers may become HTTP headers: lower-case names, printable ASCII values, none that the sender sets itself.
    constraint outbox_headers_are_text check (
        jsonb_typeof(headers) = 'object'
        and octet_length(headers::text) <= 4096
        and jsonb_array_length(jsonb_path_query_array(headers, '$.keyvalue()')) <= 64
        and not jsonb_path_exists(headers, '$.keyvalue() ? (
            !(@.key like_regex "^[a-z0-9][a-z0-9-]{0,99}$")
            || @.key like_regex "^(outbox|webhook)-"
            || @.value.type() != "string"
            || !(@.value like_regex "^([!-~]([ -~]*[!-~])?)?$")
        )')
        and not headers ?| array[
            'accept', 'accept-encoding', 'connection', 'content-encoding', 'content-length', 'content-type', 'expect',
            'host', 'idempotency-key', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
            'transfer-encoding', 'upgrade', 'user-agent'
        ]
    ),

    -- Infinity, or a year that no ISO 8601 parser reads, would be undecodable on Kafka.
    constraint outbox_created_at_is_a_date check (
        created_at >= timestamptz '2000-01-01 00:00:00+00' and created_at < timestamptz '9000-01-01 00:00:00+00'
    )
) with (
    -- Insert-mostly, or insert and delete: vacuum by the number of rows, however many there are, so that old rows are
    -- frozen and pages of deleted ones used again in small steps.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 100000
);

comment on table outbox.outbox is
    'Events to deliver. Insert in the transaction of what they tell of; see docs/reference/outbox-table.md.';
