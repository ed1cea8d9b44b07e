#include "stress/stress.hpp"

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();

double length(const Data<double>& Y, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < Y.cols; c++) sum += (Y(i, c) - Y(j, c)) * (Y(i, c) - Y(j, c));
    return std::sqrt(sum);
}

// Symmetric, some of them missing.
template <class T>
Data<T> dissimilarities(int64_t n) {
    Data<T> D(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const bool missing = i != j && (i + 3 * j) % 7 == 0;
            D(i, j) = D(j, i) = missing ? T(NONE) : T(0.5 + double((i * 5 + j * 5) % 11));
        }
    return D;
}

bool close(double a, double b, double tolerance, double unit) {
    return std::abs(a - b) <= tolerance * (unit + std::abs(b));
}

// Coordinates of about `size`, dissimilarities of about `ratio` times as much.
template <class T>
void check_guttman(int64_t n, int64_t k, bool weighted, double tolerance = 1e-11, double size = 1,
                   double ratio = 1) {
    Data<T> D = dissimilarities<T>(n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) D(i, j) *= T(size * ratio);
    Data<T> weights(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) weights(i, j) = T(1 + (i + j) % 4);
    Data<double> Y = Data<double>::random(n, k);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) Y(i, c) *= size;
    if (n > 2)
        for (int64_t c = 0; c < k; c++) Y(2, c) = Y(1, c);
    Stress found;
    const Matrix<const T> W = weights.in();
    const auto moved = on_any_threads([&](Job& job) {
        Data<double> out(n, k);
        found = guttman(D.in(), weighted ? &W : nullptr, Y.in(), out.out(), job);
        return out;
    });
    Data<double> expected(n, k);
    Stress sums;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < k; c++) expected(i, c) = 0;
        for (int64_t j = 0; j < n; j++) {
            const double t = std::as_const(D)(i, j), d = length(Y, i, j);
            if (i == j || std::isnan(t)) continue;
            const double w = weighted ? std::as_const(weights)(i, j) : 1;
            for (int64_t c = 0; c < k && d > 0; c++)
                expected(i, c) += w * t / d * (Y(i, c) - Y(j, c));
            if (j > i) sums.stress += w * (t - d) * (t - d);
            if (j > i) sums.size += w * d * d, sums.cross += w * t * d;
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++)
            CHECK(close(moved(i, c), expected(i, c), tolerance, size * ratio * double(n)));
    const double unit = n < 100 ? size * size : 0;  // of few points little may be left
    CHECK(close(found.stress, sums.stress, tolerance, unit) &&
          close(found.size, sums.size, tolerance, unit) &&
          close(found.cross, sums.cross, tolerance, unit));
}

TEST(guttman_is_the_sum_over_pairs) {
    for (int64_t n : {1, 2, 7, 8, 9, 33, 150})
        for (int64_t k : {1, 2, 3, 5})
            for (bool weighted : {false, true}) {
                check_guttman<float>(n, k, weighted);
                check_guttman<double>(n, k, weighted);
            }
}

TEST(many_float32_disparities_are_summed_in_float64) {
    for (int64_t k : {1, 2, 3}) check_guttman<float>(1013, k, false, 1e-7);
    for (double size : {1e-25, 1e25}) check_guttman<float>(1013, 2, false, 1e-7, size);
    // Where squares are out of the range of float32, and in cases without a float32 kernel, float64
    // is used.
    check_guttman<float>(1013, 2, false, 1e-11, 1, 1e30);
    check_guttman<float>(1013, 2, false, 1e-11, 1e33, 1e-3);
    check_guttman<float>(1013, 4, false);
    check_guttman<float>(1013, 2, true);
}

TEST(a_new_point_is_found_by_its_distances) {
    const Data<double> A = Data<double>::random(40, 2);
    Data<double> T(5, 40);
    const Data<double> wanted = Data<double>::random(5, 2, 0.2);
    for (int64_t i = 0; i < 5; i++)
        for (int64_t j = 0; j < 40; j++) {
            const double x = wanted(i, 0) - A(j, 0), y = wanted(i, 1) - A(j, 1);
            T(i, j) = (i + j) % 5 ? std::hypot(x, y) : NONE;
        }
    std::vector<double> stress(5);
    const auto found = on_any_threads([&](Job& job) {
        Data<double> Y(5, 2);
        for (int64_t i = 0; i < 5; i++) Y(i, 0) = wanted(i, 0) + 0.1, Y(i, 1) = wanted(i, 1) - 0.1;
        multilaterate(T.in(), nullptr, A.in(), 1000, 1e-13, Y.out(), stress.data(), job);
        return Y;
    });
    for (int64_t i = 0; i < 5; i++) {
        CHECK(std::abs(found(i, 0) - wanted(i, 0)) < 1e-8);
        CHECK(std::abs(found(i, 1) - wanted(i, 1)) < 1e-8);
        CHECK(stress[size_t(i)] < 1e-15);
    }
}

}  // namespace
