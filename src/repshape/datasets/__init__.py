"""Networks with a known ground truth, and what they show."""

from repshape.datasets.findings import Check, Finding, GridRecovery, grid_recovery, toy_findings
from repshape.datasets.toy import ToyNetworks, toy_networks

__all__ = [
    "Check",
    "Finding",
    "GridRecovery",
    "ToyNetworks",
    "grid_recovery",
    "toy_findings",
    "toy_networks",
]
