"""Plots of embeddings and of their quality, drawn with matplotlib (extra `app`).

Every function takes `ax` (or makes a figure of its own, which notebooks and `plt.show()` display)
and returns the axes it drew on; the settings of the user are not changed. `save` writes PNG, SVG
and PDF.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_MODULE_OF_FUNCTION = {
    "scatter": ".embeddings",
    "quality": ".overlays",
    "neighbors": ".overlays",
    "shepard": ".curves",
    "rnx": ".curves",
    "reliability": ".curves",
    "scree": ".curves",
    "dimension": ".curves",
    "loadings": ".linear",
    "biplot": ".linear",
    "eigenimages": ".linear",
    "pca_steps": ".linear",
    "compare": ".overlays",
    "save": ".canvas",
}

_ALIASES = {"neighbours": "neighbors"}

__all__ = [
    "biplot",
    "compare",
    "dimension",
    "eigenimages",
    "loadings",
    "neighbors",
    "pca_steps",
    "quality",
    "reliability",
    "rnx",
    "save",
    "scatter",
    "scree",
    "shepard",
]

if TYPE_CHECKING:
    from .canvas import save as save
    from .curves import dimension as dimension
    from .curves import reliability as reliability
    from .curves import rnx as rnx
    from .curves import scree as scree
    from .curves import shepard as shepard
    from .embeddings import scatter as scatter
    from .linear import biplot as biplot
    from .linear import eigenimages as eigenimages
    from .linear import loadings as loadings
    from .linear import pca_steps as pca_steps
    from .overlays import compare as compare
    from .overlays import neighbors as neighbors
    from .overlays import quality as quality


def __getattr__(name: str) -> Any:
    name = _ALIASES.get(name, name)
    if name not in _MODULE_OF_FUNCTION:
        raise AttributeError(f"module 'lowd.plot' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF_FUNCTION[name], __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
