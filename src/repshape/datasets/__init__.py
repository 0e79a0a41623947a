"""Networks with a known ground truth, and trained networks."""

from repshape.datasets.layers import load_layers
from repshape.datasets.toy import ToyNetworks, toy_networks
from repshape.datasets.vaes import load_vae_distances, load_vaes

__all__ = [
    "ToyNetworks",
    "load_layers",
    "load_vae_distances",
    "load_vaes",
    "toy_networks",
]
