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
from stateful.shared import Step, possible_contents, run_world
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
    assert tally["steps"] == 16


def test_only_orders_of_two_changes_are_possible() -> None:
    before = {"a": ("a", 0)}
    steps = Step("replace", "a", 1), Step("add", "c", 2)
    done, killed, refused = (Outcome(end) for end in ("done", "killed", "refused"))
    both = {"a": ("a", 1), "c": ("c", 2)}
    assert list(possible_contents(before, steps, (done, done))) == [both, both]
    found = list(possible_contents(before, steps, (done, killed)))
    assert before not in found  # what is done is not lost
    assert {"a": ("a", 1)} in found
    assert both in found
    assert list(possible_contents(before, steps, (refused, refused))) == [before]
    twice = Step("add", "c", 2), Step("add", "c", 3)
    assert list(possible_contents(before, twice, (done, done))) == []  # one must be refused
