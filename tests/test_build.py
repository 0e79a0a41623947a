"""What is compiled, packed and published."""

from __future__ import annotations

import platform
import re
import runpy
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CMAKE = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
# The kernels of CMakeLists.txt: instruction set -> options of the compiler.
KERNELS = {
    name: shlex.split(options)
    for name, options in re.findall(r"^ *add_kernels\((\w+)([^)]*)\)", CMAKE, re.MULTILINE)
}
X86 = platform.machine().lower() in ("x86_64", "amd64")
HERE = tuple(KERNELS) if X86 else ("generic",)
# Without optimisation nothing is inlined, so that every function shows; with it, the compiler may
# add symbols of its own. AVX-512 takes longest to compile, and once is enough.
LEVELS = [*(("-O0", isa) for isa in HERE), ("-O2", HERE[-1]), ("-O3", HERE[-2:][0])]


def tool(name: str) -> str:
    found = shutil.which(name)
    assert found is not None, f"this test needs `{name}`: install a C++ compiler and binutils"
    return found


def visible_symbols(source: Path, isa: str, level: str, folder: Path) -> set[str]:
    """Compile a file and return the symbols that it defines for other files, weak ones included."""
    made = folder / "kernel.o"
    always = ["-std=c++17", "-fPIC", "-fno-math-errno", "-ffp-contract=fast", f"-I{ROOT / 'cpp'}"]
    command = [tool("c++"), *always, level, f"-DREPSHAPE_ISA={isa}", *KERNELS[isa]]
    subprocess.run([*command, "-c", str(source), "-o", str(made)], check=True)
    listed = subprocess.run(
        [tool("nm"), "-C", str(made)], check=True, capture_output=True, text=True
    )
    found = re.findall(r"^[0-9a-f]* +([A-TV-Zu]) (.*)$", listed.stdout, re.MULTILINE)
    return {name for _, name in found}


def test_three_instruction_sets_are_built() -> None:
    assert list(KERNELS) == ["generic", "avx2", "avx512"]
    assert KERNELS["generic"] == []
    assert "-mavx512f" in KERNELS["avx512"]


@pytest.mark.parametrize("family", ["gaussian", "energy"])
@pytest.mark.parametrize(("level", "isa"), LEVELS)
def test_a_kernel_defines_its_table_and_nothing_else(
    family: str, level: str, isa: str, tmp_path: Path
) -> None:
    """The linker may give a shared symbol of AVX-512 kernels to code for every processor."""
    found = visible_symbols(ROOT / "cpp" / "problems" / family / "kernel.cpp", isa, level, tmp_path)
    assert found == {f"repshape::{isa}::{family}_table"}


def sources() -> set[str]:
    """Return the files of the native code, without its tests, whose makefile finds them."""
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "cpp").rglob("*.*")}
    return {path for path in files if not path.startswith("cpp/tests/")}


def test_every_source_is_compiled() -> None:
    named = set(re.findall(r"cpp/[\w/]+\.cpp", CMAKE))
    assert named == {path for path in sources() if path.endswith(".cpp")}


def test_make_sees_sources_in_folders() -> None:
    """An edit of any of them must reinstall the package."""
    shown = subprocess.run(
        [tool("make"), "--no-print-directory", "--print-data-base", "--question", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout
    inputs = re.search(r"^BUILD_INPUTS := (.*)$", shown, re.MULTILINE)
    assert inputs is not None
    assert sources() | {"pyproject.toml", "CMakeLists.txt"} == set(inputs[1].split())


def test_the_quick_part_exists() -> None:
    """Wheels are tested with it, so that a file that was moved must be noticed here."""
    listed = (ROOT / "tests" / "quick.txt").read_text(encoding="utf-8").splitlines()
    assert [path for path in listed if not (ROOT / path).exists()] == []
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "@tests/quick.txt" in settings["tool"]["cibuildwheel"]["test-command"]


def test_wheels_are_built_for_the_versions_of_python_that_are_tested() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    matrix = re.search(r"^ *python: \[(.*)\]$", workflow, re.MULTILINE)
    assert matrix is not None
    tested = [f"cp{version.replace('.', '')}-*" for version in re.findall(r'"(.*?)"', matrix[1])]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["tool"]["cibuildwheel"]["build"] == tested
    lowest = settings["project"]["requires-python"].removeprefix(">=")
    assert tested[0] == f"cp{lowest.replace('.', '')}-*"


@pytest.mark.parametrize("target", ["test", "sanitize"])
def test_make_names_tests_that_exist(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert recipe is not None
    named = re.findall(r"tests/[\w/]+\.py", recipe[1])
    assert (target == "sanitize") == bool(named)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_lowest_versions_are_those_of_the_settings(tmp_path: Path) -> None:
    settings = tmp_path / "pyproject.toml"
    settings.write_text(
        "[build-system]\n"
        "requires = ['nanobind>=2.4']\n"
        "[project]\n"
        "dependencies = ['numpy>=1.26', 'zarr[remote] >= 3.1.1']\n"
        "[project.optional-dependencies]\n"
        "dask = ['dask>=2024.8']\n"
        "all = ['repshape[dask]']\n"
        "dev = ['mypy>=1.11']\n"
    )
    lowest = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))["lowest"]
    assert lowest(settings) == ["nanobind==2.4", "numpy==1.26", "zarr==3.1.1", "dask==2024.8"]
    settings.write_text(settings.read_text().replace("numpy>=1.26", "numpy"))
    with pytest.raises(SystemExit, match="no lower bound: numpy"):
        lowest(settings)


def test_packages_of_an_extra_are_those_that_pip_would_install() -> None:
    """Make installs them apart from the package, and must not leave one out."""
    from packaging.requirements import Requirement

    listed = runpy.run_path(str(ROOT / "packaging" / "requirements.py"))["requirements"]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert listed(settings, []) == settings["dependencies"]

    def expected(extra: str) -> set[str]:
        found = set()
        for one in map(Requirement, settings["optional-dependencies"][extra]):
            own = one.name == settings["name"]
            found |= set().union(*map(expected, one.extras)) if own else {one.name.lower()}
        return found

    for extra in settings["optional-dependencies"]:
        names = {Requirement(one).name.lower() for one in listed(settings, [extra])}
        always = {Requirement(one).name.lower() for one in settings["dependencies"]}
        assert names == always | expected(extra)


def test_lowest_versions_of_the_project() -> None:
    """Every dependency that users get or build with has a lower bound."""
    lowest = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))["lowest"](ROOT / "pyproject.toml")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert len(lowest) > len(settings["project"]["dependencies"])
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", one) for one in lowest)
