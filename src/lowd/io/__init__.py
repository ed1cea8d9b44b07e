"""Files: whatever people keep data in, read into rows; and maps written back."""

from __future__ import annotations

from .edits import edit_distances as edit_distances
from .edits import levenshtein as levenshtein
from .genotypes import Alleles as Alleles
from .genotypes import standardize_genotypes as standardize_genotypes
from .reading import FORMATS as FORMATS
from .reading import read as read
from .table import Table as Table
from .writing import check_target as check_target
from .writing import replaced as replaced
from .writing import write as write

__all__ = [
    "FORMATS",
    "Alleles",
    "Table",
    "check_target",
    "edit_distances",
    "levenshtein",
    "read",
    "replaced",
    "standardize_genotypes",
    "write",
]
