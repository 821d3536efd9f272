"""The commands `make faults` and `make soak` run. The exit code is the verdict."""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from streams.settings.fields import Fields
from tests.faults.harness.ground import open_ground
from tests.faults.harness.kinds.catalogue import Form, schedule
from tests.faults.harness.mutants import MUTANTS
from tests.faults.harness.report import show, show_trends
from tests.faults.harness.run import run_faults, turns_red
from tests.faults.harness.soak import Series, Soaking, trends

__all__: list[str] = []

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
_console = Console(width=150)


@app.callback()
def harness() -> None:
    """Faults done to the real system under load, and a verdict from outside."""


@app.command()
def faults(
    *,
    seed: Annotated[int, typer.Option(help="The seed of a run to repeat; 0 draws one.")] = 0,
    form: Annotated[
        Form, typer.Option(help="short: each kind once; full: all, some several times.")
    ] = "full",
    only: Annotated[list[str] | None, typer.Option(help="Only faults of this kind.")] = None,
    rate: Annotated[float, typer.Option(help="Events a second.")] = 60.0,
    mutant: Annotated[str, typer.Option(help="Break a rule on purpose.")] = "none",
) -> None:
    """Put load on a stack of its own, do faults to it, and judge from outside."""
    seed = seed or random.SystemRandom().randrange(1, 1_000_000)
    kinds = schedule(form, rng=random.Random(seed), only=only or ())
    if not kinds:
        raise typer.BadParameter(f"no fault is called {', '.join(only or ())}", param_hint="--only")
    began_s = time.monotonic()

    def tell(what: str) -> None:
        _console.print(f"[dim]{time.monotonic() - began_s:6.1f} s[/]  {what}", highlight=False)

    chosen = "".join(f" --only '{name}'" for name in only or ())
    tell(f"{len(kinds)} faults; to repeat: faults --seed {seed} --form {form} --rate {rate:g}{chosen}")
    with open_ground(Path(tempfile.mkdtemp(prefix="outbox-faults-")), tell=tell) as ground:
        ran = run_faults(ground, kinds, seed=seed, rate=rate, tell=tell, mutant=mutant)
    show(ran, _console)
    raise typer.Exit(0 if ran.verdict.holds else 1)


@app.command()
def mutants(
    names: Annotated[list[str] | None, typer.Argument(help="Which; none means all.")] = None,
    *,
    seed: Annotated[int, typer.Option(help="The seed of the load.")] = 1,
) -> None:
    """Break one rule after the other, and see the verdict turn red for each."""
    unknown = set(names or ()) - set(MUTANTS)
    if unknown:
        raise typer.BadParameter(f"no mutant is called {', '.join(sorted(unknown))}", param_hint="names")
    missed = []
    with open_ground(Path(tempfile.mkdtemp(prefix="outbox-faults-")), tell=_console.print) as ground:
        for name in names or MUTANTS:
            red = turns_red(ground, name, seed=seed, tell=_ignore)
            _console.print(f"{name}: {MUTANTS[name].turns_red}: {red.count}", highlight=False)
            missed += [] if red.count else [name]
    if missed:
        _console.print(f"[bold red]not found: {', '.join(missed)}[/]")
    raise typer.Exit(1 if missed else 0)


@app.command()
def soak(
    *,
    minutes: Annotated[float, typer.Option(help="How long.", min=0.5)] = 60.0,
    rate: Annotated[float, typer.Option(help="Events a second.")] = 50.0,
    seed: Annotated[int, typer.Option(help="The seed of the load.")] = 1,
) -> None:
    """Put a steady load on the default tiers, and see whether anything grows."""
    series: Series = {}
    tiers: tuple[timedelta, ...] = Fields.model_fields["tiers"].default
    with open_ground(
        Path(tempfile.mkdtemp(prefix="outbox-soak-")), tell=_console.print, tiers=tiers
    ) as ground:
        kinds = [Soaking(minutes * 60, series)]
        ran = run_faults(ground, kinds, seed=seed, rate=rate, tell=_console.print)
    show(ran, _console)
    found = trends(series)
    show_trends(found, _console)
    raise typer.Exit(0 if ran.verdict.holds and all(trend.flat for trend in found) else 1)


def _ignore(_: str) -> None:
    """What a mutant's run tells is of no interest."""


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    app()
