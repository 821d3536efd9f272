"""Where the configuration files of Kafka, Connect and Debezium stand: in the checkout's `debezium/` folder.

The stack is for developing this repository, so a checkout (installed editable) is required and looked for.
"""

from pathlib import Path

from devstack.errors import MissingPieceError

__all__ = ["debezium_file"]

_DEBEZIUM = Path(__file__).resolve().parent.parent / "debezium"


def debezium_file(name: str, *, folder: Path = _DEBEZIUM) -> Path:
    """The path of one of the committed files, which is known to exist.

    Raises:
        MissingPieceError: there is no such file; the package was installed without its checkout.
    """
    path = folder / name
    if not path.is_file():
        raise MissingPieceError(
            f"{path} is missing: the embedded stack runs from a checkout. "
            "Clone the repository and run `make venv` in it."
        )
    return path
