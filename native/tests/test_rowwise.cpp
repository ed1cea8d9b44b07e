// Functions whose output rows belong to input rows.
#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

// make(rows of X, job) -> Data. Right for any number of threads, and a row's bits do not depend on
// the batch.
template <class T, class F, class E>
static void check_rows(const Data<T>& X, double tolerance, F make, E expected) {
    const auto all = on_any_threads([&](Job& job) { return make(X.in(), job); });
    CHECK(near(all, tolerance, expected));
    for (auto [first, count] : {std::pair<int64_t, int64_t>{0, 1},
                                {X.rows / 2, 1},
                                {X.rows - 1, 1},
                                {X.rows / 3, X.rows / 2}}) {
        Job job(2);
        const auto part = make(X.in(first, count), job);
        for (int64_t i = 0; i < count; i++) CHECK(same_row(part, i, all, first + i));
    }
}

TEST(project_matches) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [n, d] : {std::pair{1, 1}, {7, 31}, {100, 33}, {65, 300}, {130, 1100}})
            for (int k : {1, 2, 3, 7, 16, 17, 33, 50, 64, 100})
                for (bool shifted : {false, true}) {
                    const auto X = Data<T>::random(n, d, shifted ? 1e4 : 0),
                               W = Data<T>::random(d, k);
                    std::vector<double> shift(size_t(d), 1e4 + 0.1), bias(size_t(k), 0.3);
                    check_rows(
                        X, 3 * PRECISION<T>,
                        [&](Matrix<const T> rows, Job& job) {
                            Data<T> out(rows.rows, W.cols);
                            project(rows, shifted ? shift.data() : nullptr, W.in(),
                                    shifted ? bias.data() : nullptr, out.out(), job);
                            return out;
                        },
                        [&](int64_t i, int64_t j) {
                            double s = shifted ? bias[size_t(j)] : 0;
                            for (int64_t c = 0; c < X.cols; c++)
                                s += (X(i, c) - (shifted ? shift[size_t(c)] : 0)) * W(c, j);
                            return s;
                        });
                }
    });
}

TEST(matmul_matches) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [m, n] : {std::pair{1, 1}, {7, 31}, {33, 100}, {100, 2100}})
            for (int b : {1, 8, 13})
                for (bool half_square : {false, true}) {
                    const auto A = Data<T>::random(m, n), V = Data<T>::random(n, b);
                    check_rows(
                        A, PRECISION<T>,
                        [&](Matrix<const T> rows, Job& job) {
                            Data<double> out(rows.rows, V.cols);
                            matmul(rows, V.in(), half_square, out.out(), job);
                            return out;
                        },
                        [&](int64_t i, int64_t j) {
                            double s = 0;
                            for (int64_t k = 0; k < A.cols; k++)
                                s += (half_square ? -0.5 * A(i, k) * A(i, k) : A(i, k)) * V(k, j);
                            return s;
                        });
                }
    });
}

TEST(hadamard_matches) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [d, padded] : {std::pair{1, 1},
                                 {2, 4},
                                 {7, 8},
                                 {31, 32},
                                 {33, 64},
                                 {100, 128},
                                 {129, 256},
                                 {300, 512},
                                 {784, 1024},
                                 {1025, 2048}}) {
            const auto X = Data<T>::random(37, d);
            std::vector<T> signs;
            for (int j = 0; j < d; j++) signs.push_back(T(j % 3 ? 1 : -1));
            std::vector<int64_t> picks;
            for (int p = 0; p < 20; p++) picks.push_back(p * 37 % padded);
            check_rows(
                X, PRECISION<T>,
                [&, padded = padded](Matrix<const T> rows, Job& job) {
                    Data<T> out(rows.rows, int64_t(picks.size()));
                    hadamard(rows, signs.data(), std::span<const int64_t>(picks), padded, 0.25,
                             out.out(), job);
                    return out;
                },
                [&](int64_t i, int64_t j) {
                    double s = 0;
                    for (int64_t c = 0; c < X.cols; c++)
                        s += (__builtin_popcountll(uint64_t(picks[size_t(j)] & c)) % 2 ? -0.25
                                                                                       : 0.25) *
                             double(signs[size_t(c)]) * X(i, c);
                    return s;
                });
        }
    });
}
