"""Child processes of a benchmark: a function of ours that answers questions through a pipe.

Every part of a measurement runs in a process of its own, so that none waits for another's interpreter, and each
one's CPU time can be read by itself.
"""

import asyncio
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from benchmarks.errors import BenchmarkError

__all__ = ["Child", "answer_questions", "run_in_child"]

_STOP_S = 10.0


class Child:
    """A process that runs `target(pipe, *arguments)`. It ends when the target returns, and with its parent."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._name = f"{target.__module__}.{target.__qualname__}"
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=target, args=(theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()  # so that the child's end shows as an end of the pipe

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def ask(self, question: Any, *, timeout_s: float = 30.0) -> Any:
        """Send a question and give the answer.

        Raises:
            BenchmarkError: the process is gone, or doesn't answer in time.
        """
        try:
            self._pipe.send(question)
        except OSError as error:
            raise BenchmarkError(f"{self._name} has ended; what it printed above says why") from error
        return self.answer(timeout_s=timeout_s)

    def answer(self, *, timeout_s: float) -> Any:
        """Wait for what it says next.

        Raises:
            BenchmarkError: as `ask`.
        """
        try:
            if not self._pipe.poll(timeout_s):
                raise BenchmarkError(f"{self._name} said nothing for {timeout_s:g} s")
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            raise BenchmarkError(f"{self._name} has ended; what it printed above says why") from error

    def stop(self) -> None:
        """End it, at once."""
        self._process.terminate()
        self._process.join(_STOP_S)
        self._pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def run_in_child(target: Callable[..., Any], *arguments: Any, timeout_s: float) -> Any:
    """Run `target(*arguments)` in a child process, and give what it returns.

    Raises:
        BenchmarkError: it raised, or took too long.
    """
    with Child(_answer_once, target, arguments) as child:
        return child.answer(timeout_s=timeout_s)


def answer_questions(pipe: "Connection[Any, Any]", answer: Callable[[Any], Any]) -> "asyncio.Future[None]":
    """In a child with an event loop: answer every question as it comes. The future ends when the parent is gone."""
    loop = asyncio.get_running_loop()
    parent_gone: asyncio.Future[None] = loop.create_future()

    def on_question() -> None:
        try:
            question = pipe.recv()
        except (EOFError, OSError):
            loop.remove_reader(pipe.fileno())
            parent_gone.set_result(None)
            return
        pipe.send(answer(question))

    loop.add_reader(pipe.fileno(), on_question)
    os.set_blocking(pipe.fileno(), True)  # uvloop made it non-blocking: a long answer would be cut
    return parent_gone


def _answer_once(
    pipe: "Connection[Any, Any]", target: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    pipe.send(target(*arguments))
