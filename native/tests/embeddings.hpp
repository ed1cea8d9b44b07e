// Embeddings with joint probabilities of their pairs, and forces by the definition.
#pragma once

#include <algorithm>

#include "check.hpp"
#include "embedding/descent.hpp"

namespace lowd::test {

inline bool close(double a, double b, double tolerance = 1e-10) {
    return std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

// Symmetric joint probabilities, unequal and of sum 1, between points on a circle and the next
// `steps` ones to each side.
struct CircleGraph {
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> ends;
    std::vector<double> values;

    CircleGraph(int64_t n, int64_t steps) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t r = 1; r <= steps; r++)
                for (int64_t j : {(i + r) % n, (i + n - r) % n}) {
                    if (j == i ||
                        std::find(ends.begin() + indptr.back(), ends.end(), j) != ends.end())
                        continue;
                    ends.push_back(int32_t(j));
                    values.push_back(double(1 + (std::min(i, j) * 7 + std::max(i, j)) % 5));
                }
            indptr.push_back(int64_t(ends.size()));
        }
        double sum = 0;
        for (double v : values) sum += v;
        for (double& v : values) v /= sum;
    }
    Ragged ragged() const { return {indptr, ends}; }
};

inline double square(const Data<double>& Y, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < Y.cols; c++) sum += (Y(i, c) - Y(j, c)) * (Y(i, c) - Y(j, c));
    return sum;
}
inline double similarity(const Data<double>& Y, int64_t i, int64_t j, bool heavy) {
    return heavy ? 1 / (1 + square(Y, i, j)) : std::exp(-square(Y, i, j));
}
inline double row_sum(const Data<double>& Y, int64_t i, bool heavy) {
    double z = 0;
    for (int64_t j = 0; j < Y.rows; j++) z += i == j ? 0 : similarity(Y, i, j, heavy);
    return z;
}

// Both forces by the definition: a quarter of the gradient, split in two.
inline void plain_forces(const CircleGraph& graph, const Data<double>& Y, Similarity kernel,
                         Data<double>& a, Data<double>& r) {
    const bool heavy = kernel == Similarity::student;
    std::vector<double> z;
    double total = 0;
    for (int64_t i = 0; i < Y.rows; i++) z.push_back(row_sum(Y, i, heavy)), total += z.back();
    for (int64_t i = 0; i < Y.rows; i++)
        for (int64_t c = 0; c < Y.cols; c++) {
            a(i, c) = r(i, c) = 0;
            for (int64_t e = graph.indptr[size_t(i)]; e < graph.indptr[size_t(i + 1)]; e++) {
                const int64_t j = graph.ends[size_t(e)];
                const double w = heavy ? similarity(Y, i, j, true) : 1;
                a(i, c) += graph.values[size_t(e)] * w * (Y(i, c) - Y(j, c));
            }
            for (int64_t j = 0; j < Y.rows; j++) {
                if (i == j) continue;
                const double w = similarity(Y, i, j, heavy);
                double q = w / total;
                if (kernel == Similarity::rows)
                    q = (w / z[size_t(i)] + w / z[size_t(j)]) / double(2 * Y.rows);
                r(i, c) += q * (heavy ? w : 1) * (Y(i, c) - Y(j, c));
            }
        }
}

// The attractive, then the repulsive forces of a new descent, on one, two and five threads.
inline Data<double> forces_of(const CircleGraph& graph, const Data<double>& Y, Similarity kernel,
                              Repulsion repulsion) {
    return on_any_threads([&](Job& job) {
        const auto plan =
            descent(graph.ragged(), graph.values.data(), int(Y.cols), kernel, repulsion);
        Data<double> both(2 * Y.rows, Y.cols);
        const Matrix<double> all = both.out();
        plan->forces(Y.in(), {all.data, Y.rows, Y.cols, all.stride},
                     {all.row(Y.rows), Y.rows, Y.cols, all.stride}, job);
        return both;
    });
}

// Root mean square of (found - expected) over that of expected.
inline double error_of(const Data<double>& found, int64_t first, const Data<double>& expected) {
    double gap = 0, size = 0;
    for (int64_t i = 0; i < expected.rows; i++)
        for (int64_t c = 0; c < expected.cols; c++) {
            gap += std::pow(found(first + i, c) - expected(i, c), 2);
            size += std::pow(expected(i, c), 2);
        }
    return std::sqrt(gap / size);
}

inline Data<double> spread_out(int64_t n, int64_t k, double size) {
    Data<double> Y = Data<double>::random(n, k);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) Y(i, c) *= size;
    return Y;
}

}  // namespace lowd::test
