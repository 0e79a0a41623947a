"""What importing repshape costs, and that its lazily imported names behave like any others.

Each check of what is loaded runs in a fresh process: in this one, everything is loaded already.
"""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import subprocess
import sys
import types
from typing import Any

import pytest

import repshape as rs

# Slow to import, and needed by no command before it starts to work.
SLOW = {
    "dask",
    "jinja2",
    "matplotlib",
    "numpy",
    "pandas",
    "rich",
    "scipy",
    "sklearn",
    "torch",
    "zarr",
}

COMMANDS = ["demo", "import", "info", "pairwise", "repair", "embed", "neighbors", "report"]


def in_fresh_process(code: str) -> Any:
    """Run code in a new interpreter and return what it prints as JSON on its last line."""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout.splitlines()[-1])


def loaded_after(code: str) -> set[str]:
    """Return the packages that a fresh process has loaded after running some code."""
    ending = "import sys, json; print(json.dumps([n.partition('.')[0] for n in sys.modules]))"
    return set(in_fresh_process(f"{code}\n{ending}"))


def command(*arguments: str) -> str:
    return f"from repshape.cli import run; assert run({list(arguments)!r}) == 0"


def test_importing_the_package_loads_no_slow_module() -> None:
    assert loaded_after("import repshape") & SLOW == set()


def test_the_version_loads_no_slow_module() -> None:
    assert loaded_after(command("--version")) & SLOW == set()


def test_help_loads_no_slow_module() -> None:
    helps = [command("--help"), *(command(name, "--help") for name in COMMANDS)]
    assert loaded_after("\n".join(helps)) & SLOW == set()


def test_a_star_import_gives_every_public_name_and_loads_the_slow_modules() -> None:
    """Otherwise the tests above could not fail. PyTorch is not needed even then."""
    loaded = loaded_after(
        "from repshape import *\nimport repshape, repshape.pytorch\n"
        "assert set(repshape.__all__) <= set(globals())"
    )
    assert loaded >= {"numpy", "pandas", "scipy", "sklearn", "zarr", "matplotlib"}
    assert "torch" not in loaded


def test_pytorch_is_loaded_by_the_first_of_its_names() -> None:
    assert "torch" in loaded_after("import repshape\nrepshape.pytorch.collect")


def test_a_matrix_is_saved_without_the_modules_of_cohorts_and_metrics() -> None:
    code = (
        "import repshape as rs, tempfile\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    rs.DistanceMatrix([[0, 1], [1, 0]]).save(f'{folder}/d.npz')\n"
        "    rs.DistanceMatrix.load(f'{folder}/d.npz')"
    )
    assert loaded_after(code) & {"zarr", "matplotlib", "sklearn"} == set()


def test_distances_are_computed_without_scikit_learn() -> None:
    """It would take half of the time in which every process of a large job starts."""
    code = (
        "import numpy, repshape as rs\n"
        "metric = rs.GaussianShapeMetric().with_parameters(alpha=0.5)\n"
        "networks = numpy.random.default_rng(0).normal(size=(3, 4, 5, 2))\n"
        "rs.pairwise(list(networks), metric)"
    )
    assert loaded_after(code) & {"sklearn", "matplotlib"} == set()


def test_version_takes_little_time() -> None:
    """The whole process, from the start of the interpreter."""
    ending = "import json, time; print(json.dumps(time.process_time()))"
    assert in_fresh_process(f"{command('--version')}\n{ending}") < 0.4


@pytest.mark.parametrize("name", rs.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(rs, name) is getattr(rs, name)
    assert name in dir(rs)


def test_public_names_are_sorted_and_unique() -> None:
    assert sorted(set(rs.__all__)) == rs.__all__
    assert sorted(dir(rs)) == rs.__all__


def test_other_names_are_attribute_errors() -> None:
    """A subpackage that is not public has a name only once something has imported it."""
    names = ["Pairwise", "cli", "demo", "solvers", "repshape", "__wrapped__"]
    found = in_fresh_process(
        "import repshape, json\nfound = []\n"
        f"for name in {names}:\n"
        "    try: getattr(repshape, name)\n"
        "    except AttributeError as error: found.append(str(error))\n"
        "print(json.dumps(found))"
    )
    assert found == [f"module 'repshape' has no attribute {name!r}" for name in names]


ORDERS = {
    "at once": "",
    "after a submodule": "import repshape.engine.run",
    "after a name of a submodule": "from repshape.engine.plan import Shard",
    "after the subpackage": "import repshape.engine",
    "after a function beside it": "rs.pairwise_many; rs.cross",
    "after reloads": "import importlib as i; i.reload(rs); rs.pairwise; i.reload(rs)",
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_pairwise_is_the_function_in_every_order_of_imports(order: str) -> None:
    found = in_fresh_process(
        f"import repshape as rs\n{order}\nfrom repshape import pairwise\nimport json\n"
        "assert pairwise is rs.pairwise\n"
        "print(json.dumps([type(rs.pairwise).__name__, rs.pairwise.__module__]))"
    )
    assert found == ["function", "repshape.engine.run"]


def test_the_modules_of_pairwise_stay_importable() -> None:
    assert isinstance(rs.pairwise, types.FunctionType)
    module = importlib.import_module("repshape.engine.run")
    assert module.pairwise is rs.pairwise


@pytest.mark.parametrize(
    "name", [n for n in rs.__all__ if not isinstance(getattr(rs, n), types.ModuleType)]
)
def test_names_survive_pickle_and_copy(name: str) -> None:
    value = getattr(rs, name)
    assert pickle.loads(pickle.dumps(value)) is value or name == "__version__"
    assert copy.deepcopy(value) is value
