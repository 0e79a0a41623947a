"""Linear assignment of many matrices at once, on the device of a tensor."""

from __future__ import annotations

import torch
from torch import Tensor


def nearest_permutations(G: Tensor) -> Tensor:
    """Return the permutation matrices that maximise <T, G>, for square matrices (B, n, n).

    The Hungarian algorithm by shortest augmenting paths, for all matrices at once: rows are added
    one by one, and each takes as many steps as the slowest matrix may need, so that nothing has to
    be read back from the device. Column 0 and row 0 stand for "none".

    >>> nearest_permutations(torch.tensor([[[1.0, 2.0], [4.0, 1.0]]]))
    tensor([[[0., 1.],
             [1., 0.]]])
    """
    B, n, _ = G.shape
    cost = torch.nn.functional.pad(-G, (1, 0, 1, 0))
    row_price, column_price = G.new_zeros(B, n + 1), G.new_zeros(B, n + 1)
    owner = torch.zeros(B, n + 1, dtype=torch.long, device=G.device)  # of each column
    for row in range(1, n + 1):
        owner[:, 0] = row
        column = torch.zeros(B, 1, dtype=torch.long, device=G.device)
        seen = torch.zeros_like(owner, dtype=torch.bool)
        slack, way = torch.full_like(row_price, torch.inf), torch.zeros_like(owner)
        for _ in range(row):
            here = owner.gather(1, column)  # 0 once a free column is reached
            ends = here == 0
            seen = seen.scatter(1, column, ~ends)
            reduced = cost.gather(1, here[:, :, None].expand(-1, -1, n + 1))[:, 0]
            reduced = reduced - row_price.gather(1, here) - column_price
            closer = (reduced < slack) & ~seen & ~ends
            slack = torch.where(closer, reduced, slack)
            way = torch.where(closer, column, way)
            open_slack = torch.where(seen, torch.inf, slack)
            open_slack[:, 0] = torch.inf
            least, nearest = open_slack.min(1, keepdim=True)
            least = torch.where(ends, 0.0, least)
            row_price = row_price.scatter_add(1, owner, torch.where(seen, least, 0.0))
            column_price = column_price - torch.where(seen, least, 0.0)
            slack = torch.where(seen, slack, slack - least)
            column = torch.where(ends, column, nearest)
        for _ in range(row):  # hand the columns on along the path
            before = way.gather(1, column)
            owner = owner.scatter(1, column, owner.gather(1, before))
            column = before
    found: Tensor = torch.nn.functional.one_hot(owner[:, 1:] - 1, n).to(G.dtype).mT
    return found
