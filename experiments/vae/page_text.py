"""The fixed texts of the documentation page."""

from experiments.common.pages import STANDARD
from experiments.common.sections import Section

INTRODUCTION = """# Variational autoencoders: a small replication

Duong et al. (2023) compare 1800 variational autoencoders (VAEs) that Locatello et al. (2019)
trained on dSprites, and 350 more on MNIST and CIFAR-10 (section 3.3, Figure 4, Supplementary
Figures 7 to 9). They ask what distances between such networks tell of how they were trained, and
whether covariances tell more than means. This is a small replication in two rounds: networks on
sprites that we render ourselves, 32 x 32 pixels, with the same six objectives at three strengths
and up to ten seeds in each round, and up to 40 networks each on MNIST and CIFAR-10. Nothing on this
page is about the networks of the paper, which we do not have.
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
results of a study are two files, `results.json` and `arrays.npz`; those of this page are in
`experiments/vae/results`, and

```sh
python -m experiments.vae figures --results experiments/vae/results --out figures
```

draws all figures from them and writes an interactive report. `python -m experiments.vae.page`
writes this page.

Our networks are in archives in `experiments/vae/trained`. With the option `--kept` the commands
read them from there. Those on sprites have all latents, their scores, and the weights of twelve
networks. Those on MNIST and CIFAR-10 have no weights, and only the latents of the 256 images that
are measured, in half precision (`python -m experiments.vae.keep`).

```sh
python -m experiments.vae measure --kept --known experiments/vae/results --out vae-output
```

repeats the verdicts, and computes only those distances that the stored results do not have. Without
`--known`, all distances are computed again.

{times} [How these studies were run](running.md) has the rest.
"""

TIMES = """Training took {training:.1f} hours of a core, scoring {scoring:.1f} (without encoding the
images), and measuring and deciding {hours:.1f} hours by the clock."""

NOT_YET = """!!! note "Not measured yet"
    The networks of the small scale are still being trained. Until they are finished, the stored
    results come from a test of the programs at `--scale tiny`, whose networks are hardly trained.
    They say nothing about the claims, and are not shown here. The table lists the claims and what
    will decide them, as it was fixed beforehand.
"""

PARTIAL = """!!! note "Incomplete"
    {missing} networks are not finished yet. Only complete seeds are compared: those of which every
    objective and strength is finished."""

NO_OTHERS = """!!! note "Without {datasets}"
    Distances between the networks on {datasets} have not been computed yet. Claims about them
    are inconclusive, and Supplementary Figure 9 does not show them."""

NO_SCORES = """!!! note "Without disentanglement scores"
    The scores have not been computed yet. Claims about them are inconclusive, and their panels are
    empty."""

UNITS = "seeds, because networks of one seed share initial weights and the order of the data"
READING = f"""{STANDARD.format(units=UNITS)}

Networks that failed to train stay in every number; a
claim whose verdict changes without them is inconclusive. {{rounds}}
"""
PILOT_ONLY = """The results on this page are those of the first round, the pilot (seeds 0 to 9).
Claims were worded with its results at hand, so that it cannot confirm them."""
BOTH_ROUNDS = """Claims were worded with the first round, the pilot (seeds 0 to 9), at hand. The
confirmation has fresh seeds, and its verdict is the one that counts. {pilot} Figures and tables
below are those of the confirmation, unless they say otherwise."""

PART_OF_CONFIRMATION = """Claims were worded with the first round, the pilot (seeds 0 to 9), at
hand. The confirmation has fresh seeds, and its verdict is the one that counts. A group of its
networks is measured once all of its seeds are finished, or all that were chosen. So far these are:
{groups}. Figures and tables are those of the pilot, which has more seeds, unless they say
otherwise."""

RATIO_TABLE = """*Centred* networks have a mean of zero over all images; the paper does not centre.

{table}
"""

FRESH_RATIOS = """Networks of fresh seeds, as far as they were measured. Each untrained network is
compared with one other only, so that pairs are independent. {versions}

{table}
"""

ARCHITECTURE = """Untrained networks with the paper's architectures, compared in disjoint pairs:

{table}
"""

PROTOCOLS = """### The paper's own protocol of predictions

The paper holds out random networks and chooses k by six-fold cross-validation. Networks of the same
seed, or of the same objective and strength, are then among the neighbours. Here are the same scores
by that protocol (20 random test sets of a fifth of the networks; *±* is the standard deviation over
test sets, which is not a standard error) beside ours, which leaves out whole seeds (95 % intervals
are in Figure 4).

{table}
"""

RATIOS = "Are networks farther apart in means or in covariances?"
PREDICTIONS = "What do the neighbours of a network tell about it?"
ENERGIES = "Do energy distances show something else?"
SECTIONS = (
    Section(
        "Do objectives form clusters?",
        """The paper's embeddings show networks of the same objective together. Here the mean
distance between objectives is compared with that within them, over networks of different seeds and
strengths, and labels of whole cells are permuted. A joint test of all objectives can rest on one of
them, so each is also tested by itself.""",
        ("clusters", "clusters, each objective"),
        ("fig4",),
    ),
    Section(
        RATIOS,
        """The paper finds that trained networks are farther apart at alpha = 2 than at alpha = 0,
and untrained ones the reverse. The statistic is log2(mean d_2 / mean d_0) over networks with
different seeds: above 0, means differ more than covariances. For untrained networks it depends on
how initial weights are drawn. With PyTorch's initialisation, the means of untrained networks differ
mostly by an offset that all images share, so that centring decides their ratio.""",
        ("ratio", "ratio, MNIST", "ratio, CIFAR-10"),
        ("supp9", "training"),
    ),
    Section(
        PREDICTIONS,
        """Objective, strength, seed, reconstruction loss and 15 disentanglement scores are
predicted from the nearest networks. Predictions are for seeds that were left out.""",
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
        """Energy distances compare samples of the latents, and need no Gaussian assumption. The
latents of an image are Gaussian in a VAE, so that both kinds of distance see the same data.""",
        ("energy, closest to 1", "energy, another matrix", "energy, no better"),
        ("supp7", "samples"),
    ),
    Section(
        "How many dimensions does the space have?",
        "",
        ("distortion",),
        ("supp8",),
    ),
)

CAPTIONS = {
    "fig4": "A: distances between all trained networks, and two principal components of "
    "embeddings in 15 dimensions, aligned with the first. Rows are sorted by objective, strength "
    "and seed; the strip on the left shows their colours. B: distances between networks with "
    "different seeds, before and after training, on a logarithmic axis (boxes: middle half; lines: "
    "5 to 95 %; n: number of pairs). C-F: "
    "predictions from nearest neighbours. Lines are 95 % intervals, and dotted lines chance. "
    "For C, networks with the same objective and strength are not among the "
    "neighbours; for D to F, those with the same seed are not.",
    "supp7": "Energy distances (q = 1) beside the Gaussian ones. A, B: as in Figure 4 A, but the "
    "embeddings are also scaled to match the first. C: energy and Gaussian distances of all pairs, "
    "each divided by the largest. D, E: predictions from nearest neighbours, with 95 % intervals.",
    "supp8": "Distortion of the distances by embeddings in 1 to 20 dimensions: the median over "
    "pairs, the middle half, and the middle 80 %.",
    "supp9": "Distances between networks with different seeds on MNIST and CIFAR-10, before and "
    "after training, by the way of drawing the initial weights (n: number of pairs).",
    "training": "Mean distances between networks with the same objective and strength but "
    "different seeds, at alpha = 2 relative to alpha = 0, while they are trained. Bars are 95 % "
    "intervals over seeds, where there are at least three; n is the number of networks, and each "
    "point is the mean over all of their pairs.",
    "samples": "Energy distances from fewer or more samples an image (the paper leaves this "
    "question open), for the {networks} networks of the first {seeds} seeds and {images} images; "
    "distances are not repaired. Lines show Gaussian distances of the same networks and images, "
    "which need no samples. With {used} samples, as many as in all other figures, the mean "
    "difference to {most} samples is {difference}. One network of {networks} is {one:.2f} of an "
    "accuracy, and there are no intervals here, so small differences between scores say nothing.",
}
# What is added to a caption when the figure is that of the pilot, or of the confirmation.
OF_PILOT = {
    "supp9": " On MNIST, networks with beta = 16 failed to train by the criterion that was set "
    "beforehand: their reconstructions are hardly better than the mean image. At alpha = 0, "
    "`measure` warns that the best alignment of most pairs on CIFAR-10 (188 and 160 of 190 after "
    "training) was found by one start only, so these distances may be too long. Shorter ones would "
    "raise the ratio of trained networks.",
    "training": " In the pilot, two or three networks were kept for each line, and none has an "
    "interval.",
}
OF_CONFIRMATION = {
    "fig4": " Untrained networks are compared in disjoint pairs.",
    "supp9": " Untrained networks are compared in disjoint pairs.",
    "samples": " These are networks of the pilot.",
}
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
    "initial weights": ("Glorot's", "Kaiming's, the same for all objectives of a seed"),
    "untrained networks": (
        "not described for dSprites",
        "{untrained} for each of {ways} ways of drawing initial weights{paired}",
    ),
    "networks on MNIST and CIFAR-10": (
        "350 each, up to 1000 epochs",
        "{mnist} and {cifar10}, 2000 steps, smaller networks",
    ),
    "images of a distance": ("2048 (3500 for MNIST and CIFAR-10)", "256, never trained on"),
    "boosted trees (scores B, C, D, G)": (
        "scikit-learn's exact trees, 10 000 images for training and 5000 for testing, fitted twice",
        "trees on 255 bins of each code, 2000 and 1000 images, fitted once for all four scores",
    ),
    "logistic regression (score F)": (
        "10 000 images for training, 5000 for testing",
        "2000 and 1000",
    ),
    "positions behind all scores": ("32 x 32", "16 x 16: whole pixels of a 32 x 32 image"),
    "k-NN predictions": (
        "random test sets",
        "whole seeds are left out, and whole cells to predict seeds",
    ),
    "verdicts": ("by eye", "by thresholds that were fixed beforehand"),
}

JOB = """Training is what takes longest: by the time of a few steps on random images, with the
plain objective and without scores,

{table}

"""

COST_TEXT = """## The paper's 1800 networks

1800 networks have {pairs} pairs, which take {{{{ vae_hours }}}} for each alpha below 2 ([What large
jobs cost](../evidence/scale.md#the-papers-two-largest-jobs)). An energy distance between trained
networks with {images} images and {trials} samples an image took {energy_seconds:.2g} s of processor
time (`python -m experiments.vae.cost vae-output`, six pairs): {energy_hours:.0f} core hours for all
of them.

{job}Trained networks are several times slower than random Gaussians of the same size
([What large jobs cost](../evidence/scale.md)): they have unused and nearly equal latents, so the
search needs more starts. For such a job, keep the networks in a cohort on disk and let any number
of machines share the pairs. With a queue, an array job of 100 shards and one last run, which
polishes:

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
