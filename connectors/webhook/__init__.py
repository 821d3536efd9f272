"""Webhooks: what an endpoint is, signing a request, sending it, and judging the answer.

The way through this folder: `endpoint.Endpoint` (with its `url.WebhookUrl` and `secret.Secret`) and an event
become a `request.Request`; `sender.Sender` signs it (`signature`), writes it (`wire`) to a connection
(`pool`, `dial`, `connection`) and gives back an `answer.Answer`; `verdict.judge` says what the answer means.
Nothing here retries across attempts, counts attempts or knows Kafka: that is the processor's.
"""
