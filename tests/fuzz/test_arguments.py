"""Arguments of the command line: read, or refused in words; a traceback is for our own defects."""

from collections.abc import Sequence

import typer
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from connectors.webhook.key_ring import KeyRing
from outbox import EventFilterError
from streams.cli.append import _aggregate, _headers
from streams.cli.endpoints import _filters
from streams.cli.main import app
from streams.cli.source import read_source
from streams.settings.values import api_tokens
from tests.fuzz.environment import can_be_in_an_environment, environment
from tests.fuzz.mutation import mutated_text
from tests.fuzz.profile import FUZZ, FUZZ_SLOW
from tests.fuzz.refusal import read_or_refused

APPEND = ["order.created", "order/42", '{"card": "hunter2"}', "tenant=hunter2", "text/csv"]
ADD = [
    "https://receiver.example/in?token=hunter2",
    "order.*,invoice.paid",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "for ACME",
]


def argument(seeds: Sequence[str]) -> st.SearchStrategy[str]:
    return mutated_text(seeds).filter(can_be_in_an_environment)


@FUZZ
@given(
    aggregate=mutated_text(["order/42", "a//b"]),
    headers=st.lists(mutated_text(["tenant=acme", "a=b=c"]), max_size=3),
    filters=st.lists(mutated_text(["order.*, invoice.paid", "*"]), max_size=3),
    source=argument(["text", "@", "@/", "@no such file", "@" + "a" * 300]),
)
@example(aggregate="", headers=[""], filters=[""], source="@\0")
def test_an_argument_is_read_or_refused(
    aggregate: str, headers: list[str], filters: list[str], source: str
) -> None:
    """Each reader of an argument has the one error that the command line turns into a sentence."""
    read_or_refused(lambda: _aggregate(aggregate), typer.BadParameter)
    read_or_refused(lambda: _headers(headers), typer.BadParameter)
    read_or_refused(lambda: _filters(filters), EventFilterError)
    if source != "-":
        read_or_refused(lambda: read_source(source, option="--payload"), typer.BadParameter)


def run(arguments: list[str]) -> Result:
    with environment({}):
        return CliRunner().invoke(app, arguments)


def assert_refused_in_words(result: Result) -> None:
    """Without a database every command ends in an error: of the arguments (2) or of the settings (1)."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in {1, 2}
    assert "Traceback" not in result.output
    assert result.output.strip()


@FUZZ_SLOW
@given(st.tuples(*(argument([text]) for text in APPEND)))
def test_append_ends_in_words_whatever_its_arguments(arguments: tuple[str, ...]) -> None:
    """No argument makes a traceback, and no message shows the payload."""
    event_type, aggregate, payload, header, content_type = arguments
    if payload == "-":
        return
    result = run(
        [
            "append",
            f"--aggregate={aggregate}",
            f"--payload={payload}",
            f"--header={header}",
            f"--content-type={content_type}",
            "--",
            event_type,
        ]
    )
    assert_refused_in_words(result)
    if payload.startswith("{"):
        assert '"card"' not in result.output


@FUZZ_SLOW
@given(st.tuples(*(argument([text]) for text in ADD)))
@example((ADD[0], ADD[1], ADD[2], "\udcff"))
def test_adding_an_endpoint_ends_in_words_whatever_its_arguments(arguments: tuple[str, ...]) -> None:
    """INV-9: no argument makes a traceback, and no message shows a secret or the URL's query."""
    url, events, secret, description = arguments
    if secret == "-":
        return
    result = run(
        [
            "endpoints",
            "add",
            f"--events={events}",
            f"--secret={secret}",
            f"--description={description}",
            "--",
            url,
        ]
    )
    assert_refused_in_words(result)
    if not secret.startswith("@"):  # a path, which is told
        assert "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" not in result.output
    if "hunter2" in url and "?" in url:
        assert "token=hunter2" not in result.output


@FUZZ_SLOW
@example("\r\ndeploy", ["token", "--scope=read"])
@given(argument(["deploy", "k1"]), st.sampled_from([["token", "--scope=read"], ["endpoints", "new-key"]]))
def test_what_is_made_has_a_name_that_can_be_read_again(name: str, command: list[str]) -> None:
    """A token's or a key's name is taken as it stands in the setting, or refused in words."""
    result = run([*command, "--", name])
    if result.exit_code:
        assert_refused_in_words(result)
        return
    entry = result.stdout.split()[-1]
    assert entry.startswith(f"{name}:")
    assert api_tokens(entry) == entry if command[0] == "token" else KeyRing.parse(entry).current_id == name
