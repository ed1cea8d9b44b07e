"""How many dimensions to keep: `lowd.dimension`."""

from .choice import dimension as dimension
from .result import RULES as RULES
from .result import Dimensions as Dimensions
