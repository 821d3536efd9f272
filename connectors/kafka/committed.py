"""What a consumer group has committed, whatever stands in its commits' metadata.

Place in the data's way: none; under whoever asks how far a group is. With aiokafka, which the workers commit with:
confluent_kafka expects a NUL at the end of a commit's metadata, and reads on into other memory where there is none.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError as AioKafkaError
from aiokafka.errors import for_code
from aiokafka.protocol.commit import OffsetFetchRequest

from connectors.kafka.errors import ClusterUnreachable

__all__ = ["GroupCommit", "committed_offsets", "group_commits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCommit:
    """What a group has committed of one partition."""

    offset: int
    metadata: str


def group_commits(
    bootstrap_servers: str, group: str, *, timeout_s: float
) -> Mapping[tuple[str, int], GroupCommit]:
    """What a group has committed, by topic and partition. Blocking; in a thread without an event loop.

    Raises:
        ClusterUnreachable: no broker answered in time.
    """
    return {
        place: GroupCommit(offset=found.offset, metadata=found.metadata.removesuffix("\0"))
        for place, found in _answers(bootstrap_servers, [group], timeout_s).items()
    }


def committed_offsets(
    bootstrap_servers: str, groups: Iterable[str], *, timeout_s: float
) -> Mapping[tuple[str, int], int]:
    """The offsets that groups have committed, by topic and partition. Blocking; in a thread without an event loop.

    Raises:
        ClusterUnreachable: no broker answered in time.
    """
    return {place: found.offset for place, found in _answers(bootstrap_servers, groups, timeout_s).items()}


def _answers(
    bootstrap_servers: str, groups: Iterable[str], timeout_s: float
) -> Mapping[tuple[str, int], GroupCommit]:
    try:
        return asyncio.run(asyncio.wait_for(_asked(bootstrap_servers, groups, timeout_s), timeout_s))
    except (AioKafkaError, OSError, TimeoutError) as error:
        raise ClusterUnreachable(bootstrap_servers, type(error).__name__) from error


async def _asked(
    bootstrap_servers: str, groups: Iterable[str], timeout_s: float
) -> Mapping[tuple[str, int], GroupCommit]:
    client = AIOKafkaAdminClient(
        bootstrap_servers=bootstrap_servers.split(","), request_timeout_ms=round(timeout_s * 1000)
    )
    await client.start()
    try:
        answers = [await _answer(client, group) for group in groups]
    finally:
        await client.close()
    return {place: found for answer in answers for place, found in answer.items() if found.offset >= 0}


async def _answer(client: AIOKafkaAdminClient, group: str) -> Mapping[tuple[str, int], GroupCommit]:
    """One group's commits. aiokafka's own question takes a refusal of the whole for a group without a commit."""
    coordinator = await client.find_coordinator(group)
    answer = await client._send_request(OffsetFetchRequest(group, None), coordinator)  # noqa: SLF001 - as above
    places = [
        (topic, number, GroupCommit(offset=offset, metadata=metadata or ""), error)
        for topic, partitions in answer.topics
        for number, offset, metadata, error in partitions
    ]
    for code in (answer.error_code, *(error for *_, error in places)):
        if code:
            raise for_code(code)
    return {(topic, number): found for topic, number, found, _ in places}
