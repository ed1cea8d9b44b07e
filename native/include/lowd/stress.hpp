// Metric multidimensional scaling: the Guttman transform, and new points by their dissimilarities.
//
// As everywhere, bits depend on the input only, and a new point does not depend on the others.
#pragma once

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// Sums over pairs of w (t - d)^2, w d^2, w t d.
struct Stress {
    double stress = 0, size = 0, cross = 0;
};

// The Guttman transform without its division: moved_i = sum_j w_ij t_ij / d_ij (y_i - y_j) over
// pairs of rows with d_ij > 0. T, the disparities, is symmetric, NaN is a missing pair, W (not
// negative) may be null. Each pair is read once: above the diagonal. Pairs of many float32
// disparities without weights are in float32, sums always in float64.
template <class T>
Stress guttman(Matrix<const T> disparities, const Matrix<const T>* weights, Matrix<const double> Y,
               Matrix<double> moved, Job& job);

// y_i = the point whose distances to the rows of A fit row i of T best, by majorization from the
// given y_i until a step is at most tol times the root mean square of the row. stress_i = its sum
// of w (t - d)^2. NaN is missing; W may be null.
void multilaterate(Matrix<const double> dissimilarities, const Matrix<const double>* weights,
                   Matrix<const double> A, int max_iter, double tol, Matrix<double> Y,
                   double* stress, Job& job);

}  // namespace lowd
