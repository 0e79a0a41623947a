"""Networks with a known ground truth."""

from repshape.datasets.toy import ToyNetworks, toy_networks

__all__ = ["ToyNetworks", "toy_networks"]
