"""Dimension reduction (manifold learning) with an out-of-sample map for every method."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .methods import METHODS

__version__ = "0.2.0"  # the only place; the build reads it here

# Public name -> module. Nothing heavy is imported until a name is used (PEP 562).
_HOME = {name: f".methods.{module}" for name, module in METHODS.items()}
_HOME |= {"SpectralEmbedding": ".methods.spectral"}  # scikit-learn's name
_HOME |= dict.fromkeys(("Pipeline", "Columns"), ".pipeline")
_HOME |= {"RowBlocks": ".blocks", "open_blocks": ".io.block_files"}
_HOME |= {"save": ".store", "load": ".store", "estimate": ".evidence.estimate"}
_HOME |= {"jl_min_dim": ".methods.random_projection"}
_HOME |= dict.fromkeys(("neighbors", "NeighborGraph", "NeighborsTransformer"), ".neighbor_graph")
_HOME |= {"diagnose": ".evidence.diagnosis", "dimension": ".evidence.dimension"}
_HOME |= {"evaluate": ".evidence.quality", "Evaluation": ".evidence.quality"}
_HOME |= {"compare": ".evidence.compare", "Comparison": ".evidence.compare"}
_HOME |= {"view": ".explorer"}
_MODULES = ("errors", "progress", "datasets", "io", "plot", "report", "accelerate")

__all__ = [*_HOME, *_MODULES]

if TYPE_CHECKING:
    from . import accelerate as accelerate
    from . import datasets as datasets
    from . import errors as errors
    from . import io as io
    from . import plot as plot
    from . import progress as progress
    from . import report as report
    from .blocks import RowBlocks as RowBlocks
    from .evidence.compare import Comparison as Comparison
    from .evidence.compare import compare as compare
    from .evidence.diagnosis import diagnose as diagnose
    from .evidence.dimension import dimension as dimension
    from .evidence.estimate import estimate as estimate
    from .evidence.quality import Evaluation as Evaluation
    from .evidence.quality import evaluate as evaluate
    from .explorer import view as view
    from .io.block_files import open_blocks as open_blocks
    from .methods.classical_mds import ClassicalMDS as ClassicalMDS
    from .methods.isomap import Isomap as Isomap
    from .methods.kernel_pca import KernelPCA as KernelPCA
    from .methods.lle import LTSA as LTSA
    from .methods.lle import HessianLLE as HessianLLE
    from .methods.lle import LocallyLinearEmbedding as LocallyLinearEmbedding
    from .methods.lle import ModifiedLLE as ModifiedLLE
    from .methods.mds import MDS as MDS
    from .methods.mds import NonMetricMDS as NonMetricMDS
    from .methods.pca import PCA as PCA
    from .methods.random_projection import GaussianRandomProjection as GaussianRandomProjection
    from .methods.random_projection import HadamardRandomProjection as HadamardRandomProjection
    from .methods.random_projection import SparseRandomProjection as SparseRandomProjection
    from .methods.random_projection import jl_min_dim as jl_min_dim
    from .methods.spectral import DiffusionMaps as DiffusionMaps
    from .methods.spectral import LaplacianEigenmaps as LaplacianEigenmaps
    from .methods.spectral import SpectralEmbedding as SpectralEmbedding
    from .methods.tsne import SNE as SNE
    from .methods.tsne import TSNE as TSNE
    from .methods.umap import UMAP as UMAP
    from .neighbor_graph import NeighborGraph as NeighborGraph
    from .neighbor_graph import NeighborsTransformer as NeighborsTransformer
    from .neighbor_graph import neighbors as neighbors
    from .pipeline import Columns as Columns
    from .pipeline import Pipeline as Pipeline
    from .store import load as load
    from .store import save as save


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'lowd' has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "__doc__"])
