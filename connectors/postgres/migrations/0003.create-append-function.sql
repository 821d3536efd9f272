-- depends: 0001.create-outbox-table
-- outbox.append: the library's `append` for programs in other languages. One call, in the caller's transaction; returns
-- the event's id. The table's constraints would refuse the same rows, but their error quotes the row, payload included,
-- and it ends in the server's log. These errors name the field, what is wrong and what to do, and quote nothing;
-- they carry the constraint's name and SQLSTATE 23514 (check_violation). NULL for one of the last three means its default.

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
