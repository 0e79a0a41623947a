"""The images of the study, and which of them responses are measured for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.patch_gaussian.data import balanced_choice, channel_moments, load_data
from test_common_cifar10 import TEST_PER_CLASS, TRAIN_PER_CLASS, read, write_binary

from repshape.errors import InputError


def test_folder_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_binary(tmp_path)
    load_data.cache_clear()
    monkeypatch.delenv("REPSHAPE_IMAGES", raising=False)
    with pytest.raises(InputError, match="set REPSHAPE_IMAGES"):
        load_data(None, 16, TRAIN_PER_CLASS, TEST_PER_CLASS)
    monkeypatch.setenv("REPSHAPE_IMAGES", str(tmp_path))
    found = load_data(None, 16, TRAIN_PER_CLASS, TEST_PER_CLASS)
    assert found.train.images.shape == (50, 3, 16, 16)
    load_data.cache_clear()


def test_channel_moments_are_those_of_the_training_pixels(tmp_path: Path) -> None:
    write_binary(tmp_path)
    small = read(tmp_path).train.shrink(16)
    pixels = small.pixels(slice(None)).astype(float)
    mean, scale = channel_moments(small)
    np.testing.assert_allclose(mean, pixels.mean(axis=(0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(scale, pixels.std(axis=(0, 2, 3)), rtol=1e-5)


def test_balanced_choice_takes_turns() -> None:
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 30))
    chosen = balanced_choice(labels, 128)
    assert len(set(chosen.tolist())) == 128
    assert labels[chosen[:10]].tolist() == list(range(10))
    assert sorted(np.bincount(labels[chosen])) == [12] * 2 + [13] * 8
    for label in range(10):  # the first ones of each class
        members = chosen[labels[chosen] == label]
        np.testing.assert_array_equal(members, np.flatnonzero(labels == label)[: len(members)])
    with pytest.raises(InputError, match="Cannot choose 301 of 300"):
        balanced_choice(labels, 301)
