"""The OpenAPI 3.1 document, made from the operations and from the models that validate requests.

Place in the data's way: served as `/openapi.json`, so that it can't say anything else than what the API does.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from connectors.webhook.endpoint import ENDPOINT_ID
from streams.api.body import JSON, MERGE_PATCH
from streams.api.operation import IDEMPOTENCY_KEY_PATTERN, Operation
from streams.api.problem import CONTENT_TYPE, KINDS
from streams.api.views import ProblemView

__all__ = ["openapi_document"]

_REF: Final = "#/components/schemas/{model}"
#: Any request may meet these.
_ALWAYS: Final = (
    "query-invalid",
    "request-malformed",
    "unauthenticated",
    "forbidden",
    "internal",
    "unavailable",
)
_WITH_BODY: Final = (
    "body-malformed",
    "body-timeout",
    "body-too-large",
    "media-type-unsupported",
    "body-invalid",
)
_TEXT: Final = {"type": "string"}
#: What may stand in a path.
_IDS: Final = {
    "endpoint_id": {"type": "string", "pattern": f"^{ENDPOINT_ID.pattern}$"},
    "delivery_id": {"type": "string", "format": "uuid"},
    "dead_letter_id": {"type": "string", "format": "uuid"},
    "replay_id": {"type": "string", "format": "uuid"},
}
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "description": "The ETag that you have seen: if the endpoint was changed since, nothing is done (412).",
    "schema": {"type": "string", "pattern": '^("[0-9]{1,18}"|\\*)$'},
}

_IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": "A text of your own, such as a UUID. A request that is repeated with it does nothing more, and gets "
    "the same replay back; with another request it is refused (422).",
    "schema": {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY_PATTERN}$"},
}


def openapi_document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Describe the operations."""
    refs, schemas = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, refs, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "outbox-streams",
            "version": version("outbox-streams"),
            "description": "Webhook endpoints as a resource, and the log of deliveries. Answers that are no success "
            "are problems (RFC 9457).",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of OUTBOX_API_TOKENS. The scope read is enough where nothing is changed.",
                }
            },
        },
        "security": [{"token": []}],
    }


def _schemas(operations: Sequence[Operation]) -> tuple[dict[Any, Any], dict[str, Any]]:
    inputs: list[tuple[type[BaseModel], Any]] = [
        (model, "validation")
        for operation in operations
        for model in (operation.body, operation.query)
        if model is not None
    ]
    outputs: list[tuple[type[BaseModel], Any]] = [
        (operation.answer, "serialization") for operation in operations if operation.answer is not None
    ]
    problem: tuple[type[BaseModel], Any] = (ProblemView, "serialization")
    models = list(dict.fromkeys([*inputs, *outputs, problem]))
    refs, document = models_json_schema(models, ref_template=_REF)
    return refs, document["$defs"]


def _operation(operation: Operation, refs: dict[Any, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"{operation.description} Needs the scope {operation.scope}.".strip(),
        "parameters": _parameters(operation, refs, schemas),
        "responses": _responses(operation, refs),
    }
    if operation.body is not None:
        schema = refs[operation.body, "validation"]
        types = (MERGE_PATCH, JSON) if operation.merge_patch else (JSON,)
        described["requestBody"] = {
            "required": operation.body_required,
            "content": {media_type: {"schema": schema} for media_type in types},
        }
    return described


def _parameters(operation: Operation, refs: dict[Any, Any], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in _IDS.items()
        if f"{{{name}}}" in operation.path
    ]
    if operation.conditional:
        parameters.append(_IF_MATCH)
    if operation.idempotent:
        parameters.append(_IDEMPOTENCY_KEY)
    model = schemas[refs[operation.query, "validation"]["$ref"].rpartition("/")[2]]
    parameters += [
        {
            "name": name,
            "in": "query",
            "description": schema.get("description", "") or _not_null(schema).get("description", ""),
            "schema": _not_null(schema),
        }
        for name, schema in model.get("properties", {}).items()
    ]
    return parameters


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or not; it can't be null."""
    choices = [choice for choice in schema.get("anyOf", []) if choice.get("type") != "null"]
    return choices[0] if len(choices) == 1 else schema


def _responses(operation: Operation, refs: dict[Any, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": "Done."}
    if operation.answer is not None:
        success["content"] = {JSON: {"schema": refs[operation.answer, "serialization"]}}
    headers: dict[str, Any] = {}
    if operation.tagged:
        headers["ETag"] = {"description": "For If-Match.", "schema": _TEXT}
    if operation.status == 201 or operation.starts_replay:  # noqa: PLR2004 - Created
        headers["Location"] = {"description": "Where it is.", "schema": _TEXT}
    if headers:
        success["headers"] = headers
    kinds = [*_ALWAYS, *operation.problems, *(_WITH_BODY if operation.body is not None else ())]
    if operation.conditional:
        kinds += ["header-invalid", "revision-differs"]
    if operation.idempotent:
        kinds += ["header-invalid", "idempotency-key-reused"]
    responses = {str(operation.status): success}
    problem = {CONTENT_TYPE: {"schema": refs[ProblemView, "serialization"]}}
    for status in sorted({KINDS[kind][0] for kind in kinds}):
        titles = dict.fromkeys(KINDS[kind][1] for kind in kinds if KINDS[kind][0] == status)
        responses[str(status)] = {"description": f"{'. Or: '.join(titles)}.", "content": problem}
    return responses
