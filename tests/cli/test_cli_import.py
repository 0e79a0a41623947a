"""import on the command line: conditions that differ, and what is told about them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import repshape as rs
from repshape.cli import run
from repshape.errors import CopyWarning

X, Y = (np.random.default_rng(k).normal(size=(3, 6, 2)) for k in range(2))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", trials=X, conditions=["a", "b", "c"])
    np.savez("y.npz", trials=Y, conditions=["c", "d", "a"])
    Path("m.csv").write_text("name,file,age\none,x.npz,7\ntwo,y.npz,8\n")


def test_common_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "m.csv", "-o", "c.zarr", "--common-conditions", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["dropped"] == {"one": ["b"], "two": ["d"]}
    assert "Conditions of two that were dropped: 'd'." in captured.err
    cohort = rs.Cohort.open("c.zarr")
    expected = rs.Cohort.common_conditions(
        {name: rs.io.read_network(f) for name, f in (("one", "x.npz"), ("two", "y.npz"))}
    )
    assert cohort.fingerprints == expected.fingerprints
    assert cohort.metadata["age"].tolist() == [7, 8]
    np.testing.assert_array_equal(cohort["two"]["c"], Y[0])
    assert cohort["two"].conditions == ("a", "c")


def test_conditions_that_differ_name_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "m.csv", "-o", "c.zarr"]) == 1
    words = capsys.readouterr().err
    assert "Condition 0 is 'a' in 'one' and 'c' in 'two'. Pass --common-conditions" in words
    assert "Cohort.common_conditions" not in words
    assert not Path("c.zarr").exists()


def test_common_conditions_need_labels_and_a_new_name(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("z.npy", X)
    assert run(["import", "x.npz", "z.npy", "-o", "c.zarr", "--common-conditions"]) == 1
    assert "those of network 'z' have none" in capsys.readouterr().err
    rs.Cohort.create("c.zarr")
    assert run(["import", "x.npz", "-o", "c.zarr", "--common-conditions"]) == 1
    assert "exists already" in capsys.readouterr().err


def test_add_and_replace(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "x.npz", "-o", "c.zarr", "-q"]) == 0
    assert run(["import", "x.npz", "-o", "c.zarr"]) == 1
    words = capsys.readouterr().err
    assert "choose another name for the cohort, or pass --add to add networks to it." in words
    with pytest.warns(CopyWarning, match="'one' is an exact copy of 'x'"):
        assert run(["import", "m.csv", "-o", "c.zarr", "--add"]) == 1
    assert "Condition 0 is 'a' in 'x' and 'c' in 'two'. Pass --common" in capsys.readouterr().err
    assert rs.Cohort.open("c.zarr").labels == ("x",)  # not even the first one
    np.savez("x.npz", trials=X + 1, conditions=["a", "b", "c"])
    np.savez("new.npz", trials=Y, conditions=["b", "c", "a"])
    again = ["import", "x.npz", "new.npz", "-o", "c.zarr", "--add", "--common-conditions"]
    assert run(again) == 1
    words = capsys.readouterr().err
    assert "c.zarr already has a network named 'x'. Name it in 'replace' (--replace)" in words
    assert words.count("\n") == 1
    assert run([*again, "--replace", "x", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["networks"] == 2
    cohort = rs.Cohort.open("c.zarr")
    assert cohort.labels == ("x", "new")
    np.testing.assert_array_equal(cohort["x"]["a"], X[0] + 1)
    np.testing.assert_array_equal(cohort["new"]["a"], Y[2])


@pytest.mark.parametrize("arguments", [["--replace", "x"], ["--add", "--replace"]])
def test_replace_needs_add_and_a_name(arguments: list[str]) -> None:
    assert run(["import", "x.npz", "-o", "c.zarr", *arguments]) == 2
