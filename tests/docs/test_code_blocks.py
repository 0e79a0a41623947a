"""Every code block of the README and the documentation runs, and prints what the page says."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import pytest

from docs.blocks import ROOT, check_output, find_blocks, pages, run_command, run_page

# Pages about packages that nothing else needs are run where these are installed.
NEEDS = {"pynapple.md": "pynapple"}
WITH_CODE = [page for page in pages() if "```" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Of other packages, which are compiled when they are first imported.
        warnings.filterwarnings("ignore", "invalid escape sequence")
        run_page(page)
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def test_pages_hold_code() -> None:
    with_python = {page.name for page in WITH_CODE if "```python" in page.read_text()}
    assert {"README.md", "index.md", "analysis.md", "scale.md", "spikes.md"} <= with_python


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_are_in_fences(page: Path) -> None:
    """An indented command would be shown as code, but not tested."""
    outside = re.sub(r"^( *)```.*?^\1```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"^ {4}(?:python|repshape|make|pip|import) .*$", outside, re.MULTILINE)
    assert not found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)", text):
        assert (page.parent / link).exists(), link


class TestRunner:
    """The runner itself notices what it should."""

    def page(self, folder: Path, text: str) -> Path:
        path = folder / "page.md"
        path.write_text(text)
        return path

    def test_blocks_share_a_namespace(self, tmp_path: Path) -> None:
        text = "```python\na = 2\n```\n\nso\n\n```python\nprint(a + 1)\n```\n"
        assert run_page(self.page(tmp_path, text)) == ["", "3\n"]

    @pytest.mark.parametrize("shown", ["4", "3 and more"])
    def test_wrong_output(self, tmp_path: Path, shown: str) -> None:
        text = f'```python\nprint(3)\n```\n\n```text title="Output"\n{shown}\n```\n'
        with pytest.raises(AssertionError, match="but the code prints"):
            run_page(self.page(tmp_path, text))

    def test_right_output(self, tmp_path: Path) -> None:
        text = '```python\nprint(3, 1.25)\n```\n\n```text title="Output"\n3 1...\n```\n'
        assert run_page(self.page(tmp_path, text))[0] == "3 1.25\n"

    def test_output_without_code(self, tmp_path: Path) -> None:
        text = '```python\nprint(3)\n```\n\nwords\n\n```text title="Output"\n3\n```\n'
        with pytest.raises(AssertionError, match="must follow"):
            run_page(self.page(tmp_path, text))

    def test_failure_names_the_line(self, tmp_path: Path) -> None:
        path = self.page(tmp_path, "one\n\n```python\n\n1 / 0\n```\n")
        with pytest.raises(ZeroDivisionError) as error:
            run_page(path)
        assert error.traceback[-1].lineno + 1 == 5

    @pytest.mark.parametrize(
        "line",
        [
            "make nonsense",
            "pip install 'repshape[nonsense]'",
            "pip install elsewhere",
            "python -m benchmarks.nonsense",
            "rm -r folder",
            "repshape nonsense",
            "repshape info nowhere.zarr",
        ],
    )
    def test_wrong_command(
        self, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(AssertionError):
            run_command(line, "page")

    def test_unchecked_language(self, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="not checked"):
            run_page(self.page(tmp_path, "```ruby\n1\n```\n"))

    def test_indented_block(self) -> None:
        (block,) = find_blocks("1. one\n\n    ```python\n    x = 1\n    ```\n")
        assert (block.language, block.code) == ("python", "x = 1\n")

    def test_whitespace_does_not_count(self) -> None:
        check_output("a  b\n", "a b", "page")
