"""Imports point downward only: the layers of the package, checked on its source code.

Nothing is imported here. Every import statement counts, also those inside functions; only what is
under ``if TYPE_CHECKING`` is free.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = "repshape"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE
CORE = "repshape._core"

# From the bottom. A layer may import from itself and from those before it.
LAYERS = (
    (
        "_arrays",
        "_colours",
        "_compact",
        "_doubt",
        "_joins",
        "_labels",
        "_memory",
        "_tables",
        "_tensors",
        "_version",
        "errors",
        "groups",
        "moments",
        "preprocess",
        "responses",
    ),
    (
        "_core",
        "_native",
        "_parallel",
        "coordinates",
        "reference",
    ),
    ("metrics", "solvers"),
    ("matrix",),
    ("io", "store"),
    ("engine",),
    ("analysis", "baselines", "inference"),
    ("datasets", "pytorch"),
    ("plots",),
    ("report",),
    ("demo",),
    ("cli",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# Methods that import upward when they are called, because users expect them on the object.
UPWARD = {
    ("repshape.matrix.distances", "repshape.io.matrices"),  # DistanceMatrix.save and load
    ("repshape.matrix.distances", "repshape.engine.store"),  # DistanceMatrix.load of a store
    ("repshape.matrix.distances", "repshape.plots.matrix"),  # DistanceMatrix.plot
    ("repshape.matrix.cross", "repshape.io.cross"),  # CrossDistances.save and load
    ("repshape.matrix.cross", "repshape.engine.store"),  # CrossDistances.load of a store
    ("repshape.matrix.cross", "repshape.plots.cross"),  # CrossDistances.plot
    ("repshape.matrix.summary", "repshape.inference.factors"),  # DistanceMatrix.summary
    ("repshape.analysis.embedding", "repshape.plots.embedding"),  # Embedding.plot
    ("repshape.inference.model_result", "repshape.plots.models"),  # ModelComparison.plot
}
# Modules that are run as scripts, and use the package as a user does: through its root.
SCRIPTS = {"repshape.plots.gallery"}

Edge = tuple[str, str]


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, root: Path = SOURCE) -> Iterator[Edge]:
    """Yield importer and imported module for every import of the package by one of its files."""
    name = module_name(path, root)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in runtime_nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            targets = [submodule(base, alias.name, root) for alias in node.names]
        else:
            continue
        for target in targets:
            if target.partition(".")[0] == PACKAGE:
                yield name, target


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes that may run, which leaves out what is for type checkers."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            free, rest = child.body, child.orelse
            if isinstance(child.test, ast.UnaryOp):  # if not TYPE_CHECKING
                free, rest = rest, free
            for node in rest:
                yield node
                yield from runtime_nodes(node)
        else:
            yield child
            yield from runtime_nodes(child)


def submodule(base: str, name: str, root: Path) -> str:
    """Return what ``from base import name`` imports: a module inside a package, or the module."""
    folder = root.parent / Path(*base.split("."))
    exists = (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()
    return f"{base}.{name}" if exists or f"{base}.{name}" == CORE else base


def layer(module: str) -> int:
    """Return the rank of a module; the root, which re-exports names, is above everything."""
    parts = module.split(".")
    return RANK[parts[1]] if len(parts) > 1 else len(LAYERS)


def all_edges(root: Path = SOURCE) -> set[Edge]:
    found = {edge for path in sorted(root.rglob("*.py")) for edge in imports(path, root)}
    return {(a, b) for a, b in found if not (a in SCRIPTS and b == PACKAGE)}


def upward(edges: set[Edge]) -> set[Edge]:
    return {(a, b) for a, b in edges if layer(b) > layer(a)}


def core_importers(edges: set[Edge]) -> set[str]:
    return {a for a, b in edges if b == CORE or b.startswith(f"{CORE}.")}


def find_cycle(edges: set[Edge]) -> list[str]:
    graph: dict[str, set[str]] = {}
    for a, b in edges:
        graph.setdefault(a, set()).add(b)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {
        path.stem
        for path in SOURCE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - {"__init__"} - set(RANK) == set()


def test_imports_point_downward() -> None:
    assert upward(all_edges()) - UPWARD == set()


def test_the_listed_exceptions_are_needed() -> None:
    assert upward(all_edges()) >= UPWARD


def test_exceptions_are_inside_functions() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                assert (module_name(path, SOURCE), node.module) not in UPWARD


def test_no_cycle_of_modules() -> None:
    assert find_cycle(all_edges() - UPWARD) == []


def test_one_module_imports_the_compiled_core() -> None:
    assert core_importers(all_edges()) == {"repshape._native"}


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A small package that breaks each rule once."""
    root = tmp_path / PACKAGE
    files = {
        "__init__.py": "",
        "errors.py": "def f():\n    from repshape.plots.style import INK\n",
        "groups.py": "if TYPE_CHECKING:\n    import repshape.cli\n",
        "metrics/__init__.py": "",
        "metrics/one.py": "from . import two\nimport numpy as np\n",
        "metrics/two.py": "from ..metrics.one import x\nfrom repshape import _core\n",
        "plots/__init__.py": "",
        "plots/style.py": "import repshape._core as core\nfrom repshape.errors import f\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_violations_are_recognised(sample: Path) -> None:
    edges = all_edges(sample)
    assert upward(edges) == {("repshape.errors", "repshape.plots.style")}
    assert core_importers(edges) == {"repshape.metrics.two", "repshape.plots.style"}
    inside = {(a, b) for a, b in edges if layer(a) == layer(b)}
    assert inside == {
        ("repshape.metrics.one", "repshape.metrics.two"),
        ("repshape.metrics.two", "repshape.metrics.one"),
    }
    assert set(find_cycle(inside)) == {"repshape.metrics.one", "repshape.metrics.two"}
