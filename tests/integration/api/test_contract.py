"""The API does what its OpenAPI document says: schemathesis reads the one, and asks the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    missing_required_header,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from connectors.postgres.audit import Actor
from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.errors import EndpointExistsError
from connectors.postgres.replays import ReplayStore
from connectors.postgres.stored_replay import NewReplay
from outbox import EventFilter
from streams.api.openapi import openapi_document
from streams.api.server import OPERATIONS
from streams.recorder.fold import fold
from streams.records.target import TargetName
from streams.replay.range_selection import RangeSelection
from tests.support.api import ApiClient
from tests.support.attempt_records import an_entry
from tests.support.dead_letters import a_row, store_rows
from tests.support.installation import TIERS, Installation
from tests.support.threaded_api import threaded_api
from tests.unit.webhook.records import endpoint

DOCUMENT = openapi_document(OPERATIONS)
CHECKS = [
    content_type_conformance,
    ignored_auth,
    missing_required_header,
    negative_data_rejection,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
]
ASKED = (
    NewReplay(
        kind="recovery",
        target="endpoint:ep_known",
        selection={"since": "2026-11-30T00:00:00+00:00", "until": None},
        rate_per_s=1.0,
    ),
    NewReplay(
        kind="range",
        target=None,
        selection=RangeSelection(
            begin=datetime(2026, 11, 30, tzinfo=UTC),
            end=datetime(2026, 12, 1, tzinfo=UTC),
            targets=(TargetName("endpoint", "ep_known"), TargetName("handler", "billing")),
            types=(EventFilter("order.*"),),
            aggregates=("order/42",),
            ids=(UUID(int=7),),
            events_from="postgres",
        ).to_json(),
        rate_per_s=1.0,
    ),
)
schema = schemathesis.openapi.from_dict(DOCUMENT)


@pytest.fixture(scope="module")
def served(outbox_database_url: str, installation: Installation) -> Iterator[ApiClient]:
    """Over a Kafka that has all topics."""
    with threaded_api(outbox_database_url, kafka_bootstrap_servers=installation.kafka, tiers=TIERS) as api:
        yield api


def test_the_document_is_openapi() -> None:
    """3.1, by a validator that is not ours; and each operation has an id of its own."""
    OpenAPIV31SpecValidator(DOCUMENT).validate()
    names = [operation["operationId"] for path in DOCUMENT["paths"].values() for operation in path.values()]
    assert sorted(names) == sorted(operation.name for operation in OPERATIONS)
    assert len(set(names)) == len(names)


BOUNDED = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.function_scoped_fixture,
    ],
)


@schema.parametrize()
@BOUNDED
def test_the_api_does_what_the_document_says(case: schemathesis.Case[Any], served: ApiClient) -> None:
    """Valid and invalid requests alike: no 500, no undocumented status, type or field; what is wrong is refused."""
    case.call_and_validate(base_url=served.base, headers=authorized(served), checks=CHECKS)


@schema.include(path_regex="endpoint_id").parametrize()
@BOUNDED
def test_it_does_so_with_an_endpoint_that_is_there(
    case: schemathesis.Case[Any], served: ApiClient, outbox_database_url: str
) -> None:
    """The same for operations on an endpoint that exists, whatever the cases before have made of it."""
    with psycopg.connect(outbox_database_url) as connection, suppress(EndpointExistsError):
        EndpointStore(connection).add(replace(endpoint(), id="ep_known"))
    case.path_parameters = {"endpoint_id": "ep_known"}
    # Whether a case was to be refused for its path alone is not known here.
    checks = [check for check in CHECKS if check is not negative_data_rejection]
    case.call_and_validate(base_url=served.base, headers=authorized(served), checks=checks)


@schema.include(path_regex="delivery_id").parametrize()
@BOUNDED
def test_it_does_so_with_a_delivery_that_is_there(
    case: schemathesis.Case[Any], served: ApiClient, outbox_database_url: str
) -> None:
    """The same for operations on a delivery that is in the log."""
    entry = an_entry("retried")
    writer = DeliveryLogWriter(outbox_database_url)
    writer.write([entry.attempt], fold([entry]))
    writer.close()
    case.path_parameters = {"delivery_id": entry.delivery.id}
    checks = [check for check in CHECKS if check is not negative_data_rejection]
    case.call_and_validate(base_url=served.base, headers=authorized(served), checks=checks)


@schema.include(path_regex="dead_letter_id").parametrize()
@BOUNDED
def test_it_does_so_with_a_dead_letter_that_is_there(
    case: schemathesis.Case[Any], served: ApiClient, outbox_database_url: str
) -> None:
    """The same for showing a dead letter that the recorder has read."""
    row = a_row()
    store_rows(outbox_database_url, row)
    case.path_parameters = {"dead_letter_id": row.id}
    checks = [check for check in CHECKS if check is not negative_data_rejection]
    case.call_and_validate(base_url=served.base, headers=authorized(served), checks=checks)


@schema.include(path_regex="replay_id").parametrize()
@BOUNDED
def test_it_does_so_with_a_replay_that_is_there(
    case: schemathesis.Case[Any], served: ApiClient, outbox_database_url: str
) -> None:
    """The same for operations on a replay that somebody asked for."""
    with psycopg.connect(outbox_database_url) as connection:
        store = ReplayStore(connection, actor=Actor(name="tests"))
        replays = [store.request(new, idempotency_key=None) for new in ASKED]
    checks = [check for check in CHECKS if check is not negative_data_rejection]
    for replay in replays:
        case.path_parameters = {"replay_id": replay.id}
        case.call_and_validate(base_url=served.base, headers=authorized(served), checks=checks)


def authorized(served: ApiClient) -> dict[str, str]:
    return {"Authorization": f"Bearer {served.token}"}
