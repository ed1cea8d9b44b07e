"""Comparison of methods and parameters on the same data: `lowd.compare`."""

from .comparison import compare as compare
from .comparison import measure_stability as measure_stability
from .result import CRITERIA as CRITERIA
from .result import Comparison as Comparison
from .result import Run as Run
from .result import Stability as Stability

__all__ = ["CRITERIA", "Comparison", "Run", "Stability", "compare", "measure_stability"]
