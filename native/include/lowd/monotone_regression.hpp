// Nonmetric scaling: pairs sorted by their dissimilarity, and disparities that increase with it.
#pragma once

#include <vector>

#include "lowd/buffer.hpp"
#include "lowd/levels/stress.hpp"
#include "lowd/stress.hpp"

namespace lowd {

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
