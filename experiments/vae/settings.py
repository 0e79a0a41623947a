"""What defines a study: architectures, objectives, strengths, seeds and steps, without PyTorch.

`scales` has the values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

# Those that the paper compares, and Glorot's, with which Locatello et al. trained.
PAPER_INITIALISATIONS = ("kaiming", "pytorch")
INITIALISATIONS = (*PAPER_INITIALISATIONS, "glorot")
UNTRAINED = "untrained"

# What the papers do not state, and what was chosen instead.
CHOSEN = {
    "sprites": "rendered with the factors of dSprites and outlines of our own, unless the original "
    "file is given; at the small scale 32 x 32, means over blocks of 2 x 2 pixels",
    "held-out images": "never trained on: 512 at the small scale, and at paper scale 2048 sprites "
    "(as for the paper's energy distances) or 3500 test images",
    "Kaiming initialisation": "PyTorch's kaiming_normal_ with the gain of ReLU, zero biases, in "
    "all layers; Locatello et al. used Glorot's, also with zero biases",
    "loss of MNIST and CIFAR-10": "Bernoulli cross-entropy with intensities as probabilities, as "
    "for sprites",
    "validation images of MNIST and CIFAR-10": "5000 of the training images, at paper scale; the "
    "small scale keeps the weights of the last step",
    "beta of MNIST and CIFAR-10": "1, 2, 4, 6, 8, 12 and 16 at paper scale (the paper says 6 to 8 "
    "levels from 1 to 16)",
    "FactorVAE at paper scale": "150 000 iterations, since its two optimisers both counted towards "
    "the 300 000 steps of the original code",
    "FactorVAE at the small scale": "both optimisers have a learning rate of 1e-3",
    "annealed VAE at the small scale": "gamma 10 instead of 1000: training is 75 times shorter",
}


@dataclass(frozen=True)
class Convolution:
    """One layer of an encoder: filters, size of the kernel, padding; the stride is 2."""

    filters: int
    kernel: int = 4
    padding: int = 1


@dataclass(frozen=True)
class Architecture:
    """An encoder and the decoder that mirrors it.

    ReLU follows every layer but the last one of either.

    Attributes
    ----------
    side, channels : int
        Of the images.
    encoder : tuple of Convolution
        Each halves the side.
    hidden : int
        Units of the dense layer between convolutions and latents, on either side.
    latents : int
    decoder : tuple of int
        Filters of the transposed convolutions (4 x 4, stride 2) before the last one, whose
        filters are the channels.
    """

    side: int
    channels: int
    encoder: tuple[Convolution, ...]
    hidden: int
    latents: int
    decoder: tuple[int, ...]

    @property
    def inner(self) -> tuple[int, int, int]:
        """Filters, height and width between convolutions and dense layers."""
        side = self.side // 2 ** len(self.encoder)
        return self.encoder[-1].filters, side, side


@dataclass(frozen=True)
class Discriminator:
    """The classifier of FactorVAE: dense layers of equal width, and its Adam optimiser."""

    layers: int
    width: int
    learning_rate: float
    betas: tuple[float, float] = (0.5, 0.9)


@dataclass(frozen=True)
class Settings:
    """How the networks of one data set are trained.

    Attributes
    ----------
    architecture : Architecture
    strengths : mapping of str to tuple of float
        For each objective, its regularisation strengths in ascending order.
    seeds : int
        Networks for each objective, strength and initialisation. A seed fixes the initial weights
        and the order of the data for all objectives.
    initialisations : tuple of str
        Of the networks that are trained.
    untrained_seeds : int
        Networks that are kept untrained, for each of the untrained initialisations.
    steps, batch_size : int
    learning_rate : float
        Of Adam.
    n_held_out, n_validation : int
        Numbers of images.
    validate_every : int
        Steps between looks at the validation images; the weights with the lowest loss are kept.
        With 0, the last weights are kept.
    discriminator : Discriminator
    annealed_gamma : float
        Weight of the annealed objective.
    other_steps : mapping of str to int
        Objectives that are trained for another number of steps.
    checkpointed : tuple of (str, float)
        Objectives and strengths of which the first ``checkpoint_seeds`` networks keep their
        latents along the training.
    checkpoint_seeds : int
    first_seed : int
        The seeds, of trained and untrained networks, are this one and those that follow.
    untrained_initialisations : tuple of str
        Of the networks that are kept untrained.
    """

    architecture: Architecture
    strengths: Mapping[str, tuple[float, ...]]
    seeds: int
    initialisations: tuple[str, ...]
    untrained_seeds: int
    steps: int
    learning_rate: float
    n_held_out: int
    n_validation: int = 0
    validate_every: int = 0
    batch_size: int = 64
    discriminator: Discriminator = Discriminator(3, 128, 1e-3)
    annealed_gamma: float = 10.0
    other_steps: Mapping[str, int] = field(default_factory=dict)
    checkpointed: tuple[tuple[str, float], ...] = ()
    checkpoint_seeds: int = 0
    first_seed: int = 0
    untrained_initialisations: tuple[str, ...] = PAPER_INITIALISATIONS


@dataclass(frozen=True)
class ScoreSettings:
    """How many images the disentanglement scores are computed from.

    The defaults are those of the paper's scale.

    Attributes
    ----------
    n_train, n_test : int
        Points, votes or images of all scores but B, C, D, F and G.
    n_train_slow, n_test_slow : int
        Images of B, C, D, F and G, whose classifiers take longest.
    group : int
        Pairs of images behind a point of A; images behind a vote of E.
    bins : int
        Of every code, for mutual information.
    exact_trees : bool
        Whether the boosted trees of B, C, D and G try every split, as in the original study, or
        those between 255 bins of every code, which takes a tenth of the time.
    strides : tuple of int
        Step between the values of each factor that are used; by default all values.
    seed : int
        Every score draws from a stream of its own; all networks see the same draws.
    """

    n_train: int = 10_000
    n_test: int = 5_000
    n_train_slow: int = 10_000
    n_test_slow: int = 5_000
    group: int = 64
    bins: int = 20
    exact_trees: bool = True
    strides: tuple[int, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class MeasureSettings:
    """What distances are computed from.

    Attributes
    ----------
    n_images : int
        Images of every distance, evenly spaced among the held-out images of a data set, or all of
        these if they are fewer.
    n_trials : int
        Samples an image of energy distances.
    sweep_trials : tuple of int
        Numbers of samples an image at which energy distances are compared.
    sweep_images, sweep_seeds : int
        Images, and seeds, of that comparison; no seeds: none is made.
    permutations : int
        Of the tests.
    untrained_pairs : bool
        Whether each untrained network is compared with one other only, so that pairs are
        independent.
    """

    n_images: int
    n_trials: int = 64
    sweep_trials: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    sweep_images: int = 64
    sweep_seeds: int = 3
    permutations: int = 999
    untrained_pairs: bool = False


@dataclass(frozen=True)
class NetworkPlan:
    """One network of the study; ``untrained`` ones have no strength.

    >>> NetworkPlan("dsprites", "beta_tc", 4.0, 3, "kaiming").name
    'dsprites-beta_tc-4-kaiming-3'
    """

    dataset: str
    objective: str
    strength: float | None
    seed: int
    initialisation: str

    @property
    def name(self) -> str:
        """Name of the network and of its folder."""
        strength = [] if self.strength is None else [f"{self.strength:g}"]
        words = [self.dataset, self.objective, *strength, self.initialisation, str(self.seed)]
        return "-".join(words)


def plan_networks(dataset: str, settings: Settings) -> list[NetworkPlan]:
    """Return all networks of a data set, the untrained ones first and then seed by seed."""
    return [*_plan_untrained(dataset, settings), *_plan_trained(dataset, settings)]


def _plan_untrained(dataset: str, settings: Settings) -> Iterator[NetworkPlan]:
    first = settings.first_seed
    for seed in range(first, first + settings.untrained_seeds):
        for initialisation in settings.untrained_initialisations:
            yield NetworkPlan(dataset, UNTRAINED, None, seed, initialisation)


def _plan_trained(dataset: str, settings: Settings) -> Iterator[NetworkPlan]:
    # Seed by seed, so that a run that is stopped has every objective.
    for seed in range(settings.first_seed, settings.first_seed + settings.seeds):
        for initialisation in settings.initialisations:
            for objective, strengths in settings.strengths.items():
                for strength in strengths:
                    yield NetworkPlan(dataset, objective, strength, seed, initialisation)


def checkpoint_steps(plan: NetworkPlan, settings: Settings) -> tuple[int, ...]:
    """Return the steps at which a network's latents are kept: 0 and seven doublings, or none."""
    chosen = (plan.objective, plan.strength) in settings.checkpointed
    if not chosen or plan.seed >= settings.first_seed + settings.checkpoint_seeds:
        return ()
    return (0, *(settings.steps >> halvings for halvings in range(6, -1, -1)))
