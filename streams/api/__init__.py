"""The admin API: endpoints as a managed resource, and the delivery log, over HTTP and JSON.

process.py, server.py   listening, starting, stopping
pipeline.py             what every request goes through: ids, access, body, problems
access.py               bearer tokens, and who may do what
operation.py            one operation: what it takes, what it answers, what it does
endpoint_operations.py, secret_operations.py, audit_operations.py, delivery_operations.py   the operations
endpoint_values.py      from what is sent in to an endpoint
models.py               what is sent in (pydantic); texts.py: the kinds of text in it
views.py, delivery_views.py   what is answered
validation.py           from what pydantic says to problems that name the field
problem.py              RFC 9457
openapi.py              the document that is made from all of these
tier_operations.py, backlog.py   what waits on Kafka
stores.py               what operations ask, with the limits of each
page/                   the page for people, as files

Endpoints and the log need Postgres alone: a change reaches the workers through the outbox. Only replays, and what
waits in the tiers, need Kafka. No worker needs this process.
"""
