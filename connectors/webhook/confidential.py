"""A text that counts as a secret: a signing secret's, or the value of a static header.

Place in the data's way: read from Postgres or `outbox.endpoints` as it is stored, sealed or plain, and opened anew at
each use: between two attempts a worker's memory holds no plain text of a sealed one. Opening takes 2 µs, and what
was not opened needs no key: an endpoint can be listed, changed and told by who lacks it. Invariant: the text leaves
this object through `reveal` and `record` only (INV-9).
"""

from typing import NoReturn, Self

from connectors.webhook.key_ring import KeyRing, is_sealed, sealing_key_id

__all__ = ["Confidential"]


class Confidential:
    """A text, plain or sealed; bound to its place (an endpoint and a field) once it is sealed.

    >>> value = Confidential("Bearer hunter2")
    >>> value
    Confidential(hidden)
    >>> value.reveal()
    'Bearer hunter2'
    """

    __slots__ = ("_bound_to", "_ring", "_text")

    def __init__(self, text: str, *, ring: KeyRing | None = None, bound_to: str = "") -> None:
        self._text = text
        self._ring = ring
        self._bound_to = bound_to

    @classmethod
    def stored(cls, text: str, *, ring: KeyRing, bound_to: str) -> Self:
        """Take a text as it is stored. Nothing is opened yet."""
        return cls(text, ring=ring, bound_to=bound_to) if is_sealed(text) else cls(text)

    @property
    def is_sealed(self) -> bool:
        """Whether it has to be opened."""
        return self._ring is not None

    @property
    def missing_key_id(self) -> str | None:
        """The id of the key that this process lacks for opening it; None if it lacks none."""
        key_id = None if self._ring is None else sealing_key_id(self._text)
        return None if key_id is None or self._ring is None or self._ring.holds(key_id) else key_id

    def reveal(self) -> str:
        """Give the plain text.

        Raises:
            SecretLockedError: it can't be opened; names the key and the place.
        """
        return self._text if self._ring is None else self._ring.open(self._text, bound_to=self._bound_to)

    def record(self, ring: KeyRing, *, bound_to: str) -> str:
        """Give the text as it is stored: a sealed one as it was, a plain one sealed, if the ring has a key."""
        return self._text if self._ring is not None else ring.seal(self._text, bound_to=bound_to)

    def is_current(self, ring: KeyRing) -> bool:
        """Whether it is stored the way the ring would store it now."""
        return (sealing_key_id(self._text) if self.is_sealed else None) == ring.current_id

    def __eq__(self, other: object) -> bool:
        """Whether the stored texts are the same. Two sealings of one text are not."""
        return isinstance(other, Confidential) and (self._text, self.is_sealed) == (
            other._text,
            other.is_sealed,
        )

    def __hash__(self) -> int:
        return hash((Confidential, self._text))

    def __repr__(self) -> str:
        return "Confidential(hidden)"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a confidential text is not pickled; store the endpoint's JSON instead")
