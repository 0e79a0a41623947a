"""The fixed texts of the documentation page."""

from experiments.common.pages import STANDARD
from experiments.common.sections import Section

INTRODUCTION = """# Patch-Gaussian augmentation: a small replication

Duong et al. (2023) train 339 ResNet-18 networks on CIFAR-10, with patches of Gaussian noise of
width W and standard deviation sigma in the training images, and compare them in stochastic shape
space under noise of standard deviation tau in the test images (section 3.4, Figure 5,
Supplementary Figures 10 and 11, Appendix B.4). They ask whether the place of a network in that
space reflects how it was trained. This is a small replication: networks of eight layers on images
of 16 x 16 pixels, with the same layer of 100 units. Nothing on this page is about the networks of
the paper.
"""

RUNNING = """## Running it

```sh
python -m experiments.patch_gaussian all --scale small --images DIR --out patch-output
```

trains, measures and draws. An interrupted run resumes when you repeat the command, and each step
can be run alone: `train`, `collect`, `measure` and `figures`. `--images` names the folder of
CIFAR-10. Training and collecting responses need PyTorch. `--scale paper` has the settings of the
paper, and `--round confirmation` the networks of fresh seeds, which `python -m experiments.confirm`
trains, keeps and measures as far as they are missing. The results of a study are two files,
`results.json` and `arrays.npz`; those of this page are in `experiments/patch_gaussian/results`, and

```sh
python -m experiments.patch_gaussian figures --out figures \\
  --results experiments/patch_gaussian/results
```

draws all figures from them and writes an interactive report. The trained networks are in
archives in `experiments/patch_gaussian/trained`: with the option `--kept` the commands read them
from there, and nothing is trained. [How these studies were run](running.md) has the rest.
"""

NEAREST = """The claim *seeds* compares networks of different seeds only: those with the same
hyper-parameters are then close together. Among all networks it is the other way round, where there
is little noise. At tau of at most {tau:g}, the nearest other network has the same seed in {seed} of
cases, and the same hyper-parameters in {cell} (all alphas). Networks of one seed share initial
weights and the order of the images, and this shows more than how they were trained.

Share of networks whose nearest other network has the same hyper-parameters / the same seed (a
random other network: {chance}):

{table}
"""

NOT_YET = """!!! note "Not measured yet"
    The stored results come from a test of the programs at `--scale tiny`, whose networks are hardly
    trained. They say nothing about the claims, and are not shown here. The table lists the claims
    and what will decide them, as it was fixed beforehand.
"""

NO_EFFECT = """!!! warning "The networks do not show the effect of Patch-Gaussian"
    The manipulation check {verdict}. No claim about Patch-Gaussian is decided.
"""

PARTIAL = """!!! note "Incomplete"
    {missing} networks are not finished yet. Only complete seeds are compared: those of which every
    network is finished."""

UNITS = "seeds, because networks of one seed share initial weights and the order of the data"
READING = f"""{STANDARD.format(units=UNITS)}

{{rounds}}
"""
PILOT_ONLY = """The results on this page are those of the first round, the pilot, with three seeds.
Student's t then has two degrees of freedom, so intervals are wide. Claims were worded with these
results at hand, so that the pilot cannot confirm them."""
BOTH_ROUNDS = """Claims were worded with the first round, the pilot (seeds 0 to 2), at hand. The
confirmation has {seeds} fresh seeds, and its verdict is the one that counts. It was measured at the
taus and alphas that the claims use: all taus at alpha 0, 1 and 2, halves of the passes at three
taus, and no centred networks. {pilot} Figures and tables below are those of the confirmation,
unless they say otherwise."""

MANIPULATION = """Before any distance: the networks must show what the augmentation is for, a gain
under noise at a small cost on clean images. *Robust* cells have W of at least half the side of the
image and sigma of at least 0.3. A criterion holds if it holds for every seed. Two criteria were
changed after four trial networks had been seen; the notes say how.

{table}

{notes}

With the first threshold, a clean loss of at most 0.05 for every seed, the criterion *clean loss*
{first}. Gain of the robust cells over none, by noise (mean over seeds):

{gains}
"""

WORKS = "Does Patch-Gaussian work here?"
SAME = "Same hyper-parameters, or same seed?"
SECTIONS = (
    Section(WORKS, "", (), ("accuracy",)),
    Section(
        "Does the place of a network show how it was trained?",
        """W and sigma are predicted from the three nearest networks of other seeds, and the plane
of an embedding is compared with the grid of W and sigma. If covariances tell more than means,
predictions are better for alpha < 2 than for alpha = 2.""",
        ("position", "grid", "prediction"),
        ("fig5b", "neighbors"),
    ),
    Section(SAME, "", ("seeds", "nearest network")),
    Section(
        "Do alpha and the noise at test change what is seen?",
        """Two matrices of distances show the same if the ranks of their distances agree. Claims
that they differ are stated for the negative of their rank correlation.""",
        ("alpha", "alpha 1", "tau"),
        ("mantel", "supp10", "supp11"),
    ),
    Section(
        "Are representations of noisy images more robust?",
        """The spread of responses to one noisy image is compared with the distance between
images.""",
        ("spread",),
        ("fig5a", "to_none"),
    ),
)

CAPTIONS = {
    "accuracy": "Accuracy on all 10 000 test images by the noise that is added to them. Lines are "
    "means over seeds, and points are networks.",
    "fig5a": "Above: a test image with the noise of each tau. Middle: the image as it could be in "
    "the training of four networks. Below: responses of these networks to ten images, one of each "
    "class, with fresh noise each time, embedded by multi-dimensional scaling; a colour for each "
    "image.",
    "fig5b": "Distances, and two principal components of embeddings in 20 dimensions, each aligned "
    "with the one before it. Networks are sorted by W, sigma and seed; the strip on the left shows "
    "their colours.",
    "supp10": "All matrices of distances, as in Figure 5 B.",
    "supp11": "All embeddings, as in Figure 5 B. Each panel has its own scale.",
    "neighbors": "Predictions from the three nearest neighbours: W and sigma of patched networks, "
    "from networks of other seeds; seeds, from networks of other cells. Lines are 95 % intervals "
    "over seeds. Dotted: mean over shuffled labels; dashed: their 95th percentile; both for alpha "
    "= 0.",
    "mantel": "A: rank correlation between distances at two alphas, over pairs of networks with "
    "different seeds. B: the same, relative to the highest value that 50 passes allow, from two "
    "halves of the passes. Lines are 95 % intervals from leaving out one seed at a time.",
    "to_none": "Mean distance of each cell to networks without patches of other seeds, relative to "
    "that among networks without patches.",
}

DIFFERENCES = {
    "networks": (
        "339: 16 W x 7 sigma x 3 seeds, 3 without",
        "{networks}: {n_widths} W x {n_sigmas} sigma x {seeds} seeds, {seeds} without",
    ),
    "images": ("32 x 32 pixels", "16 x 16 pixels, by area averaging"),
    "architecture": ("ResNet-18, width 64", "ResNet-8, width 16; 100 units in both"),
    "dimensions of the layer": ("up to 100", "64, the channels that feed it"),
    "training": (
        "200 epochs, learning rate 0.1 halved every 60",
        "6 epochs, one cycle of the learning rate up to 0.1",
    ),
    "share of images with a patch": ("all", "a quarter"),
    "images of a distance": ("2000", "{n_images}"),
    "passes of an image": ("1000", "{n_passes}"),
    "covariances": ("1e-4 added to the diagonal", "thin factors, nothing added"),
    "verdicts": ("by eye", "by thresholds that were fixed beforehand"),
}

WIDE_TEXT = """## Twice the width

{count} networks of width 32 instead of 16, two seeds for each corner of the grid and two without
patches, were trained and measured in the same way (`--scale wide`). The table compares them with
the same networks of width 16. There are too few for intervals: the question is only whether a
conclusion flips.

{table}

The manipulation check of the wide networks, with the thresholds of the study ({verdict}):

{manipulation}

Rank correlation between the distances of both widths, over networks of different seeds:

{cells}
"""

REFERENCE_TEXT = """## Time, and the reference code

All matrices took {hours:.1f} hours of wall time ({pairs} pairs, {images} images, {passes} passes,
a layer of 100 units; alpha = 0, 1 and 2{centred}, at six taus, and from halves of the passes at
three). So that they take no longer, every pair is searched from one start, with a
tolerance of 3e-5 (1e-4 for halves), and matrices are not polished (`measure.py` has the trial that
decided it). Compared with the whole search, on {n_pairs} pairs of each matrix, distances are too
large by

{search}

The last column is the standard deviation between the distances of all pairs, relative to their
mean. {netrep}
"""

NETREP_TEXT = """On two of the pairs at tau = {tau:g}, in the same run and on one core of a
machine that was shared with other jobs, the reference code (netrep) took the following processor
time. It fails on covariances without full rank, so both
programs were given covariances with 1e-4 added to the diagonal. It starts from one alignment,
where we search for better ones.

{table}
"""

JOB = """Before that, by the time of a few steps of the paper's network on random images,
{networks} networks take {training} core hours to train ({step:.2g} s a step of 128 images,
{steps} steps each) and {collection} core hours to respond to {passes} noisy images each, on one
core of the same machine. Their covariances take {covariances:g} GB, so that they are kept on disk.
Use a graphics card for both steps (`--device cuda`).

"""

COST_TEXT = """## The paper's 339 networks

339 networks have 57 291 pairs, at six taus {pairs} for each alpha. On one core of a machine that
was shared with other jobs, a pair of our networks with covariances of full rank ({passes} passes)
took

{table}

of processor time, {total} core hours in all, or {days} days on 100 cores, if the time is
proportional to the number of images from the larger number on (`python -m
experiments.patch_gaussian.cost patch-output --images DIR`, one pair each, with the preparation of
both networks, which is done only once for a whole matrix).

{job}`collect --scale paper --workers 6` writes the responses at each tau into a cohort on disk, in
`patch-output/responses`. Let any number of machines share its pairs. With a queue, an array job of
100 shards and one last run, which polishes:

```text
#!/bin/bash
#SBATCH --array=1-100 --cpus-per-task=1 --time=24:00:00
for tau in 0.01 0.05 0.1 0.2 0.3 0.5; do
  for alpha in 0 1 2; do
    repshape pairwise patch-output/responses/tau-$tau-2000x1000 -o tau-$tau-alpha-$alpha.zarr \\
      --alpha $alpha --shard $SLURM_ARRAY_TASK_ID/100 --quiet
  done
done
```

```text
repshape pairwise patch-output/responses/tau-0.1-2000x1000 -o tau-0.1-alpha-0.zarr --alpha 0
```

With Dask:

```text
repshape pairwise patch-output/responses/tau-0.1-2000x1000 -o tau-0.1-alpha-0.zarr --alpha 0 \\
  --scheduler tcp://head:8786
```

[Thousands of networks](../scale.md) explains both.
"""
