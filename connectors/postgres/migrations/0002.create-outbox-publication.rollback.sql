-- Stops the connector until the publication is back.
drop publication if exists outbox;
