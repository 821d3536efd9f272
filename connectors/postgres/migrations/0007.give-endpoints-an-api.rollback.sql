-- Loses headers, metadata, and what endpoints have of their own: timeout, schedule, greatest age.
drop index if exists outbox.endpoints_by_age;
alter table outbox.endpoints
    drop column if exists headers,
    drop column if exists metadata,
    drop column if exists timeout,
    drop column if exists schedule,
    drop column if exists max_age,
    drop column if exists revision;
