"""What counts as a Kafka that answers."""

import socket
import struct
import threading

from devstack.kafka_probe import broker_count, has_a_broker, metadata_request
from devstack.port import LOOPBACK


def test_the_request_asks_for_brokers_and_no_topics() -> None:
    """Byte for byte what the protocol guide lays down: Metadata (3), version 1, an empty list of topics."""
    expected = b"\x00\x03\x00\x01\x00\x00\x00\x01\x00\x0foutbox-devstack\x00\x00\x00\x00"
    assert metadata_request() == struct.pack(">i", len(expected)) + expected


def test_a_broker_that_lists_none_is_not_ready() -> None:
    """It answers while it is still registering: clients would find no leader for anything."""
    assert broker_count(struct.pack(">ii", 1, 1)) == 1
    assert broker_count(struct.pack(">ii", 1, 0)) == 0


def test_an_answer_to_another_question_is_none() -> None:
    """Some other server on that port is not taken for Kafka."""
    assert broker_count(b"HTTP/1.1 400 Bad Request") == 0


def accept_and_close(server: socket.socket) -> None:
    connection, _ = server.accept()
    connection.close()


def test_a_server_that_hangs_up_is_not_ready() -> None:
    """A port that is open and says nothing counts as not ready, without an exception."""
    with socket.create_server((LOOPBACK, 0)) as server:
        hang_up = threading.Thread(target=accept_and_close, args=(server,))
        hang_up.start()
        assert not has_a_broker(LOOPBACK, server.getsockname()[1])
        hang_up.join()
