// Multidimensional scaling: the Guttman transform, new points by their dissimilarities, and
// disparities that increase with the dissimilarity.
//
// As everywhere, bits depend on the input only, and a new point does not depend on the others.
#pragma once

#include <vector>

#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"
#include "stress/kernels.hpp"

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

// Nonmetric scaling: pairs sorted by their dissimilarity, and disparities that increase with it.

// The known pairs of rows in the order of d_ij, then of i and j.
struct SortedPairs {
    int64_t count = 0;
    Buffer<PointPair> pairs;
    Buffer<double> weights;  // empty if all weights are 1
    Buffer<uint8_t> tied;  // whether a pair has the d of the one before; empty if there are no ties
};
// Pairs i < j; NaN in D and 0 in W (not negative; may be null) leave a pair out.
template <class T>
SortedPairs sort_pairs(Matrix<const T> D, const Matrix<const T>* W, Job& job);

// Stress against the best monotone disparities, of weighted mean square 1. Tied pairs share a
// disparity (Kruskal's secondary approach to ties), unless `break_ties`: then they are kept sorted
// by their present distances (the primary one).
class MonotoneRegression {
public:
    template <class T>
    MonotoneRegression(Matrix<const T> D, const Matrix<const T>* W, bool break_ties, Job& job)
        : rows_(D.rows), break_ties_(break_ties), all_(sort_pairs(D, W, job)) {
        split_into_parts();
    }
    int64_t rows() const { return rows_; }

    // As `guttman`, with these disparities.
    Stress step(Matrix<const double> Y, Matrix<double> moved, Job& job);

    // The corners of the piecewise linear function from dissimilarities to disparities: each is at
    // the d of a pair. Tied pairs with several disparities have the mean of them.
    struct Corner {
        PointPair pair;
        double disparity;
    };
    std::vector<Corner> disparity_function(Matrix<const double> Y, Job& job);

private:
    struct Workspace;
    void split_into_parts();
    std::vector<DisparityRun> fit(const Buffer<double>& y, int k, Job& job);
    void pool(int64_t part, const double* y, int k, Workspace& space);
    void sort_ties(int64_t begin, int64_t end, double* distances, Workspace& space);

    int64_t rows_;
    bool break_ties_;
    SortedPairs all_;
    // Bounds of parts that are pooled on their own: no ties cross them.
    std::vector<int64_t> edges_;
    std::vector<std::vector<Pool>> pooled_;
};

}  // namespace lowd
