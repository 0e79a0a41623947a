"""The words of the pages of results."""

from __future__ import annotations

from experiments.common.sections import Section

TITLES = {
    "simulated": "Visual cortex: a simulated cohort",
    "allen": "Visual cortex: mice of the Allen Institute",
    "macaque": "Visual cortex: macaque V1",
}
_COMMON = """
*Artificial* and *natural* are the two classes of stimuli. d_0 is the distance between two animals
in covariances, and d_2 the distance in means. log R is the logarithm of d_0 / d_2, from mean
squares over pairs: above 0, covariances differ more than means. Claims are decided with *corrected*
distances: the jackknife of `rs.inference.distance` removes the bias due to noise, with PCA inside
the resampling. [How the study is run](brain.md) explains the steps.
"""
INTRODUCTIONS = {
    "simulated": """
!!! warning "These data are simulated"

    The cohort on this page is simulated. It tests every step from NWB files to verdicts against
    known true distances. It says nothing about brains.

{n_animals} simulated animals with {fewest_neurons} to {most_neurons} neurons see 6 static gratings
and {n_scenes} natural scenes (the blank included), {n_repeats} times each; {n_drifting} other
animals see drifting gratings. Counts are Poisson with fluctuating, partly shared gains, so that
their variance exceeds the mean. The sessions are written as NWB files with the layout of the Allen
Institute, and read with `rs.io.read_allen`.

```sh
python -m experiments.brain --source simulated --scale {scale} --out brain-output
```

The run behind this page took {minutes}, once the files had been written. Corrected distances use
{n_groups} groups of trials and, for each alignment, {starts} besides the start from the
whole sample. The multiverse has at most {multiverse_sessions} sessions.
"""
    + _COMMON,
    "allen": """
Recordings of mouse primary visual cortex (VISp) from the Allen Institute's Visual Coding with
Neuropixels: {n_sessions} sessions. The run took {minutes}, once the files had been read.
"""
    + _COMMON,
    "macaque": """
The data are spike counts (200 ms) of {n_sessions} V1 populations in four monkeys (Hénaff et al.,
2021, Nature Communications 12:5982), in response to 180 natural and 180 synthetic images. The paper
did not use them. The synthetic images are not gratings: they interpolate between the first and last
frames of each natural sequence. So this is another test of whether noise geometry depends on the
kind of image, not a replication. Both classes have the same number of conditions. PCA reduces each
population to {n_components} components; populations with too few units are left out. Several
populations come from the same monkey, so intervals are over monkeys; intervals over populations are
given beside them. Distances at 6 and 16 components were known before the claims were written.

```sh
python -m experiments.brain --source macaque --scale {scale} --data FOLDER --out macaque-output
```

The run behind this page took {minutes}. The recordings are not part of this project.
"""
    + _COMMON,
}

MAIN = "Do covariances differ between animals as much as means?"
STIMULUS = "Does it depend on the stimulus?"
CHOICES = "Do the conclusions depend on analysis choices?"
TRUTH = "Are the estimates right?"
SECTIONS = (
    Section(
        MAIN,
        """The paper compares d_0 and d_2 between sessions. Are they of similar size (log R,
with either sign, within a factor of two)? And do they agree about which sessions are close (minus
the correlation of d_0 and d_2 over pairs; *agreement* is the correlation corrected for noise)?""",
        ("Section 3.2 (a)", "Section 3.2 (b)"),
        ("fig3",),
    ),
    Section(
        STIMULUS,
        """In the paper, covariances matter more for gratings than for natural scenes. The numbers
are logarithms of ratios of distances, with signs such that positive numbers support the claims, or
shares of pairs that are on the expected side.""",
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
        """Figure 3 A-B shows the first two components of one session; the numbers are over all
sessions.""",
        ("Figure 3 A-B, covariances", "Figure 3 A-B, variances", "Appendix B.2"),
    ),
    Section(
        "Does the number of neurons matter?",
        """We draw neurons of the two largest sessions at random, without PCA. The paper calls the
ratio of d_0 to d_2 preserved because all lines rise with alpha. Our criterion is stricter: the
ratio must hardly change. We test both.""",
        (
            "Supplementary Figure 6, growth",
            "Supplementary Figure 6, ratio",
            "Supplementary Figure 6, lines",
        ),
        ("supp6",),
    ),
    Section(
        "Do artificial stimuli resemble untrained networks, and natural ones trained networks?",
        """The abstract says so of gratings and natural scenes. The answer depends on the
initialisation of the untrained networks, so there is one claim for each. Numbers are log R, or
minus log R where the claim expects means to differ more.""",
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
        "A, B: the session with the most neurons, in its first two principal components; below, "
        "the covariances alone. C: distance of each session from the others (thin lines) and the "
        "mean over sessions, against alpha. D: the same at alpha = 2, by session; bars are means. "
        "E: d_0 against d_2 for all pairs, with Pearson's correlation. All distances are plug-in "
        "with shrinkage, as in the paper.",
    ),
    "supp5": (
        "Supplementary Figure 5",
        "As Figure 3 C, for drifting gratings at two contrasts, in other sessions.",
    ),
    "supp6": (
        "Supplementary Figure 6",
        "Distances (left) and their ratio (right) for random neurons of the two largest sessions, "
        "without PCA, drawn without replacement (A, B) and with replacement (C, D). Bars are one "
        "standard deviation over draws.",
    ),
    "noise": (
        "Corrected distances, plug-in distances and noise floors",
        "Corrected distances of all pairs with 90 % intervals, plug-in distances without "
        "shrinkage, and noise floors: the plug-in distance if both sessions were the same network. "
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
        "whose estimate is on the side that a claim states, whatever its interval.",
    ),
    "side-by-side": (
        "Ratios side by side",
        "log (d_0 / d_2) of all classes of stimuli, corrected and plug-in, and of trained and "
        "untrained VAEs if their study has been run. The title has the verdicts on the claim of "
        "the abstract. Ratios of VAEs use means of distances instead of means of squares.",
    ),
}
