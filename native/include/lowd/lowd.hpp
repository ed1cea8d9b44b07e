// All functions of the core. T is float or double; outputs are given by the caller.
//
// For one CPU level the bits of a result depend on the input only: not on threads, and where a row
// of the output belongs to a row of the input (project, pairwise, times, hadamard, sparse_project,
// nearest neighbors, new points) not on the other rows either.
#pragma once

#include "lowd/alignment.hpp"
#include "lowd/checks.hpp"
#include "lowd/descent.hpp"
#include "lowd/layout.hpp"
#include "lowd/levels.hpp"
#include "lowd/linear.hpp"
#include "lowd/memberships.hpp"
#include "lowd/moments.hpp"
#include "lowd/monotone_regression.hpp"
#include "lowd/neighbors.hpp"
#include "lowd/new_points.hpp"
#include "lowd/pairwise.hpp"
#include "lowd/probabilities.hpp"
#include "lowd/ranks.hpp"
#include "lowd/shortest_paths.hpp"
#include "lowd/sketch.hpp"
#include "lowd/sparse.hpp"
#include "lowd/stress.hpp"
#include "lowd/symmetrize.hpp"
