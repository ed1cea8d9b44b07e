"""How far a map can be believed: measures of neighborhoods, distances and classes, per point too.

`lowd.evaluate(X, Y)` computes all of them; `trustworthiness` and `continuity` stand alone too.
"""

from .evaluating import evaluate as evaluate
from .evaluation import Evaluation as Evaluation
from .measures import DEFINITIONS as DEFINITIONS
from .measures import Measure as Measure
from .models import evaluate_model as evaluate_model
from .single import continuity as continuity
from .single import trustworthiness as trustworthiness
