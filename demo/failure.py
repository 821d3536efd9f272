"""How the demo says that it can't go on.

Exception
└── DemoFailedError   what happened; becomes the last line. `detail` is what helps to understand it, printed above.
"""

__all__ = ["DemoFailedError"]


class DemoFailedError(Exception):
    """The demo can't go on."""

    def __init__(self, message: str, *, detail: str = "") -> None:
        self.detail = detail
        super().__init__(message)
