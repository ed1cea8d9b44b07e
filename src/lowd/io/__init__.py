"""Data files: read rows from the usual formats, and write embeddings."""

from __future__ import annotations

from .edit_distance import edit_distances as edit_distances
from .edit_distance import levenshtein as levenshtein
from .genotypes import Alleles as Alleles
from .genotypes import standardize_genotypes as standardize_genotypes
from .reading import FORMATS as FORMATS
from .reading import KINDS as KINDS
from .reading import read as read
from .table import Table as Table
from .writing import check_target as check_target
from .writing import replace_file as replace_file
from .writing import write as write

__all__ = [
    "FORMATS",
    "KINDS",
    "Alleles",
    "Table",
    "check_target",
    "edit_distances",
    "levenshtein",
    "read",
    "replace_file",
    "standardize_genotypes",
    "write",
]
