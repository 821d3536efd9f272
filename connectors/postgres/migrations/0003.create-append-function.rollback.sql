-- Programs that call it fail until it is back; those that insert into the table don't.
drop function if exists outbox.append(text, text, text, text, jsonb, text, uuid);
