#include <utility>

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

Data<double> symmetric(int64_t n) {
    auto A = Data<double>::random(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) A(i, j) = A(j, i);
    return A;
}
double dot(const Data<double>& a, int64_t i, const Data<double>& b, int64_t j) {
    double s = 0;
    for (int64_t k = 0; k < a.cols; k++) s += a(i, k) * b(j, k);
    return s;
}
// Room for vectors; the first are orthonormal and have no part of the constant.
Data<double> begun(int64_t n, int rows, int64_t room) {
    Data<double> Q(room, n);
    const auto random = Data<double>::random(rows, n, 0, 7);
    for (int r = 0; r < rows; r++) {
        double mean = 0;
        for (int64_t k = 0; k < n; k++) mean += random(r, k) / double(n);
        for (int64_t k = 0; k < n; k++) Q(r, k) = random(r, k) - mean;
        for (int pass = 0; pass < 2; pass++)
            for (int b = 0; b < r; b++) {
                const double share = dot(Q, r, Q, b);
                for (int64_t k = 0; k < n; k++) Q(r, k) -= share * Q(b, k);
            }
        const double length = std::sqrt(dot(Q, r, Q, r));
        for (int64_t k = 0; k < n; k++) Q(r, k) /= length;
    }
    return Q;
}

}  // namespace

// Q is orthonormal and without the constant, T = Q A Q', and the same on any number of threads.
TEST(lanczos_matches) {
    for (auto [n, width] : {std::pair{30, 1}, {37, 3}, {70, 4}, {203, 12}})
        for (bool half_square : {false, true}) {
            const int room = 4 * width;
            const auto A = symmetric(n);
            const std::vector<double> null(size_t(n), 1 / std::sqrt(double(n)));
            Data<double> T(room, room);
            const auto Q = on_any_threads([&, width = width](Job& job) {
                auto basis = begun(n, width, room);
                const Basis end = lanczos(A.in(), half_square, null.data(), basis.out(), T.out(),
                                          {width, width, 0}, 3, job);
                CHECK(end.size == room && end.fresh == width && end.left == width);
                return basis;
            });
            Data<double> gram(room, room), product(room, room), AQ(room, n);
            for (int i = 0; i < room; i++) {
                double constant = 0;
                for (int64_t k = 0; k < n; k++) {
                    constant += Q(i, k);
                    AQ(i, k) = 0;
                    for (int64_t l = 0; l < n; l++)
                        AQ(i, k) += (half_square ? -0.5 * A(k, l) * A(k, l) : A(k, l)) * Q(i, l);
                }
                CHECK(std::abs(constant) < 1e-13);
            }
            for (int i = 0; i < room; i++)
                for (int j = 0; j < room; j++) {
                    gram(i, j) = dot(Q, i, Q, j);
                    product(i, j) = dot(Q, i, AQ, j);
                }
            CHECK(near(gram, 1e-13, [](int64_t i, int64_t j) { return i == j ? 1.0 : 0.0; }));
            const auto known = [&](int64_t i, int64_t j) {
                return i < room - width && j < room - width;
            };
            for (int i = 0; i < room; i++)
                for (int j = 0; j < room; j++)
                    if (!known(i, j)) product(i, j) = 0;
            CHECK(near(product, 1e-12, [&](int64_t i, int64_t j) {
                return known(i, j) ? std::as_const(T)(i, j) : 0.0;
            }));
        }
}

// A matrix of rank 2 leaves nothing after the second product.
TEST(lanczos_ends) {
    constexpr int n = 41;
    const auto X = begun(n, 6, 6);  // its first rows are those of the basis, its last are not
    Data<double> A(n, n), T(20, 20);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double first[] = {X(0, i) + X(4, i), X(0, j) + X(4, j)},
                         second[] = {X(1, i) - X(5, i), X(1, j) - X(5, j)};
            A(i, j) = 3 * first[0] * first[1] - 2 * second[0] * second[1];
        }
    auto Q = begun(n, 4, 20);
    Job job(1);
    const std::vector<double> null(n, 1 / std::sqrt(double(n)));
    const Basis end = lanczos(A.in(), false, null.data(), Q.out(), T.out(), {4, 4, 0}, 4, job);
    CHECK(end.fresh == 0 && end.size == 6);
}
