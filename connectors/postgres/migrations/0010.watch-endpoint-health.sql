-- depends: 0003.create-append-function 0007.give-endpoints-an-api 0008.create-audit-table
-- What the recorder knows of each endpoint, and what it told and did about that (docs/adr/0017). One row for each endpoint,
-- made and deleted with it, and written with the batches of the delivery log. No URL, and no word of a receiver.
--
-- No foreign key: programs of the version before go on removing endpoints. The recorder makes up for what they leave out.

create table if not exists outbox.endpoint_health (
    endpoint_id      text        not null,
    counted_from     timestamptz not null, -- attempts that began earlier count for nothing
    last_success_at  timestamptz,          -- when the attempt began, as all times here but the last three
    last_failure_at  timestamptz,
    last_failure_id  uuid,
    last_error       text,
    last_status      smallint,
    gone_at          timestamptz,          -- of the latest attempt that was answered with 410
    failing_first    bigint,               -- the minute of the lowest bit, from 1970 on
    failing_minutes  bytea,                -- a bit for each minute with failures after the last success
    failing_since    timestamptz,          -- when the first of them began
    warnings         smallint    not null default 0,
    warned_since     timestamptz,          -- the failing_since that was warned of
    warned_at        timestamptz,
    disabled_reason  text,                 -- null: it was not disabled automatically, or is enabled again
    disabled_at      timestamptz,

    constraint endpoint_health_pkey primary key (endpoint_id),
    constraint endpoint_health_reason_is_known check (disabled_reason in ('gone', 'failing'))
) with (
    -- Rows are updated with every batch: room for that on their page, and small vacuums.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000
);

insert into outbox.endpoint_health (endpoint_id, counted_from)
select id, created_at from outbox.endpoints
on conflict do nothing;

-- Whom to judge: few, and they don't change with every batch.
create index if not exists endpoint_health_to_judge on outbox.endpoint_health (endpoint_id)
    where disabled_at is null and (failing_since is not null or gone_at is not null);

comment on table outbox.endpoint_health is
    'How each endpoint fares; written by `outbox recorder`, reset when an endpoint is enabled or moved.';

-- As in 0003, and the types that the recorder alone appends are refused.
create or replace function outbox.append(
    type            text,
    aggregate_type  text,
    aggregate_id    text,
    payload         text,
    headers         jsonb default '{}',
    content_type    text  default 'application/json',
    id              uuid  default gen_random_uuid()
) returns uuid
language plpgsql
volatile
as $function$
declare
    event_id     uuid  := coalesce(append.id, gen_random_uuid());
    media_type   text  := coalesce(append.content_type, 'application/json');
    text_headers jsonb := coalesce(append.headers, '{}');
    problem      text;
    advice       text;
    rule         text;
begin
    if append.type is null or length(append.type) > 200
       or append.type !~ '^[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*$' then
        rule := 'outbox_type_is_dotted_words';
        problem := 'type: is no event type';
        advice := 'Use words of ASCII letters, digits, _ and - joined by single dots, 200 characters at most, such as order.created.';
    elsif append.type in ('endpoint.failing', 'endpoint.disabled') then
        rule := 'outbox_type_is_dotted_words';
        problem := 'type: is reserved';
        advice := 'The recorder alone says this, of endpoints of this outbox: choose another type.';
    elsif append.aggregate_type is null or octet_length(append.aggregate_type) not between 1 and 200
          or append.aggregate_type ~ '[\u0001-\u001f\u007f]' then
        rule := 'outbox_aggregate_type_is_short_text';
        problem := 'aggregate_type: is NULL, empty, too long, or has a control character';
        advice := 'Give 1 to 200 bytes of text.';
    elsif append.aggregate_id is null or octet_length(append.aggregate_id) not between 1 and 512
          or append.aggregate_id ~ '[\u0001-\u001f\u007f]' then
        rule := 'outbox_aggregate_id_is_short_text';
        problem := 'aggregate_id: is NULL, empty, too long, or has a control character';
        advice := 'It becomes the Kafka key: give 1 to 512 bytes of text.';
    elsif octet_length(append.payload) > 983040 then
        rule := 'outbox_payload_fits_a_record';
        problem := format('payload: has %s bytes, and the limit is 983040', octet_length(append.payload));
        advice := 'Keep what is large elsewhere, and append where to find it.';
    elsif append.payload is null or append.payload !~ '[^\u0001-\u0020]' then
        rule := 'outbox_payload_is_not_blank';
        problem := 'payload: is NULL, empty, or nothing but white space';
        advice := 'On Kafka that would be a tombstone; for an event without content, give {}.';
    elsif length(media_type) > 200
          or media_type !~ '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(;[\u0020-\u007e]*[\u0021-\u007e])?$' then
        rule := 'outbox_content_type_is_media_type';
        problem := 'content_type: is no media type';
        advice := 'Give one such as text/csv; charset=utf-8, 200 characters at most.';
    elsif jsonb_typeof(text_headers) <> 'object' then
        rule := 'outbox_headers_are_text';
        problem := 'headers: is not a JSON object';
        advice := 'Give an object whose values are strings.';
    elsif octet_length(text_headers::text) > 4096
          or jsonb_array_length(jsonb_path_query_array(text_headers, '$.keyvalue()')) > 64 then
        rule := 'outbox_headers_are_text';
        problem := 'headers: are more than 64, or take more than 4096 bytes';
        advice := 'They travel with every attempt: put what is large into the payload.';
    elsif jsonb_path_exists(text_headers, '$.keyvalue() ? (
              !(@.key like_regex "^[a-z0-9][a-z0-9-]{0,99}$")
              || @.value.type() != "string"
              || !(@.value like_regex "^([!-~]([ -~]*[!-~])?)?$")
          )') then
        rule := 'outbox_headers_are_text';
        problem := 'headers: a name or a value can not be an HTTP header';
        advice := 'Use names of lower-case letters, digits and -, and values of printable ASCII without a space at an end.';
    elsif jsonb_path_exists(text_headers, '$.keyvalue() ? (@.key like_regex "^(outbox|webhook)-")')
          or text_headers ?| array[
            'accept', 'accept-encoding', 'connection', 'content-encoding', 'content-length', 'content-type', 'expect',
            'host', 'idempotency-key', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer',
            'transfer-encoding', 'upgrade', 'user-agent'
          ] then
        rule := 'outbox_headers_are_text';
        problem := 'headers: a name is reserved';
        advice := 'HTTP or the processor sets it: choose another, or content_type for a content type.';
    end if;

    if rule is not null then
        raise exception using
            errcode = 'check_violation',
            message = problem,
            hint = advice,
            schema = 'outbox',
            table = 'outbox',
            constraint = rule;
    end if;

    insert into outbox.outbox (id, type, aggregate_type, aggregate_id, payload, content_type, headers)
    values (event_id, append.type, append.aggregate_type, append.aggregate_id, append.payload, media_type, text_headers);
    return event_id;
end
$function$;

comment on function outbox.append(text, text, text, text, jsonb, text, uuid) is
    'Append an event to the outbox in the current transaction; see docs/reference/outbox-table.md.';
