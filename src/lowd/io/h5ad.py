"""Read and write AnnData files (.h5ad): cells with annotations, embeddings in `obsm`."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from ..errors import DataError, FileFormatError, MissingPackageError
from .options import Options, quote_names
from .source import MAX_COMPRESSION_RATIO, SAFE_BYTES, Source, require_memory
from .table import Column, Data, Table

if TYPE_CHECKING:
    from anndata import AnnData

HDF5Object: TypeAlias = Any  # a group or a dataset of h5py, which is optional
_LABEL_ANNOTATIONS = ("cell_type", "celltype", "label", "labels")
# Computed from the same cells, so they are no independent truth.
_CLUSTERINGS = ("louvain", "leiden", "cluster", "clusters", "seurat_clusters", "kmeans")


def import_anndata() -> ModuleType:
    try:
        return import_module("anndata")
    except ImportError:
        raise MissingPackageError(
            "reading and writing .h5ad needs anndata: pip install 'lowd[anndata]'."
        ) from None


def read(source: Source, options: Options) -> Table:
    """X is `adata.X`, or the entry of `obsm` that `vector` names."""
    if source.path is None:
        raise FileFormatError(f"{source.name}: an .h5ad file is read from disk and not compressed.")
    _check_claimed_size(source)
    adata = _read_anndata(source.path, source.name)
    X, columns = _get_rows(adata, options.vector, source.name)
    obs = {str(name): _to_array(adata.obs[name]) for name in adata.obs.columns}
    label = options.label or next((n for n in _LABEL_ANNOTATIONS if n in obs), None)
    if label is not None and label not in obs:
        raise DataError(
            f"{source.name}: no annotation label={label!r}; there are {quote_names(obs)}."
        )
    notes = [f"{source.name}: {'X' if options.vector is None else options.vector} holds the rows."]
    if options.vector is None and len(adata.obsm):
        notes.append(
            f"It also holds {quote_names(adata.obsm)}, computed from them before (vector=...)."
        )
    clusterings = [n for n in obs if n.lower().startswith(_CLUSTERINGS) and n != label]
    if clusterings:
        notes.append(
            f"Clusterings of these cells, no labels: {quote_names(clusterings)}; to color by one: "
            f"label={clusterings[0]!r}."
        )
    if label is not None and options.label is None:
        notes.append(f"Annotation {label!r} was taken as the label (another one: label=...).")
    return Table(
        X,
        "rows",
        columns,
        np.array([str(name) for name in adata.obs_names]),
        None if label is None else obs.pop(label),
        obs,
        source=source.name,
        notes=tuple(notes),
        label_name=label or "label",
    )


def write(path: Path, table: Table) -> None:
    """Write an embedding to `obsm`, with the cells that were read or with their names alone."""
    anndata = import_anndata()
    key = table.columns[0].rstrip("0123456789_") if table.columns else "map"
    ids = [str(i) for i in (range(len(table)) if table.ids is None else table.ids)]
    if table.source.endswith(".h5ad") and os.path.isfile(table.source):
        adata = _read_anndata(Path(table.source), table.source)
        if list(map(str, adata.obs_names)) != ids:
            raise DataError(
                f"{table.source} has changed: its cells are not those of the embedding."
            )
    else:
        adata = anndata.AnnData(shape=(len(table), 0))
        adata.obs_names = ids
        if table.labels is not None:
            adata.obs[table.label_name] = table.labels
    adata.obsm[f"X_{key}"] = np.asarray(table.X)
    for name, column in table.extra.items():
        adata.obs[f"{key}_{name}"] = column
    adata.write_h5ad(path)


def _check_claimed_size(source: Source) -> None:
    """Refuse a file whose arrays, which may be compressed or not even written, do not fit."""
    assert source.path is not None
    import_anndata()
    h5py, total = import_module("h5py"), 0

    def add(_: str, item: HDF5Object) -> None:
        nonlocal total
        if isinstance(item, h5py.Dataset):
            total += int(item.size or 0) * int(item.dtype.itemsize)

    try:
        with h5py.File(source.path) as file:
            file.visititems(add)
    except Exception as error:  # HDF5 has many
        raise FileFormatError(
            f"{source.name} is damaged, or no AnnData file ({type(error).__name__}: {error})."
        ) from None
    if total > max(SAFE_BYTES, MAX_COMPRESSION_RATIO * source.size):
        raise FileFormatError(
            f"{source.name} claims to decompress to more than {MAX_COMPRESSION_RATIO} times its "
            "size; if it can be trusted, write it without compression."
        )
    require_memory(source, {"cells": 2 * total}, "Write a part of the cells to a file of its own.")


def _read_anndata(path: Path, name: str) -> AnnData:
    anndata = import_anndata()
    try:
        adata: AnnData = anndata.read_h5ad(path)
    except Exception as error:  # HDF5 and AnnData have many
        raise FileFormatError(
            f"{name} is damaged, or no AnnData file ({type(error).__name__}: {error})."
        ) from None
    return adata


def _get_rows(adata: AnnData, vector: str | None, where: str) -> tuple[Data, tuple[str, ...]]:
    if vector is None:
        if adata.X is None:
            raise DataError(
                f"{where} has no X; name one of obsm by vector=: {quote_names(adata.obsm)}."
            )
        rows = csr_array(adata.X) if issparse(adata.X) else np.asarray(adata.X)
        return rows, tuple(map(str, adata.var_names))
    if vector not in adata.obsm:
        raise DataError(
            f"{where}: no vector={vector!r} in obsm; it holds {quote_names(adata.obsm)}."
        )
    rows = np.asarray(adata.obsm[vector])
    return rows, tuple(f"{vector}{j}" for j in range(rows.shape[1]))


def _to_array(column: ArrayLike) -> Column:
    values = np.asarray(column)
    return values if values.dtype.kind in "fiub" else np.array([str(v) for v in values])
