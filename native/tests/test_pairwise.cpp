#include <functional>

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

using Row = std::vector<double>;
struct Definition {
    const char* name;
    std::vector<double> params;
    std::function<double(const Row&, const Row&)> value;
    bool grid = false;  // on small whole numbers
};

double fold(const Row& q, const Row& x, double (*term)(double, double)) {
    double s = 0;
    for (size_t k = 0; k < q.size(); k++) s += term(q[k], x[k]);
    return s;
}
double dot(const Row& q, const Row& x) {
    return fold(q, x, [](double a, double b) { return a * b; });
}
constexpr double CENTER = 1;  // of products alone: nothing else depends on it
double centered(double a, double b) { return (a - CENTER) * (b - CENTER); }
double square(const Row& q, const Row& x) {
    return fold(q, x, [](double a, double b) { return (a - b) * (a - b); });
}
double manhattan(const Row& q, const Row& x) {
    return fold(q, x, [](double a, double b) { return std::abs(a - b); });
}

const std::vector<Definition>& definitions() {
    using R = const Row&;
    static const std::vector<Definition> all = {
        {"dot", {2}, [](R q, R x) { return 2 * fold(q, x, centered); }},
        {"poly", {0.01, 1, 3}, [](R q, R x) { return std::pow(0.01 * dot(q, x) + 1, 3); }},
        {"poly", {1e-3, 9, 2.5}, [](R q, R x) { return std::pow(1e-3 * dot(q, x) + 9, 2.5); }},
        {"sigmoid", {0.1, -0.2}, [](R q, R x) { return std::tanh(0.1 * dot(q, x) - 0.2); }},
        {"sqeuclidean", {0.5}, [](R q, R x) { return 0.5 * square(q, x); }},
        {"euclidean", {2}, [](R q, R x) { return 2 * std::sqrt(square(q, x)); }},
        {"rbf", {0.02}, [](R q, R x) { return std::exp(-0.02 * square(q, x)); }},
        {"rbfm1", {1e-5}, [](R q, R x) { return std::expm1(-1e-5 * square(q, x)); }},
        {"manhattan", {}, manhattan},
        {"laplacian", {0.01}, [](R q, R x) { return std::exp(-0.01 * manhattan(q, x)); }},
        {"chebyshev",
         {},
         [](R q, R x) {
             double most = 0;
             for (size_t k = 0; k < q.size(); k++) most = std::fmax(most, std::abs(q[k] - x[k]));
             return most;
         }},
        {"minkowski",
         {3},
         [](R q, R x) {
             return std::cbrt(
                 fold(q, x, [](double a, double b) { return std::pow(std::abs(a - b), 3); }));
         }},
        {"minkowski",
         {1.5},
         [](R q, R x) {
             return std::pow(
                 fold(q, x, [](double a, double b) { return std::pow(std::abs(a - b), 1.5); }),
                 1 / 1.5);
         }},
        {"hamming",
         {},
         [](R q, R x) {
             return fold(q, x, [](double a, double b) { return double(a != b); }) /
                    double(q.size());
         },
         true},
        {"jaccard",
         {},
         [](R q, R x) {
             const double both =
                 fold(q, x, [](double a, double b) { return double(a != 0 && b != 0); });
             const double either =
                 fold(q, x, [](double a, double b) { return double(a != 0 || b != 0); });
             return either ? (either - both) / either : 0.0;
         },
         true}};
    return all;
}

template <class T>
Row row(const Data<T>& X, int64_t i) {
    Row r;
    for (int64_t j = 0; j < X.cols; j++) r.push_back(X(i, j));
    return r;
}
template <class T>
Data<T> pairs(Matrix<const T> Q, Matrix<const T> X, const Definition& m, const double* center,
              bool symmetric, Job& job) {
    Data<T> out(Q.rows, X.rows);
    pairwise(Q, X, *measure_named(m.name), std::span(m.params), center, symmetric, out.out(), job);
    return out;
}

}  // namespace

TEST(pairwise_matches) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [m, n, d] : {std::tuple{1, 1, 1}, {7, 31, 5}, {33, 100, 33}, {40, 70, 300}})
            for (const Definition& measure : definitions()) {
                auto X = Data<T>::random(n, d, 1), Q = Data<T>::random(m, d, 1, 2);
                for (auto* data : {&X, &Q})
                    for (T& entry : data->memory)
                        if (measure.grid) entry = std::fmax(T(0), std::round(entry));
                const std::vector<double> center(size_t(d), CENTER);
                const auto D = on_any_threads([&](Job& job) {
                    return pairs(Q.in(), X.in(), measure, center.data(), false, job);
                });
                CHECK(near(D, 3 * PRECISION<T>, [&](int64_t i, int64_t j) {
                    return measure.value(row(Q, i), row(X, j));
                }));
                const auto S = on_any_threads([&](Job& job) {
                    return pairs(X.in(), X.in(), measure, center.data(), true, job);
                });
                Job job(2);
                const auto full = pairs(X.in(), X.in(), measure, center.data(), false, job);
                CHECK(same(S, full));
                const auto one = pairs(X.in(n / 2, 1), X.in(), measure, center.data(), false, job);
                CHECK(same_row(one, 0, full, n / 2));
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < i; j++) CHECK(S(i, j) == S(j, i));
            }
    });
}

TEST(close_pairs_keep_their_digits) {
    both_types([](auto zero) {
        using T = decltype(zero);
        auto X = Data<T>::random(40, 50, 1000);
        for (int j = 0; j < 50; j++) {
            X(1, j) = X(0, j);  // a duplicate
            X(2, j) = X(0, j);
        }
        // The nearest other row.
        X(2, 7) = std::nextafter(X(2, 7), T(1e9));
        for (const char* name : {"sqeuclidean", "euclidean", "rbf", "rbfm1"}) {
            const double p = 1;
            Job job(2);
            Data<T> D(40, 40);
            // No center: the hard way.
            pairwise(X.in(), X.in(), *measure_named(name), std::span(&p, 1), nullptr, true, D.out(),
                     job);
            const bool kernel = std::string(name) == "rbf";
            for (int i = 0; i < 40; i++) CHECK(D(i, i) == T(kernel));
            CHECK(D(0, 1) == T(kernel));
            const double gap = double(X(2, 7)) - double(X(0, 7));
            if (std::string(name) == "euclidean") CHECK(D(0, 2) == T(gap));
            if (std::string(name) == "sqeuclidean") CHECK(D(0, 2) == T(gap * gap));
        }
    });
}

TEST(extreme_scales_keep_distances) {
    for (double scale : {1e-25, 1e25}) {  // squares leave the range of float32
        auto X = Data<float>::random(20, 30);
        for (float& entry : X.memory) entry = float(entry * scale);
        const double p = 1;
        Job job(1);
        Data<float> D(20, 20);
        pairwise(X.in(), X.in(), Measure::euclidean, std::span(&p, 1), nullptr, true, D.out(), job);
        CHECK(near(D, 1e-6,
                   [&](int64_t i, int64_t j) { return std::sqrt(square(row(X, i), row(X, j))); }));
    }
}

// The vector functions, through a 1 x n problem: q = 1, x = the argument.
TEST(exponentials_are_accurate) {
    both_types([](auto zero) {
        using T = decltype(zero);
        Data<T> x(4000, 1, 0), one(1, 1, 0);
        one(0, 0) = 0;
        for (int i = 0; i < 4000; i++) x(i, 0) = T(std::exp((i - 3200) / 100.0));  // 1e-14 .. 3000
        const double p = 1, unit = std::numeric_limits<T>::epsilon();
        Job job(1);
        for (auto [name, f] : {std::pair<const char*, double (*)(double)>{
                                   "laplacian", [](double v) { return std::exp(-v); }},
                               {"rbfm1", [](double v) { return std::expm1(-v * v); }}}) {
            Data<T> y(1, 4000, 0);
            pairwise(one.in(), x.in(), *measure_named(name), std::span(&p, 1), nullptr, false,
                     y.out(), job);
            for (int i = 0; i < 4000; i++) {
                const double e = f(double(x(i, 0)));
                const double unit_here =
                    std::fmax(std::abs(e) * unit, double(std::numeric_limits<T>::denorm_min()));
                CHECK(std::abs(double(y(0, i)) - e) <= 2.5 * unit_here);
            }
        }
    });
}
