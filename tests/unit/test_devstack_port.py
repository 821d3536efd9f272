"""Which ports a stack takes."""

import random
import socket
from typing import Any

import pytest

from devstack.errors import StartError
from devstack.port import LOOPBACK, PORT_RANGE, choose_ports, is_free

NAMES = ("postgres", "kafka", "connect")


def dice(seed: int) -> random.Random:
    return random.Random(seed)


def test_a_remembered_port_is_kept_while_it_is_free() -> None:
    """Programs that were given an address keep it over a restart."""
    remembered = {"postgres": 21_000, "kafka": 21_001, "connect": 21_002}
    assert choose_ports(NAMES, remembered=remembered, rng=dice(1), free=lambda _: True) == remembered


def test_a_taken_port_is_replaced_and_the_others_stay() -> None:
    """Someone else's server on one of our ports costs us that port and nothing more."""
    remembered = {"postgres": 21_000, "kafka": 21_001, "connect": 21_002}
    chosen = choose_ports(NAMES, remembered=remembered, rng=dice(1), free=lambda port: port != 21_001)
    assert chosen["kafka"] not in remembered.values()
    assert (chosen["postgres"], chosen["connect"]) == (21_000, 21_002)


class LoadedDice(random.Random):
    """Falls on one of three ports, so that the same one comes up again and again."""

    def choice(self, seq: Any) -> Any:  # noqa: ARG002 - the dice are loaded
        return self.randrange(21_000, 21_003)


@pytest.mark.parametrize("seed", range(20))
def test_no_two_listeners_get_the_same_port(seed: int) -> None:
    """All of a stack's ports differ, also when what was remembered is damaged."""
    chosen = choose_ports(NAMES, remembered={}, rng=LoadedDice(seed), free=lambda _: True)
    assert sorted(chosen.values()) == [21_000, 21_001, 21_002]
    alike = dict.fromkeys(NAMES, 22_000)
    assert (
        len(set(choose_ports(NAMES, remembered=alike, rng=LoadedDice(seed), free=lambda _: True).values()))
        == 3
    )


def test_ports_stand_apart_from_those_of_outgoing_connections() -> None:
    """A port that was free a moment ago is not some client's the next."""
    assert max(PORT_RANGE) < 32_768


def test_a_machine_without_a_free_port_is_told_so() -> None:
    """The search ends, with a line that says what to do."""
    with pytest.raises(StartError, match=r"no free port found .* end what listens there"):
        choose_ports(NAMES, remembered={}, rng=dice(1), free=lambda _: False)


def test_a_port_that_someone_listens_on_is_not_free() -> None:
    """The answer comes from the system, not from a list."""
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = int(taken.getsockname()[1])
        assert not is_free(port)
    assert is_free(port)
