"""The words of the pages of results."""

from __future__ import annotations

from experiments.common.sections import Section

TITLES = {
    "simulated": "Visual cortex: a simulated cohort",
    "allen": "Visual cortex: mice of the Allen Institute",
    "macaque": "Visual cortex: macaque V1",
}
_COMMON = """
*Artificial* and *natural* are the two classes of stimuli. d_0 is the distance between the
covariances of two animals, and d_2 the distance between their means. log R is the logarithm of
their ratio, from mean squares over pairs: above 0, covariances differ more than means. Claims are
decided with *corrected* distances, from which the jackknife of `rs.inference.distance` has removed
the bias due to noise, with PCA inside the resampling. [How the study is run](brain.md) explains the
steps.
"""
INTRODUCTIONS = {
    "simulated": """
!!! warning "These data are simulated"

    The cohort on this page is simulated. It tests the whole path from NWB files to verdicts, with
    known true distances. It says nothing about brains.

{n_animals} simulated animals with {fewest_neurons} to {most_neurons} neurons see 6 static gratings
and {n_scenes} natural scenes (the blank included), {n_repeats} times each; {n_drifting} other
animals see drifting gratings. Counts are Poisson with fluctuating, partly shared gains, so that
their variance exceeds the mean. The sessions are written as NWB files with the layout of the Allen
Institute, and read with `rs.io.read_allen`.

```sh
python -m experiments.brain --source simulated --scale {scale} --out brain-output
```

The run of this page took {minutes}, after the files had been written. Corrected distances use
{n_groups} groups of trials, with {resampling_starts} random start(s) for each alignment besides the
one of the whole sample. The multiverse has at most {multiverse_sessions} sessions.
"""
    + _COMMON,
    "allen": """
Recordings of mouse primary visual cortex (VISp) from the Allen Institute's Visual Coding with
Neuropixels: {n_sessions} sessions. The run took {minutes}, after the files had been read.
"""
    + _COMMON,
    "macaque": """
The data are spike counts (200 ms) of {n_sessions} V1 populations in four monkeys (Hénaff et al.,
2021, Nature Communications 12:5982), in response to 180 natural and 180 synthetic images. The paper
did not use them. The synthetic images are not gratings: they interpolate between the first and the
last frame of each natural sequence. So this is another test of whether noise geometry depends on
the kind of image, and not a replication. The number of conditions is the same in both classes.
Populations are reduced to {n_components} components, which leaves those with enough units. There
are several populations per monkey, so intervals are over monkeys, and those over populations stand
beside them. Distances at 6 and 16 components were known before the claims were written.

```sh
python -m experiments.brain --source macaque --scale {scale} --data FOLDER --out macaque-output
```

The run of this page took {minutes}. The recordings are not part of this project.
"""
    + _COMMON,
}

MAIN = "Do covariances differ between animals as much as means?"
STIMULUS = "Does it depend on the stimulus?"
CHOICES = "How do the conclusions depend on choices?"
TRUTH = "Are the estimates right?"
SECTIONS = (
    Section(
        MAIN,
        """The paper compares d_0 and d_2 between sessions: are they of the same size, and do they
tell the same about a pair?""",
        ("Section 3.2 (a)", "Section 3.2 (b)"),
        ("fig3",),
    ),
    Section(
        STIMULUS,
        """The paper finds covariances to matter more for gratings than for natural scenes.""",
        (
            "Section 3.2 (c)",
            "Section 3.2, reversal",
            "Figure 3 C",
            "Figure 3 D",
            "Figure 3 E",
            "Supplementary Figure 5",
        ),
        ("supp5",),
    ),
    Section(
        "How do responses of single sessions vary?",
        """Figure 3 A-B shows the first two components of one session; the numbers are over all of
them.""",
        ("Figure 3 A-B, covariances", "Figure 3 A-B, variances", "Appendix B.2"),
    ),
    Section(
        "Does the number of neurons matter?",
        """Neurons of the two largest sessions are drawn at random, without PCA. The paper calls the
ratio of d_0 to d_2 preserved because all lines rise with alpha; ours is the stricter criterion that
the ratio hardly changes. Both are here.""",
        (
            "Supplementary Figure 6, growth",
            "Supplementary Figure 6, ratio",
            "Supplementary Figure 6, lines",
        ),
        ("supp6",),
    ),
    Section(
        "Do artificial stimuli resemble untrained networks, and natural ones trained networks?",
        """The abstract says so of gratings and natural scenes. The answer depends on how weights of
untrained networks are drawn, so there is one for each initialisation.""",
        ("Abstract", "Abstract, Kaiming", "Abstract, PyTorch", "Abstract, Glorot"),
        ("side-by-side",),
    ),
    Section("How much of the distances is noise?", "", (), ("noise",)),
    Section(TRUTH, "", (), ("truth",)),
    Section(CHOICES, "", (), ("multiverse",)),
)

CAPTIONS = {
    "fig3": (
        "Figure 3 A-E",
        "A, B: the session with most neurons, in its first two principal components; below, the "
        "covariances alone. C: distance of each session from the others (thin lines) and their "
        "mean, against alpha. D: the same at alpha = 2, by session; bars are means. E: d_0 against "
        "d_2 of all pairs, with Pearson's correlation. All distances are plug-in with shrinkage, "
        "as in the paper.",
    ),
    "supp5": (
        "Supplementary Figure 5",
        "As Figure 3 C, for drifting gratings at two contrasts, in other sessions.",
    ),
    "supp6": (
        "Supplementary Figure 6",
        "Neurons of the two largest sessions are drawn at random, without PCA. Distances (left) "
        "and their ratio (right), without replacement (A, B) and with (C, D). Bars are one "
        "standard deviation over draws.",
    ),
    "noise": (
        "Corrected distances, plug-in distances and noise floors",
        "Corrected distances of all pairs with 90 % intervals, plug-in distances without "
        "shrinkage, and what the plug-in distance would be if both sessions were the same network. "
        "Values below 0 stand for negative estimates of squares.",
    ),
    "truth": (
        "Estimated against true distances",
        "Estimated against true squared distances: plug-in, the protocol of the paper (shrunk "
        "covariances) and corrected. The dotted line is equality. Right: gamma chosen by "
        "cross-validation against the gamma that gives new trials the highest likelihood.",
    ),
    "multiverse": (
        "All combinations of choices",
        "A: log R of both classes under all combinations of choices, with 90 % intervals over "
        "animals; circles mark corrected distances. B: the choices. C: the share of combinations "
        "whose estimate is on the side that a claim says, whatever the interval.",
    ),
    "side-by-side": (
        "Ratios side by side",
        "log (d_0 / d_2) of all classes of stimuli, corrected and plug-in, and of trained and "
        "untrained VAEs if their study has been run. The title has the verdict on the claim of the "
        "abstract. Ratios of VAEs are from means of distances instead of squares.",
    ),
}
