"""Simulated networks with a known ground truth, and tests of what they should show."""

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
