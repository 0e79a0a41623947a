"""The fixed texts of the documentation page."""

from collections.abc import Mapping

from experiments.common.pages import STANDARD
from experiments.common.sections import Section
from experiments.vae import decide

DATASETS = {name: title for title, name in decide.DATASETS.items()}
INITIALISATIONS = {"kaiming": "Kaiming", "pytorch": "PyTorch", "glorot": "Glorot"}

INTRODUCTION = """# Variational autoencoders: a small replication

Duong et al. (2023) compare 1800 variational autoencoders (VAEs) that Locatello et al. (2019)
trained on dSprites, and, as we read it, 350 more on each of MNIST and CIFAR-10 (section 3.3, Figure
4, Supplementary Figures 7 to 9). They ask what the distance between two networks reveals about how
they were trained, and whether covariances reveal more than means. This page is a small replication
in two rounds. We train networks on sprites that we render ourselves (32 x 32 pixels), with the same
six objectives at three strengths and up to ten seeds in each round, and up to 40 networks each on
MNIST and CIFAR-10. We do not have the networks of the paper, and nothing on this page is about
them.
"""

RUNNING = """## Running it

```sh
python -m experiments.vae all --scale small --images DIR --out vae-output
```

trains, scores, measures and draws. An interrupted run resumes when you repeat the command, and each
step can be run alone: `train`, `score`, `measure` and `figures`. `--images` names the folder of
MNIST and CIFAR-10. Training needs PyTorch; the other steps, apart from `score`, do not.
`--sprites` names the original file of dSprites, `{original}`; without
the option, it is used if it is in that folder. At the paper's scale, sprites are rendered only with
`--sprites rendered`, and without the file the command stops. The record of a network says which
sprites it was trained on.
`--scale paper` has the sizes of the paper, and `--round confirmation` the networks of fresh seeds,
which `python -m experiments.confirm` trains, keeps and measures as far as they are missing. The
results of a study are two files, `results.json` and `arrays.npz`. Those of this page are in
`experiments/vae/results`, and those of the confirmation in its subfolder `confirmation`.

```sh
python -m experiments.vae figures --results experiments/vae/results --out figures
```

draws all figures from the results in a folder and writes an interactive report.
`python -m experiments.vae.page` writes this page.

Our networks are in archives in `experiments/vae/trained`. With the option `--kept` the commands
read them from there. Those on sprites have all latents, their scores, and the weights of twelve
networks. Those on MNIST and CIFAR-10 have no weights, and only the latents of the 256 images that
are measured, in half precision (`python -m experiments.vae.keep`).

```sh
python -m experiments.vae measure --kept --known experiments/vae/results --out vae-output
```

decides all claims again, and computes only the distances that the stored results do not have.
Without `--known`, all distances are computed again.

{times} [How these studies were run](running.md) has the rest.
"""

TIMES = """Training took {training:.1f} core hours, scoring {scoring:.1f} (without encoding the
images), and measuring and deciding {hours:.1f} hours of wall time."""

NOT_YET = """!!! note "Not measured yet"
    The networks of the small scale are still being trained. Until they are finished, the stored
    results come from a test run at `--scale tiny`, whose networks are hardly trained. They say
    nothing about the claims and are not shown. The table lists the claims and the criteria that
    will decide them, which were fixed beforehand.
"""

PARTIAL = """!!! note "Incomplete"
    {missing} networks are not finished yet. Only complete seeds are compared: those with all
    objectives and strengths finished."""

NO_OTHERS = """!!! note "Without {datasets}"
    Distances between the networks on {datasets} have not been computed yet. Claims about them
    are inconclusive, and Supplementary Figure 9 does not show them."""

NO_SCORES = """!!! note "Without disentanglement scores"
    The scores have not been computed yet. Claims about them are inconclusive, and their panels are
    empty."""

UNITS = "seeds, because networks with the same seed share initial weights and the order of the data"
READING = f"""{STANDARD.format(units=UNITS)}

Networks that failed to train are included in every number; a claim whose verdict changes when they
are left out is inconclusive. {{rounds}}
"""
PILOT_ONLY = """The results on this page are those of the first round, the pilot (seeds 0 to 9).
The claims were worded with these results at hand, so the pilot cannot confirm them."""
BOTH_ROUNDS = """The claims were worded with the results of the first round, the pilot (seeds 0 to
9), at hand. The confirmation uses fresh seeds, and its verdict is the one that counts. {pilot}
Figures and tables below are those of the confirmation, unless they say otherwise."""

PART_OF_CONFIRMATION = """The claims were worded with the results of the first round, the pilot
(seeds 0 to 9), at hand. The confirmation uses fresh seeds, and its verdict is the one that counts.
It includes a group of networks once all of its seeds are finished, or all that were selected. So
far these are, by initialisation: {groups}. Figures and
tables are those of the pilot, which has more seeds, unless they say otherwise."""

PAIRED_RATIOS = """ Each untrained network is compared with only one other. These pairs are
independent, and are the units of its interval."""
RATIO_TABLE = """Mean distances and their ratio. *Centred* networks have zero mean over all images;
the paper does not centre.{paired}

{table}
"""

FRESH_RATIOS = """The same for fresh seeds, as far as they have been measured.{paired} {versions}

{table}
"""

ARCHITECTURE = """Untrained networks with the paper's architectures, compared in disjoint pairs:

{table}
"""

PROTOCOLS = """### The paper's own prediction protocol

The paper holds out random networks and chooses k by six-fold cross-validation. Networks with the
same seed, or with the same objective and strength, are then among the neighbours. The table shows
the same scores under that protocol (20 random test sets of a fifth of the networks; *±* is the
standard deviation over test sets, not a standard error) and under ours, which leaves out whole
seeds (95 % intervals are in Figure 4).

{table}
"""

RATIOS = "Are networks farther apart in means or in covariances?"
PREDICTIONS = "What do its nearest neighbours reveal about a network?"
ENERGIES = "Do energy distances show anything different?"
SECTIONS = (
    Section(
        "Do objectives form clusters?",
        """In the paper's embeddings, networks with the same objective lie together. We measure the
mean distance between objectives minus that within them, relative to the mean distance. Pairs have
different seeds, and differ in objective or strength; the permutation test shuffles the objectives
of whole cells (a cell is one objective at one strength). A joint test of all objectives can rest on
a single one, so each is also tested by itself.""",
        ("clusters", "clusters, each objective"),
        ("fig4",),
    ),
    Section(
        RATIOS,
        """In the paper, trained networks are farther apart at alpha = 2 (means) than at alpha = 0
(covariances), and untrained networks the reverse. We measure log2(mean d_2 / mean d_0) over
networks with different seeds: above 0, means differ more than covariances. The claims below reverse
its sign for untrained networks, so that positive numbers always support them. The ratio of
untrained networks depends on their initialisation. With PyTorch's, the means of untrained networks
differ mostly by an offset that all images share, so that centring decides their ratio.""",
        ("ratio", "ratio, MNIST", "ratio, CIFAR-10"),
        ("supp9", "training"),
    ),
    Section(
        PREDICTIONS,
        """We predict objective, strength, reconstruction loss and 15 disentanglement scores from
the nearest networks (k-NN), for seeds that were left out, and seeds for cells that were left out.
For a comparison of alphas, the number is the mean over the smaller alphas minus that at alpha = 2,
or the share of scores for which it is positive; for seeds, accuracy above chance; for the loss and
the scores, R^2.""",
        (
            "objective, every strength",
            "objective, high or low",
            "seed",
            "reconstruction",
            "scores",
            "scores, inside",
        ),
    ),
    Section(
        ENERGIES,
        """Energy distances compare samples of the latents and need no Gaussian assumption. In a
VAE, the latents of an image are Gaussian, so both kinds of distance see the same data. We count the
energy matrix as different if its rank correlation with every Gaussian matrix is below those of d_1
with d_0.5 and d_1.5; the number is the difference.""",
        ("energy, closest to 1", "energy, another matrix", "energy, no better"),
        ("supp7", "samples"),
    ),
    Section(
        "How many dimensions does the space have?",
        """We embed each matrix in 1 to 20 dimensions. Distortion has reached a plateau if less than
a tenth of its whole fall is left after 15 dimensions; the number is a tenth minus what is left.""",
        ("distortion",),
        ("supp8",),
    ),
)

CAPTIONS = {
    "fig4": "A: distances between all trained networks, and the first two principal components of "
    "their embeddings in 15 dimensions, all aligned with the first. Rows are sorted by objective, "
    "strength and seed; the strip on the left shows their colours. B: distances between networks "
    "with different seeds, before and after training, on a logarithmic axis (boxes: interquartile "
    "range; whiskers: 5th to 95th percentile; n: number of pairs). C-F: predictions from nearest "
    "neighbours, with 95 % intervals (lines) and chance (dotted). In C, networks with the same "
    "objective and strength are not among the neighbours; in D to F, those with the same seed are "
    "not.",
    "supp7": "Energy distances (q = 1) and Gaussian distances. A, B: as Figure 4 A, but embeddings "
    "are also scaled to match the first. C: energy and Gaussian distances of all pairs, each "
    "divided by the largest. D, E: predictions from nearest neighbours, with 95 % intervals.",
    "supp8": "Distortion of the distances by embeddings in 1 to 20 dimensions: median over pairs, "
    "interquartile range, and the middle 80 %.",
    "supp9": "Distances between networks with different seeds on MNIST and CIFAR-10, before and "
    "after training, for each initialisation (n: number of pairs).",
    "training": "Mean distance at alpha = 2 relative to alpha = 0 during training, between "
    "networks with the same objective and strength but different seeds. Bars are 95 % intervals "
    "over seeds, where there are at least three; n is the number of networks, and each point is "
    "the mean over all of their pairs.",
    "samples": "Energy distances from fewer or more samples per image (a question that the paper "
    "leaves open), for the {networks} networks of the first {seeds} seeds and {images} images; "
    "distances are not repaired. Lines show Gaussian distances of the same networks and images, "
    "which need no samples. With {used} samples, as in all other figures, the mean difference from "
    "{most} samples is {difference}. One network of {networks} changes an accuracy by {one:.2f}, "
    "and there are no intervals here, so small differences between scores mean nothing.",
}
# What is added to a caption when the figure is that of the pilot, or of the confirmation.
OF_PILOT = {
    "supp9": " On MNIST, networks with beta = 16 failed to train by the criterion that was set "
    "beforehand: their reconstructions are hardly better than the mean image.",
    "training": " In the pilot, two or three networks were kept for each line, and none has an "
    "interval.",
}
OF_CONFIRMATION = {
    "fig4": " Untrained networks are compared in disjoint pairs.",
    "supp9": " Shorter distances at alpha = 0 would raise the ratio of trained networks. Untrained "
    "networks are compared in disjoint pairs. On MNIST, the confirmation has no networks with "
    "beta = 16, all of which failed to train in the pilot.",
    "samples": " These are networks of the pilot.",
}
SAMPLES = """How many samples does an energy distance need? Scores for the networks of the pilot
that are described under *Samples of energy distances*:
"""
TRAINING = """Means over seeds, on held-out images. *Explained* is the share of the gap between the
loss of the mean image and the lowest possible loss. We looked at reconstructions of the pilot by
eye. On sprites (seed 6), they have the position and size of a sprite and mostly the orientation of
an ellipse; squares and hearts come out round. On MNIST (seed 0), digits are legible up to beta = 4,
and most of them at 8; at 16, all reconstructions look like the mean image. On CIFAR-10
(seed 0), reconstructions show where an image is light or dark but hardly any colour, and they show
less the higher beta is.
"""
PAIRED = ", compared in disjoint pairs"

DIFFERENCES = {
    "networks on sprites": (
        "1800, trained by Locatello et al. (2019)",
        "{sprites}, trained by us: 3 of 6 strengths, {seeds} of 50 seeds",
    ),
    "sprites": ("dSprites, 64 x 64, binary", "our own renderer of the same factors, 32 x 32"),
    "architecture": (
        "4 convolutions (32, 32, 64, 64), dense 256",
        "3 convolutions (16, 16, 32), dense 128; 10 latents in both",
    ),
    "training": (
        "300 000 steps, Adam at 1e-4",
        "4000 steps, Adam at 1e-3; an annealed VAE with gamma 10 instead of 1000",
    ),
    "initialisation": ("Glorot", "Kaiming, with the same weights for all objectives of a seed"),
    "untrained networks": (
        "not described for dSprites",
        "{untrained} for each of {ways} initialisations{paired}",
    ),
    "networks on MNIST and CIFAR-10": (
        "350 each, as we read it, up to 1000 epochs",
        "{mnist} and {cifar10}, 2000 steps, smaller networks",
    ),
    "images per distance": ("2048 (3500 for MNIST and CIFAR-10)", "256, never trained on"),
    "boosted trees (scores B, C, D, G)": (
        "scikit-learn's exact trees, 10 000 images for training and 5000 for testing, fitted twice",
        "trees on 255 bins of each code, 2000 and 1000 images, fitted once for all four scores",
    ),
    "logistic regression (score F)": (
        "10 000 images for training, 5000 for testing",
        "2000 and 1000",
    ),
    "sprite positions for all scores": ("32 x 32", "16 x 16: whole pixels of a 32 x 32 image"),
    "k-NN predictions": (
        "random test sets",
        "whole seeds are left out, and whole cells to predict seeds",
    ),
    "verdicts": ("by eye", "by thresholds that were fixed before the confirmation was measured"),
}

JOB = """Training takes longest. Extrapolated from a few steps on random images, with the plain
objective and without scores, and with both initialisations on MNIST and CIFAR-10:

{table}

"""

COST_TEXT = """## The paper's 1800 networks

1800 networks have {pairs} pairs, which take {{{{ vae_hours }}}} for each alpha below 2 ([What large
jobs cost](../evidence/scale.md#the-papers-two-largest-jobs)). An energy distance between trained
networks, with {images} images and {trials} samples per image, took {energy_seconds:.2g} s of
processor time with repshape 0.2.0 (`python -m experiments.vae.cost vae-output`, six pairs), which
makes {energy_hours:.0f} core hours for all pairs.

{job}Trained networks are several times slower than random Gaussians of the same size
([What large jobs cost](../evidence/scale.md)): they have unused and nearly equal latents, so the
search needs more starts. For such a job, store the networks in a cohort on disk and share the pairs
among any number of machines. With a queue, submit an array job of 100 shards, and then one last
run, which polishes:

```text
repshape pairwise vaes.zarr -o distances.zarr --alpha 1 --shard $SLURM_ARRAY_TASK_ID/100 --quiet
repshape pairwise vaes.zarr -o distances.zarr --alpha 1
```

With Dask:

```text
repshape pairwise vaes.zarr -o distances.zarr --alpha 1 --scheduler tcp://head:8786
```

[Thousands of networks](../scale.md) explains both.
"""


def group_label(name: str) -> str:
    """Return a group of networks as a row of a table names it.

    >>> group_label("cifar10-untrained-pytorch")
    'CIFAR-10, untrained, PyTorch'
    """
    known = DATASETS | INITIALISATIONS
    return ", ".join(known.get(part, part) for part in name.split("-"))


def counts_words(counts: Mapping[str, int]) -> str:
    """Return how many networks there are, without groups that have none.

    >>> counts_words({"mnist-trained-kaiming": 16, "mnist-trained-pytorch": 8})
    'trained networks on MNIST (16 Kaiming, 8 PyTorch)'
    """
    found: dict[str, list[str]] = {}
    for name, count in counts.items():
        dataset, state, start = group_label(name).split(", ")
        if count:
            found.setdefault(f"{state} networks on {dataset}", []).append(f"{count} {start}")
    return "; ".join(f"{group} ({', '.join(words)})" for group, words in found.items())


def group_words(name: str) -> str:
    """Return a group of networks as a sentence names it.

    >>> group_words("dsprites-trained-kaiming"), group_words("one")
    ('trained networks on dSprites (Kaiming initialisation)', 'one')
    """
    parts = group_label(name).split(", ")
    if len(parts) != 3:
        return name
    dataset, state, start = parts
    return f"{state} networks on {dataset} ({start} initialisation)"


def matrix_words(name: str) -> str:
    """Return the name of a matrix as it is printed.

    >>> matrix_words("alpha-0.5"), matrix_words("energy"), matrix_words("energy-16")
    ('alpha = 0.5', 'energy', 'energy, 16 samples')
    """
    kind, _, number = name.partition("-")
    if not number:
        return kind
    return f"{kind} = {number}" if kind == "alpha" else f"{kind}, {number} samples"
