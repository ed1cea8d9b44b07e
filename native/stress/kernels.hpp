// Table of kernels of multidimensional scaling; see stress.inl and monotone_regression.inl.
#pragma once

#include <cstdint>

namespace lowd {

// A pair of points.
struct PointPair {
    int32_t first, second;
};
// A run of pairs that isotonic regression has pooled, or of tied pairs: their sum and weight.
struct Pool {
    double sum, weight;
    int64_t end;
};
// A run of pairs with one disparity.
struct DisparityRun {
    double disparity;
    int64_t end;
};
// Points of k coordinates as rows of this many entries, padded by zeros.
static constexpr int64_t padded_width(int64_t k) { return k <= 2 ? k : (k + 3) / 4 * 4; }
// Entries of the scratch memory of `pool_adjacent_violators`, and of its result.
static constexpr int64_t pool_scratch(int64_t count) { return 3 * count + 128; }
static constexpr int64_t pool_capacity(int64_t count) { return count + count / 32 + 1; }

// Disparities of n points, and weights (may be null); k coordinates as columns, ld apart.
template <class T>
struct StressTerms {
    const T* disparities;
    int64_t stride;
    const T* weights;
    int64_t weight_stride, n;
    const double* y;
    int64_t ld;
    int k;
};
template <class T>
struct GuttmanKernels {
    // Pairs (i, j) with first <= i < last and i < j < n: see `guttman` in stress.hpp. moved (added
    // to): columns, ld apart; own: 2 k entries of scratch, sums: stress, size, cross.
    void (*guttman)(const StressTerms<T>& terms, int64_t first, int64_t last, double* own,
                    double* moved, double* sums);
};

struct StressKernels {
    // As GuttmanKernels<float>::guttman without weights, k <= 3, for disparities times `scale`. y:
    // k columns and k more of what float32 leaves of them; moved has 16 entries more than rows in a
    // column.
    void (*guttman_float32)(const float* disparities, int64_t stride, float scale, int64_t first,
                            int64_t last, int64_t n, const float* y, int64_t ld, int k,
                            double* moved, double* sums);
    // One row of `multilaterate`; fixed points are columns, scratch: 2 k entries.
    // Returns the stress.
    double (*multilaterate_point)(const double* dissimilarities, const double* weights, int64_t n,
                                  const double* fixed, int64_t ld, int k, int max_iter, double tol,
                                  double* scratch, double* y);
    void (*pair_distances)(const PointPair* pairs, int64_t count, const double* y, int k,
                           double* distances);
    // Isotonic regression of items with sums s = w x (weights null: 1). Returns how many pools
    // there are; their ends count items.
    int64_t (*pool_adjacent_violators)(const double* sums, const double* weights, int64_t count,
                                       double* scratch, Pool* out);
    // Guttman's sums over pairs begin .. end of all, where *run is the first that ends behind
    // `begin`; moved is added to.
    void (*guttman_pairs)(const PointPair* pairs, const double* weights, int64_t begin, int64_t end,
                          const DisparityRun* run, const double* y, int k, double* moved,
                          double* sums);
};

}  // namespace lowd
