"""Eigenpairs: of symmetric operators, of centered matrices and of the scatter of rows."""

from . import kinds as kinds
from .centered import Scaling as Scaling
from .centered import classical_scaling as classical_scaling
from .centered import half_squares as half_squares
from .centered import initial_scaling as initial_scaling
from .centered import keep_positive as keep_positive
from .centered import products_of as products_of
from .centered import warn_if_indefinite as warn_if_indefinite
from .eigen import Eigenpairs as Eigenpairs
from .eigen import Groups as Groups
from .eigen import block_krylov as block_krylov
from .eigen import canonical as canonical
from .eigen import dense_eigenpairs as dense_eigenpairs
from .eigen import equal_groups as equal_groups
from .eigen import leading_eigenpairs as leading_eigenpairs
from .eigen import numerical_rank as numerical_rank
from .eigen import signs as signs
from .principal import Axes as Axes
from .principal import column_means as column_means
from .principal import column_scatter as column_scatter
from .principal import principal_axes as principal_axes
from .principal import principal_scores as principal_scores
from .principal import project as project
from .principal import squared_lengths as squared_lengths
