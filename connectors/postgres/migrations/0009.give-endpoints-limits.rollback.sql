-- Loses the limits and the payload filters: endpoints get all events of their types, as fast as workers send them.
alter table outbox.endpoints
    drop column if exists concurrency,
    drop column if exists rate_limit_per_s,
    drop column if exists payload_filter;
