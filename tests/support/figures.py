"""Figures that tests measure and do not assert: shown at the end of the run."""

__all__ = ["figures", "note"]

figures: list[str] = []


def note(figure: str) -> None:
    """Have this said at the end."""
    figures.append(figure)
