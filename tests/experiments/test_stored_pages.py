"""Pages, tables and figures of the documentation are what the stored results give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.check import differences, same_figure, same_numbers, writers
from matplotlib.image import imsave

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("study", list(writers(DOCS)))
def test_the_documentation_shows_the_stored_results(study: str) -> None:
    """Run `python -m experiments.STUDY.page`, or `python -m experiments.standard`, if it fails."""
    assert list(differences(writers(DOCS)[study], DOCS)) == []


def test_a_changed_figure_or_text_is_found(tmp_path: Path) -> None:
    docs, image = tmp_path / "docs", np.ones((60, 80, 3))
    docs.mkdir()

    def write(out: Path) -> list[Path]:
        (out / "page.md").write_text("1 of 2")
        imsave(out / "figure.png", image)
        return [out / "page.md", out / "figure.png"]

    assert len(list(differences(write, docs))) == 2  # nothing is there
    write(docs)
    assert list(differences(write, docs)) == []
    image[:30, :40] = 0.2
    (docs / "page.md").write_text("2 of 2")
    found = list(differences(write, docs))
    assert [line.split("/")[-1] for line in found] == [
        f"{name} is not what the stored results give" for name in ("page.md", "figure.png")
    ]


def test_numbers_may_differ_by_rounding_errors_only() -> None:
    stored = {"a": [0.1 + 0.2, None, "b"], "n": 3, "holds": True}
    assert same_numbers(stored, {"a": [0.3, None, "b"], "n": 3, "holds": True})
    for other in (
        {"a": [0.3, None, "b"], "n": 3},
        {"a": [0.3, None, "c"], "n": 3, "holds": True},
        {"a": [0.3, None], "n": 3, "holds": True},
        {"a": [0.3001, None, "b"], "n": 3, "holds": True},
        {"a": [0.3, None, "b"], "n": 4, "holds": True},
        {"a": [0.3, None, "b"], "n": 3, "holds": 1},
    ):
        assert not same_numbers(stored, other)


def test_few_pixels_may_differ_and_only_sizes_count_between_versions(tmp_path: Path) -> None:
    first, second, other = (tmp_path / f"{name}.png" for name in "abc")
    image = np.ones((100, 100, 3))
    imsave(first, image, metadata={"Software": "Matplotlib 1"})
    imsave(other, 0 * image, metadata={"Software": "Matplotlib 2"})
    image[0, :5] = 0
    imsave(second, image, metadata={"Software": "Matplotlib 1"})
    assert same_figure(first, second)
    image[1, :10] = 0
    imsave(second, image, metadata={"Software": "Matplotlib 1"})
    assert not same_figure(first, second)
    assert same_figure(first, other)
    imsave(other, np.ones((90, 100, 3)), metadata={"Software": "Matplotlib 2"})
    assert not same_figure(first, other)
