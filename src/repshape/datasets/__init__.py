"""Networks with a known ground truth, tests of what they should show, and trained networks."""

from repshape.datasets.findings import Check, Finding, GridRecovery, grid_recovery, toy_findings
from repshape.datasets.toy import ToyNetworks, toy_networks
from repshape.datasets.vaes import load_vae_distances, load_vaes

__all__ = [
    "Check",
    "Finding",
    "GridRecovery",
    "ToyNetworks",
    "grid_recovery",
    "load_vae_distances",
    "load_vaes",
    "toy_findings",
    "toy_networks",
]
