"""What the log says of a flood: that the guard opened and why, once a minute that it holds, and that it closed."""

from typing import assert_never

import structlog

from streams.dispatch.holding import FloodSign

__all__ = ["log_flood"]

_log = structlog.get_logger("streams.dispatch")


def log_flood(sign: FloodSign) -> None:
    """Write a line; its numbers are those of the guard's window."""
    flood = sign.flood
    fields = {
        "died": flood.died,
        "delivered": flood.delivered,
        "dying_targets": flood.dying_targets,
        "targets": flood.targets,
        "held": sign.held,
    }
    match sign.state:
        case "opened":
            _log.error(
                "flood_guard_opened",
                why="most of what ended would be dead letters, at most of the targets: it is held and tried again. "
                "Look for what they have in common: a deployment, a resolver, a proxy",
                **fields,
            )
        case "holding":
            _log.error("flood_guard_holding", **fields)
        case "closed":
            _log.warning("flood_guard_closed", **fields)
        case _:
            assert_never(sign.state)
