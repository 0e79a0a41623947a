"""Pages show the saved results and name the builds that measured them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

from docs.blocks import ROOT

sys.path.insert(0, str(ROOT))  # benchmarks are no part of the package

from benchmarks import evidence, openings, stamps
from benchmarks.evidence import Evidence
from benchmarks.markers import number, replaced
from benchmarks.opening_pages import OPENINGS

SUBJECT = ("search",)


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend that the sources have another hash."""

    def of(digest: str) -> None:
        hashes = dict.fromkeys(stamps.SUBJECTS, digest)
        monkeypatch.setattr(stamps, "sources", lambda: hashes)

    return of


@pytest.mark.parametrize("page", evidence.pages())
def test_pages_show_what_is_saved(page: str) -> None:
    assert evidence.faults(page) == []


def test_every_result_has_an_entry() -> None:
    saved = {path.stem for path in stamps.RESULTS.glob("*.json")}
    assert saved <= {one.result for one in evidence.EVIDENCE}


def test_benchmarks_save_with_a_stamp() -> None:
    for path in (ROOT / "benchmarks").glob("*.py"):
        assert "RESULTS.write_text(" not in path.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize("page", ["evidence/benchmarks.md", "evidence/scale.md"])
def test_another_number_is_noticed(page: str, tmp_path: Path, monkeypatch: Any) -> None:
    text = (evidence.DOCS / page).read_text(encoding="utf-8")
    row = next(line for line in expected_rows(page) if line in text)
    copy = tmp_path / page
    copy.parent.mkdir()
    copy.write_text(text.replace(row, row.replace(" | ", " | 9", 1)), encoding="utf-8")
    monkeypatch.setattr(evidence, "DOCS", tmp_path)
    assert evidence.faults(page) == [f"{page} shows other numbers than benchmarks/results."]


def expected_rows(page: str) -> list[str]:
    """Return rows of numbers that are made from saved results."""
    return next(iter(evidence.TABLES[page]().values())).split("\n")[2:]


def test_a_page_without_builds_is_noticed(tmp_path: Path, monkeypatch: Any) -> None:
    page = "evidence/repair.md"
    copy = tmp_path / page
    copy.parent.mkdir()
    text = (evidence.DOCS / page).read_text(encoding="utf-8")
    copy.write_text(text.replace(evidence.MARK, ""), encoding="utf-8")
    monkeypatch.setattr(evidence, "DOCS", tmp_path)
    assert evidence.faults(page) == [f"{page} does not name its builds: add {evidence.MARK}."]


@pytest.mark.parametrize("page", OPENINGS)
def test_pages_open_with_a_sentence_and_a_picture(page: str) -> None:
    """The sentence is short, the picture has a text, and both come before any heading or table."""
    text = (evidence.DOCS / page).read_text(encoding="utf-8")
    first = text.split("\n## ")[0].split("\n\n")[1:3]
    assert first[0].count("**") == 2
    assert len(first[0].split()) < 60
    assert re.match(r"!\[.{40,}\]\(", first[1])


def test_a_picture_of_other_numbers_is_noticed(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(openings, "IMAGES", tmp_path)
    values = [1.0, 2.0]
    one = openings.Opening("page.md", lambda: values, str, "alt", lambda ax, data: ax.plot(data))
    assert not one.is_drawn()
    one.write_picture()
    assert one.is_drawn()
    values.append(3.0)
    assert not one.is_drawn()


def test_drawings_are_repeated_byte_for_byte(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(openings, "IMAGES", tmp_path)
    one = openings.Opening(
        "page.md", lambda: [1.0, 3.0], str, "alt", lambda ax, data: ax.plot(data)
    )
    one.write_picture()
    first = one.picture.read_bytes()
    one.write_picture()
    assert one.picture.read_bytes() == first


@pytest.mark.parametrize("page", evidence.pages())
def test_no_large_number_has_an_exponent(page: str) -> None:
    assert re.findall(r"\de\+\d", (evidence.DOCS / page).read_text(encoding="utf-8")) == []


def test_the_builds_of_a_page_come_with_commands() -> None:
    note = evidence.note("evidence/repair.md")
    assert "`python -m benchmarks.repair --osqp`" in note


def test_parts_keep_the_stamp_of_their_build(tmp_path: Path, build: Any) -> None:
    path = tmp_path / "result.json"
    build("one")
    stamps.write(path, {"a": [1, 2], "b": [3], "c": 0})
    build("two")
    stamps.write(path, {"a": [1, 2, 4], "b": [3], "c": 5}, continues=True)
    kept = {part: hashes(found) for part, found in stamps.read(path).items()}
    assert kept == {"a": ["one", "two"], "b": ["one"], "c": ["two"]}
    assert hashes(stamps.builds(path, SUBJECT)) == ["one", "two"]
    stamps.write(path, {"a": [1, 2, 4], "b": [3]})  # measured from the beginning
    assert hashes(stamps.builds(path, SUBJECT)) == ["two"]


def hashes(found: list[stamps.Stamp | None]) -> list[str | None]:
    return [one and one["sources"]["search"] for one in found]


def test_results_without_stamps_stay_before_stamps(tmp_path: Path, build: Any) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"rows": [1], "other": 1}))
    assert stamps.builds(path, SUBJECT) == [None]
    build("one")
    stamps.write(path, {"rows": [1, 2], "other": 1}, continues=True)
    assert hashes(stamps.read(path)["rows"]) == [None, "one"]
    assert hashes(stamps.builds(path, SUBJECT)) == [None, "one"]


def test_a_page_says_when_it_mixes_builds(tmp_path: Path, build: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    monkeypatch.setattr(evidence, "ASIDE", tmp_path / "aside")
    entries = (Evidence("x", (), ("page.md",)), Evidence("y", (), ("page.md",)))
    monkeypatch.setattr(evidence, "EVIDENCE", entries)
    build("one")
    for name in "xy":
        stamps.write(tmp_path / f"{name}.json", {"rows": [1]})
    assert "several builds" not in evidence.note("page.md")
    assert [evidence.state(one) for one in entries] == ["current", "current"]
    build("two")
    assert evidence.state(entries[0]) == "older than the code"
    stamps.write(tmp_path / "y.json", {"rows": [2]})
    note = evidence.note("page.md")
    assert "several builds" in note
    assert "older than the code" in note
    assert "search one" in note
    assert "search two" in note


def test_comments_change_no_hash() -> None:
    python = 'X = 1  # why\n\n\ndef f():\n    """Words."""\n    return "# no comment"\n'
    plain = 'X = 1\ndef f():\n    return "# no comment"'
    assert stamps.without_comments(python, ".py") == plain
    cpp = "int x;  // why\n/* more\n words */\nint y;\n"
    assert stamps.without_comments(cpp, ".cpp") == "int x; int y;"


def test_line_breaks_of_cpp_change_no_hash() -> None:
    one = "#define N \\\n  2\nint a =\n    N;\n\nint b;\n#endif\n"
    assert stamps.without_comments(one, ".h") == "#define N \\\n  2\nint a = N; int b;\n#endif"


def test_an_interrupted_run_keeps_the_earlier_result(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    monkeypatch.setattr(evidence, "ASIDE", tmp_path / "aside")
    one = Evidence("x", ("nothing",), ())
    one.path.write_text("{}")

    def interrupt(*_: Any, **__: Any) -> None:
        assert not one.path.exists()  # nothing of another build is continued
        one.path.write_text('{"begun": 1}')
        raise KeyboardInterrupt

    monkeypatch.setattr(evidence, "subprocess", SimpleNamespace(run=interrupt))
    with pytest.raises(KeyboardInterrupt):
        evidence.run(one)
    assert evidence.state(one) == "unfinished"
    monkeypatch.setattr(evidence, "subprocess", SimpleNamespace(run=lambda *_, **__: None))
    evidence.run(one)
    assert one.path.read_text() == '{"begun": 1}'  # was continued, and is complete now
    assert evidence.state(one) != "unfinished"


def test_a_failure_does_not_stop_the_other_results(tmp_path: Path, monkeypatch: Any) -> None:
    """Repeating the command measures only what is left."""
    stamps.stamp()  # asks Git, before commands are replaced
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    monkeypatch.setattr(evidence, "ASIDE", tmp_path / "aside")
    monkeypatch.delenv("UNKNOWN_DATA", raising=False)
    entries = (
        Evidence("broken", ("broken",), ()),
        Evidence("foreign", ("foreign",), (), needs=("UNKNOWN_DATA",)),
        Evidence("by_hand", (), ()),
        Evidence("x", ("x",), ()),
    )
    monkeypatch.setattr(evidence, "EVIDENCE", entries)
    measured = []

    def measure(command: list[str], **_: Any) -> None:
        name = command[-1].removeprefix("benchmarks.")
        measured.append(name)
        if name == "broken":
            raise subprocess.CalledProcessError(3, command)
        stamps.write(tmp_path / f"{name}.json", {"rows": [1]})

    monkeypatch.setattr(evidence.subprocess, "run", measure)
    for expected in (["broken", "x"], ["broken"]):
        with pytest.raises(SystemExit) as left:
            evidence.run_older()
        assert measured == expected
        measured.clear()
    assert str(left.value).splitlines() == [
        "Not measured:",
        "broken failed with exit code 3.",
        "foreign needs UNKNOWN_DATA.",
        "by_hand has no command of its own.",
    ]


def test_only_results_without_times_are_measured_side_by_side(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Two of them wait for each other, and nothing runs beside a result with times."""
    stamps.stamp()  # asks Git, before commands are replaced
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    monkeypatch.setattr(evidence, "ASIDE", tmp_path / "aside")
    monkeypatch.setattr(evidence.os, "cpu_count", lambda: 2)
    entries = (
        Evidence("a", ("a",), (), timed=False),
        Evidence("b", ("b",), ()),
        Evidence("c", ("c",), (), timed=False),
    )
    monkeypatch.setattr(evidence, "EVIDENCE", entries)
    both, ended = Barrier(2, timeout=60), []

    def measure(command: list[str], env: dict[str, str], **_: Any) -> None:
        name = command[-1].removeprefix("benchmarks.")
        if name != "b":
            assert ended[:1] == ["b"]
            assert env["OPENBLAS_NUM_THREADS"] == "1"
            both.wait()
        ended.append(name)
        stamps.write(tmp_path / f"{name}.json", {"rows": [1]})

    monkeypatch.setattr(evidence.subprocess, "run", measure)
    evidence.run_older()
    assert sorted(ended) == ["a", "b", "c"]


def test_a_missing_table_is_named() -> None:
    with pytest.raises(KeyError, match="no table 'speed'"):
        replaced("<!-- bias -->\n1\n<!-- end -->", "speed", "2")


def test_numbers_have_three_digits_and_no_exponent_where_they_are_large() -> None:
    shown = {11_700.0: "11700", 999.6: "1000", 0.9996: "1", 3.14159: "3.14", -0.0123456: "-0.0123"}
    assert {value: number(value) for value in shown} == shown
    assert [number(one) for one in (5.52e3, 2.0, 0.0, -3.8e-05)] == ["5520", "2", "0", "-3.8e-5"]
