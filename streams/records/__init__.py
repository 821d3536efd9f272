"""The records of the data's way, one noun a file: delivery, attempt, outcome, next hop, and how they look on the wire.

`Event` itself belongs to the library (`outbox.event`), because handlers receive it.
"""
