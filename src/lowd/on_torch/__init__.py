"""torch in place of the native core: heavy functions on an NVIDIA GPU, or on the CPU without one.

Each module registers functions that compute within `using("torch")`. Arrays come from the host and
go back to it; what has no function here, and what is too little work for a GPU, is left to the
core. Where torch has Triton, kernels replace plain torch in searches, affinities and descents.
"""

from . import affinities, descents, matrices, neighbors, rows

__all__ = ["affinities", "descents", "matrices", "neighbors", "rows"]
