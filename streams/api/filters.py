"""Payload filters as requests have them: compiled, or merged into the one that is there. Pure.

Place in the data's way: between a request's JSON and the endpoint. What is wrong is named by its place in the filter.
"""

from typing import Any

from connectors.webhook.errors import PayloadFilterInvalidError
from connectors.webhook.payload_filter import PayloadFilter
from streams.api.problem import FieldProblem, Problem, ProblemError

__all__ = ["compiled_filter", "merged_filter"]


def compiled_filter(pattern: dict[str, Any] | None) -> PayloadFilter | None:
    """The filter that a request gives.

    Raises:
        ProblemError: it breaks the grammar; names the place.
    """
    if pattern is None:
        return None
    try:
        return PayloadFilter.of(pattern)
    except PayloadFilterInvalidError as error:
        wrong = FieldProblem(where="pointer", name=f"#/payload_filter{error.pointer}", detail=error.reason)
        raise ProblemError(
            Problem(
                kind="body-invalid",
                detail="Put right what `errors` lists, and send it again. Nothing was changed.",
                errors=(wrong,),
            )
        ) from None


def merged_filter(before: PayloadFilter | None, patch: dict[str, Any] | None) -> PayloadFilter | None:
    """The filter after a merge patch.

    Raises:
        ProblemError: it would break the grammar; names the place.

    >>> before = PayloadFilter.of({"country": ["DE"], "total": [1]})
    >>> merged_filter(before, {"country": ["AT"], "total": None}).pattern
    {'country': ['AT']}
    """
    if patch is None:
        return None
    return compiled_filter(_merged({} if before is None else before.pattern, patch))


def _merged(before: Any, patch: Any) -> Any:
    """RFC 7396: objects are merged, null removes, and all else takes the place of what was there."""
    if not isinstance(patch, dict):
        return patch
    merged: dict[str, Any] = dict(before) if isinstance(before, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged
