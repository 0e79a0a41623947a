"""How many bytes a run needs on disk and in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from repshape.engine.plan import (
    COPIES_WHILE_PREPARING,
    ITEM_BYTES,
    TRANSFORM_COPIES,
    Plan,
)
from repshape.engine.tiles import QUANTITIES

if TYPE_CHECKING:
    from repshape.engine.growth import Form
    from repshape.engine.job import Job

IndexArray = npt.NDArray[np.intp]

# The interpreter and its libraries.
PROCESS_BYTES = 190 * 2**20
# The numbers of all pairs: of the layer below, of the last compositions, and of the result.
MATRICES_IN_MEMORY = 3


def transform_bytes(sizes: IndexArray, item: int) -> int:
    """Return the bytes of the transforms of all pairs of networks of these sizes.

    >>> transform_bytes(np.array([1, 2, 3]), item=4)  # 1 * 2 + 1 * 3 + 2 * 3 numbers
    44
    """
    total = sizes.sum(dtype=np.int64)
    return int(item * (total**2 - (sizes.astype(np.int64) ** 2).sum()) // 2)


def disk_bytes(sizes: IndexArray, form: Form, changed: Sequence[float], compressed: float) -> int:
    """Return the bytes of a finished store.

    Parameters
    ----------
    sizes : ndarray of int, shape (K,)
        Numbers of neurons.
    form : Form
    changed : sequence of float
        The share of pairs that each layer of the polish changes. A tile of a layer has
        alignments only if one of its pairs was changed.
    compressed : float
        What compression leaves of the alignments, as a share.
    """
    plan = Plan(len(sizes), form.edge, form.rows)
    chunk = ITEM_BYTES * (len(QUANTITIES) + 1) * form.edge**2
    numbers = (1 + len(changed)) * len(plan.tiles) * chunk
    if form.alignments is None:
        return numbers
    item = np.dtype(form.alignments).itemsize
    pairs_per_tile = len(sizes) * (len(sizes) - 1) / 2 / max(len(plan.tiles), 1)
    kept = 1 + sum(1 - (1 - share) ** pairs_per_tile for share in changed)
    return numbers + int(compressed * kept * transform_bytes(sizes, item))


def memory_bytes(job: Job, forms: Mapping[str, Form], sizes: IndexArray) -> int:
    """Return about how much memory a run takes at most, over all of its stages."""
    K = len(job.labels)
    edge = max(form.edge for form in forms.values())
    networks = min(K, job.sizes.capacity(job.settings.memory, edge)) * job.sizes.prepared
    preparing = COPIES_WHILE_PREPARING * job.sizes.prepared
    matrices = MATRICES_IN_MEMORY * len(QUANTITIES) * ITEM_BYTES * K**2
    transforms = 0
    for name, form in forms.items():
        if form.alignments is None:
            continue
        if job.paths[name] is None:  # all of them, as they are kept and as they are used
            item = np.dtype(form.alignments).itemsize + ITEM_BYTES
            transforms += transform_bytes(sizes, item)
        else:  # those of a tile, and the legs of its compositions
            used = TRANSFORM_COPIES * form.edge**2 + 2 * form.edge * K
            transforms = max(transforms, used * job.sizes.transform)
    return PROCESS_BYTES + networks + preparing + matrices + transforms
