"""Collect the responses of layers of a model over repeated stochastic forward passes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from repshape._labels import check_labels
from repshape.errors import InputError, InputTypeError, check_boolean, check_choice, check_integer
from repshape.io.cohort import Cohort
from repshape.pytorch.collection import Collection, EqualTrialsWarning
from repshape.pytorch.inputs import InputsLike, check_inputs
from repshape.pytorch.layers import find_layers
from repshape.pytorch.noise import LARGEST_INDEX, Noise, NoiseLike
from repshape.pytorch.passes import Passes, check_model
from repshape.pytorch.planning import AUTO, PASSES, SkippedNoiseWarning
from repshape.pytorch.probing import resolve_layers
from repshape.pytorch.readouts import Readout
from repshape.pytorch.resuming import check_name
from repshape.pytorch.sinks import DEGREES_LOST, Responses

__all__ = ["EqualTrialsWarning", "SkippedNoiseWarning", "collect"]

PathLike = str | os.PathLike[str]
# The largest seed: PyTorch and the streams of the trials take 63 bits.
LARGEST_SEED = 2**63


def collect(
    model: nn.Module,
    layer: str | nn.Module | Sequence[str | nn.Module],
    inputs: InputsLike,
    n_trials: int,
    *,
    noise: NoiseLike | None = None,
    moments: bool = True,
    readout: Readout | Mapping[Any, Readout | None] | None = None,
    covariance: str = "mle",
    halves: bool = True,
    conditions: Sequence[Any] | None = None,
    batch_size: int = 256,
    passes: str = AUTO,
    random_state: int = 0,
    cohort: Cohort | PathLike | None = None,
    name: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    noise_name: str | None = None,
    readout_name: str | None = None,
) -> Responses | Cohort:
    """Collect the responses of layers over repeated stochastic forward passes.

    Every input is a condition, every pass is a trial, and the units of a layer are the neurons.
    The model runs where it is, in its own precision and mode, and is left as it was.

    Parameters
    ----------
    model : torch.nn.Module
        In evaluation mode as a rule. Batch normalisation in train mode is refused.
    layer : str, torch.nn.Module or list of them
        Modules of the model, or their names as in ``model.named_modules()``; ``""`` is the model
        itself. A layer that runs more than once in a pass needs the number of the call:
        ``"relu@2"``.
    inputs : tensor or array of shape (M, ...), tuple, dict or DataLoader
        The conditions: the same for all networks that you compare, in the same order. A tuple has
        a tensor for each argument of the model, and a dict for each keyword, with the conditions
        first. A DataLoader must not shuffle; the labels of batches (inputs, labels) are left out
        if they are integers. All of its batches are held in memory.
    n_trials : int
        Passes for every input.
    noise : "dropout", float, function or None
        What makes trials differ. "dropout" switches on what is random in train mode only, in a
        model in evaluation mode: every dropout layer, and modules of your own or of other libraries
        that draw random numbers if they are in train mode, such as stochastic depth or functional
        dropout with ``training=self.training``. A number is the standard deviation of Gaussian
        noise that is added to the inputs. A function ``noise(input, rng)`` returns one input with
        noise, where ``rng`` is a numpy.random.Generator; the input is a tuple or a dict if the
        ``inputs`` are. With None, the model must vary by itself, as one that samples its latents.
    moments : bool
        Return mean and covariance of every condition (`Gaussians`), computed pass by pass in double
        precision, or all trials (`Trials`).
    readout : str, function, dict or None
        Which numbers of a layer are its neurons: "flatten" (all of them); "spatial-mean" or
        "spatial-max" over the positions of (inputs, channels, positions ...); "first-token",
        "last-token" or "token-mean" of (inputs, tokens, channels); or a function of what the layer
        returns. "map" and "sequence" keep pixels, tokens or time steps apart, for
        `repshape.ConvShapeMetric` and `repshape.ProcessShapeMetric`. A dict has one for each layer.
        None is for layers of shape (inputs, neurons). See Notes.
    covariance : {"mle", "unbiased"}
        Whether the moments divide by the number of trials, or by one less.
    halves : bool
        Also keep the moments of the first and of the last half of the trials, for
        `repshape.inference.floor` and `repshape.inference.distance`. This takes three times the
        memory, and needs at least four trials.
    conditions : sequence of M labels, optional
    batch_size : int
        Inputs in a forward pass. It does not change the noise, except the noise that a model draws
        by itself.
    passes : {"auto", "per-example", "per-pass"}
        Whether a forward pass may have several trials of a condition ("per-example"), or one trial
        of each condition ("per-pass"). Trials in one pass share what a model draws once in a pass:
        noisy weights, masks for the whole batch, stochastic depth over a batch. "auto" runs the
        model a few times to find out whether it does so, and takes "per-pass" in case of doubt,
        which needs more passes. See Notes.
    random_state : int
        Seed. Choose another one for each network, so that their errors are independent.
    cohort : Cohort or path, optional
        Where to add the result. A path is opened if it exists and created if not. Trials are
        written as they come, and never all in memory. A network that is there already is not
        collected again, so that an interrupted script resumes. It is refused unless all that
        decides its responses is the same, and three of its trials are reproduced. See Notes.
    name : str, optional
        Name in the cohort; by default that of the layer. Several layers are called "name/layer".
    metadata : dict, optional
        More metadata of the network in the cohort.
    progress : bool, optional
        Show a progress bar on stderr. By default only in a terminal or a notebook.
    noise_name, readout_name : str, optional
        Names of the functions ``noise`` and ``readout`` in a cohort, which are compared in place of
        their code. Needed to resume if a function refers to something that has no value, such as
        an open file or a random generator. Change the name whenever you change the function.

    Returns
    -------
    Gaussians, Trials, PositionNetwork or Cohort
        The network, if ``layer`` is one layer and there is no ``cohort``; with positions if the
        readout is "map" or "sequence". Otherwise a cohort of the
        layers, with the settings as metadata. With n_trials <= n, the covariances of `Gaussians`
        are exact factors of n x (n_trials - 1).

    Warns
    -----
    EqualTrialsWarning
        If all trials of a layer are equal.
    SkippedNoiseWarning
        If noise="dropout" could not switch on some of the noise of the model.

    Notes
    -----
    The model first runs on two and on three inputs. The dimension of the inputs in what a layer
    returns is the one that follows these numbers, so that tokens may also come before inputs.

    Whether channels come before or after positions depends on the kind of the layer: before in
    convolutions, pooling and batch, group and instance normalisation; after in `Linear`,
    `LayerNorm` over the last dimension, recurrent layers and transformers. Another layer, such as
    ReLU or a module of your own, is read like layers of these kinds that return the same shape.
    Failing that, the shapes given above hold, and "map" is refused: "map-channels-first",
    "map-channels-last", "sequence-channels-first" and "sequence-channels-last" decide it.

    If a layer returns several tensors in a tuple, dict or dataclass, the readout begins with the
    key of one of them, as in ``"last_hidden_state:token-mean"``, ``"hidden_states.3:sequence"`` or
    ``"1:flatten"``. Without a key, the only tensor is read, ``last_hidden_state``, or the first
    result of recurrent layers and attention.

    With "per-pass", what the model draws by itself depends on the seed and the trial alone. So a
    draw that the whole pass shares is the same for all conditions: trial l of every condition has
    the same noisy weights, for example. Moments and distributions of each condition are those of
    independent passes; the errors of different conditions are not independent.
    ``passes="per-example", batch_size=1`` draws for each condition and trial on its own.

    "auto" counts the random numbers that the model draws with two sizes of the batch. If their
    number is not in proportion to the size, or if NumPy or Python draws them, trials have passes of
    their own. Otherwise the responses to the same input in the rows of a batch are compared
    with those of other passes by a permutation test, whose level is 0.01. In a cohort, the metadata
    "passes", "switched_on" and "batch_size" say what was found. The size of the batches is None if
    the responses do not depend on it.

    A cohort keeps hashes of the weights, of all other attributes of the modules (such as a dropout
    rate) and the code of their ``forward``, of the inputs, and of the functions ``noise`` and
    ``readout``: their code, defaults, closure and the globals that they read. Before a network is
    taken from a cohort, these must be the same, and its first, middle and last trial are computed
    again and must be the same up to rounding. What belongs to a library counts by its name alone.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(
    ...     torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 3)
    ... ).eval()
    >>> images = torch.ones(4, 5)
    >>> collect(model, "3", images, n_trials=50, noise="dropout")
    Gaussians(4 conditions, 3 neurons, full covariances, estimator 'mle')
    >>> collect(model, ["0", "3"], images, n_trials=50, noise=0.1, moments=False)
    Cohort(2 networks, 4 conditions, 3-8 neurons, in memory)
    >>> convolution = torch.nn.Conv2d(1, 2, 3)
    >>> collect(convolution, convolution, torch.ones(4, 1, 8, 8), 5, noise=0.1, readout="map")
    PositionNetwork(4 conditions, 6 x 6 positions, 2 neurons, factors of width 4, estimator 'mle')
    """
    alone = isinstance(layer, str | nn.Module)
    wanted: list[Any] = [layer] if alone else list(layer)  # type: ignore[arg-type]
    if not wanted:
        raise InputError("At least one layer must be collected. Got none.")
    place = check_model(model)
    layers = find_layers(model, wanted, readout)
    check_boolean("moments", moments)
    check_boolean("halves", halves)
    check_choice("covariance", covariance, DEGREES_LOST)
    check_choice("passes", passes, PASSES)
    check_name("noise_name", noise_name, [noise])
    check_name("readout_name", readout_name, [one.readout for one in layers])
    trials = Passes(
        model=model,
        inputs=check_inputs(inputs, place),
        place=place,
        noise=Noise.of(noise, noise_name),
        n_trials=_check_trials(n_trials, moments),
        batch_size=check_integer("batch_size", batch_size, 1),
        seed=check_seed(random_state),
    )
    labels = check_labels(conditions, len(trials.inputs))
    estimator = covariance if moments else None
    functions = noise_name, (readout_name,) * len(layers)
    collection = Collection(trials, labels, estimator, halves, progress, passes, *functions)
    if cohort is None and alone:
        if name is not None or metadata is not None:
            raise InputError("A 'name' and 'metadata' need a 'cohort' to add the network to.")
        layers = resolve_layers(trials, layers)
        return collection.planned(layers).in_memory(layers)[layers[0].name]
    target = Cohort() if cohort is None else open_cohort(cohort)
    names = _names([one.name for one in layers], alone, name)
    return collection.into(target, layers, names, metadata or {})


def check_seed(random_state: Any) -> int:
    """Return a seed that PyTorch and the streams of the trials can take, or raise."""
    seed = check_integer("random_state", random_state, 0)
    if seed >= LARGEST_SEED:
        raise InputError(f"The 'random_state' parameter must be below 2**63. Got {seed} instead.")
    return seed


def _check_trials(n_trials: Any, moments: bool) -> int:
    count = check_integer("n_trials", n_trials, 1)
    if moments and count < 2:
        raise InputError(
            "Moments need at least two trials of every condition: with one there is no covariance. "
            "Got n_trials=1; pass moments=False to keep single trials."
        )
    if count >= LARGEST_INDEX:
        raise InputError(f"The 'n_trials' parameter must be below 2**32. Got {count} instead.")
    return count


def _names(layers: list[str], alone: bool, name: str | None) -> list[str]:
    """Return the names of layers in a cohort."""
    if name is None:
        return [one or "output" for one in layers]
    if not isinstance(name, str) or not name:
        raise InputTypeError(f"The 'name' parameter must be text. Got {name!r} instead.")
    return [name] if alone else [f"{name}/{one or 'output'}" for one in layers]


def open_cohort(cohort: Cohort | PathLike) -> Cohort:
    """Return a cohort to which networks can be added, which may be given by its path."""
    if not isinstance(cohort, Cohort):
        if not isinstance(cohort, str | os.PathLike):
            raise InputTypeError(
                "The 'cohort' parameter must be a Cohort or a path. "
                f"Got a {type(cohort).__name__} instead."
            )
        return Cohort.open(cohort) if Path(cohort).exists() else Cohort.create(cohort)
    if cohort._is_selection and cohort.path is not None:
        raise InputError("Networks cannot be added to a selection of a cohort on disk.")
    return cohort
