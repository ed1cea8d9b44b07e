// A test program without a framework: cases register themselves, CHECK counts, main reports.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/levels.hpp"
#include "embedding/affinities.hpp"
#include "embedding/descent.hpp"
#include "embedding/layout.hpp"
#include "graph/graph.hpp"
#include "linear/linear.hpp"
#include "neighbors/neighbors.hpp"
#include "ranks/ranks.hpp"
#include "stress/stress.hpp"

namespace lowd::test {

struct Case {
    const char* name;
    void (*run)();
};
std::vector<Case>& cases();
void fail(const char* file, int line, const char* what);

struct Register {
    Register(const char* name, void (*run)()) { cases().push_back({name, run}); }
};
#define TEST(name)                                                    \
    static void name();                                               \
    static const ::lowd::test::Register register_##name(#name, name); \
    static void name()
#define CHECK(condition) ((condition) ? void() : ::lowd::test::fail(__FILE__, __LINE__, #condition))

// A matrix with a few unused columns, so that rows lie apart.
template <class T>
struct Data {
    int64_t rows, cols, stride;
    std::vector<T> memory;

    Data(int64_t n, int64_t d, int64_t gap = 3)
        : rows(n), cols(d), stride(d + gap), memory(size_t(n * (d + gap)), T(-77)) {}
    static Data random(int64_t n, int64_t d, double offset = 0, unsigned seed = 1) {
        Data data(n, d);
        std::mt19937_64 draw(seed + unsigned(1000 * n + d));
        std::normal_distribution<double> normal;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < d; j++) data(i, j) = T(normal(draw) + offset);
        return data;
    }
    T& operator()(int64_t i, int64_t j) { return memory[size_t(i * stride + j)]; }
    double operator()(int64_t i, int64_t j) const { return double(memory[size_t(i * stride + j)]); }
    Matrix<T> out() { return {memory.data(), rows, cols, stride}; }
    Matrix<const T> in() const { return {memory.data(), rows, cols, stride}; }
    Matrix<const T> in(int64_t first, int64_t count) const {
        return {memory.data() + first * stride, count, cols, stride};
    }
};

template <class T>
bool same(const Data<T>& a, const Data<T>& b) {
    return a.memory.empty() ||
           !std::memcmp(a.memory.data(), b.memory.data(), a.memory.size() * sizeof(T));
}
template <class T>
bool same_row(const Data<T>& a, int64_t i, const Data<T>& b, int64_t j) {
    return !std::memcmp(&a.memory[size_t(i * a.stride)], &b.memory[size_t(j * b.stride)],
                        size_t(a.cols) * sizeof(T));
}

// make(job) -> Data, once per number of threads: the same bits each time. Returns the result.
template <class F>
auto on_any_threads(F make) {
    Job alone(1);
    auto expected = make(alone);
    for (int threads : {2, 5}) {
        Job job(threads);
        CHECK(same(expected, make(job)));
    }
    return expected;
}

// |a - b| <= tolerance * scale for all entries, where expected(i, j) is a naive sum in float64.
template <class T, class F>
bool near(const Data<T>& a, double tolerance, F expected) {
    double error = 0, scale = std::numeric_limits<double>::min();
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j < a.cols; j++) {
            const double e = expected(i, j);
            error = std::fmax(error, std::abs(a(i, j) - e));
            scale = std::fmax(scale, std::abs(e));
            if (std::isnan(a(i, j))) return false;
        }
    if (!(error <= tolerance * scale)) std::printf("  error %g of %g\n", error, scale);
    return error <= tolerance * scale;
}

template <class T>
constexpr double PRECISION = sizeof(T) == 4 ? 3e-6 : 3e-14;

template <class F>
void both_types(F f) {
    f(float());
    f(double());
}

}  // namespace lowd::test
