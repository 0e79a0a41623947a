"""Layers given as modules, and inputs as tuples, dicts and loaders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch_support import dense, some_inputs

import repshape as rs
from repshape.errors import InputError, InputTypeError

INPUTS = some_inputs()
OTHER = some_inputs(5, 2)


def collected(model: nn.Module, layer: Any, inputs: Any, **options: Any) -> Any:
    settings = {"noise": 0.1, "moments": False} | options
    return rs.pytorch.collect(model, layer, inputs, 3, **settings)


class TestModules:
    def test_a_module_is_the_layer_of_its_name(self) -> None:
        model = dense()
        by_name = collected(model, "second", INPUTS)
        np.testing.assert_array_equal(
            collected(model, model.get_submodule("second"), INPUTS).pooled, by_name.pooled
        )

    def test_lists_and_readouts_by_module(self) -> None:
        model = dense()
        first, second = (model.get_submodule(name) for name in ("first", "second"))
        found = collected(model, [first, "second"], INPUTS, readout={first: lambda x: x[:, :2]})
        assert found.labels == ("first", "second")
        assert [one.n_neurons for one in found] == [2, 4]
        with pytest.raises(InputError, match=r"must be distinct. Got 'second' more than once"):
            collected(model, [second, "second"], INPUTS)

    def test_modules_of_other_models_are_refused(self) -> None:
        with pytest.raises(InputError, match=r"a module of the model. Got a Linear that is not"):
            collected(dense(), nn.Linear(6, 9), INPUTS)


class TwoArguments(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(8, 3).double()

    def forward(self, x: Tensor, other: Tensor) -> Any:
        return self.out(torch.cat([x, other], dim=1))


class Masked(nn.Module):
    """Adds what is not masked; the mask is integer, and must stay so."""

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        assert mask.dtype == torch.int64
        return values * mask


class TestSeveralArguments:
    def test_tuples_and_dicts_are_arguments(self) -> None:
        model = TwoArguments()
        by_position = collected(model, "out", (INPUTS, OTHER.numpy()))
        by_keyword = collected(model, "out", {"x": INPUTS, "other": OTHER})
        np.testing.assert_array_equal(by_position.pooled, by_keyword.pooled)
        with torch.no_grad():
            clean = model(INPUTS, OTHER).numpy()
        quiet = collected(model, "out", (INPUTS, OTHER), noise=1e-9)
        np.testing.assert_allclose(quiet.means, clean, atol=1e-7)
        assert np.abs(by_position.means - clean).max() > 1e-3

    @pytest.mark.parametrize("batch_size", [1, 4])
    def test_noise_is_added_to_real_numbers(self, batch_size: int) -> None:
        inputs = {"values": INPUTS, "mask": torch.ones(5, 6, dtype=torch.int64)}
        found = collected(Masked(), "", inputs, batch_size=batch_size)
        plain = collected(nn.Identity(), "", INPUTS)
        np.testing.assert_array_equal(found.pooled, plain.pooled)

    def test_a_function_is_given_all_arguments(self) -> None:
        inputs = {"values": INPUTS, "mask": torch.ones(5, 6, dtype=torch.int64)}

        def hide(given: dict[str, Tensor], rng: np.random.Generator) -> dict[str, Tensor]:
            return given | {"mask": torch.from_numpy(rng.integers(0, 2, size=6))}

        found = collected(Masked(), "", inputs, noise=hide)
        clean = INPUTS.numpy()[:, None]
        assert ((found.stacked == 0) | (found.stacked == clean)).all()
        assert 0.3 < (found.stacked == 0).mean() < 0.7
        with pytest.raises(InputTypeError, match="a dict with the same keys of 2 tensors"):
            collected(Masked(), "", inputs, noise=lambda given, rng: given["values"])
        pair = (INPUTS, OTHER)
        with pytest.raises(InputTypeError, match="must return a tuple of 2 tensors"):
            collected(TwoArguments(), "out", pair, noise=lambda given, rng: list(given))

    def test_noise_needs_a_real_argument(self) -> None:
        mask = torch.ones(5, 6, dtype=torch.int64)
        with pytest.raises(InputError, match="must be real numbers to add noise"):
            collected(Masked(), "", {"values": mask, "mask": mask})

    def test_bad_arguments(self) -> None:
        with pytest.raises(InputError, match=r"conditions first in each. Got 5 and 4 conditions"):
            collected(TwoArguments(), "out", (INPUTS, OTHER[:4]))
        with pytest.raises(InputTypeError, match=r"'inputs\['other'\]' must be a tensor or an arr"):
            collected(TwoArguments(), "out", {"x": INPUTS, "other": ["a"] * 5})
        with pytest.raises(InputError, match="at least one argument of the model"):
            collected(TwoArguments(), "out", {})

    def test_a_tuple_of_numbers_is_an_array(self) -> None:
        rows = tuple(tuple(row) for row in INPUTS.tolist())
        np.testing.assert_array_equal(
            collected(dense(), "second", rows).pooled, collected(dense(), "second", INPUTS).pooled
        )

    def test_both_arguments_belong_to_the_identity(self, tmp_path: Any) -> None:
        options = {"cohort": tmp_path / "c.zarr", "name": "net"}
        model = TwoArguments()
        collected(model, "out", (INPUTS, OTHER), **options)
        with pytest.raises(InputError, match="with inputs="):
            collected(model, "out", (INPUTS, OTHER + 1), **options)


class Labelled(Dataset[Any]):
    def __getitem__(self, index: int) -> Any:
        return {"values": INPUTS[index], "mask": torch.ones(6, dtype=torch.int64)}

    def __len__(self) -> int:
        return len(INPUTS)


class TestLoaders:
    @pytest.mark.parametrize(
        "dataset",
        [
            TensorDataset(INPUTS),
            TensorDataset(INPUTS, torch.arange(5)),
            INPUTS,
        ],
    )
    def test_labels_are_left_out(self, dataset: Any) -> None:
        found = collected(dense(), "second", DataLoader(dataset, batch_size=2))
        np.testing.assert_array_equal(found.pooled, collected(dense(), "second", INPUTS).pooled)

    def test_dicts_become_keywords(self) -> None:
        found = collected(Masked(), "", DataLoader(Labelled(), batch_size=3))
        np.testing.assert_array_equal(found.pooled, collected(nn.Identity(), "", INPUTS).pooled)

    def test_an_order_that_changes_is_refused(self) -> None:
        with pytest.raises(InputError, match="a RandomSampler: pass one with shuffle=False"):
            collected(dense(), "second", DataLoader(TensorDataset(INPUTS), shuffle=True))
        short = DataLoader(TensorDataset(INPUTS), batch_size=2, drop_last=True)
        with pytest.raises(InputError, match="leaves out the last 1 of 5 conditions"):
            collected(dense(), "second", short)

    def test_what_is_not_a_label_is_not_left_out(self) -> None:
        for targets in (torch.ones(5), torch.ones(5, 2, dtype=torch.int64)):
            loader = DataLoader(TensorDataset(INPUTS, targets), batch_size=2)
            with pytest.raises(InputError, match=r"are left out. Got a list"):
                collected(dense(), "second", loader)


class TestPrecision:
    def test_a_noise_function_may_return_double_precision(self) -> None:
        """NumPy draws in double precision, and most models compute in single precision."""

        def noise(x: Tensor, rng: np.random.Generator) -> Tensor:
            return x + torch.from_numpy(rng.standard_normal(x.shape))

        model = dense().float()
        found = collected(model, "second", INPUTS.float(), noise=noise)
        assert len(np.unique(found.pooled, axis=0)) == 15

    def test_a_noise_function_may_make_real_numbers_of_integers(self) -> None:
        pixels = torch.arange(30, dtype=torch.uint8).reshape(5, 6)

        def gain(x: Tensor, rng: np.random.Generator) -> Tensor:
            return x.double() / 255 * rng.uniform()

        found = collected(dense(), "second", pixels, noise=gain)
        expected = collected(dense(), "second", pixels.double(), noise=gain)
        np.testing.assert_array_equal(found.pooled, expected.pooled)
