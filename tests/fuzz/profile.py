"""How much is tried: `FUZZ` decorates every property of this folder.

1,000 examples each, the same ones on every run where `CI` is set; `OUTBOX_FUZZ_EXAMPLES` says otherwise (`make fuzz`).
An own object and no hypothesis profile: a profile would count for every test of the run.
"""

import os

from hypothesis import HealthCheck, settings

__all__ = ["EXAMPLES", "FUZZ", "FUZZ_SLOW"]

EXAMPLES = int(os.environ.get("OUTBOX_FUZZ_EXAMPLES", "1000"))

FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="CI" in os.environ,
    # Drawing a long input takes long; that a machine is busy is no failure.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
#: For what opens sockets or parses a whole command line, a fifth of it.
FUZZ_SLOW = settings(FUZZ, max_examples=max(EXAMPLES // 5, 100))
