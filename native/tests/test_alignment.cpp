#include "graph/graph.hpp"

#include <algorithm>

#include "neighborhoods.hpp"

using namespace lowd;
using namespace lowd::test;

// Weights are right if they sum to 1 and all partial derivatives of the error are equal.
TEST(barycentric_weights_are_stationary) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [d, k] : {std::pair{1, 2}, {3, 12}, {20, 7}, {40, 30}, {3, 1}}) {
            const auto X = Data<T>::random(200, d);
            OwnedRagged lists;
            for (int64_t i = 0; i < X.rows; i++) lists.add(nearest(X, i, k, false));
            const Ragged near = lists;
            for (double reg : {1e-3, 1e-8}) {
                const auto found = on_any_threads([&](Job& job) {
                    Data<double> out(1, int64_t(near.indices.size()));
                    barycentric_weights(X.in(), X.in(), near, reg, out.out().data, job);
                    return out;
                });
                for (int64_t i = 0; i < X.rows; i++) {
                    const double* w = &found.memory[size_t(near.indptr[i])];
                    const int32_t* list = near.row(i);
                    double total = 0, trace = 0, low = 1e300, high = -1e300, size = 0;
                    std::vector<double> residual(size_t(d), 0);
                    for (int e = 0; e < k; e++) {
                        total += w[e];
                        for (int c = 0; c < d; c++) {
                            const double z = X(list[e], c) - X(i, c);
                            residual[size_t(c)] += w[e] * z;
                            trace += z * z;
                        }
                    }
                    for (int e = 0; e < k; e++) {
                        double slope = reg * trace * w[e];
                        size = std::fmax(size, std::abs(slope));
                        for (int c = 0; c < d; c++)
                            slope += residual[size_t(c)] * (X(list[e], c) - X(i, c));
                        low = std::fmin(low, slope), high = std::fmax(high, slope);
                    }
                    CHECK(std::abs(total - 1) < 1e-12);
                    CHECK(high - low < 1e-5 * size + 1e-12 * trace);
                }
                Job job(2);  // alone as in the batch
                OwnedRagged one;
                one.add({near.row(77), near.row(77) + k});
                std::vector<double> alone(static_cast<size_t>(k));
                barycentric_weights(X.in(77, 1), X.in(), one, reg, alone.data(), job);
                CHECK(!std::memcmp(alone.data(), &found.memory[size_t(near.indptr[77])],
                                   size_t(k) * sizeof(double)));
            }
        }
    });
}

TEST(barycentric_weights_of_hard_cases) {
    Job job(1);
    std::vector<double> w(3);
    const auto solve = [&](std::vector<double> points, double q, double reg) {
        OwnedRagged near;
        near.add({0, 1, 2});
        Data<double> X(3, 1), Q(1, 1);
        for (int i = 0; i < 3; i++) X(i, 0) = points[size_t(i)];
        Q(0, 0) = q;
        barycentric_weights(Q.in(), X.in(), near, reg, w.data(), job);
        return std::abs(w[0] + w[1] + w[2] - 1) < 1e-9;
    };
    for (double reg : {0.0, 1e-18, 1e-3, 1.0}) {
        CHECK(solve({5, 5, 5}, 5, reg));
        CHECK(w[0] == w[1] && w[1] == w[2]);
        for (double size : {1e-320, 1e-200, 1.0, 1e200, 1.7e308}) {
            CHECK(solve({-size, 0.5 * size, size}, 0.25 * size, reg));
            if (reg < 1e-9 && size > 1e-300)  // nothing is lost
                CHECK(std::abs(-w[0] + 0.5 * w[1] + w[2] - 0.25) < 1e-6);
            CHECK(solve({-size, 0.5 * size, 0.5 * size}, size, reg));
        }
    }
}

// A matrix that vanishes on constants, and on the coordinates of flat data where it should.
template <class T>
static void check_alignment(const Data<T>& X, const OwnedRagged& lists, Alignment kind, int k,
                            bool flat) {
    const Ragged patches = lists;
    std::vector<double> counts(size_t(patches.count()));
    for (size_t i = 0; i < counts.size(); i++) counts[i] = 1 + double(i % 3);
    std::vector<int64_t> indptr(size_t(X.rows) + 1);
    std::vector<int32_t> columns;
    const auto found = on_any_threads([&](Job& job) {
        alignment_indptr(patches, X.rows, indptr.data(), job);
        columns.resize(size_t(indptr.back()));
        Data<double> values(1, indptr.back(), 0);
        alignment_matrix(X.in(), patches, kind, k, 1e-3, counts.data(), indptr.data(),
                         columns.data(), values.memory.data(), job);
        return values;
    });
    double largest = 0, constant = 0, linear = 0;
    for (int64_t i = 0; i < X.rows; i++)
        for (int64_t c = 0; c < X.cols; c++) largest = std::fmax(largest, std::abs(X(i, c)));
    bool finite = true, rising = true, symmetric = true, positive = true;
    for (int64_t i = 0; i < X.rows; i++) {
        double sum = 0;
        std::vector<double> moved(size_t(X.cols), 0);
        for (int64_t e = indptr[size_t(i)]; e < indptr[size_t(i) + 1]; e++) {
            const int32_t j = columns[size_t(e)];
            const double v = found.memory[size_t(e)];
            finite &= std::isfinite(v);
            rising &= e == indptr[size_t(i)] || columns[size_t(e) - 1] < j;
            const auto begin = columns.begin() + indptr[size_t(j)],
                       end = columns.begin() + indptr[size_t(j) + 1],
                       mirror = std::lower_bound(begin, end, int32_t(i));
            symmetric &= mirror != end && *mirror == i &&
                         found.memory[size_t(mirror - columns.begin())] == v;
            positive &= j != i || v >= 0;
            sum += v;
            for (int64_t c = 0; c < X.cols; c++) moved[size_t(c)] += v * X(j, c);
        }
        constant = std::fmax(constant, std::abs(sum));
        for (double m : moved) linear = std::fmax(linear, std::abs(m));
    }
    CHECK(finite && rising && symmetric && positive);
    CHECK(constant < 1e-11);  // entries are of the order 1
    CHECK(!flat || linear < 1e-10 * (1 + largest));
    if (constant >= 1e-11 || (flat && linear >= 1e-10 * (1 + largest)))
        std::printf("  kind %d, k %d, %d columns: %g %g\n", int(kind), k, int(X.cols), constant,
                    linear);
}

TEST(alignment_vanishes_where_it_should) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (Alignment kind : {Alignment::ltsa, Alignment::hessian, Alignment::modified}) {
            const auto patches = [&](const Data<T>& X, int k) {
                OwnedRagged lists;
                for (int64_t i = 0; i < X.rows; i++) {
                    auto list = nearest(X, i, k + int(i % 3), true);
                    if (kind == Alignment::modified)
                        std::rotate(list.begin(), list.begin() + 1, list.end());
                    lists.add(list);
                }
                return lists;
            };
            // Regularized weights reconstruct nothing exactly.
            const bool exact = kind != Alignment::modified;
            for (int d : {3, 8, 30}) {
                const auto X = Data<T>::random(150, d);
                check_alignment(X, patches(X, 11), kind, 2, false);
                check_alignment(X, patches(X, 14), kind, 3, false);
                Data<T> flat(150,
                             d);  // whole numbers: exactly a plane, with ties and collinear rows
                for (int64_t i = 0; i < 150; i++)
                    for (int64_t c = 0; c < d; c++)
                        flat(i, c) = T((i % 12) * (c % 5) - (i / 12) * (c % 3));
                check_alignment(flat, patches(flat, 9), kind, 2, exact);
                check_alignment(flat, patches(flat, 12), kind, 3, exact);
                Data<T> line(60, d);
                for (int64_t i = 0; i < 60; i++)
                    for (int64_t c = 0; c < d; c++) line(i, c) = T(i * (1 + c % 4));
                check_alignment(line, patches(line, 10), kind, 2, exact);
                const Data<T> point(40, d);  // all equal
                check_alignment(point, patches(point, 9), kind, 2, exact);
            }
        }
    });
}
