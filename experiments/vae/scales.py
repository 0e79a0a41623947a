"""The sizes of the study at its three scales.

``paper`` follows Locatello et al. (2019) for sprites and the paper's Appendix B.3 for MNIST and
CIFAR-10. ``small`` has the same design with smaller images, networks and numbers, for two cores.
``tiny`` tests the programs in a few minutes: its networks are hardly trained, and say nothing.
"""

from __future__ import annotations

from dataclasses import replace

from experiments.vae.settings import (
    INITIALISATIONS,
    PAPER_INITIALISATIONS,
    Architecture,
    Convolution,
    Discriminator,
    MeasureSettings,
    ScoreSettings,
    Settings,
)

SPRITES_SMALL = Settings(
    architecture=Architecture(
        32, 1, (Convolution(16), Convolution(16), Convolution(32)), 128, 10, (16, 16)
    ),
    strengths={
        "beta": (1.0, 4.0, 10.0),
        "factor": (5.0, 20.0, 50.0),
        "dip_i": (1.0, 5.0, 20.0),
        "dip_ii": (1.0, 5.0, 20.0),
        "beta_tc": (2.0, 4.0, 8.0),
        "annealed": (5.0, 10.0, 20.0),
    },
    seeds=10,
    initialisations=("kaiming",),
    untrained_seeds=10,
    steps=4000,
    learning_rate=1e-3,
    n_held_out=512,
    checkpointed=(("beta", 4.0), ("beta_tc", 4.0)),
    checkpoint_seeds=3,
)
SPRITES_PAPER = replace(
    SPRITES_SMALL,
    architecture=Architecture(
        64,
        1,
        (Convolution(32), Convolution(32), Convolution(64, 2, 0), Convolution(64, 2, 0)),
        256,
        10,
        (64, 32, 32),
    ),
    strengths={
        "beta": (1.0, 2.0, 4.0, 6.0, 8.0, 16.0),
        "factor": (10.0, 20.0, 30.0, 40.0, 50.0, 100.0),
        "dip_i": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
        "dip_ii": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
        "beta_tc": (1.0, 2.0, 4.0, 6.0, 8.0, 10.0),
        "annealed": (5.0, 10.0, 25.0, 50.0, 75.0, 100.0),
    },
    seeds=50,
    untrained_seeds=50,
    steps=300_000,
    learning_rate=1e-4,
    n_held_out=2048,
    discriminator=Discriminator(6, 1000, 1e-4),
    annealed_gamma=1000.0,
    other_steps={"factor": 150_000},
)


def _beta_small(architecture: Architecture) -> Settings:
    return Settings(
        architecture=architecture,
        strengths={"beta": (1.0, 2.0, 4.0, 8.0, 16.0)},
        seeds=4,
        initialisations=PAPER_INITIALISATIONS,
        untrained_seeds=10,
        steps=2000,
        learning_rate=1e-3,
        n_held_out=512,
        checkpointed=(("beta", 1.0),),
        checkpoint_seeds=2,
    )


def _beta_paper(architecture: Architecture, n_train: int) -> Settings:
    validation, batch, epochs = 5000, 64, 1000
    steps_of_epoch = (n_train - validation) // batch
    return Settings(
        architecture=architecture,
        strengths={"beta": (1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0)},
        seeds=50,
        initialisations=PAPER_INITIALISATIONS,
        untrained_seeds=50,
        steps=epochs * steps_of_epoch,
        learning_rate=1e-4,
        n_held_out=3500,
        n_validation=validation,
        validate_every=steps_of_epoch,
        batch_size=batch,
        checkpointed=(("beta", 1.0),),
        checkpoint_seeds=2,
    )


_SMALL_3 = (Convolution(16), Convolution(16), Convolution(32))
MNIST_SMALL = _beta_small(Architecture(32, 1, _SMALL_3, 128, 10, (16, 16)))
CIFAR_SMALL = _beta_small(Architecture(32, 3, (*_SMALL_3, Convolution(32)), 128, 50, (32, 16, 16)))
MNIST_PAPER = _beta_paper(Architecture(32, 1, (Convolution(64),) * 3, 256, 10, (64, 64)), 60_000)
CIFAR_PAPER = _beta_paper(
    Architecture(32, 3, (Convolution(64),) * 4, 256, 50, (64, 64, 64)), 50_000
)

SPRITES_TINY = replace(
    SPRITES_SMALL,
    strengths={name: values[::2] for name, values in SPRITES_SMALL.strengths.items()},
    seeds=4,
    untrained_seeds=4,
    steps=100,
    n_held_out=64,
    checkpointed=(("beta", 1.0),),
)
MNIST_TINY, CIFAR_TINY = (
    replace(one, strengths={"beta": (1.0, 4.0)}, untrained_seeds=4, steps=50, n_held_out=64)
    for one in (MNIST_SMALL, CIFAR_SMALL)
)

SCALES: dict[str, dict[str, Settings]] = {
    "tiny": {"dsprites": SPRITES_TINY, "mnist": MNIST_TINY, "cifar10": CIFAR_TINY},
    "small": {"dsprites": SPRITES_SMALL, "mnist": MNIST_SMALL, "cifar10": CIFAR_SMALL},
    "paper": {"dsprites": SPRITES_PAPER, "mnist": MNIST_PAPER, "cifar10": CIFAR_PAPER},
}


def _confirm(pilot: Settings, seeds: int, untrained: int) -> Settings:
    """Return settings with fresh seeds: what claims about the pilot are confirmed with."""
    return replace(
        pilot,
        first_seed=max(pilot.seeds, pilot.untrained_seeds),
        seeds=seeds,
        checkpoint_seeds=seeds,
        untrained_seeds=untrained,
        untrained_initialisations=INITIALISATIONS,
    )


# On MNIST, all networks of the pilot with beta 16 collapsed, and say nothing of representations.
_MNIST_USED = replace(
    MNIST_SMALL, strengths={"beta": tuple(b for b in MNIST_SMALL.strengths["beta"] if b < 16)}
)
CONFIRMATION: dict[str, dict[str, Settings]] = {
    "tiny": {name: _confirm(one, 4, 4) for name, one in SCALES["tiny"].items()},
    "small": {
        "dsprites": _confirm(SPRITES_SMALL, 10, 200),
        "mnist": _confirm(_MNIST_USED, 4, 200),
        "cifar10": _confirm(CIFAR_SMALL, 4, 200),
    },
    # The architectures of the paper alone, without training.
    "paper": {name: _confirm(one, 0, 50) for name, one in SCALES["paper"].items()},
}
ROUNDS = {"pilot": SCALES, "confirmation": CONFIRMATION}
# Every second position of a 64 x 64 sprite is a whole pixel at 32 x 32.
SCORE_SCALES: dict[str, ScoreSettings] = {
    "tiny": ScoreSettings(1000, 500, 300, 200, exact_trees=False, strides=(1, 1, 8, 8, 8)),
    "small": ScoreSettings(
        n_train_slow=2000, n_test_slow=1000, exact_trees=False, strides=(1, 1, 1, 2, 2)
    ),
    "paper": ScoreSettings(),
}
# The conditions of the small scale are those of `repshape.datasets.load_vaes`.
MEASURE_SCALES: dict[str, MeasureSettings] = {
    "tiny": MeasureSettings(32, 16, (8, 16), sweep_images=16, permutations=199),
    "small": MeasureSettings(256),
    "paper": MeasureSettings(3500, sweep_images=256),
}
