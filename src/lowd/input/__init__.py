"""Validation of input: dense and sparse rows, precomputed matrices, mixed tables, dask arrays."""
