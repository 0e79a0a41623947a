"""What other parts of the package ask of a metric, with defaults that are right for every metric.

Inference, neighbour searches, the polish and the report never look at the class of a metric. A
metric overrides what it can do better than the default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from repshape._arrays import condition_weights
from repshape.errors import InputError
from repshape.groups import Transform
from repshape.moments import estimate_moments
from repshape.responses import Gaussians, Trials
from repshape.responses.silent import with_silent_neurons

FloatArray = npt.NDArray[np.float64]
# Means and square roots of the spectra of one network, with the roots of their weights.
BoundFeatures = tuple[FloatArray, FloatArray]


def weighted_features(
    means: FloatArray, spectra: FloatArray, alpha: float, weights: FloatArray
) -> BoundFeatures:
    """Return means and spectra, times the roots of their weights; none of a part without weight."""
    each = weights[:, None]
    return (
        np.sqrt(alpha * each) * (means if alpha > 0 else means[:, :0]),
        np.sqrt((2 - alpha) * each) * (spectra if alpha < 2 else spectra[:, :0]),
    )


def response_norm(metric: Any, network: Trials | Gaussians, alpha: float) -> float:
    """Return |x| after preprocessing, with |x|^2 = sum w [alpha |mu|^2 + (2 - alpha) tr S]."""
    if metric.preprocess is not None:
        network = metric.preprocess.fit(network, metric.weights).apply(network)
    moments = metric._moments(network)
    squares = alpha * np.sum(moments.means**2, axis=1) + (2 - alpha) * moments.total_variance
    return float(np.sqrt(condition_weights(metric.weights, network.n_conditions) @ squares))


class Capabilities:
    """Methods that a metric may override.

    Attributes
    ----------
    takes_starts : bool
        Whether ``solve_pairs`` has the options ``starts``, ``keep`` and ``brief``, so that a cohort
        can be polished and its alignments kept.
    takes_a_start : bool
        Whether ``_solve_pair`` takes transforms (S, s_y, s_x) to start from, and returns one that
        is at least as good as each of them. Otherwise it must find the best transform.
    """

    takes_starts: ClassVar[bool] = False
    takes_a_start: ClassVar[bool] = False

    @property
    def _mean_weight(self) -> float:
        """Weight of the squared distance between means: ``alpha`` if there is one, or else 0."""
        return float(getattr(self, "alpha", 0.0))

    def _fewest_trials(self) -> int:
        """Return how many trials a condition needs: one if only means count, and two otherwise."""
        plug_in = getattr(self, "covariance", "mle") == "mle"
        return 1 if self._mean_weight == 2 and plug_in else 2

    def _unbiased(self) -> Self:
        """Return the metric with unbiased instead of plug-in covariances."""
        return self

    def _realign(self, x: Any, y: Any, known: Callable[[], Transform], n_starts: int) -> float:
        """Return the distance of resampled networks, given their alignment before resampling.

        A search may begin at the ``known`` transform and at few other starts; the default searches
        as usual.
        """
        return float(self.align_prepared(x, y).distance)  # type: ignore[attr-defined]

    def _moments(self, network: Trials | Gaussians) -> Gaussians:
        """Return the means and covariances to draw or to compare a network by."""
        return network if isinstance(network, Gaussians) else estimate_moments(network, "mle")

    def _compare(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        """Return the distance under a fixed transform that maps all of y into x."""
        raise self._no_score()

    def _evaluate(self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform) -> float:
        """Return the distance of two preprocessed networks under a fixed transform."""
        if x.n_neurons < y.n_neurons:  # the residual is in the space of the larger network
            x, y, fixed = y, x, fixed.reversed()
        whole = fixed.with_silent_neurons()
        return self._compare(with_silent_neurons(x, whole.shape[1]), y, whole)

    def _check_score(self) -> None:
        """Raise unless the distance under a fixed transform is defined."""
        own, default = type(self), Capabilities
        if own._evaluate is default._evaluate and own._compare is default._compare:
            raise self._no_score()

    def _no_score(self) -> InputError:
        return InputError(
            f"{type(self).__name__} cannot score held-out responses, because it does not define "
            "_compare, the distance under a fixed transform."
        )

    def _distance_parts(
        self, x: Trials | Gaussians, y: Trials | Gaussians, fixed: Transform
    ) -> tuple[float, float]:
        """Return the distances of means and of covariances under a transform; NaN if undefined."""
        return float("nan"), float("nan")

    @property
    def _splits_gain(self) -> bool:
        """Whether d^2 = (|x| - |y|)^2 + 2 |x| |y| (1 - cos) with the norms of `_norm`."""
        return False

    def _norm(self, network: Trials | Gaussians) -> float:
        """Return the size of the responses, with equal weights of means and covariances.

        For metrics that split gain, it is the distance to a network without response.
        """
        return response_norm(self, network, 1.0)

    def _bound_features(self, network: Trials | Gaussians) -> BoundFeatures | None:
        """Return means and spectra whose distances bound those of the networks, or None."""
        return None

    @property
    def _is_angular(self) -> bool:
        """Whether distances are angles between networks of norm 1."""
        return False
