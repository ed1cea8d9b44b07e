"""Types of what users pass and get, which validation tells apart when it sees them."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import ArrayLike

# X: an array, a sparse matrix, a table (pandas, polars, pyarrow), a dask array, or objects.
Input: TypeAlias = Any
# Coordinates: an array, a table where `set_output` asks for one, or a lazy dask array.
Output: TypeAlias = Any
# One number per row: how often it counts.
Weights: TypeAlias = ArrayLike | None
# Embeddings to look at: an array, or arrays and models by name.
Embeddings: TypeAlias = Any
# A metric by its name, or a callable.
MetricName: TypeAlias = Any
# What another library or another process hands over.
Foreign: TypeAlias = Any
# A table of pandas, which is optional.
DataFrame: TypeAlias = Any
