"""The fixed texts of the documentation page."""

from experiments.common.pages import STANDARD
from experiments.common.sections import Section

INTRODUCTION = """# Patch-Gaussian augmentation: a small replication

Duong et al. (2023) train 339 ResNet-18 networks on CIFAR-10. The training images have patches of
Gaussian noise, of width W and standard deviation sigma, and the test images have noise of standard
deviation tau (section 3.4, Figure 5, Supplementary Figures 10 and 11, Appendix B.4). The paper asks
whether the position of a network in stochastic shape space reflects how it was trained. This page
is a small replication: networks of eight layers on images of 16 x 16 pixels, with the same layer of
100 units. Nothing on this page is about the networks of the paper.
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
`results.json` and `arrays.npz`. Those of this page are in `experiments/patch_gaussian/results`, and
those of the confirmation in its subfolder `confirmation`.

```sh
python -m experiments.patch_gaussian figures --out figures \\
  --results experiments/patch_gaussian/results
```

draws all figures from the results in a folder and writes an interactive report. The trained
networks are in archives in `experiments/patch_gaussian/trained`: with the option `--kept` the
commands read them from there, and nothing is trained. [How these studies were
run](running.md) has the rest.
"""

NEAREST = """The first claim compares only networks with different seeds. Among all networks, under
little noise, the seed matters more than the hyper-parameters: at tau of at most {tau:g}, the
nearest other network has the same seed in {seed} of cases, and the same hyper-parameters in {cell}
(all alphas). Networks with the same seed share initial weights and the order of the images.

Share of networks whose nearest other network has the same hyper-parameters / the same seed
({chance} for a random other network):

{table}
"""

NOT_YET = """!!! note "Not measured yet"
    The stored results come from a test run at `--scale tiny`, whose networks are hardly trained.
    They say nothing about the claims and are not shown. The table lists the claims and the criteria
    that will decide them, which were fixed beforehand.
"""

NO_EFFECT = """!!! warning "The networks do not show the effect of Patch-Gaussian"
    Verdict on the manipulation check: {verdict}. So no claim about Patch-Gaussian is decided.
"""

PARTIAL = """!!! note "Incomplete"
    {missing} networks are not finished yet. Only complete seeds are compared: those with all
    networks finished."""

UNITS = "seeds, because networks with the same seed share initial weights and the order of the data"
READING = f"""{STANDARD.format(units=UNITS)}

{{rounds}}
"""
PILOT_ONLY = """The results on this page are those of the first round, the pilot, with three seeds.
Student's t then has two degrees of freedom, so intervals are wide. The claims were worded with
these results at hand, so the pilot cannot confirm them."""
BOTH_ROUNDS = """The claims were worded with the results of the first round, the pilot (seeds 0 to
2), at hand. The confirmation has {seeds} fresh seeds, and its verdict is the one that counts. It
was measured only at the taus and alphas that the claims need: all taus at alpha 0, 1 and 2, halves
of the passes at three taus, and no centred networks. {pilot} Figures and tables below are those of
the {shown}, unless they say otherwise."""

MANIPULATION = """Before we compare distances, the networks must show the effect of the
augmentation: higher accuracy under noise, at a small cost on clean images. A *cell* is one
combination of W and sigma. *Robust* cells have W of at least half the side of the image and sigma
of at least 0.3. A criterion holds if it holds for every seed. Two criteria were changed after four
trial networks had been seen; the notes say how.

{table}

{notes}

With the first threshold, a clean loss of at most 0.05 for every seed, the criterion *clean loss*
{first}. Gain in accuracy of the robust cells over networks without patches, by the noise in the
test images (mean over seeds):

{gains}
"""

WORKS = "Does Patch-Gaussian work here?"
SAME = "Same hyper-parameters, or same seed?"
SECTIONS = (
    Section(WORKS, "", (), ("accuracy",)),
    Section(
        "Does the position of a network show how it was trained?",
        """We predict W and sigma from the three nearest networks with other seeds; the number is
accuracy above chance. We also regress the ranks of W and sigma on the plane of an embedding; the
number is R^2. If covariances reveal more than means, predictions are better for alpha < 2 than for
alpha = 2; the number is the difference in accuracy.""",
        ("position", "grid", "prediction"),
        ("fig5b", "neighbors"),
    ),
    Section(
        SAME,
        """For networks with different seeds, the number is how many of the networks in other cells
are farther away than the network in the same cell (a share; chance is a half). For all networks, it
is the share whose nearest network has the same hyper-parameters, minus the share whose nearest has
the same seed.""",
        ("seeds", "nearest network"),
    ),
    Section(
        "Do alpha and the noise at test change the structure?",
        """Two distance matrices show the same structure if they rank pairs of networks alike. We
measure their rank correlation between networks with different seeds, relative to the highest value
that the number of passes allows. Where a claim says that matrices differ, the number is minus
this correlation, and the threshold is -0.8; for alpha = 1, it is the correlation with alpha = 2
minus that with alpha = 0.""",
        ("alpha", "alpha 1", "tau"),
        ("mantel", "supp10", "supp11"),
    ),
    Section(
        "Are representations of noisy images more robust?",
        """We divide the spread of the responses to one noisy image by the distance between images.
The first number is log2 of this ratio without patches over that in robust cells; the second is how
well a small ratio goes with high accuracy (Spearman's correlation).""",
        ("spread",),
        ("fig5a", "to_none"),
    ),
)

CAPTIONS = {
    "accuracy": "Accuracy on all 10 000 test images, by the noise that is added to them. Lines are "
    "means over seeds, and points are networks.",
    "fig5a": "Top: a test image with the noise of each tau. Middle: the image as it could appear "
    "in the training of four networks. Bottom: responses of these networks to ten images, one of "
    "each class, with fresh noise each time, embedded by multi-dimensional scaling; one colour per "
    "image.",
    "fig5b": "Distances, and the first two principal components of embeddings in 20 dimensions, "
    "each aligned with the one before it. Networks are sorted by W, sigma and seed; the strip on "
    "the left shows their colours.",
    "supp10": "All distance matrices, as in Figure 5 B.",
    "supp11": "All embeddings, as in Figure 5 B. Each panel has its own scale.",
    "neighbors": "Predictions from the three nearest neighbours: W and sigma of networks trained "
    "with patches, from networks with other seeds; seeds, from networks in other cells. Lines are "
    "95 % intervals over seeds. Dotted: mean over shuffled labels; dashed: their 95th percentile; "
    "both for alpha = 0.",
    "mantel": "A: rank correlation between distances at two alphas, over pairs of networks with "
    "different seeds. B: the same, relative to the highest value that 50 passes allow, from two "
    "halves of the passes. Lines are 95 % intervals from leaving out one seed at a time.",
    "to_none": "Mean distance from each cell to networks trained without patches and with other "
    "seeds, relative to the mean distance among networks without patches.",
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
    "images per distance": ("2000", "{n_images}"),
    "passes per image": ("1000", "{n_passes}"),
    "covariances": ("1e-4 added to the diagonal", "thin factors, nothing added"),
    "verdicts": ("by eye", "by thresholds that were fixed before the confirmation was measured"),
}

WIDE_TEXT = """## Twice the width

We trained and measured {count} networks of width 32 instead of 16 in the same way (`--scale wide`):
two seeds for each corner of the grid, and two without patches. The table compares them with
the same networks of width 16. There are too few for intervals: the question is only whether a
conclusion flips. Both widths were measured with the pilot (repshape 0.2.0).

{table}

The manipulation check of the wide networks, with the thresholds of the study ({verdict}):

{manipulation}

Rank correlation between the distances at the two widths, over networks with different seeds:

{cells}
"""

REFERENCE_TEXT = """## Time, and the reference code

All matrices took {hours:.1f} hours of wall time ({pairs} pairs, {images} images, {passes} passes,
a layer of 100 units; alpha = 0, 1 and 2{centred}, at six taus, and from halves of the passes at
three). To save time, we searched each pair from one start, with a
tolerance of 3e-5 (1e-4 for halves), and did not polish the matrices (`measure.py` describes the
trial behind these settings). The table shows by how much distances exceed those of the full search,
on {n_pairs} pairs of each matrix; its last column is the standard deviation of distances over all
pairs, relative to their mean.

{search}

{netrep}
"""

NETREP_TEXT = """The table has the processor time of the reference code (netrep) on two of the pairs
at tau = {tau:g}, in the same run and on one core of a machine that was shared with other jobs. It
fails on covariances without full rank, so both programs were given covariances with 1e-4 added to
the diagonal. It starts from one alignment, where we search for better ones.

{table}
"""

JOB = """Training and collecting responses come first. Extrapolated from a few steps of the paper's
network on random images, on one core of the same machine, {networks} networks take {training} core
hours to train ({step:.2g} s per step of 128 images, {steps} steps each) and {collection} core hours
to respond to {passes} noisy images each. Their covariances take {covariances:g} GB, so they are
kept on disk. Use a graphics card for both steps (`--device cuda`).

"""

COST_TEXT = """## The paper's 339 networks

339 networks have 57 291 pairs, which makes {pairs} for each alpha at six taus. The table has the
processor time of one pair of our networks with covariances of full rank ({passes} passes), with
repshape 0.2.0 on one core of a machine that was shared with other jobs:

{table}

This makes {total} core hours in all, or {days} days on 100 cores, if the time is proportional to
the number of images beyond the largest number that was measured (`python -m
experiments.patch_gaussian.cost patch-output --images DIR`, one pair each, with the preparation of
both networks, which is done only once for a whole matrix).

{job}`collect --scale paper --workers 6` writes the responses at each tau into a cohort on disk, in
`patch-output/responses`. Any number of machines can share its pairs. With a queue, submit an array
job of 100 shards, and then one last run, which polishes:

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
