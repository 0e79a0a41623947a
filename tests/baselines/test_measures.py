"""The table of measures: every row is checked against its function, and the uses follow from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from docs_tools.reference import entries_of, with_metrics
from scipy.stats import ortho_group

import repshape as rs
from repshape.baselines import MEASURES
from repshape.cli import run
from repshape.errors import InputError

FloatArray = npt.NDArray[np.float64]
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "baselines.md"
# Maps of the mean responses (M, n) of one network, by the word of the table.
MAPS = {
    "permutations": lambda x: x[:, ::-1],
    "signs": lambda x: x * np.resize([1.0, -1.0], x.shape[1]),
    "orthogonal maps": lambda x: x @ ortho_group.rvs(x.shape[1], random_state=1),
    "invertible maps": lambda x: x @ np.random.default_rng(2).normal(size=(x.shape[1],) * 2),
    "shifts": lambda x: x + np.linspace(0.5, 2, x.shape[1]),
    "scale": lambda x: 3.0 * x,
}
INCLUDES = {
    "orthogonal maps": ("permutations", "signs"),
    "invertible maps": ("orthogonal maps", "permutations", "signs"),
}
every = pytest.mark.parametrize("name", MEASURES)


def pair(seed: int = 0, M: int = 24) -> tuple[FloatArray, FloatArray]:
    """Return two networks that share a part of their means."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(M, 4)) * [2.0, 1.5, 1.0, 0.5]
    x, y = (latent @ rng.normal(size=(4, n)) + 0.5 * rng.normal(size=(M, n)) for n in (6, 8))
    return np.asarray(x + 0.3), np.asarray(y - 0.2)


@every
@pytest.mark.parametrize("word", MAPS)
def test_invariances_are_those_of_the_table_and_no_others(name: str, word: str) -> None:
    measure = MEASURES[name]
    claimed = {*measure.invariances}
    for one in measure.invariances:
        claimed.update(INCLUDES.get(one, ()))
    x, y = pair()
    before, after = measure(x, y), measure(np.asarray(MAPS[word](x)), y)
    if word in claimed:
        assert after == pytest.approx(before, rel=1e-7)
    else:
        assert after != pytest.approx(before, rel=1e-4)


@every
def test_kind_and_range(name: str) -> None:
    measure = MEASURES[name]
    x, y = pair()
    assert measure.kind in ("distance", "similarity")
    own, other = measure(x, x), measure(x, y)
    # A noisy network does not predict itself perfectly from some of its conditions.
    assert own == pytest.approx(measure.perfect, abs=0.01 if name == "predictivity" else 1e-9)
    better = own < other if measure.kind == "distance" else own > other
    assert better
    low = 0.0 if measure.range.startswith("[0") else -np.inf
    high = 1.0 if measure.kind == "similarity" or measure.range.startswith("[0, 1]") else np.inf
    for seed in range(5):
        assert low <= measure(*pair(seed)) <= high + 1e-12


@every
def test_every_measure_can_be_given_to_pairwise_with_a_store(name: str, tmp_path: Path) -> None:
    networks = {"a": pair()[0], "b": pair()[1], "c": pair(1)[1]}
    distance = MEASURES[name].as_distance()
    D = rs.pairwise(networks, distance, store=tmp_path / "d", progress=False)
    value = MEASURES[name](networks["a"], networks["b"])
    expected = value if MEASURES[name].kind == "distance" else 1 - value
    assert D["a", "b"] == pytest.approx(expected, rel=1e-12)
    again = rs.pairwise(networks, distance, store=tmp_path / "d", progress=False)
    np.testing.assert_array_equal(np.asarray(again), np.asarray(D))


def test_the_page_and_the_help_list_every_measure(capsys: pytest.CaptureFixture[str]) -> None:
    page = with_metrics(PAGE.read_text(encoding="utf-8"))
    entries = entries_of(PAGE)
    assert run(["pairwise", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    for name, measure in MEASURES.items():
        assert f"| `{name}` | {measure.kind} | {measure.range} |" in page
        assert f"repshape.baselines.{name}" in entries
        assert name in words
        assert measure.function is getattr(rs.baselines, name)


def test_the_command_line_takes_measures_and_their_options(tmp_path: Path) -> None:
    x, y = pair()
    rs.Cohort({"a": x, "b": y}).save(tmp_path / "c.zarr")
    out = tmp_path / "d.npz"
    command = ["pairwise", str(tmp_path / "c.zarr"), "-o", str(out), "--metric", "mutual_knn"]
    assert run([*command, "--set", "k=4", "--quiet"]) == 0
    D = rs.DistanceMatrix.load(out)
    assert D["a", "b"] == pytest.approx(1 - rs.baselines.mutual_knn(x, y, k=4))


def test_wrong_measures_get_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=r"'cka' has no parameter 'k'. It takes kernel, debiased"):
        MEASURES["cka"].as_distance(k=3)
    command = ["pairwise", str(tmp_path / "c.zarr"), "-o", str(tmp_path / "d.npz"), "--metric"]
    assert run([*command, "pearson"]) == 2
    assert "'riemannian'" in capsys.readouterr().err
    assert run([*command, "cka", "--group", "permutation"]) == 2
    assert "has no parameter 'group'" in capsys.readouterr().err
