"""The recipe for a new metric in CONTRIBUTING.md, followed word by word in another package."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import repshape as rs
from repshape.errors import InputError, InputTypeError, StorageError
from repshape.metrics import ShapeMetric, registry
from repshape.metrics.identity import caption, describe, restore, short_title

FloatArray = npt.NDArray[np.float64]
CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


def recipe(language: str) -> str:
    """Return the code of the recipe in one language."""
    if not CONTRIBUTING.exists():
        pytest.skip("CONTRIBUTING.md is not part of an installation")
    section = CONTRIBUTING.read_text(encoding="utf-8").split("## A new metric")[1].split("\n## ")[0]
    (code,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return str(code)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with an installed package that has the metric of the recipe."""
    folder = tmp_path / "site"
    (folder / "my_package").mkdir(parents=True)
    (folder / "my_package" / "__init__.py").touch()
    (folder / "my_package" / "spread.py").write_text(recipe("python"))
    declared = tomllib.loads(recipe("toml"))["project"]["entry-points"]
    info = folder / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    lines = [f"[{group}]" for group in declared]
    lines += [f"{k} = {v}" for names in declared.values() for k, v in names.items()]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(registry, "_registered", {})
    registry._entry_points.cache_clear()
    yield folder
    registry._entry_points.cache_clear()
    for name in [one for one in sys.modules if one.partition(".")[0] == "my_package"]:
        del sys.modules[name]


@pytest.fixture
def networks() -> dict[str, FloatArray]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(0.0, k + 1.0, size=(4, 16, 3)) for k, name in enumerate("abcde")}


def spread_of(trials: FloatArray) -> float:
    return float(np.sqrt(trials.var(axis=1).sum(axis=1).mean()))


def spread_metric(**parameters: Any) -> Any:
    return importlib.import_module("my_package.spread").SpreadMetric(**parameters)


# Commands one after the other in one process, which takes a second to start.
COMMANDS = """
import contextlib, io, json, sys
from repshape.cli import run
told = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    told.append({"code": code, "stdout": out.getvalue(), "stderr": err.getvalue()})
print(json.dumps(told))
"""


def run_commands(commands: list[list[str]], package: Path, folder: Path) -> list[dict[str, Any]]:
    """Return what commands say in another process, in which the package is installed."""
    found = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(package), "COLUMNS": "200"},
    )
    told: list[dict[str, Any]] = json.loads(found.stdout)
    return told


@pytest.mark.usefixtures("package")
def test_pairwise_a_store_and_its_growth(networks: dict[str, FloatArray], tmp_path: Path) -> None:
    metric, store = spread_metric(), tmp_path / "d.zarr"
    first = dict(list(networks.items())[:3])
    rs.pairwise(first, metric, store=store)
    D = rs.pairwise(networks, metric, store=store)
    s = np.array([spread_of(one) for one in networks.values()])
    np.testing.assert_allclose(D.values, abs(s[:, None] - s), rtol=1e-12)
    again = rs.DistanceMatrix.load(store)
    np.testing.assert_array_equal(again.values, D.values)
    with pytest.raises(StorageError, match=r"the metric's 'power' was 1.0 and is 0.5"):
        rs.pairwise(networks, spread_metric(power=0.5), store=store)


@pytest.mark.usefixtures("package")
def test_an_entry_point_restores_the_metric_of_a_matrix() -> None:
    identity = json.loads(json.dumps(describe(spread_metric(power=0.5))))
    found = restore(identity)
    assert isinstance(found, ShapeMetric)
    assert repr(found) == "SpreadMetric(power=0.5)"
    assert short_title(identity) == "Spread, power = 0.5"
    assert caption(identity) == "Difference of noise (power = 0.5)"


@pytest.mark.usefixtures("package")
def test_inference_and_the_report(networks: dict[str, FloatArray], tmp_path: Path) -> None:
    metric, x = spread_metric(), networks["a"]
    near, far = (rs.inference.distance(x, networks[y], metric, progress=False) for y in "be")
    assert near.interval[1] < far.interval[0]  # the noise of b is twice and that of e five times
    page = tmp_path / "page.html"
    rs.write_report(rs.pairwise(networks, metric), page, cohort=rs.Cohort.from_networks(networks))
    text = page.read_text()
    assert "Spread, power = 1" in text
    assert "Invariances" not in text  # the metric has no group


@pytest.mark.usefixtures("package")
def test_a_score_that_is_not_defined_is_refused(networks: dict[str, FloatArray]) -> None:
    metric, x, y = spread_metric(), networks["a"], networks["b"]
    words = "SpreadMetric cannot score held-out responses, because it does not define _compare"
    with pytest.raises(InputError, match=words):
        metric.score(metric.align(x, y), x, y)
    with pytest.raises(InputError, match=words):
        rs.inference.held_out(networks, metric, progress=False)


def test_the_command_line_knows_the_metric(
    package: Path, networks: dict[str, FloatArray], tmp_path: Path
) -> None:
    rs.Cohort.from_networks(networks).save(tmp_path / "c.zarr")
    chosen = ["--metric", "spread", "--set", "power=0.5"]
    shown, made, again, like, report, wrong = run_commands(
        [
            ["pairwise", "--help"],
            ["pairwise", "c.zarr", "-o", "d.zarr", *chosen, "--quiet"],
            ["pairwise", "c.zarr", "-o", "d.zarr", *chosen],
            ["neighbors", "--search", "c.zarr", "--like", "d.zarr", "-k", "1", "--json"],
            ["report", "d.zarr", "--cohort", "c.zarr", "-o", "page.html"],
            ["pairwise", "c.zarr", "-o", "e.zarr", "--metric", "spread", "--set", "power=2"],
        ],
        package,
        tmp_path,
    )
    assert "covariance, spread" in " ".join(shown["stdout"].split())
    for one in (made, again, like, report):
        assert one["code"] == 0, one["stderr"]
    D = rs.DistanceMatrix.load(tmp_path / "d.zarr")
    s = [spread_of(networks[name]) for name in "ab"]
    assert D.values[0, 1] == pytest.approx(abs(s[0] - s[1]) ** 0.5)
    assert "10 of 10 pairs are known already" in again["stderr"]
    assert "Spread, power = 0.5" in (tmp_path / "page.html").read_text()
    assert wrong["code"] == 2
    assert "must be a float in (0, 1]" in " ".join(wrong["stderr"].split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "power"], "--set takes a parameter as NAME=VALUE. Got 'power' instead."),
        (["--set", "alpha=1", "--alpha", "1"], "The parameter 'alpha' must be given once."),
        (["--set", "q=1", "--set", "q=2"], "The parameter 'q' must be given once."),
        (["--set", "power=1"], "The gaussian metric has no parameter 'power'."),
    ],
)
def test_wrong_settings_of_the_command_line(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from repshape.cli import run

    rs.Cohort.from_networks({"a": np.eye(2), "b": 2 * np.eye(2)}).save(tmp_path / "c.zarr")
    where = [str(tmp_path / "c.zarr"), "-o", str(tmp_path / "d.zarr")]
    assert run(["pairwise", *where, *options]) == 2
    assert words in re.sub(r"[\s│]+", " ", capsys.readouterr().err)


# Registered in a script


class OwnMetric(ShapeMetric[Any]):
    """A metric of a script."""

    title = "My own"
    full_title = "A distance of my own"
    key_parameter = ("size", "s")

    def __init__(self, size: float = 1.0) -> None:
        self.size = size

    def _prepare(self, network: Any, phi: Any) -> Any:
        raise NotImplementedError

    def _align_prepared(self, x: Any, y: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


@pytest.mark.usefixtures("nothing_registered")
def test_a_registered_class_has_a_name_and_an_identity() -> None:
    identity = describe(OwnMetric(2.0))
    assert restore(identity) is None
    assert rs.register(OwnMetric) is OwnMetric
    assert repr(restore(identity)) == "OwnMetric(size=2.0)"
    assert repr(registry.make_metric("my-own", size=3.0)) == "OwnMetric(size=3.0)"
    rs.register(OwnMetric, "other")
    assert repr(restore(identity)) == "OwnMetric(size=2.0)"
    assert registry.metric_class("other") is OwnMetric


@pytest.mark.usefixtures("nothing_registered")
def test_a_metric_of_repshape_is_registered_already() -> None:
    rs.register(rs.ConvShapeMetric)
    assert list(registry.known_metrics()) == list(registry.METRICS)


class Unnamed(OwnMetric):
    def __init__(self, **options: Any) -> None:
        self.options = options


class Unkeyed(OwnMetric):
    key_parameter = ("width", "w")


class Incomplete(ShapeMetric[Any]):
    title = "Incomplete"

    def _prepare(self, network: Any, phi: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (OwnMetric(), InputTypeError, r"must be a class derived from .*ShapeMetric. Got OwnMetric"),
        (dict, InputTypeError, "must be a class derived from"),
        (Unnamed, InputError, r"Unnamed must name all its parameters. Got \*\*options"),
        (Unkeyed, InputError, "key parameter of Unkeyed, 'width', is not a parameter"),
        (Incomplete, InputError, "not define _align_prepared, full_title, key_parameter."),
    ],
)
@pytest.mark.usefixtures("nothing_registered")
def test_what_is_no_metric_is_refused(given: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        rs.register(given)
    assert registry._registered == {}


@pytest.mark.usefixtures("nothing_registered")
def test_names_of_other_metrics_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be registered as 'energy': EnergyShapeMetric of"):
        rs.register(OwnMetric, "energy")
    same = type("GaussianShapeMetric", (OwnMetric,), {})
    with pytest.raises(InputError, match="of the package 'repshape' is registered as 'gaussian'"):
        rs.register(same)
    with pytest.raises(InputTypeError, match="'name' parameter must be a non-empty string"):
        rs.register(OwnMetric, "")


def test_a_metric_that_cannot_be_imported_is_refused_by_name_only(package: Path) -> None:
    identity = describe(spread_metric())
    del sys.modules["my_package.spread"]
    (package / "my_package" / "spread.py").write_text("import no_such_module_of_anyone\n")
    importlib.invalidate_caches()
    with pytest.raises(InputError, match=r"'spread' of my-package .* cannot be used: No module"):
        registry.make_metric("spread")
    assert restore(identity) is None
    assert short_title(identity) == "SpreadMetric"
