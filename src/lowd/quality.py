"""The import path of the quality measures in 0.1.0; they live in `lowd.evidence.quality`."""

from .evidence.quality import continuity as continuity
from .evidence.quality import evaluate as evaluate
from .evidence.quality import trustworthiness as trustworthiness
