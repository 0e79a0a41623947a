"""The fifteen disentanglement scores of the paper, A to O, as in Locatello et al. (2019).

Scores are computed from codes, the means that an encoder gives to images, and from the factors of
those images. None needs PyTorch. They are defined as in the code of that study, with the defaults
of the scikit-learn that is installed: those of logistic regression (A, F, J) have changed since.
"""

from experiments.vae.scores.compute import all_scores
from experiments.vae.scores.table import CodeTable
from repshape.datasets.vaes import SCORES as NAMES

__all__ = ["NAMES", "CodeTable", "all_scores"]
