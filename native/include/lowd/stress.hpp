// Multidimensional scaling: Guttman's step, isotonic regression, places by distances.
//
// As everywhere, bits depend on the input only, and a located row does not depend on the others.
#pragma once

#include "lowd/lowd.hpp"

namespace lowd {

// Sums over pairs of w (t - d)^2, w d^2, w t d.
struct Stress {
    double stress = 0, size = 0, cross = 0;
};

// moved_i = sum_j w_ij t_ij / d_ij (y_i - y_j) over pairs of rows with d_ij > 0. T is symmetric,
// NaN is a missing pair, W (not negative) may be null. Each pair is read once: above the diagonal.
template <class T>
Stress guttman(Matrix<const T> targets, const Matrix<const T>* weights, Matrix<const double> Y,
               Matrix<double> moved, Job& job);

// Pairs in the order of their targets; group g, of equal ones, begins at groups[g] (empty: there
// are none). Weights may be null.
struct OrderedPairs {
    std::span<const int32_t> first, second;
    const double* weights;
    std::span<const int64_t> groups;
};
// The same with the best targets that rise with the pairs, of weighted mean square 1; those of a
// group are equal unless `split`. One entry per pair: order (0, 1, ... before the first call) keeps
// the order within groups for the next one, lengths and fitted are room for distances and targets.
Stress monotone(const OrderedPairs& pairs, bool split, Matrix<const double> Y, int32_t* order,
                double* lengths, double* fitted, Matrix<double> moved, Job& job);

// y_i = the place whose distances to the rows of A are nearest to row i of T, by majorization from
// the given y_i until a step is at most tol times the targets' root mean square. stress_i = its sum
// of w (t - d)^2. NaN is missing; W may be null.
void locate(Matrix<const double> targets, const Matrix<const double>* weights,
            Matrix<const double> A, int most, double tol, Matrix<double> Y, double* stress,
            Job& job);

}  // namespace lowd
