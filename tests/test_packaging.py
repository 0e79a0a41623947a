"""Versions and dependencies are the same wherever they are written."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
# Packages that have another name on conda.
CONDA_NAMES = {"matplotlib": "matplotlib-base"}


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return found["project"]  # type: ignore[no-any-return]


def recipe() -> dict[str, Any]:
    text = (ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("packaging/conda/recipe.yaml", r'^  version: "(\S+)"$'),
    ],
)
def test_files_that_name_the_version_name_the_present_one(file: str, pattern: str) -> None:
    found = re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert found == [project()["version"]]


def test_conda_needs_what_pip_needs() -> None:
    needed = dict(one.split(">=") for one in project()["dependencies"])
    expected = {f"{CONDA_NAMES.get(name, name)} >={low}" for name, low in needed.items()}
    python = project()["requires-python"].removeprefix(">=")
    assert set(recipe()["requirements"]["run"]) == {*expected, f"python >={python}"}


def test_conda_builds_with_what_pip_builds_with() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {one.replace(">=", " >=") for one in settings["build-system"]["requires"]}
    assert needed <= set(recipe()["requirements"]["host"])


def test_every_tested_python_is_declared_and_gets_a_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    tags = settings["tool"]["cibuildwheel"]["build"]
    wheels = [re.sub(r"cp3(\d+)-\*", r"3.\1", tag) for tag in tags]
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    tested = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert declared == wheels == tested


def test_one_wheel_serves_every_python_from_3_12() -> None:
    """scikit-build-core names the wheel after the stable ABI, and CMake must build it for that."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert re.search(r"find_package\(Python .*\$\{SKBUILD_SABI_COMPONENT\}\)", cmake)
    assert re.search(r"nanobind_add_module\(_core .*STABLE_ABI", cmake)
    workflow = (ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8")
    assert "abi3audit --strict dist/*-cp312-abi3-*.whl" in workflow


def steps(job: str) -> str:
    """Return the commands of a job of the workflow that every change runs."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    return "\n".join(step.get("run", "") for step in workflow["jobs"][job]["steps"])


def test_the_jobs_of_a_change_leave_out_nothing_of_the_local_run() -> None:
    """Each runs a part of `.ci/run`; together they must run all targets that it makes."""
    local = (ROOT / ".ci/run").read_text(encoding="utf-8")
    made = {
        name
        for line in re.findall(r"^(?:  )?(?:beside \w+ )?make (.*)$", local, re.MULTILINE)
        for name in line.split()
        if re.fullmatch(r"[a-z-]+", name)  # neither a file nor a setting
    }
    assert {"native-test", "tidy", "lint", "demo", "test"} <= made
    jobs = "\n".join(map(steps, ("lint", "docs", "native", "browser", "demo", "tests")))
    run = {name for line in re.findall(r"make (.*)$", jobs, re.MULTILINE) for name in line.split()}
    assert made <= run
    assert "docs" in run  # which the tests of the local run build
    assert "PYTEST_OPTIONS=tests/browser" in steps("browser")
    assert "PYTEST_OPTIONS=--ignore=tests/browser" in steps("tests")
