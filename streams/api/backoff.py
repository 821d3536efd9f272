"""An exponential backoff as a request may give it: in the end it is a list of waits like any other.

Place in the data's way: one of the models of requests. What is stored, shown and obeyed is the list.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from connectors.webhook.endpoint import MAX_WAITS
from streams.api.texts import Seconds

__all__ = ["Backoff"]


class Backoff(BaseModel):
    """base, 2·base, 4·base … up to the cap.

    >>> Backoff(base_s=5.0, cap_s=60.0, attempts=6).waits_s()
    [5.0, 10.0, 20.0, 40.0, 60.0]
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    base_s: Seconds = Field(description="The first wait, in seconds.")
    cap_s: Seconds = Field(description="The longest wait, in seconds.")
    attempts: Annotated[int, Field(ge=1, le=MAX_WAITS + 1, description="How many attempts in all.")]

    def waits_s(self) -> list[float]:
        """The waits between the attempts."""
        # 2^40 times the least base is beyond any cap; a float would overflow much later.
        return [min(self.base_s * (1 << min(number, 40)), self.cap_s) for number in range(self.attempts - 1)]
