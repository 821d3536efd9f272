"""The interpreter of a worker's process: no long pauses of its own making.

Place in the data's way: called once, when everything is loaded. It changes the process, and so belongs to a process's
start and to nothing that a library would call.
"""

import gc
import sys
from typing import Final

__all__ = ["shorten_pauses"]

#: Records come through a thread of Kafka's client: by default a busy loop lets it wait for 5 ms, several times a fetch.
_SWITCH_S: Final = 0.001


def shorten_pauses() -> None:
    """Threads take turns sooner, and the collector no longer walks through what was loaded at the start.

    Such a walk stops all deliveries for some 60 ms, and the longer the more endpoints there are. What is frozen and
    thrown away later, in a cycle, stays: bounded by what there is now.
    """
    sys.setswitchinterval(_SWITCH_S)
    gc.collect()
    gc.freeze()
