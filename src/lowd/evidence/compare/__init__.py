"""Comparison of methods and parameters on the same data: `lowd.compare`."""

from .comparison import compare as compare
from .result import CRITERIA as CRITERIA
from .result import Comparison as Comparison
from .result import Run as Run
from .result import Stability as Stability
from .stability import measure_stability as measure_stability

__all__ = ["CRITERIA", "Comparison", "Run", "Stability", "compare", "measure_stability"]
