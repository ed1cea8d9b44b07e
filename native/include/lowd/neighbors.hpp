// The nearest rows of a row.
//
// Distances are float64, from differences in a fixed order of additions; lists are ordered by
// (distance, number). The exact search and its filter therefore give the same bits whatever the
// batch, the threads, the order of blocks or the CPU level.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "lowd/lowd.hpp"

namespace lowd {

// What is reported for a squared distance s: factor sqrt(s) or factor s. `unit` is a power of two
// that keeps squares of very large or very small differences in range.
struct Metric {
    bool root;
    double factor, unit;

    double distance(double square) const {
        return root ? factor * (std::sqrt(square) / unit) : factor * (square / unit / unit);
    }
    // No square above it has a distance up to this one.
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

// The nearest rows of X by looking at every pair: for few rows, or for a large k. `among`: Q is X,
// and a row is no neighbor of itself.
template <class T>
void nearest(Matrix<const T> Q, Matrix<const T> X, bool among, Metric metric, Matrix<int32_t> ids,
             Matrix<double> distances, Job& job);

// Where the filter sees a row x: z = (x - center)' B scale in float32, B with orthonormal columns.
// |z - exact| <= error |x - center| scale.
struct Frame {
    const double* center;
    double scale, error;
};

// Rows made ready for searching. X must outlive it.
template <class T>
class Finder {
public:
    Finder(Matrix<const T> X, Matrix<const float> Z, Frame frame, Job& job);
    ~Finder();

    // Rows are searched in groups of neighbors; here are their middles (in leading coordinates).
    int64_t groups() const;
    int64_t coordinates() const;
    void middles(Matrix<float> out) const;

    // The nearest rows of every row, by all pairs.
    void join(Metric metric, Matrix<int32_t> ids, Matrix<double> distances, Job& job) const;
    // The nearest rows of X for each row of Q.
    void query(Matrix<const T> Q, Matrix<const float> Z, Metric metric, Matrix<int32_t> ids,
               Matrix<double> distances, Job& job) const;

private:
    template <class>
    friend class Drafts;
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

namespace search {
class Lists;
}

// The k nearest rows of every row in the making: each step betters the lists, none takes a pair
// twice. The finder must outlive it.
template <class T>
class Drafts {
public:
    Drafts(const Finder<T>& finder, Metric metric, int64_t k, Job& job);
    ~Drafts();

    // By all pairs of rows.
    void join(Job& job);
    // By pairs of rows whose groups are the same, or one in the other's list.
    void join(Matrix<const int32_t> near, Job& job);
    // By the neighbors of neighbors, and by those that have a row as a neighbor; again and again,
    // until a round would find little. `near`: what has been joined already.
    void polish(Matrix<const int32_t> near, int rounds, Job& job);
    // The share of all pairs of blocks that lie so near each other that they could better a list.
    double open(Job& job) const;
    void copy_to(Matrix<int32_t> ids, Matrix<double> distances, Job& job);

private:
    struct Item;
    static std::vector<Item> merged(std::vector<std::vector<Item>> views, Job& job);
    void join(std::vector<std::vector<Item>> views, Job& job);
    const typename Finder<T>::Parts& parts_;
    std::unique_ptr<search::Lists> lists_;
};

}  // namespace lowd
