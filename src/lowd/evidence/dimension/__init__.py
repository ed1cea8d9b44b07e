"""Number of dimensions to keep: `lowd.dimension`."""

from .result import RULES as RULES
from .result import Dimensions as Dimensions
from .selection import dimension as dimension
