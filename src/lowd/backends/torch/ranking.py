"""Ranks of listed rows among all rows, exact: by counting squared distances below limits.

Products in float64 give squared distances whose errors are known; rounded to float32 they are
counted. What is within the error of a limit is decided by distances from differences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ... import progress
from .arrays import free_bytes, rows_per_block
from .library import Tensor, torch
from .row_geometry import FLOAT64_ROUNDING, RowGeometry

LIMITS = 15  # of a row at a time: four comparisons find the interval of a distance
RANKED_ROWS = 2**14  # at a time, if there is memory for a bit of each column
COUNT_TILE = (128, 16)  # rows and columns
COUNTED_TILES = 15  # before counts of 8 bits, of 240 columns, are added to those of 16 bits
COUNTED_COLUMNS = 2**16 - 16  # by one program, a multiple of 240: counts of 16 bits
COUNT_OPTIONS = {"num_warps": 4, "num_stages": 3}
MAX_DOUBTFUL = 512  # columns of a row that are too near to a limit
FLOAT32_SLACK = 1.25 * 2.0**-23  # of a square: both sides of a comparison are rounded


class ScaledRows(NamedTuple):
    """Centered rows in float64 of norms up to 1, with zeros up to whole blocks of columns."""

    x: Tensor  # rows beyond all others fill up the last tiles
    halves: Tensor  # -|x|²/2
    scale: float
    block: int  # of columns
    parts: int  # of the rows

    @classmethod
    def of(cls, space: RowGeometry) -> ScaledRows | None:
        """None where all rows are equal, or so large or small that distances round to ties."""
        norm = float(space.squares.max().sqrt())
        if space.unit != 1 or not 0 < norm < np.inf:
            return None
        n, d = space.centered.shape
        block = 64 if d > 32 else 32 if d > 16 else 16
        parts, width = -(-n // COUNTED_COLUMNS), COUNT_TILE[1] * COUNTED_TILES
        pad = -(-n // (parts * width)) * parts * width
        scale = 2.0 ** -np.ceil(np.log2(norm))
        double = {"dtype": torch.float64, "device": space.device}
        x = torch.zeros(pad, -(-d // block) * block, **double)
        x[:n, :d] = space.centered * scale
        halves = torch.full((pad,), -torch.inf, **double)
        halves[:n] = space.squares * (-0.5 * scale**2)
        return cls(x, halves, float(scale), block, parts)


def rank_most(space: RowGeometry, rows: Tensor, columns: Tensor, ranks: Tensor) -> Tensor:
    """Ranks of the lists; the numbers of those with too many columns near a limit."""
    scaled = ScaledRows.of(space)
    if scaled is None:
        return torch.arange(len(rows), device=space.device)
    left, step = [], RANKED_ROWS
    free = free_bytes(space.device)
    if free is not None:
        step = max(COUNT_TILE[0], min(step, free * COUNTED_TILES // (8 * len(scaled.x))))
    for i in range(0, len(rows), step):
        part = slice(i, i + step)
        doubtful = torch.zeros(len(rows[part]), dtype=torch.bool, device=space.device)
        for c in range(0, columns.shape[1], LIMITS):
            some = part, slice(c, c + LIMITS)
            ranks[some], crowded = _rank(space, scaled, rows[part], columns[some])
            doubtful |= crowded
        left.append(i + torch.nonzero(doubtful)[:, 0])
        progress.report("ranks", min(i + step, len(rows)), len(rows))
    return torch.cat(left)


def _rank(
    space: RowGeometry, scaled: ScaledRows, own: Tensor, columns: Tensor
) -> tuple[Tensor, Tensor]:
    """Ranks of up to 15 listed rows each, and which lists are left."""
    from .kernels.search import count_nearer

    (m, count), device = columns.shape, space.device
    at, is_listed = columns.clamp_min(0), columns >= 0
    listed = space.distances(space.rows[own], at)
    squares = listed / space.factor * scaled.scale
    squares = squares.square() if space.measure == "euclidean" else squares * scaled.scale
    (bm, bn), pad = COUNT_TILE, -(-m // COUNT_TILE[0]) * COUNT_TILE[0]
    limits = torch.full((pad, LIMITS + 1), -torch.inf, device=device)
    limits[:m, :count] = torch.where(is_listed, squares, -torch.inf)
    limits, order = limits[:, :LIMITS].sort(1)
    limits = torch.nn.functional.pad(limits, (0, 1)).contiguous()
    rows = torch.zeros(pad, dtype=torch.int64, device=device)
    rows[:m] = own
    q, halves = scaled.x[rows], scaled.halves[rows]
    slack = FLOAT32_SLACK * limits.amax(1).clamp_min(0).double()
    size = (-2 * halves).sqrt() + 1
    slack += 4 * (space.rows.shape[1] + 8) * FLOAT64_ROUNDING * size.square()
    slack = (slack * (1 + 2.0**-20)).float()
    n, parts = len(scaled.x), scaled.parts
    fields = torch.empty(parts, pad, 8, dtype=torch.int32, device=device)
    words = torch.empty(n // (bn * COUNTED_TILES), pad, bn, dtype=torch.int16, device=device)
    count_nearer[(pad // bm, parts)](
        q, scaled.x, halves, scaled.halves, limits, slack, fields, words, pad, n // parts,
        q.shape[1], scaled.block, bm, bn, COUNTED_TILES, **COUNT_OPTIONS,
    )  # fmt: skip
    # Of four intervals the first and the third share an integer, and the others.
    intervals = torch.stack([fields & 0xFFFF, fields >> 16 & 0xFFFF], -1).sum(0)
    intervals = intervals.reshape(pad, 4, 2, 2).transpose(2, 3).reshape(pad, 16)
    below = torch.empty(pad, LIMITS, dtype=torch.int64, device=device)
    below.scatter_(1, order, intervals[:, :LIMITS].cumsum(1))
    # A row is nearer to itself than all others, and is counted or doubtful as they are.
    below = below[:m, :count] - 1
    pairs = _list_doubtful(words, m)
    crowded = (torch.bincount(pairs[:, 0], minlength=m) > MAX_DOUBTFUL) | ~torch.isfinite(slack[:m])
    for part in pairs[~crowded[pairs[:, 0]]].split(rows_per_block(2 * len(q[0]), device)):
        i, j = part.unbind(1)
        value = space.distances(space.rows[own[i]], j[:, None])
        before = (value < listed[i]) | ((value == listed[i]) & (j[:, None] < at[i]))
        below.index_add_(0, i, (before | (j == own[i])[:, None]).long())
    return torch.where(is_listed, below + 1, 0).int(), crowded


def _list_doubtful(words: Tensor, m: int) -> Tensor:
    """Row and column of each bit of words (of tiles of columns, rows, columns of a tile)."""
    width = words.shape[2]
    four = words.view(torch.int64)  # columns at a time: few words have a bit
    at = torch.nonzero(four)
    at = at[at[:, 1] < m]
    bits = four[at[:, 0], at[:, 1], at[:, 2], None] >> torch.arange(64, device=words.device)
    which, bit = torch.nonzero(bits & 1).unbind(1)
    tile = at[which, 0] * COUNTED_TILES + bit % 16
    return torch.stack([at[which, 1], tile * width + 4 * at[which, 2] + bit // 16], 1)


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
