"""A model that never fails proves nothing: each rule is broken on purpose here, and its model must find it.

A mutation patches the product, never the model. Chance is fixed, so that one is found each time or never. What only a
rare sequence shows has a test of its own beside it (`tests/unit/test_scheduler_commits.py`).
"""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.unit.model.ledger_mutations import LEDGER_MUTATIONS
from tests.unit.model.scheduler_mutations import SCHEDULER_MUTATIONS
from tests.unit.model.test_commit_model import CommitMachine
from tests.unit.model.test_scheduler_model import SchedulerMachine
from tests.unit.model.worker_mutations import WORKER_MUTATIONS

_Mutation = Callable[[pytest.MonkeyPatch], None]

#: Far more than any of them needs: most are found within a hundred.
_EXAMPLES = 2_000
#: What an invariant raises: KeyError, where it looks for a commit of a partition that nobody ever committed.
_FOUND = (AssertionError, KeyError)


def run(machine: type[RuleBasedStateMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=_EXAMPLES,
            stateful_step_count=40,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("mutate", [*LEDGER_MUTATIONS, *WORKER_MUTATIONS])
def test_the_commit_model_finds(mutate: _Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    """INV-1, INV-2, INV-8: a worker that breaks one of them is caught."""
    mutate(monkeypatch)
    with pytest.raises(_FOUND):
        run(CommitMachine)


@pytest.mark.parametrize("mutate", [*LEDGER_MUTATIONS, *SCHEDULER_MUTATIONS])
def test_the_scheduler_model_finds(mutate: _Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    """INV-1, INV-2, INV-3, INV-8: a scheduler that breaks one of them is caught."""
    mutate(monkeypatch)
    with pytest.raises(_FOUND):
        run(SchedulerMachine)
