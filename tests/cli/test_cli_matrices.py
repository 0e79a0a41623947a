"""repair, embed and neighbors: files, messages, JSON and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

from repshape.analysis.embedding import embed
from repshape.analysis.neighbors import knn_classify, knn_regress
from repshape.cli import run
from repshape.io.tables import join_metadata
from repshape.matrix.distances import DistanceMatrix
from repshape.matrix.repair import repair
from repshape.matrix.triangles import triangle_violations


def example() -> DistanceMatrix:
    rng = np.random.default_rng(0)
    kind = np.arange(30) % 2
    points = rng.normal(size=(30, 2)) + 6.0 * kind[:, None]
    frame = pd.DataFrame({"kind": [f"k{k}" for k in kind], "depth": points[:, 0], "day": kind})
    frame["animal"] = np.arange(30) // 5
    labels = [f"net {k}" for k in range(30)]
    return DistanceMatrix(squareform(pdist(points)), labels, frame)


def broken() -> DistanceMatrix:
    noise = squareform(np.random.default_rng(1).normal(size=435))
    return DistanceMatrix(example().values + noise, example().labels, example().metadata)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    example().save("d.npz")
    example().save("d.csv")
    broken().save("broken.npz")
    example().metadata.to_csv("meta.csv")
    return tmp_path


def summary_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run([*arguments, "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    summary: dict[str, Any] = json.loads(captured.out)
    return summary


@pytest.mark.parametrize("out", ["r.npz", "r.csv", "r.json"])
def test_repair(out: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = summary_of(["repair", "broken.npz", "-o", out], capsys)
    expected = repair(broken())
    assert summary == json.loads(json.dumps(expected.summary())) | {"files": [out]}
    if out == "r.json":
        saved = json.loads((folder / out).read_text())
        values, labels = np.array(saved["values"]), saved["labels"]
    else:
        back = DistanceMatrix.load(folder / out)
        values, labels = back.values, list(back.labels)
    np.testing.assert_array_equal(values, expected.values)
    assert labels == list(broken().labels)
    assert triangle_violations(values).count == 0


@pytest.mark.usefixtures("folder")
def test_words_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["repair", "broken.npz", "-o", "r.npz"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.match(r"Before: \d+ violated triangles \(by at most", captured.err)
    assert "Wrote r.npz" in captured.err


@pytest.mark.parametrize("out", ["e.csv", "e.npz", "e.json"])
def test_embed(out: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = summary_of(["embed", "d.npz", "-o", out], capsys)
    assert summary["stress"] < 1e-6
    assert summary["distortion_percentiles"]["p50"] == pytest.approx(1.0, abs=1e-6)
    table = read(folder / out)
    assert table["network"].tolist() == list(example().labels)
    assert table["kind"].tolist() == example().metadata["kind"].tolist()
    points = np.stack([table["x0"], table["x1"]], axis=1).astype(float)
    np.testing.assert_allclose(points, embed(example()).points, atol=1e-12)


def read(path: Path) -> pd.DataFrame:
    if path.suffix == ".csv":
        return pd.read_csv(path)
    if path.suffix == ".json":
        return pd.DataFrame(json.loads(path.read_text())["table"])
    with np.load(path, allow_pickle=False) as stored:
        return pd.DataFrame({name: stored[name] for name in stored.files if name != "summary"})


@pytest.mark.parametrize("first", ["a.csv", "a.npz", "a.json"])
def test_embed_onto_another(first: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same networks, at twice the distances and in another order."""
    order = np.random.default_rng(0).permutation(30)
    labels = [example().labels[k] for k in order]
    DistanceMatrix(2.0 * example().values[np.ix_(order, order)], labels).save("twice.npz")
    summary_of(["embed", "d.csv", "-o", first], capsys)
    arguments = ["embed", "twice.npz", "-o", "b.csv", "--align-to", first, "--scale"]
    summary = summary_of(arguments, capsys)
    assert summary["align_scale"] == pytest.approx(0.5)
    assert summary["align_residual"] < 1e-6
    one = read(folder / first).set_index("network")[["x0", "x1"]]
    other = pd.read_csv(folder / "b.csv", index_col="network")
    np.testing.assert_allclose(other, one.loc[labels], atol=1e-6)


def test_embed_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--components", "1", "--pca-from", "2", "--method", "classical"]
    summary = summary_of(
        ["embed", "d.npz", "-o", "e.csv", *arguments, "--curve", "curve.csv"], capsys
    )
    assert summary["method"] == "principal components of classical scaling in 2 dimensions"
    assert len(summary["explained"]) == 1
    curve = pd.read_csv(folder / "curve.csv", index_col="dimension")
    assert curve.index.tolist() == list(range(1, 21))
    assert curve.loc[2, "p95"] == pytest.approx(1.0, abs=1e-6)


def test_neighbours_of_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["neighbors", "d.npz", "--of", "net 3", "-k", "2"]
    summary = summary_of([*arguments, "-o", "n.csv"], capsys)
    assert [row["rank"] for row in summary["neighbors"]] == [1, 2]
    distances = [row["distance"] for row in summary["neighbors"]]
    assert distances == sorted(np.delete(example().values[3], 3))[:2]
    assert pd.read_csv(folder / "n.csv").columns.tolist() == [
        "network",
        "rank",
        "neighbor",
        "distance",
    ]
    assert run(arguments) == 0
    assert capsys.readouterr().err.startswith("net 3: net ")


@pytest.mark.usefixtures("folder")
def test_neighbours_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(summary_of(["neighbors", "d.csv", "-k", "3"], capsys)["neighbors"]) == 90


@pytest.mark.parametrize("source", [["d.npz"], ["d.csv", "--metadata", "meta.csv"]])
def test_predict_classes(
    source: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--target", "kind", "--permutations", "19", "--repeats", "5", "-o", "s.npz"]
    summary = summary_of(["neighbors", *source, *arguments], capsys)
    expected = knn_classify(example(), "kind", n_repeats=5, n_permutations=19)
    assert summary["estimate"] == expected.estimate
    assert summary["p_value"] == expected.p_value == 0.05
    assert read(folder / "s.npz")["accuracy"].tolist() == expected.scores.tolist()


@pytest.mark.usefixtures("folder")
def test_predict_numbers_and_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    summary = summary_of(["neighbors", "d.npz", "--target", "depth"], capsys)
    assert summary["estimate"] == knn_regress(example(), "depth").estimate
    assert summary["score"] == "R2"
    whole = ["neighbors", "d.csv", "--target", "day"]
    assert summary_of(whole, capsys)["estimate"] == knn_regress(example(), "day").estimate
    classes = summary_of([*whole, "--kind", "classes"], capsys)
    assert classes["estimate"] == knn_classify(example(), "day").estimate
    text = summary_of(["neighbors", "d.csv", "--target", "kind"], capsys)
    assert text["estimate"] == classes["estimate"]
    assert summary_of([*whole, "--groups", "animal"], capsys)["splits"] == 6


@pytest.mark.usefixtures("folder")
def test_what_is_not_finite_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["neighbors", "d.npz", "--target", "kind", "--repeats", "1"]
    assert summary_of(arguments, capsys)["spread"] is None


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["repair", "none.npz", "-o", "r.npz"], "none.npz"),
        (["embed", "broken.npz", "-o", "e.csv"], "Repair them first"),
        (["embed", "d.npz", "-o", "e.csv", "--align-to", "meta.csv"], "not an embedding"),
        (["neighbors", "d.npz", "--of", "x"], "no network named 'x'"),
        (["neighbors", "d.npz", "--target", "x"], "no column 'x'"),
        (["neighbors", "d.npz", "--metadata", "other.csv"], "no row for networks 'net 0'"),
    ],
)
def test_failure_exits_1_with_one_line(
    arguments: list[str], reason: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.csv").write_text("name,x\na,1\n")
    assert run(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(rf"repshape: .*{reason}.*\n", captured.err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["repair", "d.npz"],
        ["repair", "d.npz", "-o", "r.pkl"],
        ["embed", "d.npz", "-o", "e.csv", "--seed", "-1"],
        ["embed", "d.npz", "-o", "e.csv", "--seed", "4294967296"],
        ["embed", "d.npz"],
        ["embed", "d.npz", "-o", "e.csv", "--components", "0"],
        ["embed", "d.npz", "-o", "e.csv", "--method", "tsne"],
        ["neighbors", "d.npz", "--of", "net 0", "--target", "kind"],
        ["neighbors", "d.npz", "--groups", "animal"],
    ],
)
@pytest.mark.usefixtures("folder")
def test_bad_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr().out == ""


def rich() -> DistanceMatrix:
    """A matrix that holds everything a matrix can hold, and violates triangle inequalities."""
    values = broken().values
    return DistanceMatrix(
        values,
        broken().labels,
        broken().metadata,
        lower_bounds=0.5 * values,
        converged=squareform(np.arange(435) % 2),
        description={"metric": "Example", "parameters": {"alpha": 0.5}},
    )


@pytest.mark.parametrize("out", ["r.npz", "r.json"])
def test_repair_keeps_what_is_known_about_the_networks(out: str, folder: Path) -> None:
    rich().save("rich.npz")
    assert run(["repair", "rich.npz", "-o", out, "--quiet"]) == 0
    if out == "r.json":
        saved = json.loads((folder / out).read_text())
        columns = {one["name"]: one["values"] for one in saved["metadata"]}
        assert columns["kind"] == rich().metadata["kind"].tolist()
        assert saved["description"] == rich().description | {"repaired": True}
        return
    back = DistanceMatrix.load(folder / out)
    pd.testing.assert_frame_equal(back.metadata, rich().metadata)
    np.testing.assert_array_equal(back.converged, rich().converged)
    assert back.description == rich().description | {"repaired": True}


@pytest.mark.usefixtures("folder")
def test_joining_metadata_keeps_everything_else() -> None:
    """Columns of the table win over those of the same name; others stay."""
    values = rich().values.copy()
    values[3, 4] = values[4, 3] = np.nan
    source = DistanceMatrix(**(rich()._fields() | {"values": values}), missing=True)
    pd.DataFrame({"day": range(30), "new": 1.5}, index=source.labels[::-1]).to_csv("new.csv")
    joined = join_metadata(source, Path("new.csv"))
    for name in ("values", "lower_bounds", "converged"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(source, name))
    assert joined.description == source.description
    assert joined.metadata.columns.tolist() == ["kind", "depth", "animal", "day", "new"]
    assert joined.metadata["day"].tolist() == list(range(29, -1, -1))


def test_an_incomplete_matrix_is_refused_by_that_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = example().values.copy()
    values[3, 4] = values[4, 3] = np.nan
    DistanceMatrix(values, example().labels, missing=True).save(folder / "holes.npz")
    for arguments in (
        ["neighbors", "holes.npz", "--metadata", "meta.csv", "--target", "kind"],
        ["neighbors", "holes.npz"],
        ["embed", "holes.npz", "-o", "e.csv"],
    ):
        assert run(arguments) == 1
        assert "not complete: 1 of 435 pairs" in capsys.readouterr().err
    assert run(["repair", "holes.npz", "-o", "r.npz"]) == 1
    assert "Only a complete matrix can be repaired. Got 1 missing" in capsys.readouterr().err


def test_labels_that_look_like_formulas_are_safe_and_come_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = ["=1+1", "-x", "@y", *example().labels[3:]]
    example().replace(labels=labels).save("f.csv")
    summary_of(["embed", "f.csv", "-o", "e.csv"], capsys)
    first = (folder / "e.csv").read_text().splitlines()[1:4]
    assert [line.split(",")[0] for line in first] == ["'=1+1", "'-x", "'@y"]
    aligned = summary_of(["embed", "f.csv", "-o", "g.csv", "--align-to", "e.csv"], capsys)
    assert aligned["align_residual"] < 1e-6
    found = summary_of(["neighbors", "f.csv", "--metadata", "e.csv", "--of", "=1+1"], capsys)
    assert {row["network"] for row in found["neighbors"]} == {"=1+1"}
