"""import_cohort(add=True): networks that join a cohort on disk, all of them or none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repshape import Cohort
from repshape.errors import CopyWarning, InputError, InputTypeError, StorageError
from repshape.io import import_cohort
from scale_support import contents

ARRAYS = {name: np.random.default_rng(k).normal(size=(3, 6, 2)) for k, name in enumerate("abcd")}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, array in ARRAYS.items():
        np.save(f"{name}.npy", array)
    Path("m.csv").write_text("name,file,age\na,a.npy,7\nb,b.npy,8\n")
    import_cohort(["m.csv"], "c.zarr")


def test_added_networks_are_those_of_one_import() -> None:
    grown = import_cohort(["c.npy", "d.npy"], "c.zarr", add=True)
    whole = import_cohort(["m.csv", "c.npy", "d.npy"], "w.zarr")
    assert grown.labels == whole.labels == ("a", "b", "c", "d")
    assert grown.verify() == whole.verify()
    assert grown.metadata.equals(whole.metadata)
    assert not list(Path("c.zarr").glob(".*"))


def test_replaced_networks_keep_their_place_and_their_metadata() -> None:
    np.save("a.npy", ARRAYS["d"])
    cohort = import_cohort(["c.npy", "a.npy"], "c.zarr", add=True, replace=["a"])
    assert cohort.labels == ("a", "b", "c")
    assert cohort["a"].fingerprint == cohort.fingerprints[0]
    np.testing.assert_array_equal(cohort["a"].stacked, ARRAYS["d"])
    assert cohort.metadata["age"].tolist()[:2] == [7, 8]
    Path("m.csv").write_text("name,file,age\na,b.npy,9\n")
    with pytest.warns(CopyWarning, match="'a' is an exact copy of 'b'"):
        cohort = import_cohort(["m.csv"], "c.zarr", add=True, replace=["a"])
    assert cohort.metadata["age"].tolist()[:2] == [9, 8]
    assert sorted(one.name for one in Path("c.zarr").iterdir()) == ["a#2", "b", "c", "zarr.json"]


@pytest.mark.parametrize("moved", [0, 1])
def test_a_killed_import_is_complete_or_absent(moved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(Path("c.zarr"))

    def killed(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("repshape.io.destination.save_network", killed)
        with pytest.raises(KeyboardInterrupt):
            import_cohort(["c.npy", "d.npy"], "c.zarr", add=True)
    assert contents(Path("c.zarr")) == before

    def killed_while_moving(batch: Path) -> None:
        for folder in sorted(batch.iterdir())[:moved]:
            os.rename(folder, batch.parent / folder.name)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("repshape.io.destination.install_batch", killed_while_moving)
        with pytest.raises(KeyboardInterrupt):
            import_cohort(["c.npy", "d.npy"], "c.zarr", add=True)
    cohort = Cohort.open("c.zarr")  # completes what was decided
    assert cohort.labels == ("a", "b", "c", "d")
    cohort.verify()
    assert not list(Path("c.zarr").glob(".*"))


def test_a_network_that_another_process_adds_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    from repshape.io import destination

    save = destination.save_network

    def slow(folder: Path, network: Any, record: Any) -> Any:
        Cohort.open("c.zarr").add("c", ARRAYS["d"])
        return save(folder, network, record)

    monkeypatch.setattr(destination, "save_network", slow)
    with pytest.raises(InputError, match="already has a network named 'c'"):
        import_cohort(["c.npy"], "c.zarr", add=True)
    np.testing.assert_array_equal(Cohort.open("c.zarr")["c"].stacked, ARRAYS["d"])


@pytest.mark.parametrize(
    ("sources", "options", "error", "reason"),
    [
        (["a.npy"], {}, InputError, "already has a network named 'a'"),
        (["c.npy", "c.npy"], {}, InputError, "Each network must have its own name. Got 'c'"),
        (["c.npy"], {"replace": ["a"]}, InputError, "must name networks that are added. Got 'a'"),
        (["c.npy"], {"replace": ["c"]}, InputError, "There is no network named 'c'"),
        (["a.npy"], {"replace": "a"}, InputTypeError, "must be a list of names"),
        (["a.npy"], {"add": False, "replace": ["a"]}, InputError, "needs add=True"),
        (["c.npy"], {"add": 1}, InputTypeError, "'add' parameter must be True or False"),
        (["c.npy", "none.npy"], {}, StorageError, "There is no file none.npy"),
        (["c.npy", "short.npy"], {}, InputError, "Got 3 in 'a' and 2 in 'short'"),
        (["c.npy"], {"common_conditions": True}, InputError, "matched by label"),
    ],
)
def test_refused_networks_change_nothing(
    sources: list[str], options: dict[str, Any], error: type[Exception], reason: str
) -> None:
    np.save("short.npy", ARRAYS["c"][:2])
    before = contents(Path("c.zarr"))
    with pytest.raises(error, match=reason):
        import_cohort(sources, "c.zarr", **({"add": True} | options))
    assert contents(Path("c.zarr")) == before
    with pytest.raises(StorageError, match=r"There is no cohort at none\.zarr"):
        import_cohort(["c.npy"], "none.zarr", add=True)


def test_common_conditions_are_those_of_the_cohort() -> None:
    x = {"trials": ARRAYS["a"], "conditions": ["p", "q", "r"]}
    np.savez("x.npz", **x)
    np.savez("y.npz", trials=np.concatenate([ARRAYS["b"], ARRAYS["c"]]), conditions=list("rsqtpu"))
    np.savez("z.npz", trials=ARRAYS["d"], conditions=list("pqs"))
    import_cohort(["x.npz"], "l.zarr")
    cohort = import_cohort(["y.npz"], "l.zarr", add=True, common_conditions=True)
    assert cohort["y"].conditions == ("p", "q", "r")
    assert cohort.dropped == {"y": ("s", "t", "u")}
    with pytest.raises(InputError, match=r"'z' lacks conditions that .* l.zarr have: 'r'\."):
        import_cohort(["z.npz"], "l.zarr", add=True, common_conditions=True)
    Cohort.create("e.zarr")
    empty = import_cohort(["y.npz", "z.npz"], "e.zarr", add=True, common_conditions=True)
    assert empty["z"].conditions == ("s", "q", "p")
