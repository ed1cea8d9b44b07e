"""Sizes and tolerances at which the solvers choose a route, stop or warn, and what set them.

Times are of whole fits where a method is named, else of the operation alone: on two cores with
AVX-512, float64 data. `eps` is the spacing of float64 numbers beside 1, 2e-16; of float32 ones,
1e-7.
"""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float64).eps)

# -- dense decompositions (dense.py) -------------------------------------------------------------

# Rows up to which a decomposition is over before Ctrl-C would be noticed: 0.3 s, an SVD.
MAX_UNINTERRUPTED_SIZE = 1000

# -- block Krylov iteration (krylov.py) ----------------------------------------------------------

# Relative residual norm at which Ritz pairs have converged: over a relative gap of 1e-3 it bounds
# the angle by 1e-7. Residuals reach 1e-14 at best, and 3e-8 of float32 data.
RITZ_TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-10}
# Columns of a block. 4, 8, 16: 116, 117, 138 ms (kernel PCA), 78, 77, 89 ms (PCA, 20,000 x 784).
MIN_KRYLOV_BLOCK = 8
# Blocks in the basis before it is restarted from its best Ritz vectors: a flat spectrum takes
# 422 ms with 6, 282 ms with 12, 292 ms with 24; others are done before.
MAX_KRYLOV_BLOCKS = 12
# Products with a block before the iteration gives up. 4 to 9 are usual, and 33 for distances in
# 300 dimensions; beyond 60 the spectrum is nearly flat.
MAX_KRYLOV_PRODUCTS = 60
# Length of what a product adds to the basis, relative to the norm of the matrix; less is rounding,
# by which residuals end at 1e-14.
MIN_NEW_DIRECTION = 1e-13
# Directions of a block that are shorter, relative to its longest, are rounding of its Gram matrix,
# whose eigenvalues are off by about eps: √eps = 1.5e-8 for their roots (1.2e-8 as measured).
MIN_INDEPENDENT_LENGTH = 1e-7
# Where another route is known, the residual norms of the last products forecast how many are left;
# before so many products they may still rise. PCA of 5000 x 784 normal numbers: 136 ms, and 409 ms
# without forecasts; forecasts from 1, 3 or 6 products are as good.
FORECAST_PRODUCTS = 3
MIN_FORECAST_PRODUCTS = 5

# -- leading eigenpairs of doubly centered matrices (centered.py) --------------------------------

# LAPACK is quicker than block Krylov up to MAX_DENSE_SAMPLES rows and so many more for each vector
# of a block. 2 axes, kernel PCA: 1.7 against 4.0 ms at 150 rows, 4.4 against 5.7 ms at 300, 19
# against 12 ms at 600; 50 axes: 30 against 124 ms at 600, 0.8 against 0.4 s at 2400.
MAX_DENSE_SAMPLES = 140
DENSE_SAMPLES_PER_VECTOR = 20
# So many of these for an initialization, which needs fewer products: 2 axes, distances of images,
# 1.1 against 1.5 ms at 200 rows, 2.5 against 1.7 ms at 300.
DENSE_INITIALIZATION_SHARE = 0.75
# Rows up to which ClassicalMDS finds all eigenvalues (64 ms instead of 4 ms; 450 ms at 2000 rows),
# and up to which LAPACK takes over where block Krylov has not converged.
MAX_SPECTRUM_SAMPLES = 1000
# Residual norm that is good enough for an initialization, as of float32 data: the same stress after
# as many steps, 147 ms instead of 175 ms; and dissimilarities at random do not warn.
INITIALIZATION_TOLERANCE = 2e-6
# Eigenvectors below this share of the largest eigenvalue are not multiplied once more: what is left
# of the leading ones in them would grow a thousandfold.
MIN_MULTIPLIED_SHARE = 1e-3
# Share of negative eigenvalues that is worth a warning: printed as 0.1 %, not as 0.0 %, and
# beyond rounding of float32 distances.
MAX_NEGATIVE_SHARE = 5e-4

# -- canonical eigenvectors (canonical.py) -------------------------------------------------------

# Entries of an eigenvector that differ by so little are tied: the first row decides the sign. As
# large as the angles to which solvers find them, so that all solvers see the same ties.
TIED_ENTRIES = 1e-6
# Relative difference up to which eigenvalues count as equal: the tolerance of Ritz pairs, which
# bounds their error; for float32 data 100 eps.
EQUAL_EIGENVALUES = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-10}

# -- principal axes (pca.py); costs are counted in multiplications -------------------------------

# The SVD of the rows is affordable up to here, where eigenvalues of products have too few digits:
# 1.3 ms instead of 0.7 ms at 1000 x 40, and errors of 2e-13 instead of 2e-7 in a variance of 1e-10.
MAX_SVD_FLOPS = 2e6
# Eigenvalues below this share of the largest deserve the SVD's digits: those of products are off by
# eps of the largest, of which 1e-5 leaves 2e-11 (4e-12 as measured).
MIN_SQUARED_RATIO = 1e-5
# Products of float32 rows are done in float64 up to here: 1.5 ms instead of 1.3 ms at 2000 x 100,
# errors of 7e-16 instead of 8e-9; 9 ms instead of 5 ms at 16 times as many.
MAX_FLOAT64_FLOPS = 2e7
# Gram matrices of float32 rows are computed in float64 up to here: 75 ms instead of 64 ms at
# 200 x 20,000 and errors of 3e-12 instead of 3e-5; 346 ms instead of 205 ms beyond, 600 x 30,000.
MAX_FLOAT64_GRAM_FLOPS = 5e9
# Entries of the rows that are centered at a time: 1 MiB beside the rows; a fourth or four times of
# it take as long.
CENTERED_BLOCK_ENTRIES = 2**17
# What a Krylov iteration costs beside its products, for each vector of a block. Without it,
# 300 x 300 normal numbers take 5.2 ms instead of 3.3 ms; 2000 x 784 factors take 11 ms, by their
# covariance 39 ms.
KRYLOV_OVERHEAD_FLOPS = 60_000_000
# A multiplication of a product with a block, in those of a scatter matrix: 17 ms against 224 ms at
# 20,000 x 784 and 8 columns, 56 against 358 ms at 24 columns, 8 against 96 ms at 5000 x 784. It is
# when an iteration gives up; 1 or 16 would do.
KRYLOV_PRODUCT_COST = 4.0
# Products with sparse rows are cheap and bases are not: narrow blocks, many products. 4, 8, 16:
# 446, 184, 272 ms for 2 axes of 10,000 texts, which take 14 products; 20 axes take 46.
SPARSE_KRYLOV_BLOCK = 8
MAX_SPARSE_KRYLOV_PRODUCTS = 400
# Products with sparse rows are summed in float64, whatever the type of the entries, which leaves
# 2 eps of float32.
SPARSE_RITZ_TOLERANCE = {np.dtype(np.float32): 2e-7, np.dtype(np.float64): 1e-10}

# -- principal axes of rows in blocks (streamed_pca.py) ------------------------------------------

# A scatter matrix of 4096 columns takes 128 MiB, and each task holds some.
MAX_STREAMED_FEATURES = 4096
# Twice the wanted vectors, and some (Halko, Martinsson and Tropp, 2011): the error
# falls by (λ_l / λ_k)³ in two products.
OVERSAMPLING = 20
VECTORS_PER_COMPONENT = 2
# Residual norm relative to the largest eigenvalue; beyond, it is warned of: over a gap of a tenth
# it is an angle of half a degree, which a picture shows.
MAX_RANDOMIZED_RESIDUAL = 1e-3

# -- where an iteration has not converged --------------------------------------------------------

# Rows (or columns) up to which a dense decomposition is affordable instead: 5 s at 4000.
MAX_DENSE_FALLBACK_SAMPLES = 4000

# -- smallest eigenpairs of sparse matrices (smallest.py, chebyshev.py, multilevel.py) -----------

# Rows up to which LAPACK is taken, for all digits (a residual of 1e-15, not 2e-9): 12 ms instead of
# 6 ms at 500 rows, 55 instead of 11 ms at 1000. The SVD of a square root: 14 instead of 8 ms at
# 250, 55 instead of 11 ms at 500. Also up to so many rows for each vector of a block: 39 instead of
# 87 ms for 100 axes of 600 rows, 132 instead of 153 ms of 1200.
MAX_DENSE_SPARSE_SAMPLES = 500
MAX_DENSE_ROOT_SAMPLES = 250
DENSE_SPARSE_SAMPLES_PER_VECTOR = 6
# Nodes of a Laplacian up to which a Chebyshev filter is tried first. At 300,000 it takes 0.9 of the
# time for a cube and 1.3 times for a roll; at a million rows in clusters 1.2 times (a whole fit, 49
# s), since it gives up late.
MAX_FILTERED_NODES = 200_000
# Width of the graph of an alignment matrix (see `graph_width`) over that of a surface with as many
# entries, up to which a sparse factorization comes before a Chebyshev filter: rolls and squares
# have 0.6 to 1.2 (21 ms against 55 ms, 2000 points), cubes of 3 dimensions 1.7 to 3 (1.06 s against
# 0.22 s, 10,000 points).
MAX_NARROW_RATIO = 1.5
# Width up to which a factorization takes seconds; beyond, minutes and gigabytes. LTSA of points in
# a cube: 1.7 s at a width of 1500 (10,000 points), 8 s at 2400, 36 s and 1.4 GiB at 3700.
MAX_FACTOR_WIDTH = 4000
# Wanted: residual norm over spectral gap, which bounds the angle to the true eigenspace (Davis and
# Kahan, 1970), by ten eps of float32; and what is accepted without another attempt or a warning, a
# thousandth of the spread: a pixel.
WANTED_ANGLE = 1e-6
ACCEPTED_ANGLE = 1e-3
# A gap between eigenvalues counts for at least this share of them: repeated ones have none. With
# the wanted angle it asks for residuals of 1e-9 of an eigenvalue, which are reached.
MIN_RELATIVE_GAP = 1e-3
# Relative difference of eigenvalues of a sparse matrix that are taken for the same: Rayleigh
# quotients are off by the square of the angle, 1e-12, times the norm over the eigenvalue.
EQUAL_SMALLEST_EIGENVALUES = 1e-8
# Eigenvalues and gaps up to this share of the norm are rounding: 50 eps.
ROUNDING_SHARE = 1e-14
# Shift that makes a singular matrix invertible, relative to its norm: 500 eps, the rounding of the
# pivots.
FACTOR_SHIFT = 1e-13
# Columns that a dense factorization eliminates at a time, between two looks for Ctrl-C: 64, 256,
# 1024 take 2.3, 1.1, 0.9 s at 3000 rows.
DENSE_FACTOR_COLUMNS = 256
# Columns that it updates at a time, so that no second matrix is allocated; half or twice are as
# quick.
DENSE_FACTOR_UPDATE_COLUMNS = 2048
# Speed of a dense factorization on one core (2.8e10 at 7000 rows, 2.6e10 at 3000), and from how
# long it is announced: a minute, by convention.
DENSE_FACTOR_FLOPS_PER_SECOND = 2.8e10
LONG_FACTOR_SECONDS = 60
# Blocks of shift-invert Lanczos, at most: 3 to 5 are usual, 28 for a helix of 20,000 points; and
# blocks in its basis before a restart, which bound memory: 7 or 30 are as quick (167 ms, 10,000
# points).
MAX_INVERSE_BLOCKS = 40
MAX_INVERSE_BASIS = 15
# Share of the wanted angle at which it stops, so that it is not what limits the angle.
INVERSE_ANGLE_SHARE = 1e-2
# Multiplications of a Chebyshev filter in all: seven minutes at 9e9 a second; and its products with
# a block: at least, at most. 140 to 620 are usual (digits, cubes, rolls of 5000 to 30,000 points).
FILTER_FLOPS = 4e12
FILTER_PRODUCTS = (1000, 20000)
# Steps of Lanczos that bound the largest eigenvalue (Zhou and Li, 2011): 12 or 24 take 135 or
# 148 ms, and 1 bounds it too loosely (420 ms); and the length, relative to the norm, at which they
# have found all there is: the rounding of n steps.
BOUND_STEPS = 12
MIN_LANCZOS_LENGTH = 1e-12
# Degree of one sweep beyond which the filter gives up where another route is left: 300, 600, 1200
# take 0.80, 0.78, 1.04 s (20,000 points of a helix, which no filter solves).
MAX_FILTER_DEGREE = 600
# Growth of an isolated vector over the others in one sweep: eps times it, 2e-9, is what rounding
# leaves in them, less than the wanted angle.
MAX_FILTER_GROWTH = 1e7
# Nodes of the coarsest level: 750, 1500, 3000 take 0.89, 0.80, 1.75 s (20,000 points of a helix).
MAX_COARSEST_NODES = 1500
# Share of an edge weight by which a random number decides between edges of about the same weight:
# else a path is one aggregate (decision 023).
EDGE_WEIGHT_JITTER = 1e-3
# Directions of a Gram matrix, relative to its largest, that others nearly span: rounding would be
# eps / 1e-9 of them, 2e-7, less than the wanted angle.
MIN_GRAM_EIGENVALUE = 1e-9
# Damping of Jacobi smoothing (Briggs, Henson and McCormick, 2000); eigenvalues of D^-1 A
# are at most 2, and any damping below 1 leaves the cycle positive.
JACOBI_DAMPING = 2 / 3
# Steps of LOBPCG on each coarse level and on the finest, of which 20,000 points of a helix need 30,
# and steps in which a residual must halve; 2 to 16 coarse steps, and 4 to 16 to halve, are as quick
# there (0.9 s).
MAX_COARSE_STEPS = 8
MAX_FINEST_STEPS = 60
MAX_STALLED_STEPS = 8

# -- smallest eigenpairs of dense Laplacians (laplacian.py) --------------------------------------

# Points up to which LAPACK is quicker: 3.0 against 6.3 ms at 150, 6.0 against 6.9 to 10 ms at 300;
# 21 against 13 to 21 ms at 600.
MAX_DENSE_KERNEL_SAMPLES = 300
# Products with a block take their turn as long as forecasts of what is left stay below n / 25: a
# Cholesky factorization of n points takes as long as n / 50, and forecasts are twice too long at
# first (3000 points, default sigma: 0.6 s; 1.1 s if n / 50 products were tried in any case).
SAMPLES_PER_KERNEL_PRODUCT = 25
# How many rows are within a radius is not known beforehand; memory is estimated for so many, by
# convention.
ASSUMED_NEIGHBORS_IN_RADIUS = 250

# -- SMACOF (smacof.py) --------------------------------------------------------------------------

# A step may be lengthened up to twice without raising the stress (de Leeuw and Heiser, 1980): the
# majorizing parabola is as high there. Steps with 1, 1.8, 1.95: 156, 131, 130 (Gaussian rows), 137,
# 105, 98 (digits by rank).
SMACOF_RELAXATION = 1.8
# Earlier steps that Anderson mixing combines: 1, 8, 16 take 145, 131, 141 steps (Gaussian rows),
# 19, 11, 11 (a roll); and the share of their Gram matrix's trace that is added to its diagonal,
# which leaves six digits of the shares.
ANDERSON_MEMORY = 8
ANDERSON_RIDGE = 1e-10
# Stress, as a share of the squared disparities, that is rounding: distances that agree to 1e-12.
MIN_RELATIVE_STRESS = 1e-24

# -- initial embeddings (initialization.py) ------------------------------------------------------

# Standard deviation of the first column, as in Kobak and Berens (2019).
INITIAL_STD = 1e-4
# Coordinates beyond are so far apart that forces vanish: they fall with the cube, to 1e-15.
MAX_INITIAL_COORDINATE = 1e5
# A column whose spread is so much smaller than the largest is rounding: √eps, of eigenvalues.
MIN_RELATIVE_STD = 1e-8

# -- KL divergence (kl.py) -----------------------------------------------------------------------

# Steps of early exaggeration, as in van der Maaten (2014).
EARLY_EXAGGERATION_STEPS = 250
# Rows on which interpolated forces are compared with exact ones: a standard error of 1 / √512, 4 %
# (0.00366 instead of 0.00352 on digits).
FORCE_SAMPLE = 256
# Steps between two reports of progress (1 or 100 are as quick), and between two checks for
# convergence, as in scikit-learn.
STEPS_PER_REPORT = 10
STEPS_PER_CONVERGENCE_CHECK = 50
# An axis narrower than the first is rescaled to the second during early exaggeration: of d² = 1e-14
# the 1 + d² of the kernel keeps two digits. The second is the initial spread.
MIN_EMBEDDING_STD = 1e-7
RESCALED_STD = 1e-4
# A step so much shorter than the embedding's spread, root mean square, is none: a thousand of them
# are a millionth.
MAX_CONVERGED_STEP = 1e-9

# -- UMAP (layout.py) ----------------------------------------------------------------------------

# Epochs by default: 100 lose up to 0.005 of recall on five data sets, 400 gain 0.003 at 70,000
# rows; of digits they take 62, 91, 146 ms.
LAYOUT_EPOCHS = 200
# The step size at first, for learning_rate=1; it falls to 0. Steps of 1 tear clusters apart: recall
# of digits 0.558 instead of 0.562, though 0.489 instead of 0.486 of 5000 rows in clusters.
LAYOUT_RATE = 0.5
# Repulsion for repulsion_strength=1, relative to the expected force of umap-learn's sampling, whose
# noise and overshooting inflate its maps: 1.5 gains 0.005 to 0.02 of recall over 1
# (2 would gain 0.005 more on digits and clusters).
REPULSION_WEIGHT = 1.5
# It grows from the first share of its strength over the second share of the epochs: without, 0.558
# instead of 0.562 of recall (digits), 432 ms instead of 194 ms (5000 rows in clusters).
RAMP_START = 1 / 15
RAMP_SHARE = 0.4
# Added to squared distances of the repulsion, in units of the spread: instead of umap-learn's clip
# of forces, from which it differs by 4 to 10 % on finished maps (0.001 by 19 to 59 %). 0.001 needs
# a finer grid, 707 ms instead of 91 ms (digits), for the same recall; 0.1 loses 0.02 of it.
SOFTENING = 0.02
# Width of the initial embedding, and noise that parts equal points, both as in umap-learn.
INITIAL_WIDTH = 10.0
INITIAL_JITTER = 1e-4
# Lazy random-walk steps from principal components: 80 gain 0.0006 to 0.004 of accuracy over 50
# (digits, pbmc3k, Fashion-MNIST); and between orthogonalizations: eigenvalues of a lazy step are
# about 1/2 or more, so that 10 leave a thousandth of any column.
DIFFUSION_STEPS = 80
STEPS_PER_ORTHOGONALIZATION = 10
# Training points that the repulsion of a new point is summed over where there is no grid: a
# standard error of 1 / √2000, 2 %.
MAX_SUMMED_POINTS = 2000

# -- inverse maps and regression (preimage.py, regression.py) ------------------------------------

# Regularization of barycentric weights: 1e-3 and 6 neighbors extrapolate a roll's rim twice as
# badly. Relative error of a roll with 1e-3, 1e-2, 1e-1: 0.0014, 0.0012, 0.0018.
PREIMAGE_REGULARIZATION = 1e-2
# Points that are left out, to measure how well they are rebuilt: 500, 1000, 2000 give 0.00047,
# 0.00056, 0.00056.
LEFT_OUT_SAMPLE = 1000
# Steps of the fixed-point iteration of Mika et al. (1999): of digits, 5 leave the same error as 50.
PREIMAGE_STEPS = 50
# Points the kernel ridge regression is fitted to: 500, 1000, 2000 take 0.2, 0.9, 6.3 s and leave
# 0.0011, 0.0007, 0.0003 of a roll's variance.
MAX_REGRESSION_CENTERS = 1000
# Widths of the kernel, as shares of the median squared distance, and ridges that are tried. Rolls
# and cubes choose 1/4, digits 1; ridges from 1e-6 (rolls) to 1e-2 (digits), and none of them 1.
KERNEL_WIDTHS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)
RIDGES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
# A smaller ridge would amplify the rounding of new points: weights grow like its inverse, and eps
# over it is 2e-6, or 1e-3.
MIN_RIDGE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}
# Distance up to which a new point is a training point, as a share of the typical distance: some
# thousand roundings, since a distance of 0 by another order of sums is a little off.
SAME_POINT_DISTANCE = 1e-12
# Training points by which the stretch of the embedding is estimated, near one of them: as many as
# rebuild a row from two coordinates, 2 k + 2.
N_STRETCH_NEIGHBORS = 6

# -- number of components (scree.py) -------------------------------------------------------------

# Angles at which the density of Marchenko and Pastur is summed: the median is off by 3e-8.
MARCHENKO_PASTUR_ANGLES = 8192

# -- kernels (kernel_scale.py) -------------------------------------------------------------------

# Rows whose distances give gamma="median": 1000, 2000, 4000 of 5000 give 0.00127, 0.00128, 0.00129,
# and the fit takes 292, 344, 534 ms.
MEDIAN_SAMPLE = 2000
# Sum of a row's kernel values with all others, relative to that with itself, below which the
# kernel matrix is nearly the identity: its eigenvalues differ by less than that (Gershgorin).
MIN_OTHERS_SUM = 0.1

# -- long work of t-SNE and SNE (kl.py) ----------------------------------------------------------

# Seconds of one core for a pair of points in an iteration over all pairs, by kernel; 1.0, 1.5 and
# 2.9 ns as measured with 3000 points.
SECONDS_PER_PAIR = {"student": 0.7e-9, "gauss": 1.5e-9, "rows": 3e-9}
# Estimated time beyond which a warning says so: ten minutes, by convention.
LONG_WORK_SECONDS = 600.0
