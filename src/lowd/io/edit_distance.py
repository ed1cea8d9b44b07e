"""Edit distance between strings, by bit-parallel dynamic programming (Myers, 1999).

A column of the table of distances is two words of bits, where the entry below is one larger and
where it is one smaller; a character of the other string moves it on by some ten operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..errors import DataError

_WORD_BITS = 64
_ONE = np.uint64(1)


def levenshtein(a: str, b: str) -> int:
    """Fewest insertions, deletions and replacements that turn one string into the other.

    Usable as a metric of every method that takes a callable.

    >>> from lowd.io import levenshtein
    >>> levenshtein("kitten", "sitting")
    3
    """
    if len(a) > len(b):
        a, b = b, a
    if not a:
        return len(b)
    masks = _make_masks(a)
    all_bits, top = (1 << len(a)) - 1, 1 << (len(a) - 1)
    up, down, distance = all_bits, 0, len(a)
    for letter in b:
        same = masks.get(letter, 0)
        across = (((same & up) + up) ^ up) | same | down
        rise = down | (all_bits & ~(across | up))
        fall = up & across
        distance += bool(rise & top) - bool(fall & top)
        rise = (rise << 1) | 1
        up = ((fall << 1) | (all_bits & ~(across | rise))) & all_bits
        down = rise & across & all_bits
    return distance


def edit_distances(strings: Sequence[str], to: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Edit distances between strings, or from them `to` others, for `metric="precomputed"`.

    Strings of up to 64 characters go through whole columns at once: 3000 words of ten letters
    take a second or two, where a callable takes twenty.

    >>> from lowd.io import edit_distances
    >>> edit_distances(["cat", "cut", "dog"])
    array([[0., 1., 3.],
           [1., 0., 3.],
           [3., 3., 0.]])
    """
    for texts in (strings, strings if to is None else to):
        if isinstance(texts, str) or not len(texts):
            raise DataError("edit_distances needs a list of strings, one per row.")
    n, others = len(strings), list(strings if to is None else to)
    codes, lengths = _encode([*strings, *([] if to is None else to)])
    rows = codes[:n]
    if to is not None:
        codes, lengths = codes[n:], lengths[n:]
    D = np.zeros((n, len(others)))
    for i, text in enumerate(strings):
        later = slice(i + 1 if to is None else 0, None)
        if not text:
            D[i, later] = lengths[later]
        elif len(text) <= _WORD_BITS:
            D[i, later] = _compute_from_one(rows[i, : len(text)], codes[later], lengths[later])
        else:
            D[i, later] = [levenshtein(text, other) for other in others[later]]
        progress.report("edit distances", i + 1, n)
    return D + D.T if to is None else D


def _encode(strings: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Encode strings as rows of small numbers, padded with -1."""
    lengths = np.array([len(text) for text in strings])
    alphabet = {letter: code for code, letter in enumerate(sorted(set("".join(strings))))}
    codes = np.full((len(strings), int(lengths.max())), -1, np.int32)
    for row, text in enumerate(strings):
        codes[row, : len(text)] = [alphabet[letter] for letter in text]
    return codes, lengths


def _compute_from_one(
    pattern: NDArray[np.int32], others: NDArray[np.int32], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Distances from one string to many, advancing by one character of all of them at a time."""
    # The last mask belongs to the padding, which matches nothing.
    masks = np.zeros(int(max(others.max(initial=0), pattern.max())) + 2, np.uint64)
    for position, code in enumerate(pattern):
        masks[code] |= _ONE << np.uint64(position)
    shift = np.uint64(len(pattern) - 1)
    up = np.full(len(others), ~np.uint64(0))
    down = np.zeros(len(others), np.uint64)
    distance = np.full(len(others), len(pattern))
    answer = distance.copy()
    with np.errstate(over="ignore"):
        for position in range(int(lengths.max(initial=0))):
            same = masks[others[:, position]]
            across = (((same & up) + up) ^ up) | same | down
            rise = down | ~(across | up)
            fall = up & across
            distance += ((rise >> shift) & _ONE).astype(np.int64)
            distance -= ((fall >> shift) & _ONE).astype(np.int64)
            rise = (rise << _ONE) | _ONE
            up = (fall << _ONE) | ~(across | rise)
            down = rise & across
            answer = np.where(lengths == position + 1, distance, answer)
    return answer


@lru_cache(4096)
def _make_masks(text: str) -> dict[str, int]:
    """Positions of each letter, as bits."""
    masks: dict[str, int] = {}
    for position, letter in enumerate(text):
        masks[letter] = masks.get(letter, 0) | 1 << position
    return masks
