"""A few steps of the machine that disturbs cohorts and stores; see `stateful`."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

if sys.platform != "linux":
    pytest.skip("processes are forked beside threads", allow_module_level=True)

from stateful.checks import tally
from stateful.faults import Outcome
from stateful.machine import StoreMachine
from stateful.orders import Change, Step, possible_contents, refusals_are_due
from stateful.shared import run_world
from stateful.writers import Schedule, run_schedule

RULES = settings(
    max_examples=3,
    stateful_step_count=50,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


# Both kill, damage and fill the disk; the first has several processes too.
@pytest.mark.parametrize("number", [11, pytest.param(3, marks=pytest.mark.nightly)])
def test_results_are_those_of_an_undisturbed_run_or_refused_and_nothing_is_lost(
    number: int,
) -> None:
    tally.clear()
    run_state_machine_as_test(seed(number)(StoreMachine), settings=RULES)
    assert tally["steps"] > 20
    assert tally["kills"] + tally["corruptions"] > 0


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
@pytest.mark.parametrize("number", range(10))
def test_two_runs_on_one_store_give_what_one_after_the_other_would(number: int) -> None:
    run_schedule(Schedule.of(number))


@pytest.mark.filterwarnings("ignore::repshape.errors.SearchWarning")
def test_two_processes_share_one_cohort_and_one_store() -> None:
    tally.clear()
    run_world(1, 8)
    assert tally["steps"] >= 16


BEFORE = {"a": ("a", 0), "b/2": ("b/2", 0)}
ADD, OTHER = Change("add", ("c",), 2), Change("add", ("c",), 3)
REPLACE = Change("replace", ("a",), 1, ("a",))
REMOVE = Change("remove", ("a",), 0)
IMPORT = Change("import", ("a", "c"), 3, ("a",))
DONE, KILLED = Outcome("done"), Outcome("killed")
REFUSED = Outcome("refused", "Network 'a' has been replaced or removed by another process.")


def after(steps: tuple[Step, ...], *outcomes: Outcome) -> list[dict[str, tuple[str, int]]]:
    """Return the different cohorts that are possible."""
    found = []
    for one in possible_contents(BEFORE, steps, outcomes):
        if one not in found:
            found.append(one)
    return found


def test_only_orders_of_two_changes_are_possible() -> None:
    steps = Step("replace", (REPLACE,)), Step("add", (ADD,))
    replaced, both = BEFORE | {"a": ("a", 1)}, BEFORE | {"a": ("a", 1), "c": ("c", 2)}
    assert after(steps, DONE, DONE) == [both]
    assert after(steps, DONE, KILLED) == [replaced, both]  # what is done is not lost
    assert after(steps, REFUSED, REFUSED) == [BEFORE]
    assert after((Step("add", (ADD,)), Step("add", (OTHER,))), DONE, DONE) == []


def test_an_import_and_two_changes_happen_in_their_order() -> None:
    twice = Step("twice", (REMOVE, Change("add", ("a",), 2)))
    several = Step("import", (IMPORT,))
    first, last = BEFORE | {"a": ("a", 2), "c": ("c", 3)}, BEFORE | {"a": ("a", 3), "c": ("c", 3)}
    assert after((twice, several), DONE, DONE) == [last, first]
    without = {"b/2": ("b/2", 0)}
    assert after((twice, several), KILLED, REFUSED) == [BEFORE, without, BEFORE | {"a": ("a", 2)}]
    assert after((twice, several), REFUSED, REFUSED) == [BEFORE, without]


def test_a_process_is_refused_only_because_of_one_that_was_faster() -> None:
    def due(first: Step, second: Step, *outcomes: Outcome) -> bool:
        return refusals_are_due(BEFORE, (first, second), outcomes)

    replace, add, compute = Step("replace", (REPLACE,)), Step("add", (ADD,)), Step("compute")
    remove, read, shard = Step("remove", (REMOVE,)), Step("read"), Step("shard", shard="1/2")
    assert due(replace, remove, REFUSED, DONE)
    assert not due(replace, remove, REFUSED, REFUSED)  # both cannot lose
    assert not due(replace, add, REFUSED, DONE)  # they change different networks
    assert not due(replace, compute, REFUSED, DONE)
    assert due(compute, replace, REFUSED, DONE)  # it was reading what is gone
    assert not due(compute, add, REFUSED, DONE)
    assert not due(compute, read, REFUSED, DONE)
    assert due(compute, shard, REFUSED, DONE)
    assert not due(compute, shard, Outcome("refused", "It failed for some reason."), DONE)
    assert due(Step("add", (Change("add", ("a",), 1),)), read, REFUSED, DONE)  # as if alone
