#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

static const std::pair<int, int> SHAPES[] = {
    {1, 1}, {7, 5}, {31, 33}, {33, 31}, {100, 100}, {300, 70}, {9000, 20}, {1100, 270}, {40, 1100}};

template <class T>
struct Weighted {
    Data<T> X;
    std::vector<double> weights, mean;
    Weighted(int n, int d, double offset)
        : X(Data<T>::random(n, d, offset)), weights(size_t(n)), mean(size_t(d)) {
        double total = 0;
        for (int i = 0; i < n; i++) total += weights[size_t(i)] = 0.5 + i % 3;
        const auto& x = X;
        for (int j = 0; j < d; j++) {
            for (int i = 0; i < n; i++) mean[size_t(j)] += weights[size_t(i)] * x(i, j) / total;
            mean[size_t(j)] += 0.1;  // not quite the mean: nothing may rely on sums of zero
        }
    }
    double centered(int64_t i, int64_t j) const { return (X(i, j) - mean[size_t(j)]) * 0.5; }
};

TEST(column_sums_match) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [n, d] : SHAPES)
            for (bool weighted : {false, true}) {
                const Weighted<T> data(n, d, 3);
                double largest = 0;
                const auto sums = on_any_threads([&](Job& job) {
                    Data<double> out(1, data.X.cols, 0);
                    largest = column_sums(data.X.in(), weighted ? data.weights.data() : nullptr,
                                          out.memory.data(), nullptr, job);
                    return out;
                });
                CHECK(near(sums, 1e-13, [&](int64_t, int64_t j) {
                    double s = 0;
                    for (int i = 0; i < data.X.rows; i++)
                        s += data.X(i, j) * (weighted ? data.weights[size_t(i)] : 1);
                    return s;
                }));
                double expected = 0;
                for (int i = 0; i < data.X.rows; i++)
                    for (int j = 0; j < data.X.cols; j++)
                        expected = std::fmax(expected, std::abs(data.X(i, j)));
                CHECK(largest == expected);
            }
    });
}

TEST(priorities_are_random_bits_of_the_entries_in_float64) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [n, d] : {std::pair{1, 1}, {7, 31}, {3000, 100}, {70, 4100}, {20, 9000}}) {
            auto X = Data<T>::random(n, d);
            X(0, 0) = T(-0.0);
            std::vector<uint64_t> multipliers(d), priorities(n);
            std::vector<double> sums(d), expected_sums(d);
            for (int j = 0; j < d; j++) multipliers[j] = 2 * uint64_t(j) * 0x9e3779b97f4a7c15u + 1;
            const RowPriorities asked{multipliers.data(), 7, priorities.data()};
            Job job(3);
            column_sums(X.in(), nullptr, sums.data(), &asked, job);
            for (int i = 0; i < n; i++) {
                uint64_t hash = 0;
                for (int j = 0; j < d; j++) {
                    const double entry = X(i, j) == 0 ? 0.0 : double(X(i, j));
                    uint64_t word;
                    std::memcpy(&word, &entry, sizeof word);
                    hash += (word ^ (word >> 32)) * multipliers[j];
                }
                // SplitMix64, as in random.py.
                uint64_t z = 7 + (hash + 1) * 0x9e3779b97f4a7c15u;
                z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
                z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
                CHECK(priorities[i] == (z ^ (z >> 31)));
            }
            column_sums(X.in(), nullptr, expected_sums.data(), nullptr, job);
            CHECK(sums == expected_sums);
        }
    });
}

TEST(scatter_matches) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [n, d] : SHAPES)
            for (double offset : {0.0, 1e4}) {
                const Weighted<T> data(n, d, offset);
                const bool weighted = offset == 0;
                const auto C = on_any_threads([&](Job& job) {
                    Data<double> out(data.X.cols, data.X.cols);
                    scatter(data.X.in(), weighted ? data.weights.data() : nullptr, data.mean.data(),
                            0.5, out.out(), job);
                    return out;
                });
                CHECK(near(C, PRECISION<T>, [&](int64_t i, int64_t j) {
                    double s = 0;
                    for (int r = 0; r < data.X.rows; r++)
                        s += data.centered(r, i) * data.centered(r, j) *
                             (weighted ? data.weights[size_t(r)] : 1);
                    return s;
                }));
                for (int i = 0; i < d; i++)
                    for (int j = 0; j < i; j++) CHECK(C(i, j) == C(j, i));
            }
    });
}

TEST(scatter_matmul_matches) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [n, d] : SHAPES)
            for (int b : {1, 8, 13}) {
                const Weighted<T> data(n, d, b == 8 ? 1e4 : 1);
                const auto V = Data<T>::random(d, b);
                double total = 0;
                const auto Y = on_any_threads([&](Job& job) {
                    Data<double> out(data.X.cols, V.cols);
                    total = scatter_matmul(data.X.in(), data.weights.data(), data.mean.data(), 0.5,
                                           V.in(), out.out(), job);
                    return out;
                });
                std::vector<double> z(size_t(n * b));
                double expected = 0;
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < d; j++) {
                        expected +=
                            data.weights[size_t(i)] * data.centered(i, j) * data.centered(i, j);
                        for (int c = 0; c < b; c++)
                            z[size_t(i * b + c)] +=
                                data.weights[size_t(i)] * data.centered(i, j) * V(j, c);
                    }
                CHECK(near(Y, 3 * PRECISION<T>, [&](int64_t j, int64_t c) {
                    double s = 0;
                    for (int i = 0; i < data.X.rows; i++)
                        s += data.centered(i, j) * z[size_t(i * V.cols + c)];
                    return s;
                }));
                CHECK(std::abs(total - expected) <= PRECISION<T> * expected);
            }
    });
}
