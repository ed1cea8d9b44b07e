"""Quality of embeddings: trustworthiness, continuity, R_NX, stress and label-based measures.

`lowd.evaluate(X, Y)` computes all of them, also per point; `trustworthiness` and `continuity` are
functions of their own too.
"""

from .evaluation import evaluate as evaluate
from .measures import DEFINITIONS as DEFINITIONS
from .measures import Measure as Measure
from .model_evaluation import evaluate_model as evaluate_model
from .result import Evaluation as Evaluation
from .single_measures import continuity as continuity
from .single_measures import trustworthiness as trustworthiness
