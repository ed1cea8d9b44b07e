"""Ranks of listed rows among all rows, exact: by counting products in float64 below limits.

Where more than the listed row itself is within the error of its product, distances from differences
decide.
"""

from __future__ import annotations

from ... import progress
from .arrays import free_bytes
from .library import Tensor, torch, triton
from .row_geometry import FLOAT64_ROUNDING, RowGeometry

# Nearer columns are counted in parts; comparisons at a time; blocks that are loaded ahead.
RANK_PARTS, RANK_LANES, RANK_STAGES = 8, 4096, 3
MAX_COUNTED_BLOCKS = 2**15 - 1  # of a part: two counts share an integer


def rank_most(space: RowGeometry, rows: Tensor, columns: Tensor, ranks: Tensor) -> Tensor:
    """Ranks of lists without doubt; the numbers of the others.

    Doubt is where more than the listed row itself is within the slack of its own distance.
    """
    from .kernels.search import count_below

    n, count = len(space.rows), columns.shape[1]
    width = max(16, triton.next_power_of_2(count))
    block = max(32, RANK_LANES // width)
    parts = max(RANK_PARTS, -(-n // (block * MAX_COUNTED_BLOCKS)))
    span = -(-n // (parts * block)) * block
    step = max(1, (free_bytes(space.device) or 0) // (32 * n))
    left = []
    for i in range(0, len(rows), step):
        own, listed = rows[i : i + step], columns[i : i + step]
        m, line = len(own), torch.arange(len(own), device=space.device)
        q = space.centered[own]
        product = q @ space.centered.T
        product[line, own] = -torch.inf  # then the row itself is beyond all
        at = listed.clamp_min(0)
        middle = space.squares[at] - 2 * torch.gather(product, 1, at)
        size = space.squares[own].sqrt() + space.squares.max().sqrt()
        slack = 4 * (q.shape[1] + 8) * FLOAT64_ROUNDING * size.square()
        low = torch.full((m, width), -torch.inf, dtype=torch.float64, device=space.device)
        high = low.clone()
        low[:, :count] = middle - slack[:, None]
        high[:, :count] = middle + slack[:, None]
        below = torch.empty(m, parts, width, dtype=torch.int32, device=space.device)
        within = torch.empty_like(below)
        count_below[(m, parts)](
            product, space.squares, low, high, below, within, n, span, width, block,
            RANK_STAGES, num_warps=2,
        )  # fmt: skip
        less, most = below.sum(1)[:, :count], within.sum(1)[:, :count]
        listed_ones = listed >= 0
        ranks[i : i + step] = torch.where(listed_ones, less + 1, 0).int()
        doubtful = ((most - less != 1) & listed_ones).any(1) | ~torch.isfinite(slack)
        left.append(i + torch.nonzero(doubtful)[:, 0])
        progress.report("ranks", i + m, len(rows))
    return torch.cat(left)


def rank_exactly(space: RowGeometry, rows: Tensor, columns: Tensor) -> Tensor:
    """1 + the number of other rows that are nearer than each listed one, or tie before it."""
    Q, m = space.rows[rows], len(rows)
    G, slack = space.approximate(Q)
    line = torch.arange(m, device=space.device)
    G[line, rows] = torch.inf  # which no list counts
    ranks = torch.empty_like(columns, dtype=torch.int32)
    for c in range(columns.shape[1]):
        at = columns[:, c].clamp_min(0)
        middle = G[line, at]
        low, high = (middle - slack)[:, None], (middle + slack)[:, None]
        count = (low > G).sum(1)
        unclear = torch.nonzero((low <= G) & (high >= G))
        i, j = unclear[:, 0], unclear[:, 1]
        listed = space.distances(Q, at[:, None])[:, 0]
        for some in torch.arange(len(i), device=space.device).split(2**22):
            value = space.distances(Q[i[some]], j[some, None])[:, 0]
            before = (value < listed[i[some]]) | (
                (value == listed[i[some]]) & (j[some] < at[i[some]])
            )
            count += torch.bincount(i[some][before], minlength=m)
        ranks[:, c] = torch.where(columns[:, c] < 0, 0, count + 1).int()
    return ranks
