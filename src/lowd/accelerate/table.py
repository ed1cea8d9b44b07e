"""The list of what is replaced and by what; replace it, and put it back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ..errors import DimensionWarning, ScaleWarning
from . import descents, distances, graphs, linear
from .proxy import ClassRule, FunctionRule, make_class, make_function


@dataclass(frozen=True)
class Replacement:
    """A name in a module, and how lowd serves it."""

    module: str
    name: str
    rule: ClassRule | FunctionRule

    def make_proxy(self, original: Any) -> Any:
        """Make the stand-in for the original."""
        if isinstance(self.rule, ClassRule):
            return make_class(original, self.module, self.rule)
        return make_function(original, self.module, self.rule)


DECOMPOSITION, MANIFOLD = "sklearn.decomposition", "sklearn.manifold"
NEIGHBORS, PROJECTION = "sklearn.neighbors", "sklearn.random_projection"
# scikit-learn does not warn of variance in one column, or of as many components as columns.
QUIET = (ScaleWarning, DimensionWarning)
SMACOF = FunctionRule(distances.serve_smacof, distances.STRESS_WARNINGS)

REPLACEMENTS = (
    Replacement(DECOMPOSITION, "PCA", ClassRule(linear.learn_pca, harmless=QUIET)),
    Replacement(
        DECOMPOSITION,
        "IncrementalPCA",
        ClassRule(linear.learn_incremental_pca, linear.learn_batch, harmless=QUIET),
    ),
    Replacement(
        DECOMPOSITION, "TruncatedSVD", ClassRule(linear.learn_truncated_svd, harmless=QUIET)
    ),
    Replacement(
        PROJECTION,
        "GaussianRandomProjection",
        ClassRule(linear.learn_gaussian, methods={"transform": linear.transform_gaussian}),
    ),
    Replacement(
        PROJECTION,
        "SparseRandomProjection",
        ClassRule(methods={"transform": linear.transform_sparsely}),
    ),
    Replacement(
        DECOMPOSITION,
        "KernelPCA",
        ClassRule(
            distances.learn_kernel_pca,
            methods={"transform": distances.transform_kernel_pca},
            harmless=distances.KERNEL_WARNINGS,
        ),
    ),
    Replacement(
        MANIFOLD,
        "ClassicalMDS",
        ClassRule(distances.learn_classical_mds, harmless=distances.SCALING_WARNINGS),
    ),
    Replacement(
        MANIFOLD,
        "Isomap",
        ClassRule(
            distances.learn_isomap,
            methods={"transform": distances.transform_isomap},
            harmless=distances.GEODESIC_WARNINGS,
        ),
    ),
    Replacement(NEIGHBORS, "kneighbors_graph", FunctionRule(graphs.serve_kneighbors_graph)),
    Replacement(
        NEIGHBORS,
        "KNeighborsTransformer",
        ClassRule(methods={"transform": graphs.transform_to_graph}),
    ),
    Replacement(MANIFOLD, "trustworthiness", FunctionRule(graphs.serve_trustworthiness)),
    Replacement(
        MANIFOLD,
        "SpectralEmbedding",
        ClassRule(graphs.learn_spectral_embedding, harmless=graphs.SPECTRAL_WARNINGS),
    ),
    Replacement(
        MANIFOLD,
        "spectral_embedding",
        FunctionRule(graphs.serve_spectral_embedding, graphs.SPECTRAL_WARNINGS),
    ),
    Replacement(
        MANIFOLD, "TSNE", ClassRule(descents.learn_tsne, harmless=descents.DESCENT_WARNINGS)
    ),
    Replacement(
        "umap",
        "UMAP",
        ClassRule(
            descents.learn_umap,
            methods={"transform": descents.transform_umap},
            harmless=descents.DESCENT_WARNINGS,
            leaves_targets=True,
        ),
    ),
    # MDS and LocallyLinearEmbedding are thin wrappers of a function, which is what is replaced.
    Replacement(MANIFOLD, "smacof", SMACOF),
    Replacement(f"{MANIFOLD}._mds", "smacof", SMACOF),
    Replacement(
        f"{MANIFOLD}._locally_linear",
        "_locally_linear_embedding",
        FunctionRule(graphs.serve_locally_linear_embedding, graphs.LOCAL_WARNINGS),
    ),
)


# -- replace it, and put it back ------------------------------------------------------------------

UMAP_MODULE = "umap"

_originals: dict[tuple[str, str], Any] = {}
_proxies: dict[tuple[str, str], Any] = {}


def bind() -> None:
    """Replace every name of the table; names that a module does not define are skipped."""
    now = [one for one in REPLACEMENTS if one.module != UMAP_MODULE]
    # Import all modules before replacing the first, so that they import originals from each other.
    modules = {one.module: import_module(one.module) for one in now}
    for one in now:
        _replace(modules[one.module], one)
    # umap-learn takes seconds to import and may be missing, so it is replaced when it is imported.
    if UMAP_MODULE in sys.modules:
        _replace_umap(sys.modules[UMAP_MODULE])
    elif _after_umap not in sys.meta_path:
        sys.meta_path.insert(0, _after_umap)


def unbind() -> None:
    """Restore the originals."""
    if _after_umap in sys.meta_path:
        sys.meta_path.remove(_after_umap)
    for (module, name), original in _originals.items():
        setattr(import_module(module), name, original)
    _originals.clear()


def is_bound() -> bool:
    """Whether the originals are replaced by the proxies."""
    return bool(_originals)


def list_replaced() -> dict[tuple[str, str], Any]:
    """The modules and names that are replaced now, with the originals."""
    return dict(_originals)


def _replace_umap(module: ModuleType) -> None:
    for one in REPLACEMENTS:
        if one.module == UMAP_MODULE:
            _replace(module, one)


def _replace(module: ModuleType, one: Replacement) -> None:
    key = one.module, one.name
    original = getattr(module, one.name, None)
    if original is None or key in _originals:
        return
    if key not in _proxies:
        _proxies[key] = one.make_proxy(original)
    _originals[key] = original
    setattr(module, one.name, _proxies[key])


class AfterImport(MetaPathFinder):
    """Calls `act(module)` at the end of the import of the named module."""

    def __init__(self, name: str, act: Callable[[ModuleType], None]) -> None:
        self.name, self.act = name, act

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the finder's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)  # acts once; the search below must ask the other finders
        found = find_spec(fullname)
        if found is not None and found.loader is not None:
            found.loader = _ThenAct(found.loader, self.act)
        return found


class _ThenAct(Loader):
    def __init__(self, loader: Loader, act: Callable[[ModuleType], None]) -> None:
        self.loader, self.act = loader, act

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            # Restores the loader, so that the hook leaves no trace.
            module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.act(module)


_after_umap = AfterImport(UMAP_MODULE, _replace_umap)
