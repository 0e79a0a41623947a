"""Networks whose responses are Gaussian by construction: the encoders of VAEs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from repshape._labels import check_labels
from repshape._parallel import progress_bar
from repshape.errors import InputError, InputTypeError, check_integer
from repshape.io.cohort import Cohort
from repshape.io.records import Record, plain
from repshape.pytorch.collecting import PathLike, open_cohort
from repshape.pytorch.inputs import Inputs, InputsLike, Place, check_inputs
from repshape.pytorch.layers import Capture, FloatArray, Layer, find_layers
from repshape.pytorch.noise import drops, private_randomness
from repshape.pytorch.passes import check_model, inputs_hash, weights_hash
from repshape.pytorch.resuming import (
    CHECK,
    MODULES,
    Code,
    check_same_settings,
    check_trials,
    sums_text,
)
from repshape.pytorch.sinks import ROUNDING
from repshape.responses import Gaussians

# Inputs that are encoded twice, to see that the encoder does not vary.
FEW_INPUTS = 2


def collect_gaussian(
    model: nn.Module,
    inputs: InputsLike,
    layers: tuple[str, str] | None = None,
    *,
    conditions: Sequence[Any] | None = None,
    batch_size: int = 256,
    cohort: Cohort | PathLike | None = None,
    name: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Gaussians:
    """Collect means and variances from an encoder that computes means and log-variances.

    Such an encoder says itself how its responses are distributed, so that one pass is enough. No
    latent is sampled.

    Parameters
    ----------
    model : torch.nn.Module
        An encoder that returns ``(mean, logvar)``, or with ``layers`` any model.
    inputs : tensor or array of shape (M, ...), tuple, dict or DataLoader
        The conditions, as in `collect`.
    layers : tuple of two str, optional
        Names of the layers that return the means and the logarithms of the variances.
    conditions : sequence of M labels, optional
    batch_size : int
        Inputs in a forward pass.
    cohort : Cohort or path, optional
        Where to add the network, under ``name``. If it is there already, it is not collected again.
    name : str, optional
    metadata : dict, optional
        More metadata of the network in the cohort.
    progress : bool, optional
        Show a progress bar on stderr. By default only in a terminal or a notebook.

    Returns
    -------
    Gaussians
        With diagonal covariances.

    Examples
    --------
    >>> import torch
    >>> class Encoder(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.mean, self.logvar = torch.nn.Linear(9, 2), torch.nn.Linear(9, 2)
    ...
    ...     def forward(self, x):
    ...         return self.mean(x), self.logvar(x)
    >>> collect_gaussian(Encoder(), torch.ones(5, 9))
    Gaussians(5 conditions, 2 neurons, diagonal covariances)
    """
    place = check_model(model)
    if any(drops(module) and module.training for module in model.modules()):
        raise InputError("The dropout of the model must be off: call model.eval() first.")
    found = check_inputs(inputs, place)
    check_integer("batch_size", batch_size, 1)
    labels = check_labels(conditions, len(found))
    wanted = _check_layers(model, layers)
    target = None if cohort is None else open_cohort(cohort)
    record = _record(name, model, found, layers, metadata or {}) if target is not None else None
    rows, epsilon, identity = _look(model, found, place, wanted)
    if record is not None:
        record = replace(record, metadata=record.metadata | identity)
    if target is not None and record is not None and record.name in target.labels:
        present = target.records[target.labels.index(record.name)]
        check_same_settings(present, record)
        check_trials(present.metadata[CHECK], rows, epsilon, record.name)
        stored = target[record.name]
        assert isinstance(stored, Gaussians)
        return stored
    means, logarithms = _encode(model, found, place, wanted, batch_size, progress, len(found))
    with np.errstate(over="ignore"):  # infinite variances are refused
        network = Gaussians(means, np.exp(logarithms), conditions=labels)
    if target is not None and record is not None:
        target.add(record.name, network, **record.metadata)
    return network


def _check_layers(model: nn.Module, layers: Any) -> list[Layer] | None:
    if layers is None:
        return None
    if isinstance(layers, str) or len(layers) != 2:
        raise InputError(
            "The 'layers' parameter must be two names, of the layers of the means and of the "
            f"log-variances. Got {layers!r} instead."
        )
    return find_layers(model, list(layers), None)


def _encode(
    model: nn.Module,
    inputs: Inputs,
    place: Place,
    layers: list[Layer] | None,
    batch_size: int,
    progress: bool | None,
    stop: int,
) -> tuple[FloatArray, FloatArray]:
    """Return means and log-variances of the first inputs, up to ``stop``."""
    # Without layers, the output of the model is read as two.
    read = Capture(layers) if layers is not None else None
    parts: list[tuple[FloatArray, FloatArray]] = []
    stop = min(stop, len(inputs))
    with progress_bar("inputs", stop, progress) as advance, torch.no_grad():
        for start in range(0, stop, batch_size):
            # A copy: a model may change its inputs in place.
            taken = inputs.take(slice(start, min(start + batch_size, stop)), place)
            batch, n_rows = [one.clone() for one in taken], len(taken[0])
            if read is None or layers is None:
                parts.append(_split(inputs.call(model, batch), n_rows))
            else:
                with read.attached():
                    read.begin(n_rows)
                    inputs.call(model, batch)
                rows = read.rows()
                parts.append((rows[layers[0].name], rows[layers[1].name]))
            advance(n_rows)
    means, logarithms = (np.concatenate(column) for column in zip(*parts, strict=True))
    if means.shape != logarithms.shape:
        raise InputError(
            "The means and the log-variances must have the same shape. "
            f"Got {means.shape} and {logarithms.shape}."
        )
    return means, logarithms


def _look(
    model: nn.Module, inputs: Any, place: Place, layers: list[Layer] | None
) -> tuple[list[FloatArray], float, dict[str, Any]]:
    """Return a few encoded inputs, the machine epsilon, and what identifies the encoder.

    Raises if it encodes the same inputs differently in another pass.
    """
    code = Code.of(model, (), ())
    with private_randomness(place.device):
        first, again = (
            _encode(model, inputs, place, layers, FEW_INPUTS, False, FEW_INPUTS) for _ in range(2)
        )
    epsilon = torch.finfo(place.dtype or torch.float64).eps
    rows, others = (list(np.concatenate(one, axis=1)) for one in (first, again))
    for one, two in zip(rows, others, strict=True):
        tolerance = ROUNDING * epsilon * np.abs(one).max(initial=0.0)
        if np.abs(one - two).max(initial=0.0) > tolerance:
            raise InputError(
                "The means and log-variances of an encoder must not be random. Got other ones in a "
                "second pass: switch off the noise of the model, or sample it with collect."
            )
    lasting = code.lasting(Code.of(model, (), ()))
    return rows, epsilon, {MODULES: lasting.modules_hash, CHECK: sums_text(rows)}


def _split(output: Any, n_rows: int) -> tuple[FloatArray, FloatArray]:
    """Return the two tensors that an encoder returned, or raise."""
    is_pair = isinstance(output, list | tuple) and len(output) == 2
    if not is_pair or not all(isinstance(one, Tensor) for one in output):
        got = f"{len(output)} values" if isinstance(output, list | tuple) else type(output).__name__
        raise InputTypeError(
            "The model must return two tensors, (mean, logvar). "
            f"Got {got} instead: name the layers that return them with 'layers'."
        )
    for one in output:
        if one.ndim != 2 or len(one) != n_rows:
            raise InputError(
                f"The mean and logvar must have shape (inputs, neurons), with {n_rows} inputs in "
                f"this batch. Got shape {tuple(one.shape)} instead."
            )
    mean, logvar = (one.detach().cpu().to(torch.float64).numpy() for one in output)
    return mean, logvar


def _record(
    name: str | None, model: nn.Module, inputs: Inputs, layers: Any, metadata: Mapping[str, Any]
) -> Record:
    if not isinstance(name, str) or not name:
        raise InputTypeError(
            f"The 'name' of the network in the cohort must be text. Got {name!r} instead."
        )
    settings = dict(metadata) | {
        "model": type(model).__name__,
        "layer": None if layers is None else ", ".join(layers),
        "weights": weights_hash(model),
        "inputs": inputs_hash(inputs),
    }
    plainly = {key: plain(key, value) for key, value in settings.items()}
    return Record(name, "diagonal", len(inputs), 0, 0, "", metadata=plainly)
