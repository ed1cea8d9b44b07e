"""Sizes and tolerances at which the solvers choose a route, stop or warn, and what set them.

Times were measured on two cores with AVX-512 and float64 data, unless said otherwise.
"""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float64).eps)

# -- dense decompositions (dense.py) -------------------------------------------------------------

# Rows up to which a decomposition is over before Ctrl-C would be noticed: half a second.
MAX_UNINTERRUPTED_SIZE = 1000

# -- block Krylov iteration (krylov.py) ----------------------------------------------------------

# Relative residual norm at which Ritz pairs have converged. Products of float32 data carry
# relative errors near 1e-7, which bounds how small a residual can be.
RITZ_TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-10}
# Columns of a block: a product is bound by memory up to 8, so fewer are not cheaper.
MIN_KRYLOV_BLOCK = 8
# Blocks in the basis before it is restarted from its best Ritz vectors.
MAX_KRYLOV_BLOCKS = 12
# Products with a block before the iteration gives up: then the spectrum is nearly flat.
MAX_KRYLOV_PRODUCTS = 60
# Length of what a product adds to the basis, relative to the norm of the matrix: less is rounding.
MIN_NEW_DIRECTION = 1e-13
# Directions of a block that are shorter, relative to its longest, are rounding of its Gram matrix.
MIN_INDEPENDENT_LENGTH = 1e-7
# Where another route is known, the residual norms of the last products forecast how many are left;
# before so many products they may still rise.
FORECAST_PRODUCTS = 3
MIN_FORECAST_PRODUCTS = 5

# -- leading eigenpairs of doubly centered matrices (centered.py) --------------------------------

# LAPACK is quicker than block Krylov up to MAX_DENSE_SAMPLES rows and so many more for each vector
# of a block: to 300 rows for 2 axes (2 ms against 4 ms), to 460 for 10 (10 ms against 17 ms).
MAX_DENSE_SAMPLES = 140
DENSE_SAMPLES_PER_VECTOR = 20
# Rows up to which ClassicalMDS finds all eigenvalues (60 ms), and up to which LAPACK takes over
# where block Krylov has not converged.
MAX_SPECTRUM_SAMPLES = 1000
# Residual norm that is good enough for an initialization.
INITIALIZATION_TOLERANCE = 2e-6
# Eigenvectors below this share of the largest eigenvalue are not multiplied once more: what is left
# of the leading ones in them would grow a thousandfold.
MIN_MULTIPLIED_SHARE = 1e-3
# Share of negative eigenvalues that is worth a warning: printed as 0.1 %, not as 0.0 %, and
# beyond rounding of float32 distances.
MAX_NEGATIVE_SHARE = 5e-4

# -- canonical eigenvectors (canonical.py) -------------------------------------------------------

# Entries of an eigenvector that differ by so little are tied: the first row decides the sign.
TIED_ENTRIES = 1e-6
# Relative difference up to which eigenvalues count as equal, by the precision of the data.
EQUAL_EIGENVALUES = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}

# -- principal axes (pca.py); costs are counted in multiplications -------------------------------

# The SVD of the rows is affordable up to here, where eigenvalues of products have too few digits.
MAX_SVD_FLOPS = 2e6
# Eigenvalues below this share of the largest deserve the SVD's digits.
MIN_SQUARED_RATIO = 1e-5
# Products of float32 rows are done in float64 up to here, at no noticeable cost.
MAX_FLOAT64_FLOPS = 2e7
# Gram matrices of float32 rows are computed in float64 up to here (a fifth of a second).
MAX_FLOAT64_GRAM_FLOPS = 5e9
# Entries of the rows that stay in the cache while they are centered.
CENTERED_BLOCK_ENTRIES = 2**17
# What a Krylov iteration costs beside its products, for each vector of a block.
KRYLOV_OVERHEAD_FLOPS = 60_000_000
# A multiplication of a product with a block, in those of a scatter matrix: 17 ms against 224 ms at
# 20,000 x 784 and 8 columns, 56 against 358 ms at 24 columns, 8 against 96 ms at 5000 x 784.
KRYLOV_PRODUCT_COST = 4.0
# Products with sparse rows are cheap and bases are not: narrow blocks, many products.
SPARSE_KRYLOV_BLOCK = 8
MAX_SPARSE_KRYLOV_PRODUCTS = 400
# Products with sparse rows are summed in float64, whatever the type of the entries.
SPARSE_RITZ_TOLERANCE = {np.dtype(np.float32): 2e-7, np.dtype(np.float64): 1e-10}

# -- principal axes of rows in blocks (streamed_pca.py) ------------------------------------------

# A scatter matrix of 4096 columns takes 128 MiB, and each task holds some.
MAX_STREAMED_FEATURES = 4096
# Vectors beside the wanted ones: the error falls by (λ_l / λ_k)³ in two products.
OVERSAMPLING = 20
VECTORS_PER_COMPONENT = 2
# Residual norm relative to the largest eigenvalue; beyond, it is warned of.
MAX_RANDOMIZED_RESIDUAL = 1e-3

# -- where an iteration has not converged --------------------------------------------------------

# Rows (or columns) up to which a dense decomposition is affordable instead: 10 s at 4000.
MAX_DENSE_FALLBACK_SAMPLES = 4000

# -- smallest eigenpairs of sparse matrices (smallest.py, chebyshev.py, multilevel.py) -----------

# Rows up to which LAPACK is taken: 10 ms at 500 rows, all digits; the SVD of a square root takes
# five times as long. Also up to so many rows for each vector of a block.
MAX_DENSE_SPARSE_SAMPLES = 500
MAX_DENSE_ROOT_SAMPLES = 250
DENSE_SPARSE_SAMPLES_PER_VECTOR = 6
# Width of the graph of an alignment matrix (see `graph_width`) over that of a surface with as many
# entries, up to which a sparse factorization comes before a Chebyshev filter: rolls and squares
# have 0.6 to 1.2 (20 ms against 57 ms, 2000 points), cubes of 3 dimensions 1.7 to 3 (1.1 s against
# 0.2 s, 10,000 points).
MAX_NARROW_RATIO = 1.5
# Width up to which a factorization takes seconds; beyond, it takes minutes and gigabytes.
MAX_FACTOR_WIDTH = 4000
# Wanted: residual norm over spectral gap, which bounds the angle to the true eigenspace; and what
# is accepted without another attempt or a warning.
WANTED_ANGLE = 1e-6
ACCEPTED_ANGLE = 1e-3
# A gap between eigenvalues counts for at least this share of them: repeated ones have none.
MIN_RELATIVE_GAP = 1e-3
# Relative difference of eigenvalues of a sparse matrix that are taken for the same.
EQUAL_SMALLEST_EIGENVALUES = 1e-8
# Eigenvalues and gaps up to this share of the norm are rounding.
ROUNDING_SHARE = 1e-14
# Shift that makes a singular matrix invertible, relative to its norm; next to rounding.
FACTOR_SHIFT = 1e-13
# Columns that a dense factorization eliminates at a time: a fraction of a second at 20,000 rows.
DENSE_FACTOR_COLUMNS = 256
# Columns that it updates at a time, so that no second matrix is allocated.
DENSE_FACTOR_UPDATE_COLUMNS = 2048
# Speed of a dense factorization on one core, and from how long it is announced.
DENSE_FACTOR_FLOPS_PER_SECOND = 4e10
LONG_FACTOR_SECONDS = 60
# Blocks of shift-invert Lanczos, at most; and blocks in its basis before a restart.
MAX_INVERSE_BLOCKS = 40
MAX_INVERSE_BASIS = 15
# Share of the wanted angle at which it stops, so that it is not what limits the angle.
INVERSE_ANGLE_SHARE = 1e-2
# Multiplications of a Chebyshev filter in all, and its products with a block: at least, at most.
FILTER_FLOPS = 4e12
FILTER_PRODUCTS = (1000, 20000)
# Steps of Lanczos that bound the largest eigenvalue (Zhou and Li, 2011), and the length, relative
# to the norm, at which they have found all there is.
BOUND_STEPS = 12
MIN_LANCZOS_LENGTH = 1e-12
# Degree of one sweep beyond which the filter gives up where another route is left.
MAX_FILTER_DEGREE = 600
# Growth of an isolated vector over the others in one sweep, which rounding lets survive.
MAX_FILTER_GROWTH = 1e7
# Nodes of the coarsest level, whose dense eigenproblem takes a fraction of a second.
MAX_COARSEST_NODES = 1500
# Share of an edge weight by which a random number decides between edges of about the same weight.
EDGE_WEIGHT_JITTER = 1e-3
# Directions of a Gram matrix, relative to its largest, that others nearly span.
MIN_GRAM_EIGENVALUE = 1e-9
# Damping of Jacobi smoothing; eigenvalues of D^-1 A are at most 2.
JACOBI_DAMPING = 2 / 3
# Steps of LOBPCG on each coarse level and on the finest, and steps in which a residual must halve.
MAX_COARSE_STEPS = 8
MAX_FINEST_STEPS = 60
MAX_STALLED_STEPS = 8

# -- smallest eigenpairs of dense Laplacians (laplacian.py) --------------------------------------

# Points up to which LAPACK needs no time worth saving: 3 ms.
MAX_DENSE_KERNEL_SAMPLES = 300
# Products with a block take their turn as long as forecasts of what is left stay below n / 25: a
# Cholesky factorization of n points takes as long as n / 50, and forecasts are twice too long at
# first (3000 points, default sigma: 0.6 s; 1.1 s if n / 50 products were tried in any case).
SAMPLES_PER_KERNEL_PRODUCT = 25
# How many rows are within a radius is not known beforehand; memory is estimated for so many.
ASSUMED_NEIGHBORS_IN_RADIUS = 250

# -- SMACOF (smacof.py) --------------------------------------------------------------------------

# A step may be lengthened up to twice without raising the stress (de Leeuw and Heiser, 1980): the
# majorizing parabola is as high there. 1.8 with mixing took the fewest passes, half of plain steps
# with mixing and a third of plain steps, on Gaussian rows, digits and a roll.
SMACOF_RELAXATION = 1.8
# Earlier steps that Anderson mixing combines, and the share of their Gram matrix's trace that is
# added to its diagonal.
ANDERSON_MEMORY = 8
ANDERSON_RIDGE = 1e-10
# Stress, as a share of the squared disparities, that is rounding.
MIN_RELATIVE_STRESS = 1e-24

# -- initial embeddings (initialization.py) ------------------------------------------------------

# Standard deviation of the first column, as in van der Maaten and Hinton (2008).
INITIAL_STD = 1e-4
# Coordinates beyond are so far apart that forces vanish.
MAX_INITIAL_COORDINATE = 1e5
# A column whose spread is so much smaller than the largest is rounding.
MIN_RELATIVE_STD = 1e-8

# -- KL divergence (kl.py) -----------------------------------------------------------------------

# Steps of early exaggeration, as in van der Maaten and Hinton (2008).
EARLY_EXAGGERATION_STEPS = 250
# Rows on which interpolated forces are compared with exact ones.
FORCE_SAMPLE = 256
# Steps between two reports of progress, and between two checks for convergence.
STEPS_PER_REPORT = 10
STEPS_PER_CONVERGENCE_CHECK = 50
# An axis narrower than the first is rescaled to the second during early exaggeration.
MIN_EMBEDDING_STD = 1e-7
RESCALED_STD = 1e-4
# A step so much shorter than the embedding's spread, root mean square, is none.
MAX_CONVERGED_STEP = 1e-9

# -- UMAP (layout.py) ----------------------------------------------------------------------------

# Epochs by default: 100 lose up to 0.005 of recall on five data sets, 400 gain 0.003 at 70,000
# rows.
LAYOUT_EPOCHS = 200
# The step size at first, for learning_rate=1; it falls to 0. Steps of 1 tear clusters apart.
LAYOUT_RATE = 0.5
# Repulsion for repulsion_strength=1, relative to the expected force of umap-learn's sampling, whose
# noise and overshooting inflate its maps: 1.5 gains 0.005 to 0.02 of recall over 1.
REPULSION_WEIGHT = 1.5
# It grows from the first share of its strength over the second share of the epochs.
RAMP_START = 1 / 15
RAMP_SHARE = 0.4
# Added to squared distances of the repulsion, in units of the spread: instead of umap-learn's clip
# of forces, from which it differs by 4 to 10 % on finished maps (0.001 by 19 to 59 %).
SOFTENING = 0.02
# Width of the initial embedding, and noise that parts equal points, both as in umap-learn.
INITIAL_WIDTH = 10.0
INITIAL_JITTER = 1e-4
# Lazy random-walk steps from principal components; and between orthogonalizations.
DIFFUSION_STEPS = 80
STEPS_PER_ORTHOGONALIZATION = 10
# Training points that the repulsion of a new point is summed over where there is no grid.
MAX_SUMMED_POINTS = 2000

# -- inverse maps and regression (preimage.py, regression.py) ------------------------------------

# Regularization of barycentric weights: 1e-3 and 6 neighbors extrapolate a roll's rim twice as
# badly.
PREIMAGE_REGULARIZATION = 1e-2
# Points that are left out, to measure how well they are rebuilt.
LEFT_OUT_SAMPLE = 1000
# Steps of Mika's fixed-point iteration.
PREIMAGE_STEPS = 50
# Points the kernel ridge regression is fitted to.
MAX_REGRESSION_CENTERS = 1000
# Widths of the kernel, as shares of the median squared distance, and ridges that are tried.
KERNEL_WIDTHS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)
RIDGES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
# A smaller ridge would amplify the rounding of new points: weights grow like its inverse.
MIN_RIDGE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}
# Distance up to which a new point is a training point, as a share of the typical distance: a row
# that comes in another type is a little off.
SAME_POINT_DISTANCE = 1e-12
# Training points by which the stretch of the embedding is estimated, near one of them.
N_STRETCH_NEIGHBORS = 6

# -- number of components (scree.py) -------------------------------------------------------------

# Angles at which the density of Marchenko and Pastur is summed.
MARCHENKO_PASTUR_ANGLES = 8192

# -- kernels (kernel_scale.py) -------------------------------------------------------------------

# Rows whose distances give gamma="median": 2 million pairs, in a tenth of a second.
MEDIAN_SAMPLE = 2000
# Sum of a row's kernel values with all others, relative to that with itself, below which the
# kernel matrix is nearly the identity.
MIN_OTHERS_SUM = 0.1

# -- long work of t-SNE and SNE (kl.py) ----------------------------------------------------------

# Seconds of one core for a pair of points in an iteration over all pairs, by kernel.
SECONDS_PER_PAIR = {"student": 0.7e-9, "gauss": 1.5e-9, "rows": 3e-9}
# Estimated time beyond which a warning says so.
LONG_WORK_SECONDS = 600.0
