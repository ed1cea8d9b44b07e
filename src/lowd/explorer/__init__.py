"""The explorer: linked embeddings of the same rows in a web page, with evidence and new points."""

from __future__ import annotations

from .api import Explorer as Explorer
from .api import view as view

__all__ = ["Explorer", "view"]
