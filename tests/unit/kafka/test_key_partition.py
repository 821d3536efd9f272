"""Keys' partitions, against what Kafka's own tests say of its hash."""

import pytest

from connectors.kafka.key_partition import key_partition


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_a_key_is_where_javas_producer_puts_it(key: bytes, hashed: int) -> None:
    """The values of Kafka's UtilsTest.testMurmur2, and from there on its default partitioner's arithmetic."""
    for partitions in (1, 6, 1_000_003):
        assert key_partition(key, partitions) == (hashed & 0x7FFFFFFF) % partitions
