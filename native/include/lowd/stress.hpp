// Multidimensional scaling: Guttman's step, places by distances.
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
// Pairs of many float32 targets without weights are in float32, sums always in float64.
template <class T>
Stress guttman(Matrix<const T> targets, const Matrix<const T>* weights, Matrix<const double> Y,
               Matrix<double> moved, Job& job);

// y_i = the place whose distances to the rows of A are nearest to row i of T, by majorization from
// the given y_i until a step is at most tol times the targets' root mean square. stress_i = its sum
// of w (t - d)^2. NaN is missing; W may be null.
void locate(Matrix<const double> targets, const Matrix<const double>* weights,
            Matrix<const double> A, int most, double tol, Matrix<double> Y, double* stress,
            Job& job);

}  // namespace lowd
