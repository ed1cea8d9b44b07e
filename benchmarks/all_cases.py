"""All benchmark cases, in the order of the table."""

from __future__ import annotations

from cases import Case, Startup
from diagnosis_cases import DIAGNOSIS_CASES
from embedding_cases import EMBEDDING_CASES
from graph_cases import GRAPH_CASES
from linear_cases import LINEAR_CASES
from mds_cases import MDS_CASES
from neighbor_cases import NEIGHBOR_CASES
from quality_cases import QUALITY_CASES
from small_cases import SMALL_CASES
from umap_cases import UMAP_CASES

CASES: dict[str, Case | Startup] = LINEAR_CASES | NEIGHBOR_CASES | GRAPH_CASES | MDS_CASES
CASES |= EMBEDDING_CASES | UMAP_CASES | SMALL_CASES | DIAGNOSIS_CASES | QUALITY_CASES
