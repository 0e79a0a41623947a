"""Jobs give their results in any number of processes, which end with the main process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from experiments.common.jobs import run_jobs

ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    """Variables for a process that imports the experiments."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


WAITING = """
import os, signal, sys, threading
from experiments.common.jobs import run_jobs

def job(item):
    os.write(1, f"{item}\\n".encode())
    threading.Event().wait()

if __name__ == "__main__":
    # Processes that a script starts in the background ignore Ctrl-C unless they say otherwise.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        list(run_jobs(job, ["first", "second"], 2))
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_workers_end_with_the_main_process(tmp_path: Path, sent: int, code: int) -> None:
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True) as process:
        assert process.stdout is not None
        assert {process.stdout.readline() for _ in range(2)} == {"first\n", "second\n"}
        process.send_signal(sent)
        assert process.stdout.read() == ""  # ends once no worker is left that could write
    assert process.returncode == code


@pytest.mark.parametrize("workers", [1, 2])
def test_every_item_has_its_result(workers: int) -> None:
    assert sorted(run_jobs(abs, [-3, 1, -2], workers)) == [1, 2, 3]


def test_error_of_a_job_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(run_jobs(reciprocal, [1, 0], 2))


def reciprocal(value: int) -> float:
    return 1 / value
