"""Ask a Kafka broker who is in its cluster: one Metadata request over a plain socket.

An open port alone means little: a starting broker listens before it serves. One that lists a broker (itself) serves.
The bytes are those of the protocol guide, Metadata version 1 with no topics.
"""

import socket
import struct

__all__ = ["broker_count", "has_a_broker", "metadata_request"]

_METADATA = 3
_VERSION = 1
_CORRELATION_ID = 1
_CLIENT = b"outbox-devstack"
_TIMEOUT_S = 2.0
_ANSWER_LIMIT_BYTES = 1 << 20


def has_a_broker(host: str, port: int) -> bool:
    """Whether the broker at this address answers and lists at least one broker."""
    try:
        with socket.create_connection((host, port), timeout=_TIMEOUT_S) as connection:
            connection.sendall(metadata_request())
            with connection.makefile("rb") as answer:
                (length,) = struct.unpack(">i", answer.read(4))
                return broker_count(answer.read(min(length, _ANSWER_LIMIT_BYTES))) > 0
    except (OSError, struct.error):
        return False


def metadata_request() -> bytes:
    """The request with its length in front: no topics, so nothing but the brokers comes back."""
    header = struct.pack(f">hhih{len(_CLIENT)}s", _METADATA, _VERSION, _CORRELATION_ID, len(_CLIENT), _CLIENT)
    body = header + struct.pack(">i", 0)
    return struct.pack(">i", len(body)) + body


def broker_count(answer: bytes) -> int:
    """How many brokers an answer lists: the number after its correlation id. 0 for an answer to something else."""
    correlation_id, brokers = struct.unpack_from(">ii", answer)
    return int(brokers) if correlation_id == _CORRELATION_ID else 0
