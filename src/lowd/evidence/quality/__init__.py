"""Quality of embeddings: trustworthiness, continuity, R_NX, stress and label-based measures.

`lowd.evaluate(X, Y)` computes all of them, also per point; `trustworthiness` and `continuity` are
functions of their own too.
"""

from .evaluation import continuity as continuity
from .evaluation import evaluate as evaluate
from .evaluation import evaluate_model as evaluate_model
from .evaluation import trustworthiness as trustworthiness
from .measures import DEFINITIONS as DEFINITIONS
from .measures import Measure as Measure
from .result import Evaluation as Evaluation
