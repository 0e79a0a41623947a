"""What docs/security.md promises: no module of the package can run code that a file contains."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import repshape
from repshape.io import zarr_rules

SOURCE = Path(repshape.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
# Modules that turn bytes into objects by running what the bytes say.
UNPICKLING = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "pty"}
# Calls that run text as code, or hand text to a shell.
RUNNING = {"eval", "exec", "compile", "__import__"}
SHELLS = {("os", "system"), ("os", "popen"), ("subprocess", "getoutput")}
# Codecs that unpickle, or that load a class which their settings name.
CODECS_THAT_RUN_CODE = {"pickle", "numcodecs.pickle", "msgpack2", "json2", "numcodecs.json2"}


def faults(source: str) -> list[str]:
    """Return what a module does that could run code from a file, in words."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
            found += [f"imports {name}" for name in sorted(names & UNPICKLING)]
        elif isinstance(node, ast.ImportFrom) and node.module:
            name = node.module.split(".")[0]
            found += [f"imports {name}"] * (name in UNPICKLING)
        elif isinstance(node, ast.Call):
            found += _faults_of_call(node)
    return found


def _faults_of_call(call: ast.Call) -> list[str]:
    given = {one.arg: one.value for one in call.keywords}
    function = call.func
    if isinstance(function, ast.Name) and function.id in RUNNING:
        return [f"calls {function.id}"]
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return []
    owner, name = function.value.id, function.attr
    if (owner, name) in SHELLS:
        return [f"calls {owner}.{name}"]
    if owner == "subprocess" and not _is(given.get("shell"), False) and "shell" in given:
        return ["starts a shell"]
    if name == "load" and owner in ("np", "numpy") and not _is(given.get("allow_pickle"), False):
        return ["calls np.load without allow_pickle=False"]
    if name == "load" and owner == "torch" and not _is(given.get("weights_only"), True):
        return ["calls torch.load without weights_only=True"]
    if name in ("load", "unsafe_load") and owner == "yaml":
        return ["calls yaml.load"]
    return []


def _is(value: ast.expr | None, constant: object) -> bool:
    return isinstance(value, ast.Constant) and value.value is constant


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_module_can_run_code_from_a_file(path: Path) -> None:
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import pickle", "imports pickle"),
        ("from joblib import load", "imports joblib"),
        ("eval(text)", "calls eval"),
        ("os.system(text)", "calls os.system"),
        ("subprocess.run(text, shell=True)", "starts a shell"),
        ("np.load(path)", "calls np.load without allow_pickle=False"),
        ("torch.load(path, weights_only=False)", "calls torch.load without weights_only=True"),
        ("yaml.load(text)", "calls yaml.load"),
    ],
)
def test_the_search_finds_each_kind_of_fault(source: str, fault: str) -> None:
    assert faults(source) == [fault]


def test_no_codec_on_the_list_runs_code() -> None:
    listed = {*zarr_rules.CODECS, *zarr_rules.COMPRESSORS, *zarr_rules.FILTERS}
    assert not listed & CODECS_THAT_RUN_CODE
    assert not any("pickle" in name or "json" in name for name in listed)


def test_the_documentation_names_every_codec_of_the_list() -> None:
    page = (SOURCE.parents[1] / "docs" / "security.md").read_text(encoding="utf-8")
    listed = {*zarr_rules.CODECS, *zarr_rules.COMPRESSORS, *zarr_rules.FILTERS}
    assert not [name for name in sorted(listed) if f"`{name}`" not in page]
