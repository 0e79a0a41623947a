"""One collection of responses: in memory, or into a cohort, which may resume."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from repshape._arrays import FloatArray, Labels
from repshape._labels import list_labels
from repshape._parallel import progress_bar
from repshape.errors import InputError, RepshapeWarning, warn_user
from repshape.io.changes import joining
from repshape.io.cohort import Cohort
from repshape.io.records import Record, check_same_conditions, plain
from repshape.io.writing import open_output_folder
from repshape.pytorch.layers import Layer
from repshape.pytorch.passes import Passes, inputs_hash, weights_hash
from repshape.pytorch.planning import (
    AUTO,
    PER_EXAMPLE,
    PER_PASS,
    REMEDY,
    SkippedNoiseWarning,
    find_plan,
    listed,
    switched_on,
)
from repshape.pytorch.probing import resolve_layers
from repshape.pytorch.resuming import (
    CHECK,
    MODULES,
    NOISE_CODE,
    READOUT_CODE,
    Checks,
    Code,
    check_same_settings,
    check_trials,
    recompute,
)
from repshape.pytorch.sinks import DiskSink, MomentSink, Responses, Shape, Sink, TrialSink

S = TypeVar("S", bound=Sink)

# Settings that are known once a model has run: how trials are divided among passes, what was
# switched on, the size of the batches if the responses depend on it, code, and some trials.
FOUND = ("passes", "switched_on", "batch_size", MODULES, NOISE_CODE, READOUT_CODE, CHECK)


class EqualTrialsWarning(RepshapeWarning):
    """All trials of every condition are equal, so that there is no noise to compare."""


@dataclass(frozen=True)
class Collection:
    """One collection: the passes, and what is kept of them.

    Attributes
    ----------
    passes : Passes
    conditions : tuple of str or None
    covariance : str or None
        Estimator of the moments; None to keep trials.
    halves : bool
        Whether moments come with those of two halves of the trials.
    progress : bool or None
    choice : {"auto", "per-example", "per-pass"}
        How trials are divided among passes.
    noise_name : str or None
        The name of the function that adds noise, if the user gave one.
    readout_names : tuple of str or None
        The name of the function that reads each layer, if the user gave one.
    """

    passes: Passes
    conditions: Labels
    covariance: str | None
    halves: bool
    progress: bool | None
    choice: str = AUTO
    noise_name: str | None = None
    readout_names: tuple[str | None, ...] = ()

    def planned(self, layers: Sequence[Layer], stacklevel: int = 3) -> Collection:
        """Return the collection with its plan, for which the model runs a few times."""
        plan = find_plan(self.passes, layers, self.choice)
        if plan.skipped:
            words = (
                f"noise='dropout' could not switch on {listed(plan.skipped.values())}. The "
                f"responses lack this noise. {REMEDY}"
            )
            warnings.warn(words, SkippedNoiseWarning, stacklevel=stacklevel)  # of collect
        return replace(self, passes=replace(self.passes, plan=plan))

    def in_memory(
        self, layers: Sequence[Layer], checks: Checks | None = None
    ) -> dict[str, Responses]:
        """Return the network of each layer."""

        def make(layer: Layer, shape: Shape) -> MomentSink | TrialSink:
            if self.covariance is None:
                return TrialSink(layer.name, shape)
            return MomentSink(layer.name, shape, self.covariance, halves=self.halves)

        sinks = self._run(layers, make, checks)
        return {name: sink.network(self.conditions) for name, sink in sinks.items()}

    def into(
        self, cohort: Cohort, layers: list[Layer], names: list[str], metadata: Mapping[str, Any]
    ) -> Cohort:
        """Add the network of each layer to a cohort, except those that it has already."""
        common = self._settings()
        records = [
            self._record(
                name,
                common | {"layer": layer.name, "readout": words} | dict.fromkeys(FOUND),
                metadata,
            )
            for name, layer, words in zip(names, layers, self._readouts(layers), strict=True)
        ]
        self._check_present(cohort, records, apart=FOUND)  # before the first pass
        code = self._code(layers)
        layers = resolve_layers(self.passes, layers)
        planned = self.planned(layers, stacklevel=4)
        code = code.lasting(self._code(layers))
        found = planned._found() | {MODULES: code.modules_hash, NOISE_CODE: code.functions[0]}
        records = [
            replace(one, metadata=one.metadata | found | {READOUT_CODE: readout})
            for one, readout in zip(records, code.functions[1:], strict=True)
        ]
        self._check_present(cohort, records)
        planned._check_trials(cohort, layers, records)
        return planned._add_missing(cohort, layers, records)

    def _readouts(self, layers: Sequence[Layer]) -> list[str | None]:
        """Return the readout of each layer in words."""
        named = zip(layers, self.readout_names, strict=True)
        return [name if name and callable(one.readout) else one.setting for one, name in named]

    def _code(self, layers: Sequence[Layer]) -> Code:
        functions = [self.passes.noise.function, *(layer.readout for layer in layers)]
        return Code.of(self.passes.model, functions, [self.noise_name, *self.readout_names])

    def _check_present(
        self, cohort: Cohort, records: list[Record], apart: Sequence[str] = ()
    ) -> None:
        """Raise if a cohort has other conditions, or other networks with these names."""
        for record in records:
            for other in cohort.records[:1]:
                check_same_conditions(other, record)
        present = dict(zip(cohort.labels, cohort.records, strict=True))
        for record in records:
            if record.name in present:
                check_same_settings(present[record.name], record, apart)

    def _check_trials(self, cohort: Cohort, layers: list[Layer], records: list[Record]) -> None:
        """Raise unless some trials of the existing networks are reproduced."""
        present = dict(zip(cohort.labels, cohort.records, strict=True))
        known = {
            layer: present[record.name]
            for layer, record in zip(layers, records, strict=True)
            if record.name in present
        }
        if known:
            found, epsilon = recompute(self.passes, list(known))
            for layer, record in known.items():
                check_trials(record.metadata[CHECK], found[layer.name], epsilon, record.name)

    def _add_missing(self, cohort: Cohort, layers: list[Layer], records: list[Record]) -> Cohort:
        present = set(cohort.labels)
        todo = {
            layer.name: record
            for layer, record in zip(layers, records, strict=True)
            if record.name not in present
        }
        missing = [layer for layer in layers if layer.name in todo]
        checks = Checks(self.passes)
        if missing and cohort.path is not None and self.covariance is None:
            self._to_disk(cohort, missing, todo, checks)
        elif missing:
            for name, network in self.in_memory(missing, checks).items():
                settings = todo[name].metadata | {CHECK: checks.text(name)}
                made: Any = network  # a cohort also takes networks with positions
                cohort.add(todo[name].name, made, **settings)
        return cohort[[record.name for record in records]]

    def _to_disk(
        self, cohort: Cohort, layers: list[Layer], records: dict[str, Record], checks: Checks
    ) -> None:
        """Write trials as they come; each network appears once it is complete."""
        assert cohort.path is not None
        root = cohort.path
        known = frozenset(record.key for record in cohort.records)
        order = 1 + max((record.order for record in cohort.records), default=-1)
        with ExitStack() as stack:

            def make(layer: Layer, shape: Shape) -> DiskSink:
                record = records[layer.name]
                folder = open_output_folder(root / record.key, joining(root, [record], known))
                return DiskSink(layer.name, shape, stack.enter_context(folder))

            sinks = self._run(layers, make, checks)
            for k, (name, sink) in enumerate(sinks.items()):
                settings = records[name].metadata | {CHECK: checks.text(name)}
                sink.finish(replace(records[name], metadata=settings), order + k)
        cohort._refresh()

    def _run(
        self,
        layers: Sequence[Layer],
        make: Callable[[Layer, Shape], S],
        checks: Checks | None,
    ) -> dict[str, S]:
        """Run all passes, and return a sink for each layer that has taken its trials."""
        passes = self.passes
        sinks: dict[str, S] = {}
        with progress_bar("trials", passes.n_rows, self.progress) as advance:

            def take(condition: int, trial: int, rows: dict[str, FloatArray]) -> None:
                for layer in layers:
                    found = rows[layer.name]
                    if layer.name not in sinks:
                        sizes = len(passes.inputs), passes.n_trials, found.shape[1]
                        shape = Shape(*sizes, layer.positions)
                        sinks[layer.name] = make(layer, shape)
                    sinks[layer.name].add(condition, trial, found)
                    if checks is not None:
                        checks.see(layer.name, condition, trial, found)
                advance(len(found))

            epsilon = passes.run(layers, take)
        equal = [name for name, sink in sinks.items() if sink.all_equal(epsilon)]
        if equal and passes.n_trials > 1:
            _warn_of_equal_trials(equal, passes)
        return sinks

    def _settings(self) -> dict[str, Any]:
        """Return what the responses depend on, besides the layer."""
        passes = self.passes
        return {
            "model": type(passes.model).__name__,
            "n_trials": passes.n_trials,
            "noise": passes.noise.setting,
            "seed": passes.seed,
            "covariance": self.covariance,
            "weights": weights_hash(passes.model),
            "inputs": inputs_hash(passes.inputs),
        }

    def _found(self) -> dict[str, Any]:
        """Return what was found out about the model, and decides its responses."""
        passes, plan = self.passes, self.passes.plan
        size = plan.group if plan.per_pass else passes.batch_size
        return {
            "passes": PER_PASS if plan.per_pass else PER_EXAMPLE,
            "switched_on": switched_on(passes),
            "batch_size": size if plan.draws else None,  # otherwise it decides nothing
        }

    def _record(self, name: str, settings: dict[str, Any], metadata: Mapping[str, Any]) -> Record:
        """Return what is known about a network before it is collected."""
        if both := sorted(set(settings) & set(metadata)):
            raise InputError(f"The metadata {both[0]!r} is set by collect; choose another name.")
        M = len(self.passes.inputs)
        fields = {"kind": "trials", "n_neurons": 0, "n_bytes": 0, "fingerprint": ""}
        return Record(
            name=name,
            n_conditions=M,
            conditions=self.conditions,
            metadata={key: plain(key, value) for key, value in (settings | dict(metadata)).items()},
            **fields,  # type: ignore[arg-type]
        )


def _warn_of_equal_trials(layers: list[str], passes: Passes) -> None:
    where = f"layer {layers[0]!r}" if len(layers) == 1 else f"the layers {list_labels(layers)}"
    noise, plan = passes.noise.setting, passes.plan
    remedy = f"The noise {noise!r} does not reach it."
    if plan.draws and noise is None:
        remedy = (
            "The model draws random numbers, but each pass has the same ones: does it set a seed?"
            if plan.per_pass
            else "Trials in one pass share their noise: pass passes='per-pass'."
        )
    elif noise is None:
        remedy = "Pass 'noise', such as noise='dropout' or the standard deviation of noise of the "
        remedy += "inputs."
    words = f"All trials of {where} are equal, as if there were no noise. {remedy}"
    warn_user(words, EqualTrialsWarning)
