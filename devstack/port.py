"""Free loopback ports, chosen once and kept while nobody else takes them.

They are taken from below the ranges that systems hand out to outgoing connections (Linux from 32768, macOS and Windows
from 49152): there, a port that was free a moment ago can be some client's the next.
"""

import random
import socket
from collections.abc import Callable, Mapping, Sequence

from devstack.errors import StartError

__all__ = ["LOOPBACK", "PORT_RANGE", "choose_ports", "is_free"]

LOOPBACK = "127.0.0.1"
PORT_RANGE = range(20_000, 30_000)
_TRIES = 200


def is_free(port: int) -> bool:
    """Whether a server could listen on this port now. Connections that are only fading out don't count against it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def choose_ports(
    names: Sequence[str],
    *,
    remembered: Mapping[str, int],
    rng: random.Random,
    free: Callable[[int], bool] = is_free,
) -> dict[str, int]:
    """A port for each name: the remembered one while it is free, else another, no two alike.

    Raises:
        StartError: no free port was found.
    """
    chosen: dict[str, int] = {}
    for name in names:
        kept = remembered.get(name)
        if kept is not None and kept not in chosen.values() and free(kept):
            chosen[name] = kept
        else:
            chosen[name] = _another(taken={*chosen.values(), *remembered.values()}, rng=rng, free=free)
    return chosen


def _another(*, taken: set[int], rng: random.Random, free: Callable[[int], bool]) -> int:
    for _ in range(_TRIES):
        port = rng.choice(PORT_RANGE)
        if port not in taken and free(port):
            return port
    raise StartError(
        f"no free port found on {LOOPBACK} between {PORT_RANGE.start} and {PORT_RANGE.stop}: "
        "end what listens there (`ss -ltn` lists it) and start again."
    )
