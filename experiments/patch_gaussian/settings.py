"""What the study consists of, at each scale: all networks, how they are trained and measured.

``paper`` is Appendix B.4. ``small`` has the same design for two cores. ``wide`` has networks of
twice the width at the corners of the small grid, to see whether size changes a conclusion. ``tiny``
tests the programs: its networks are hardly trained, and say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.patch_gaussian.augment import PatchGaussian

# Standard deviations of the noise that is added to test images.
TAUS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
PERMUTATIONS = 999
# What the paper leaves open, or what the small scale changes, and what is done here.
CHOSEN = {
    "noise in training": "added to pixels in [0, 1], then clipped to [0, 1], as by Lopes et al.",
    "noise at test": "standard deviation tau, added to pixels in [0, 1], not clipped",
    "random crop": "the image is padded with black by an eighth of its side",
    "representation": "the output of the 100-unit layer; nothing between it and the readout",
    "initial weights": "PyTorch's defaults",
    "seeds": "networks of one seed share initial weights, order of the images, crops and flips",
    "stem of the ResNets": "3 x 3 convolution of stride 1 and no pooling, as is usual for CIFAR-10",
    "share of patched images": "all at the paper's scale, a quarter at the small one",
    "weights": "rounded to half precision after the training, before anything is measured",
    "last batch of an epoch": "kept, though smaller",
    "image set for responses": "test images, equally many of each class, the first of each class",
    "noise of responses": "drawn independently for each network, so that samples are independent",
}


@dataclass(frozen=True)
class Architecture:
    """A residual network with basic blocks.

    Attributes
    ----------
    width : int
        Channels of the first stage; every further stage doubles them and halves the side.
    blocks : tuple of int
        Number of blocks of each stage.
    units : int
        Of the layer before the readout, which is the representation.
    """

    width: int
    blocks: tuple[int, ...]
    units: int = 100


@dataclass(frozen=True)
class MeasureSettings:
    """How responses to noisy test images are measured, and compared.

    Attributes
    ----------
    n_images, n_passes : int
        Conditions, and trials of each.
    keep_trials : bool
        Keep single trials, so that distances can also be computed from either half of the passes.
        Otherwise only mean and covariance of each image are kept.
    ridge : float
        Added to the diagonal of every covariance.
    permutations : int
        Of every permutation test.
    example_passes : int
        Trials of each of the ten images whose single responses are drawn.
    centred : bool
        Also measure centred networks, which are reported and decide no claim.
    """

    n_images: int
    n_passes: int
    keep_trials: bool
    ridge: float = 0.0
    permutations: int = PERMUTATIONS
    example_passes: int = 100
    centred: bool = True


@dataclass(frozen=True)
class Settings:
    """How all networks of the study are trained.

    What has a default is the same at the small scale and at the paper's.

    Attributes
    ----------
    side : int
        Of the images.
    architecture : Architecture
    widths, sigmas : tuple
        Of the patches, ascending. Every combination is trained.
    seeds : int
        Networks for each combination, and as many without patches.
    first_seed : int
        The seeds are this one and those that follow.
    share : float
        Probability that a training image gets a patch.
    epochs : int
    schedule : {"halving", "one-cycle"}
        Of the learning rate (`schedule.learning_rate`).
    taus : tuple of float
        Noise levels at test.
    halve_every : int
        Epochs between halvings of the learning rate.
    learning_rate : float
        The highest one.
    momentum, weight_decay : float
    batch_size : int
    train_per_class, test_per_class : int
        Images of each class that the data set must have.
    """

    side: int
    architecture: Architecture
    widths: tuple[int, ...]
    sigmas: tuple[float, ...]
    seeds: int
    share: float
    epochs: int
    schedule: str
    first_seed: int = 0
    taus: tuple[float, ...] = TAUS
    halve_every: int = 60
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 1e-4
    batch_size: int = 128
    train_per_class: int = 5000
    test_per_class: int = 1000

    @property
    def padding(self) -> int:
        """Pixels that a crop may move by: 4 for the usual side of 32."""
        return self.side // 8


@dataclass(frozen=True)
class NetworkPlan:
    """One network of the study.

    Attributes
    ----------
    patch : PatchGaussian or None
        Augmentation of its training images; None is without patches.
    seed : int

    Examples
    --------
    >>> NetworkPlan(PatchGaussian(8, 0.3), 1).name, NetworkPlan(None, 0).name
    ('W8-sigma0.3-seed1', 'none-seed0')
    """

    patch: PatchGaussian | None
    seed: int

    @property
    def cell(self) -> str:
        """Name of the hyper-parameters."""
        return "none" if self.patch is None else f"W{self.patch.width}-sigma{self.patch.sigma:g}"

    @property
    def name(self) -> str:
        """Name of the network and of its folder."""
        return f"{self.cell}-seed{self.seed}"


def plan_networks(settings: Settings) -> list[NetworkPlan]:
    """Return all networks, seed by seed, so that a run that is stopped has whole grids.

    >>> len(plan_networks(SCALES["small"])), len(plan_networks(SCALES["paper"]))
    (48, 339)
    """
    patches = [
        PatchGaussian(width, sigma, settings.share)
        for width in settings.widths
        for sigma in settings.sigmas
    ]
    seeds = range(settings.first_seed, settings.first_seed + settings.seeds)
    return [NetworkPlan(patch, seed) for seed in seeds for patch in (None, *patches)]


# If every image gets a patch, as in the paper, a network with W equal to the side never sees a
# clean image. One as small as these, trained as briefly, then loses much accuracy on clean images.
# So the small scale puts patches on a quarter of the images. A trial decided: one network each,
# seed 0, W = 16, sigma = 0.3; accuracy on clean images and at some taus, and the mean of clean and
# all taus. The last row is from an earlier trial of the same network, with other code.
#
#     share  clean   0.1    0.2    0.3    0.5    mean
#     none   0.704  0.423  0.258  0.184  0.131  0.428
#     0.25   0.645  0.596  0.516  0.433  0.260  0.533
#     0.5    0.598  0.579  0.529  0.464  0.294  0.522
#     1      0.44   0.46          0.45
SMALL = Settings(
    side=16,
    architecture=Architecture(16, (1, 1, 1)),
    widths=(2, 4, 8, 12, 16),
    sigmas=(0.1, 0.3, 1.0),
    seeds=3,
    share=0.25,
    epochs=6,
    schedule="one-cycle",
)
# Appendix B.4 to the letter.
PAPER = Settings(
    side=32,
    architecture=Architecture(64, (2, 2, 2, 2)),
    widths=tuple(range(2, 33, 2)),
    sigmas=(0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0),
    seeds=3,
    share=1.0,
    epochs=200,
    schedule="halving",
)
WIDE = replace(
    SMALL, architecture=Architecture(32, (1, 1, 1)), widths=(2, 16), sigmas=(0.1, 1.0), seeds=2
)
# Not narrower: with fewer than eight channels in the last place, convolutions of PyTorch 2.13 write
# beyond their memory on processors without AVX-512.
TINY = replace(
    SMALL,
    side=8,
    architecture=Architecture(8, (1, 1, 1)),
    widths=(2, 8),
    sigmas=(0.1, 1.0),
    epochs=1,
)
SCALES = {"tiny": TINY, "small": SMALL, "wide": WIDE, "paper": PAPER}
# Networks that the pilot has not seen. The claims were worded, and their margins chosen, with the
# pilot at hand; these networks alone confirm them.
CONFIRMATION = {
    "tiny": replace(TINY, first_seed=TINY.seeds),
    "small": replace(SMALL, first_seed=SMALL.seeds, seeds=6),
}
ROUNDS = {"pilot": SCALES, "confirmation": CONFIRMATION}
# With fewer passes than units, covariances are thin factors, and exact. At 50 images, five of each
# class, all matrices take about two hours on two cores.
MEASURE_SCALES = {
    "tiny": MeasureSettings(10, 10, keep_trials=True, permutations=199, example_passes=20),
    "small": MeasureSettings(50, 50, keep_trials=True),
    "wide": MeasureSettings(50, 50, keep_trials=True),
    "paper": MeasureSettings(2000, 1000, keep_trials=False, ridge=1e-4),
}
