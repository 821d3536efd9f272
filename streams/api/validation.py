"""From what pydantic says to problems: which field, and what to do, without a word of what was sent.

Place in the data's way: between a request's bytes and its model. The name of an unknown field is the client's own,
and is cut.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar, get_origin

from pydantic import ValidationError

from streams.api.models import Request
from streams.api.problem import FieldProblem, Problem, ProblemError

__all__ = ["read_body", "read_query"]

_MAX_ERRORS: Final = 20
_NAME_CHARS: Final = 64
_MESSAGES: Final = {
    "extra_forbidden": "there is no such field",
    "missing": "this is required",
}

Model = TypeVar("Model", bound=Request)


def read_body(model: type[Model], body: bytes) -> Model:
    """Read a body.

    Raises:
        ProblemError: it is no JSON, or breaks a rule.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        if errors[0]["type"] == "json_invalid":
            raise ProblemError(
                Problem(kind="body-malformed", detail="Send one JSON object, in UTF-8.")
            ) from None
        raise ProblemError(
            Problem(
                kind="body-invalid",
                detail="Put right what `errors` lists, and send it again. Nothing was changed.",
                errors=_field_problems(errors, "pointer"),
            )
        ) from None


def read_query(model: type[Model], pairs: Iterable[tuple[str, str]]) -> Model:
    """Read a query's parameters. Those that are lists may be repeated, or separated by commas.

    Raises:
        ProblemError: one is unknown, wrong, or given twice.
    """
    # A name that can't be written as UTF-8 could not be named.
    given = [(name.encode(errors="replace").decode(), value) for name, value in pairs]
    lists = {name for name, field in model.model_fields.items() if get_origin(field.annotation) is tuple}
    counted = Counter(name for name, _ in given if name not in lists)
    repeated = [name for name, count in counted.items() if count > 1]
    if repeated:
        raise _query_invalid(
            tuple(
                FieldProblem(where="parameter", name=_cut(name), detail="this is given twice")
                for name in repeated[:_MAX_ERRORS]
            )
        )
    values: dict[str, object] = dict(given)
    for name in lists & values.keys():
        texts = [text for other, text in given if other == name]
        values[name] = tuple(part.strip() for text in texts for part in text.split(","))
    try:
        return model.model_validate(values)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        raise _query_invalid(_field_problems(errors, "parameter")) from None


def _query_invalid(errors: tuple[FieldProblem, ...]) -> ProblemError:
    return ProblemError(Problem(kind="query-invalid", detail="Put right what `errors` lists.", errors=errors))


def _field_problems(errors: Sequence[Any], where: Any) -> tuple[FieldProblem, ...]:
    found = (
        FieldProblem(
            where=where,
            name=_pointer(error["loc"]) if where == "pointer" else _cut(str(error["loc"][0])),
            detail=_MESSAGES.get(error["type"], error["msg"]),
        )
        for error in errors[:_MAX_ERRORS]
    )
    # Two values of one parameter may break the same rule.
    return tuple(dict.fromkeys(found))


def _pointer(location: Sequence[str | int]) -> str:
    """A JSON pointer (RFC 6901) as a URI fragment.

    >>> _pointer(("headers", "a/b", "[key]"))
    '#/headers/a~1b'
    """
    parts = [str(part).replace("~", "~0").replace("/", "~1") for part in location if part != "[key]"]
    return "#" + "".join(f"/{_cut(part)}" for part in parts)


def _cut(name: str) -> str:
    shown = name.encode(errors="replace").decode()
    return shown if len(shown) <= _NAME_CHARS else f"{shown[:_NAME_CHARS]}…"
