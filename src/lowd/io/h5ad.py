"""Read and write AnnData files (.h5ad): cells with annotations, embeddings in `obsm`."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from ..errors import DataError, FileFormatError, MissingPackageError, NotEnoughMemoryError
from .options import Options
from .source import MAX_COMPRESSION_RATIO, Source, require_memory
from .table import Column, Data, Table
from .words import quote_names

if TYPE_CHECKING:
    from anndata import AnnData

HDF5Object: TypeAlias = Any  # a group or dataset of h5py, which is optional
MAX_LINKS = 100_000  # Most links to groups and arrays in one file; every annotation takes two.
MAX_GROUP_DEPTH = 32  # Deepest nesting of groups.
_LABEL_ANNOTATIONS = ("cell_type", "celltype", "label", "labels")
# These are computed from the same cells, so they are not an independent truth.
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
    adata, embeddings = _read_parts(source, options.vector)
    X, columns = _get_rows(adata, options.vector, embeddings, source.name)
    obs = {str(name): _to_array(adata.obs[name], source) for name in adata.obs.columns}
    label = options.label or next((n for n in _LABEL_ANNOTATIONS if n in obs), None)
    if label is not None and label not in obs:
        raise DataError(
            f"{source.name}: no annotation label={label!r}; there are {quote_names(obs)}."
        )
    notes = [f"{source.name}: {'X' if options.vector is None else options.vector} holds the rows."]
    if options.vector is None and embeddings:
        notes.append(
            f"It also holds {quote_names(embeddings)}, computed from them before (vector=...)."
        )
    clusterings = [n for n in obs if n.lower().startswith(_CLUSTERINGS) and n != label]
    if clusterings:
        notes.append(
            f"Clusterings of these cells, not labels: {quote_names(clusterings)}; to color by one: "
            f"label={clusterings[0]!r}."
        )
    if label is not None and options.label is None:
        notes.append(f"Annotation {label!r} was taken as the label (another one: label=...).")
    return Table(
        X,
        "rows",
        columns,
        _to_array([str(name) for name in adata.obs_names], source),
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
        adata = _read_whole(Source(table.source, Path(table.source)))
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


def _read_parts(source: Source, vector: str | None) -> tuple[AnnData, list[str]]:
    """Read the annotations and X or one entry of obsm, nothing else; also return obsm's names."""
    assert source.path is not None
    anndata, h5py = import_anndata(), import_module("h5py")
    try:
        with h5py.File(source.path) as file:
            # AnnData before 0.7 wrote annotations as one dataset
            if isinstance(file.get("obs"), h5py.Dataset):
                _check_claimed_size(source, [file])
                adata = anndata.read_h5ad(source.path)
                return adata, list(adata.obsm)
            names = list(file["obsm"]) if "obsm" in file else []
            rows = "X" if vector is None else f"obsm/{vector}"
            wanted = [name for name in ("obs", "var", rows) if name in file]
            _check_claimed_size(source, [file[name] for name in wanted])
            read_element = _import_element_reader()
            parts = {name: read_element(file[name]) for name in wanted}
        obsm = {vector: parts.pop(f"obsm/{vector}")} if vector in names else {}
        return anndata.AnnData(**parts, obsm=obsm), names
    except (FileFormatError, NotEnoughMemoryError):
        raise
    except Exception as error:  # HDF5 and AnnData raise many kinds of errors
        raise _describe_damage(source.name, error) from None


def _import_element_reader() -> Callable[[HDF5Object], Any]:
    try:
        module = import_module("anndata.io")
    except ImportError:  # before AnnData 0.11
        module = import_module("anndata.experimental")
    reader: Callable[[HDF5Object], Any] = module.read_elem
    return reader


def _read_whole(source: Source) -> AnnData:
    assert source.path is not None
    anndata, h5py = import_anndata(), import_module("h5py")
    try:
        with h5py.File(source.path) as file:
            _check_claimed_size(source, [file])
        adata: AnnData = anndata.read_h5ad(source.path)
    except (FileFormatError, NotEnoughMemoryError):
        raise
    except Exception as error:  # HDF5 and AnnData raise many kinds of errors
        raise _describe_damage(source.name, error) from None
    return adata


def _describe_damage(name: str, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{name} is damaged or is not an AnnData file ({type(error).__name__}: {error})."
    )


def _check_claimed_size(source: Source, items: list[HDF5Object]) -> None:
    """Refuse arrays that do not fit; they may be compressed or not even written.

    Counted is what is read: an array again for each of the links to it.
    """
    h5py, total, count = import_module("h5py"), 0, 0
    found = [(item, 0) for item in items]
    while found:
        (item, depth), count = found.pop(), count + 1
        if isinstance(item, h5py.Dataset):
            total += int(item.size or 0) * int(item.dtype.itemsize)
        elif isinstance(item, h5py.Group):
            for name in item:
                if isinstance(item.get(name, getlink=True), h5py.ExternalLink):
                    raise FileFormatError(f"{source.name}: {name!r} is a link to another file.")
                found.append((item.get(name), depth + 1))
        if depth > MAX_GROUP_DEPTH or count + len(found) > MAX_LINKS:  # a group may contain itself
            raise FileFormatError(
                f"{source.name} has more than {MAX_LINKS} parts to read, or groups in one another "
                f"more than {MAX_GROUP_DEPTH} deep."
            )
    if total > source.max_bytes:
        raise _make_size_error(source)
    require_memory(source, {"cells": 2 * total}, "Write a part of the cells to a file of its own.")


def _make_size_error(source: Source) -> FileFormatError:
    return FileFormatError(
        f"{source.name} claims to decompress to more than {MAX_COMPRESSION_RATIO} times its "
        "size; if it can be trusted, write it without compression."
    )


def _get_rows(
    adata: AnnData, vector: str | None, names: list[str], where: str
) -> tuple[Data, tuple[str, ...]]:
    if vector is None:
        if adata.X is None:
            raise DataError(f"{where} has no X; name one of obsm by vector=: {quote_names(names)}.")
        rows = csr_array(adata.X) if issparse(adata.X) else np.asarray(adata.X)
        return rows, tuple(map(str, adata.var_names))
    if vector not in names:
        raise DataError(f"{where}: no vector={vector!r} in obsm; it holds {quote_names(names)}.")
    rows = np.asarray(adata.obsm[vector])
    return rows, tuple(f"{vector}{j}" for j in range(rows.shape[1]))


def _to_array(column: ArrayLike, source: Source) -> Column:
    """Convert a column to numbers or texts; refuse texts whose array would be out of proportion."""
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        return values
    texts = [str(value) for value in values]
    if 4 * max(map(len, texts), default=0) * len(texts) > source.max_bytes:
        raise _make_size_error(source)
    return np.array(texts, np.str_)
