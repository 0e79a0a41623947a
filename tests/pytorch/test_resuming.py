"""A network of a cohort is taken again only if nothing has changed that decides its responses."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import noisy_models as models
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_support import dense, some_inputs

import repshape as rs
from repshape.errors import InputError, InputTypeError
from repshape.pytorch.identity import NoValueError, value_hash

INPUTS = some_inputs()
SCALE = 0.1


def collect(cohort: rs.Cohort, model: nn.Module | None = None, **options: Any) -> Any:
    settings = {"noise": 0.1} | options
    model = dense() if model is None else model
    return rs.pytorch.collect(model, "second", INPUTS, 4, cohort=cohort, name="net", **settings)


def resumes(first: dict[str, Any], again: dict[str, Any], words: str | None) -> None:
    """Collect twice into one cohort; with words, the second time must be refused."""
    cohort = rs.Cohort()
    collect(cohort, **first)
    if words is None:
        assert collect(cohort, **again).labels == ("net",)
        return
    with pytest.raises(InputError, match=words):
        collect(cohort, **again)


def added(x: Tensor, rng: np.random.Generator, scale: float) -> Tensor:
    return x + scale * torch.from_numpy(rng.standard_normal(x.shape))


def closure(scale: float) -> Callable[..., Tensor]:
    def noise(x: Tensor, rng: np.random.Generator) -> Tensor:
        return added(x, rng, scale)

    return noise


def default(scale: float) -> Callable[..., Tensor]:
    def noise(x: Tensor, rng: np.random.Generator, scale: float = scale) -> Tensor:
        return added(x, rng, scale)

    return noise


def reads_global(x: Tensor, rng: np.random.Generator) -> Tensor:
    return added(x, rng, SCALE)


class Adds:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        return added(x, rng, self.scale)


def edited(text: str, name: str = "noise", **known: Any) -> Callable[..., Any]:
    """A function as a user edits it in a script."""
    space = {"torch": torch, "added": added, "__name__": "__main__"} | known
    exec(text, space)
    return space[name]  # type: ignore[no-any-return]


CONFIG = types.ModuleType("config")
LAMBDA = "noise = lambda x, rng: x + {} * torch.from_numpy(rng.standard_normal(x.shape))"
MODULE = "def noise(x, rng):\n    return added(x, rng, config.SCALE)"
HELPER = (
    "def help(x, rng):\n    return added(x, rng, {})\ndef noise(x, rng):\n    return help(x, rng)"
)


def with_config(scale: float) -> Callable[..., Any]:
    CONFIG.SCALE = scale  # type: ignore[attr-defined]
    return edited(MODULE, config=CONFIG)


NOISES: dict[str, Callable[[float], Any]] = {
    "closure": closure,
    "default": default,
    "partial": lambda scale: partial(added, scale=scale),
    "object": Adds,
    "method": lambda scale: Adds(scale).__call__,
    "lambda": lambda scale: edited(LAMBDA.format(scale)),
    "called function": lambda scale: edited(HELPER.format(scale)),
    "attribute of a module": with_config,
    "global array": lambda scale: edited(
        "def noise(x, rng):\n    return added(x, rng, table[0])", table=np.array([scale])
    ),
}


class TestNoiseFunction:
    @pytest.mark.parametrize("kind", NOISES)
    def test_the_same_resumes(self, kind: str) -> None:
        resumes({"noise": NOISES[kind](0.1)}, {"noise": NOISES[kind](0.1)}, None)

    @pytest.mark.parametrize("kind", NOISES)
    def test_another_one_is_refused(self, kind: str) -> None:
        words = "with noise_code=.* The noise function, or something that it reads, has changed"
        cohort = rs.Cohort()
        collect(cohort, noise=NOISES[kind](0.1))
        with pytest.raises(InputError, match=words):
            collect(cohort, noise=NOISES[kind](0.2))

    def test_a_global(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cohort = rs.Cohort()
        collect(cohort, noise=reads_global)
        collect(cohort, noise=reads_global)
        monkeypatch.setitem(globals(), "SCALE", 0.2)
        with pytest.raises(InputError, match="with noise_code="):
            collect(cohort, noise=reads_global)

    def test_comments_and_documentation_do_not_count(self) -> None:
        text = "def noise(x, rng):\n    {}\n    return added(x, rng, 0.1)"
        first, again = (edited(text.format(doc)) for doc in ("'''One.'''", "'''Two.'''  # edited"))
        resumes({"noise": first}, {"noise": again}, None)


class TestFunctionsWithoutValue:
    @staticmethod
    def locked() -> Callable[..., Tensor]:
        lock = threading.Lock()

        def noise(x: Tensor, rng: np.random.Generator) -> Tensor:
            with lock:
                return added(x, rng, 0.1)

        return noise

    def test_they_need_a_name_to_resume(self) -> None:
        words = (
            r"noise function is still the same is unknown: it reads a _thread.lock. Pass noise_n"
        )
        resumes({"noise": self.locked()}, {"noise": self.locked()}, words)
        named = {"noise": self.locked(), "noise_name": "0.1"}
        resumes(named, named | {"noise": self.locked()}, None)
        resumes(named, named | {"noise_name": "0.2"}, "with noise='0.1', and not '0.2'")

    def test_a_name_does_not_hide_other_responses(self) -> None:
        first = {"noise": closure(0.1), "noise_name": "mine"}
        resumes(first, first | {"noise": closure(0.2)}, "computed again and differ")

    def test_a_function_that_changes_while_it_runs(self) -> None:
        def counting(x: Tensor, rng: np.random.Generator) -> Tensor:
            counting.calls += 1  # type: ignore[attr-defined]
            return added(x, rng, 0.1)

        counting.calls = 0  # type: ignore[attr-defined]
        words = "it reads something that changes while it runs. Pass noise_name="
        resumes({"noise": counting}, {"noise": counting}, words)

    def test_names_need_functions(self) -> None:
        with pytest.raises(InputError, match="'noise_name' parameter needs a function as 'noise'"):
            collect(rs.Cohort(), noise_name="mine")
        with pytest.raises(InputError, match="'readout_name' parameter needs a function"):
            collect(rs.Cohort(), readout="flatten", readout_name="mine")
        with pytest.raises(InputTypeError, match="'noise_name' parameter must be text"):
            collect(rs.Cohort(), noise=closure(0.1), noise_name=3)


def read(power: int) -> Callable[[Tensor], Tensor]:
    return lambda output: output**power


class TestReadout:
    def test_a_function(self) -> None:
        resumes({"readout": read(2)}, {"readout": read(2)}, None)
        words = "with readout_code=.* The readout function, or something that it reads, has changed"
        resumes({"readout": read(2)}, {"readout": read(3)}, words)

    def test_a_name(self) -> None:
        named = {"readout": read(2), "readout_name": "squares"}
        resumes(named, named, None)
        resumes(named, named | {"readout_name": "cubes"}, "with readout='squares', and not 'cubes'")
        resumes(named, named | {"readout": read(3)}, "computed again and differ")


class Scaled(nn.Module):
    """Has attributes of several kinds, and a list that grows in each pass."""

    def __init__(self, scale: Any) -> None:
        super().__init__()
        self.second, self.scale, self.seen = dense(), scale, []
        self.register_buffer("shift", torch.zeros(1, dtype=torch.float64), persistent=False)

    def forward(self, x: Tensor) -> Any:
        self.seen.append(len(x))
        value = self.scale["by"] if isinstance(self.scale, dict) else self.scale
        return self.second(x * torch.as_tensor(value) + self.shift)


class TestModules:
    words = "with modules=.*Attributes of the modules, such as a dropout rate"

    def test_the_rate_of_dropout(self) -> None:
        options = {"noise": "dropout"}
        resumes(options, options | {"model": dense(dropout=0.3)}, None)
        resumes(options, options | {"model": dense(dropout=0.4)}, self.words)

    @pytest.mark.parametrize(
        ("scale", "other"),
        [
            (1.5, 2.0),
            ((1.0,) * 6, (2.0,) * 6),
            ({"by": 1.0}, {"by": 2.0}),
            (np.ones(6), np.zeros(6)),
        ],
    )
    def test_attributes(self, scale: Any, other: Any) -> None:
        resumes({"model": Scaled(scale)}, {"model": Scaled(scale)}, None)
        resumes({"model": Scaled(scale)}, {"model": Scaled(other)}, self.words)

    def test_an_epsilon(self) -> None:
        def normalised(eps: float) -> nn.Module:
            model = dense()
            model.add_module("second", nn.LayerNorm(9, eps=eps).double())
            return model

        resumes({"model": normalised(1e-5)}, {"model": normalised(1e-5)}, None)
        resumes({"model": normalised(1e-5)}, {"model": normalised(1e-6)}, self.words)

    def test_a_buffer_that_is_not_saved(self) -> None:
        other = Scaled(1.0)
        other.shift += 1
        resumes({"model": Scaled(1.0)}, {"model": other}, "with weights=")

    def test_the_code_of_forward(self) -> None:
        text = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        text += "        self.second = dense()\n    def forward(self, x):\n"
        text += "        return self.second({} * x)"
        one, two, same = (
            edited(text.format(k), "Net", nn=nn, dense=dense) for k in (1.0, 2.0, 1.0)
        )
        resumes({"model": one()}, {"model": same()}, None)
        resumes({"model": one()}, {"model": two()}, self.words)


class TestTrialsAreComputedAgain:
    @pytest.mark.parametrize("moments", [True, False])
    @pytest.mark.parametrize(
        "model", [models.NoisyWeights, models.Sampler, models.NoisyWeightsAndDropout]
    )
    def test_a_model_that_draws(self, model: Any, moments: bool) -> None:
        cohort = rs.Cohort()
        options: dict[str, Any] = {"batch_size": 5, "moments": moments, "cohort": cohort}
        inputs = some_inputs(7, models.N_INPUTS)
        for _ in range(2):
            rs.pytorch.collect(model().eval(), "", inputs, 6, name="net", **options)
        assert cohort.labels == ("net",)
        with pytest.raises(InputError, match="with batch_size=5, and not 3"):
            rs.pytorch.collect(
                model().eval(), "", inputs, 6, name="net", **(options | {"batch_size": 3})
            )

    def test_a_model_with_a_generator_of_its_own(self) -> None:
        cohort, inputs = rs.Cohort(), some_inputs(2, models.N_INPUTS)
        model = models.OwnGenerator()
        rs.pytorch.collect(model, "", inputs, 6, cohort=cohort, name="net")
        with pytest.raises(InputError, match="draws from a generator that collect cannot seed"):
            rs.pytorch.collect(model, "", inputs, 6, cohort=cohort, name="net")

    def test_another_size_of_batches_is_rounded_differently(self) -> None:
        model = dense().float()
        resumes({"model": model, "batch_size": 256}, {"model": model, "batch_size": 3}, None)

    def test_cohorts_of_earlier_versions(self) -> None:
        cohort = rs.Cohort()
        found = collect(cohort)
        old = dict(found.records[0].metadata)
        for key in ("modules", "noise_code", "readout_code", "check", "passes", "switched_on"):
            del old[key]
        earlier = rs.Cohort()
        earlier.add("net", found[0], **old)
        with pytest.raises(InputError, match="from an earlier version of repshape"):
            collect(earlier)


class TestEncoders:
    class Encoder(nn.Module):
        def __init__(self, spread: float, noise: float = 0.0) -> None:
            super().__init__()
            self.mean, self.spread, self.noise = dense(), spread, noise

        def forward(self, x: Tensor) -> Any:
            mean = self.mean(x)
            return mean + self.noise * torch.randn_like(mean), mean * self.spread

    def test_attributes(self) -> None:
        cohort = rs.Cohort()
        for _ in range(2):
            rs.pytorch.collect_gaussian(self.Encoder(0.1), INPUTS, cohort=cohort, name="net")
        with pytest.raises(InputError, match="with modules="):
            rs.pytorch.collect_gaussian(self.Encoder(0.2), INPUTS, cohort=cohort, name="net")

    def test_random_means_are_refused(self) -> None:
        with pytest.raises(InputError, match=r"must not be random\. Got other ones"):
            rs.pytorch.collect_gaussian(self.Encoder(0.1, noise=0.5), INPUTS)


class TestValues:
    @pytest.mark.parametrize(
        "pair",
        [
            (1, 1.0),
            (1, True),
            ("1", 1),
            (np.arange(4), np.arange(4).reshape(2, 2)),
            (np.zeros(2), np.zeros(2, dtype=np.float32)),
            (torch.zeros(2), torch.zeros(2, dtype=torch.bfloat16)),
            ([1, 2], (1, 2)),
            ({"a": 1}, {"a": 2}),
            (len, sum),
            (torch.relu, torch.sigmoid),
            (torch.float32, torch.float64),
            (nn.Dropout(0.1), nn.Dropout(0.2)),
        ],
    )
    def test_they_differ(self, pair: tuple[Any, Any]) -> None:
        one, two = map(value_hash, pair)
        assert one != two

    def test_cycles_and_order(self) -> None:
        loop: list[Any] = [1]
        loop.append(loop)
        assert value_hash(loop) == value_hash(loop)
        assert value_hash({"a", "b", "c"}) == value_hash({"c", "b", "a"})

    @pytest.mark.parametrize(
        "value", [threading.Lock(), np.random.default_rng(0), torch.Generator(), (k for k in "ab")]
    )
    def test_some_have_none(self, value: Any) -> None:
        with pytest.raises(NoValueError):
            value_hash([value])
