"""In the kernel of a notebook, progress is one line that is rewritten."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

import repshape._parallel as parallel


class ZMQInteractiveShell:
    """What IPython calls the shell of a kernel."""


class Shell(ZMQInteractiveShell):
    """What Google Colab calls its own."""


class TerminalInteractiveShell:
    """What IPython calls the shell of a terminal."""


class Line:
    def __init__(self, data: dict[str, str]) -> None:
        self.shown = [data["text/plain"]]

    def update(self, data: dict[str, str], raw: bool) -> None:
        assert raw
        self.shown.append(data["text/plain"])


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[Line]:
    """Every line that was displayed, in a kernel whose clock stands still until it is told."""
    made: list[Line] = []

    def display(data: dict[str, str], **options: Any) -> Line:
        assert options == {"raw": True, "display_id": True}
        made.append(Line(data))
        return made[-1]

    ipython, module = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = Shell  # type: ignore[attr-defined]
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return made


@pytest.mark.parametrize(
    ("shell", "expected"),
    [(ZMQInteractiveShell, True), (Shell, True), (TerminalInteractiveShell, False)],
)
def test_kernels_are_recognised(shell: type, expected: bool, lines: list[Line]) -> None:
    sys.modules["IPython"].get_ipython = shell  # type: ignore[attr-defined]
    with parallel.progress_bar("pairs", 2, None) as advance:
        advance(2)
    assert bool(lines) is expected


def test_a_run_is_one_line_that_ends_complete(lines: list[Line]) -> None:
    assert parallel.run_all(lambda k: k * k, [1, 2, 3], what="pairs") == [1, 4, 9]
    (line,) = lines
    assert line.shown[0] == "pairs: 0 of 3"
    assert line.shown[-1] == "pairs: 3 of 3"


def test_the_time_that_is_left(lines: list[Line], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 10.0, 10.0, 10.1, 20.0, 20.0])
    monkeypatch.setattr(parallel.time, "monotonic", lambda: next(clock))
    with parallel.progress_bar("pairs", 4, True) as advance:
        advance(1)  # at 10 s: 30 s are left
        advance(1)  # a tenth of a second later: not shown
        advance(2)
    assert lines[0].shown == ["pairs: 0 of 4", "pairs: 1 of 4, 30 s left", "pairs: 4 of 4"]


def test_progress_can_be_switched_off(lines: list[Line]) -> None:
    parallel.run_all(abs, [1, 2], progress=False)
    assert lines == []
