"""Diagnosis of data before a fit: `lowd.diagnose`."""

from .diagnosis import Preparing as Preparing
from .diagnosis import decide as decide
from .diagnosis import diagnose as diagnose
from .result import Cost as Cost
from .result import Diagnosis as Diagnosis
from .result import Dimension as Dimension
from .result import Finding as Finding
from .result import Recommendation as Recommendation
