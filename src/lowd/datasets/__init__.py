"""Data sets: manifolds with known coordinates, clusters, and well-known real data."""

from __future__ import annotations

from .folder import list_datasets as list_datasets
from .folder import load as load
from .manifolds import clusters as clusters
from .manifolds import roll_with_hole as roll_with_hole
from .manifolds import s_curve as s_curve
from .manifolds import severed_sphere as severed_sphere
from .manifolds import swiss_roll as swiss_roll
from .sample import Dataset as Dataset

__all__ = [
    "Dataset",
    "clusters",
    "list_datasets",
    "load",
    "roll_with_hole",
    "s_curve",
    "severed_sphere",
    "swiss_roll",
]
