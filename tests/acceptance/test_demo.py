"""`make demo`, as a newcomer runs it: its own stack, its own processes, an exit code that can be believed."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from devstack.child import marked_processes

_ROOT = Path(__file__).parents[2]
_BETWEEN_INTERRUPTS_S = 0.1
_LAST_LINE = re.compile(
    r"demo ok: committed=200 delivered=350 retried=80 dead_lettered=40 lost=0 p50_ms=-?[0-9.]+ p99_ms=-?[0-9.]+"
)


def _start(folder: Path) -> subprocess.Popen[str]:
    """The demo, with all that it keeps below this folder, and with settings around it that are not meant for it."""
    return subprocess.Popen(
        [sys.executable, "-m", "demo"],
        cwd=_ROOT,
        env={**os.environ, "TMPDIR": str(folder), "OUTBOX_LANES": "1", "FORCE_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _left_in(folder: Path) -> list[object]:
    processes = [mark for mark, _ in marked_processes() if str(folder) in mark]
    return [*processes, *folder.iterdir()]


def test_it_passes_and_leaves_nothing(tmp_path: Path) -> None:
    """Every count is exact, the last line says so for programs, and no process and no file stays behind."""
    with _start(tmp_path) as demo:
        output, _ = demo.communicate()
    assert demo.returncode == 0, output
    assert _LAST_LINE.fullmatch(output.splitlines()[-1]), output
    assert "\x1b" not in output
    assert _left_in(tmp_path) == []


def test_interrupted_again_and_again_it_cleans_up_all_the_same(tmp_path: Path) -> None:
    """Impatient Ctrl-Cs while it stops and removes everything change nothing: what it says at the end is true."""
    with _start(tmp_path) as demo:
        assert demo.stdout is not None
        assert any(line.startswith("committed") for line in demo.stdout)
        # The first ends it; the others come in each of the steps that follow, up to the very end.
        while demo.poll() is None:
            demo.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                demo.wait(_BETWEEN_INTERRUPTS_S)
        output = demo.stdout.read()
    assert demo.returncode == 130, output
    assert "Everything is stopped and removed again" in output
    assert output.splitlines()[-1] == "demo FAILED: interrupted"
    assert _left_in(tmp_path) == []


def test_interrupted_amid_the_orders_it_cleans_up(tmp_path: Path) -> None:
    """SIGTERM, like Ctrl-C: it ends with a code of its own and says so, and no process and no file stays behind."""
    with _start(tmp_path) as demo:
        assert demo.stdout is not None
        assert any(line.startswith("committed") for line in demo.stdout)
        demo.send_signal(signal.SIGTERM)
        output = demo.stdout.read()
    assert demo.returncode == 130
    assert output.splitlines()[-1] == "demo FAILED: interrupted"
    assert _left_in(tmp_path) == []
