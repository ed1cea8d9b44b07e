// Nearest neighbors.
//
// Distances are float64, from differences in a fixed order of additions; lists are ordered by
// (distance, index). The exact search and its filter therefore give the same bits whatever the
// batch, the threads, the order of blocks or the CPU level.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/matrix.hpp"
#include "base/threads.hpp"

namespace lowd {

// What is reported for a squared distance s: factor sqrt(s) or factor s. `unit` is a power of two
// that keeps squares of very large or very small differences in range.
struct Metric {
    bool root;
    double factor, unit;

    double distance(double square) const {
        return root ? factor * (std::sqrt(square) / unit) : factor * (square / unit / unit);
    }
    // No larger square has a distance up to this one.
    double square(double distance) const {
        const double plain = distance / factor * unit;
        const double s = root ? plain * plain : plain * unit;
        return factor > 0 && s < 1e300 ? s * (1 + 0x1p-46) + 1e-307
                                       : std::numeric_limits<double>::infinity();
    }
};

// The k = ids.cols smallest entries of each row by (value, column); own[i] (if own is given) is
// left out of row i.
template <class T>
void select(Matrix<const T> D, const int64_t* own, Matrix<int32_t> ids, Matrix<double> values,
            Job& job);

// The nearest rows of X by brute force, for few rows or a large k. `among`: Q is X, and a row is
// not its own neighbor.
template <class T>
void nearest(Matrix<const T> Q, Matrix<const T> X, bool among, Metric metric, Matrix<int32_t> ids,
             Matrix<double> distances, Job& job);

// The projection that the filter works on: z = (x - center)' B scale in float32, B with orthonormal
// columns. |z - exact| <= error |x - center| scale.
struct Projection {
    const double* center;
    double scale, error;
};

// Rows prepared for neighbor queries. X must outlive it.
template <class T>
class NeighborIndex {
public:
    NeighborIndex(Matrix<const T> X, Matrix<const float> Z, Projection projection, Job& job);
    ~NeighborIndex();

    // Rows are searched in groups of neighbors; their centroids are given in leading coordinates.
    int64_t groups() const;
    int64_t coordinates() const;
    void centroids(Matrix<float> out) const;

    // The nearest rows of every row: an exact self-join.
    void join(Metric metric, Matrix<int32_t> ids, Matrix<double> distances, Job& job) const;
    // The nearest rows of X for each row of Q.
    void query(Matrix<const T> Q, Matrix<const float> Z, Metric metric, Matrix<int32_t> ids,
               Matrix<double> distances, Job& job) const;

private:
    template <class>
    friend class CandidateLists;
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

namespace search {
class NeighborLists;
}

// The k nearest rows of every row found so far: each step improves the lists, none inserts a pair
// twice. The index must outlive it.
template <class T>
class CandidateLists {
public:
    CandidateLists(const NeighborIndex<T>& index, Metric metric, int64_t k, Job& job);
    ~CandidateLists();

    // Compares all pairs of rows: the lists are exact then.
    void join(Job& job);
    // Compares the pairs of rows whose groups are the same, or one in the other's list.
    void join(Matrix<const int32_t> near, Job& job);
    // NN-descent: compares forward and reverse neighbors of neighbors, round by round, until one
    // would find little. `near`: groups that have been joined already.
    void nn_descent(Matrix<const int32_t> near, int rounds, Job& job);
    // The fraction of pairs of blocks that bounding boxes do not prune: they could improve a list.
    double unpruned_fraction(Job& job) const;
    void copy_to(Matrix<int32_t> ids, Matrix<double> distances, Job& job);

private:
    struct Item;
    static std::vector<Item> merge(std::vector<std::vector<Item>> views, Job& job);
    void join(std::vector<std::vector<Item>> views, Job& job);
    const typename NeighborIndex<T>::Parts& parts_;
    std::unique_ptr<search::NeighborLists> lists_;
};

}  // namespace lowd
