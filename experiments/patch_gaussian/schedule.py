"""Learning rates: halved at intervals, as in the paper, or one cycle for short trainings."""

from __future__ import annotations

from experiments.patch_gaussian.settings import Settings
from repshape.errors import check_choice

# Share of a one-cycle training in which the rate rises, and where it starts and ends.
RISE = 0.25
START, END = 0.1, 0.0


def learning_rate(settings: Settings, step: int, steps_per_epoch: int) -> float:
    """Return the learning rate of a step; steps are counted from 0 over the whole training.

    Parameters
    ----------
    settings : Settings
        ``schedule``, ``learning_rate``, ``epochs`` and ``halve_every`` are used.
    step, steps_per_epoch : int

    Examples
    --------
    >>> from experiments.patch_gaussian.settings import PAPER
    >>> [learning_rate(PAPER, epoch * 391, 391) for epoch in (0, 59, 60, 120, 199)]
    [0.1, 0.1, 0.05, 0.025, 0.0125]
    """
    check_choice("schedule", settings.schedule, ("halving", "one-cycle"))
    if settings.schedule == "halving":
        epoch = step // steps_per_epoch
        return settings.learning_rate * 0.5 ** (epoch // settings.halve_every)
    progress = step / (settings.epochs * steps_per_epoch)
    return settings.learning_rate * one_cycle(progress)


def one_cycle(progress: float) -> float:
    """Return the share of the highest rate: up in a straight line, then down in another.

    >>> [round(one_cycle(progress), 3) for progress in (0, 0.125, 0.25, 0.625, 1)]
    [0.1, 0.55, 1.0, 0.5, 0.0]
    """
    if progress < RISE:
        return START + (1 - START) * progress / RISE
    return 1 - (1 - END) * (progress - RISE) / (1 - RISE)
