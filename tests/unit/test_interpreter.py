"""What a worker does to its interpreter, in a process of its own: it changes the process."""

import subprocess
import sys

_SHORTENED = """
import gc, sys
import streams.worker.worker
from streams.worker.interpreter import shorten_pauses
shorten_pauses()
assert gc.isenabled()
print(gc.get_freeze_count() > 10_000, gc.get_count()[2], sys.getswitchinterval())
"""


def test_what_was_loaded_is_no_longer_walked_through_and_threads_take_turns_sooner() -> None:
    """INV-6: no healthy endpoint waits for the collector, nor for a fetch that can't get at the interpreter."""
    ran = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", _SHORTENED], capture_output=True, check=True, text=True
    )
    assert ran.stdout.split() == ["True", "0", "0.001"]
