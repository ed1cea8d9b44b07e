#include "ranks/ranks.hpp"

#include <algorithm>

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

constexpr int64_t K = 6;

// Indices of rows, some of them -1.
Data<int32_t> lists(int64_t rows, int64_t n, unsigned seed) {
    Data<int32_t> ids(rows, K);
    std::mt19937_64 draw(seed);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t q = 0; q < K; q++) ids(i, q) = int32_t(draw() % size_t(n + 1)) - 1;
    return ids;
}

template <class T>
double distance(const Data<T>& X, int64_t i, int64_t j) {
    return std::sqrt(kernels<T>().difference_square(X.in().row(i), X.in().row(j), X.cols, 1,
                                                    std::numeric_limits<double>::infinity()));
}

// The definition: one and the number of others that are closer, or tied with a lower index.
template <class T>
int32_t rank_of(const Data<T>& X, int64_t i, int64_t j) {
    int32_t closer = 0;
    for (int64_t l = 0; l < X.rows; l++) {
        if (l == i || l == j) continue;
        const double own = distance(X, i, l), other = distance(X, i, j);
        closer += own < other || (own == other && l < j);
    }
    return closer + 1;
}

template <class T>
Data<int32_t> found(const Data<T>& X, const std::vector<int64_t>* rows, const Data<int32_t>& ids,
                    Job& job) {
    std::vector<double> center(static_cast<size_t>(X.cols), 0.0);
    for (int64_t i = 0; i < X.rows; i++)
        for (int64_t c = 0; c < X.cols; c++) center[size_t(c)] += X(i, c) / double(X.rows);
    Data<int32_t> out(ids.rows, K);
    ranks(X.in(), center.data(), 1.0, rows ? rows->data() : nullptr, Metric{true, 1, 1}, ids.in(),
          out.out(), job);
    return out;
}

template <class T>
void check(const Data<T>& X, const std::vector<int64_t>* rows) {
    const int64_t queries = rows ? int64_t(rows->size()) : X.rows;
    const Data<int32_t> ids = lists(queries, X.rows, 7);
    const Data<int32_t> out = on_any_threads([&](Job& job) { return found(X, rows, ids, job); });
    for (int64_t i = 0; i < queries; i += 7) {
        const int64_t own = rows ? (*rows)[size_t(i)] : i;
        for (int64_t q = 0; q < K; q++) {
            const auto j = int64_t(ids(i, q));
            if (j == own) continue;
            CHECK(int32_t(out(i, q)) == (j < 0 ? 0 : rank_of(X, own, j)));
        }
    }
}

template <class T>
Data<T> lattice(int64_t n, int64_t d) {
    Data<T> X = Data<T>::random(n, d);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < d; c++) X(i, c) = T(std::round(X(i, c)));
    return X;
}

}  // namespace

TEST(ranks_are_counts_of_closer_rows) {
    both_types([](auto t) {
        using T = decltype(t);
        for (const auto& [n, d] : {std::pair<int64_t, int64_t>{40, 3}, {300, 1}, {520, 300}})
            check(Data<T>::random(n, d), nullptr);
        check(Data<T>::random(300, 5, 1e4), nullptr);  // far from the origin
        const std::vector<int64_t> rows{0, 3, 299, 300, 511};
        check(Data<T>::random(512, 9), &rows);
    });
}

TEST(ties_are_ranked_by_index) {
    both_types([](auto t) {
        using T = decltype(t);
        check(lattice<T>(400, 2), nullptr);
        check(lattice<T>(270, 6), nullptr);
    });
}

TEST(whole_rows_are_ranked_by_value_and_column) {
    both_types([](auto t) {
        using T = decltype(t);
        for (const int64_t n : {1, 2, 50, 3000, 20000})
            for (const bool tied : {false, true}) {
                Data<T> D = Data<T>::random(4, n);
                for (int64_t i = 0; i < 4; i++)
                    for (int64_t j = 0; j < n; j++)
                        D(i, j) = T(tied ? std::round(4 * std::abs(D(i, j)))
                                         : std::abs(D(i, j)) * (j % 3 ? 1e-9 : 1));
                const std::vector<int64_t> own{0, n / 2, n - 1, n / 3};
                const Data<int32_t> out = on_any_threads([&](Job& job) {
                    Data<int32_t> ranks(4, n);
                    rank_rows(D.in(), own.data(), ranks.out(), job);
                    return ranks;
                });
                for (int64_t i = 0; i < 4; i++) {
                    std::vector<std::pair<double, int64_t>> order;
                    for (int64_t j = 0; j < n; j++)
                        if (j != own[size_t(i)]) order.emplace_back(D.in().row(i)[j], j);
                    std::sort(order.begin(), order.end());
                    CHECK(out(i, own[size_t(i)]) == 0);
                    bool right = true;
                    for (size_t rank = 0; rank < order.size(); rank++)
                        right = right && out(i, order[rank].second) == double(rank + 1);
                    CHECK(right);
                }
            }
    });
}
