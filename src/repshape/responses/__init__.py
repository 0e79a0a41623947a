"""The responses of one network, which are validated once and never change."""

from repshape.responses.convert import NetworkLike, as_network, as_trials
from repshape.responses.gaussians import Gaussians, Kind
from repshape.responses.trials import Trials

__all__ = ["Gaussians", "Kind", "NetworkLike", "Trials", "as_network", "as_trials"]
