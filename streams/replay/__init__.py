"""Replays: deliveries that somebody asks for again, or for the first time after the fact.

A request is a row of `outbox.replays`; the replayer executes it: reads events where they lie on Kafka, in no group,
and puts deliveries on `outbox.redelivery`, for the named targets alone. docs/adr/0018 says why nothing is left out and
nothing is sent twice.
"""
