#include "stress/stress.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

constexpr double NONE = std::numeric_limits<double>::quiet_NaN();

bool close(double a, double b) { return std::abs(a - b) <= 1e-10 * (1 + std::abs(b)); }

template <class T>
Data<T> matrix(int64_t n, const std::function<double()>& draw) {
    Data<T> D(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) D(i, j) = D(j, i) = i == j ? T(0) : T(draw());
    return D;
}

// All known pairs are in order, whatever their values.
template <class T>
void check_order(int64_t n, const std::function<double()>& draw) {
    const Data<T> D = matrix<T>(n, draw);
    Data<T> W(n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) W(i, j) = T((i + j) % 3);
    const Matrix<const T> weights = W.in();
    for (bool weighted : {false, true}) {
        std::vector<std::tuple<double, int32_t, int32_t>> expected;
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = i + 1; j < n; j++)
                if (!std::isnan(D(i, j)) && (!weighted || (i + j) % 3 > 0))
                    expected.push_back({D(i, j), i, j});
        std::ranges::sort(expected);
        for (int threads : {1, 3}) {
            Job job(threads);
            const SortedPairs found = sort_pairs(D.in(), weighted ? &weights : nullptr, job);
            CHECK(found.count == int64_t(expected.size()));
            bool right = found.count == int64_t(expected.size()), ties = false;
            for (int64_t p = 0; right && p < found.count; p++) {
                const auto [value, i, j] = expected[size_t(p)];
                const bool tied = p > 0 && value == std::get<0>(expected[size_t(p) - 1]);
                ties |= tied;
                right &= found.pairs[p].first == i && found.pairs[p].second == j;
                right &= tied == (found.tied && found.tied[p]);
                right &= weighted ? found.weights[p] == (i + j) % 3 : !found.weights;
            }
            CHECK(right);
            CHECK(ties == bool(found.tied));
        }
    }
}

TEST(pairs_are_sorted_by_any_values) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    std::vector<std::function<double()>> draws = {
        [&] { return std::abs(normal(random)); },
        [&] { return normal(random); },  // of both signs
        [&] { return std::round(4 * normal(random)); },  // ties, and zeros of both signs
        [&] { return 3.0; },
        [&] { return random() % 5 ? std::abs(normal(random)) : NONE; },
        [&] { return NONE; },
        [&] { return std::exp(60 * normal(random)); },  // no buckets of equal width suit them
        [&] { return random() % 9 ? 1 + 1e-9 * normal(random) : 1e30; },
        [&] { return random() % 9 ? 5e-324 * double(random() % 3) : 0.0; },
        [&] { return random() % 9 ? 1.7e308 : -1.7e308; },
    };
    for (const auto& draw : draws)
        for (int64_t n : {1, 2, 3, 20, 120}) {
            check_order<double>(n, draw);
            if (n == 120) check_order<float>(n, [&] { return draw() * 1e-30; });
        }
}

double distance_of(const Data<double>& Y, PointPair pair) {
    double sum = 0;
    for (int64_t c = 0; c < Y.cols; c++)
        sum += (Y(pair.first, c) - Y(pair.second, c)) * (Y(pair.first, c) - Y(pair.second, c));
    return std::sqrt(sum);
}

// Pool adjacent violators, of items with given sums and weights.
std::vector<double> isotonic_means(const std::vector<double>& sums, const std::vector<double>& w) {
    std::vector<std::tuple<double, double, int>> pools;
    for (size_t i = 0; i < sums.size(); i++) {
        double sum = sums[i], weight = w[i];
        int count = 1;
        for (; !pools.empty(); pools.pop_back()) {
            const auto [s, m, c] = pools.back();
            if (s / m < sum / weight) break;
            sum += s, weight += m, count += c;
        }
        pools.push_back({sum, weight, count});
    }
    std::vector<double> means;
    for (const auto& [sum, weight, count] : pools)
        means.insert(means.end(), size_t(count), sum / weight);
    return means;
}

TEST(disparities_increase_and_are_nearest) {
    const int64_t n = 130;  // parts, and the last is not whole
    std::mt19937_64 random(3);
    const Data<double> Y = Data<double>::random(n, 2);
    for (double steps : {0.0, 40.0, 1.0})  // ties: none, some, a group of more than a part
        for (bool break_ties : {false, true})
            for (bool weighted : {false, true}) {
                const Data<double> D = matrix<double>(n, [&] {
                    const double d = double(random() % 1000003) / 1000003;
                    return steps > 0 ? std::round(steps * d * d) : d;
                });
                Data<double> W(n, n);
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < n; j++) W(i, j) = 1 + (i + j) % 4;
                const Matrix<const double> weights = W.in();
                Stress found;
                const auto moved = on_any_threads([&](Job& job) {
                    MonotoneRegression regression(D.in(), weighted ? &weights : nullptr, break_ties,
                                                  job);
                    Data<double> out(n, 2);
                    regression.step(Data<double>::random(n, 2, 0, 9).in(), out.out(), job);
                    found = regression.step(Y.in(), out.out(), job);
                    return out;
                });
                // Once more, plainly.
                std::vector<std::tuple<double, double, PointPair>> pairs;
                for (int32_t i = 0; i < n; i++)
                    for (int32_t j = i + 1; j < n; j++)
                        pairs.push_back({D(i, j), distance_of(Y, {i, j}), {i, j}});
                std::ranges::sort(pairs, [](const auto& a, const auto& b) {
                    return std::tie(std::get<0>(a), std::get<1>(a)) <
                           std::tie(std::get<0>(b), std::get<1>(b));
                });
                std::vector<double> sums, item_weights;
                std::vector<size_t> item;
                for (size_t p = 0; p < pairs.size(); p++) {
                    const auto [d, distance, pair] = pairs[p];
                    const double w = weighted ? std::as_const(W)(pair.first, pair.second) : 1;
                    if (p == 0 || break_ties || d != std::get<0>(pairs[p - 1]))
                        sums.push_back(0), item_weights.push_back(0);
                    sums.back() += w * distance, item_weights.back() += w;
                    item.push_back(sums.size() - 1);
                }
                const std::vector<double> means = isotonic_means(sums, item_weights);
                double total = 0, squares = 0;
                for (size_t i = 0; i < sums.size(); i++)
                    total += item_weights[i], squares += item_weights[i] * means[i] * means[i];
                Stress expected;
                Data<double> forces(n, 2);
                for (int64_t i = 0; i < n; i++) forces(i, 0) = forces(i, 1) = 0;
                for (size_t p = 0; p < pairs.size(); p++) {
                    const auto [d, distance, pair] = pairs[p];
                    const auto [i, j] = pair;
                    const double w = weighted ? std::as_const(W)(i, j) : 1;
                    const double t = means[item[p]] * std::sqrt(total / squares);
                    expected.stress += w * (t - distance) * (t - distance);
                    expected.size += w * distance * distance;
                    expected.cross += w * t * distance;
                    for (int64_t c = 0; c < 2; c++) {
                        const double force = w * t / distance * (Y(i, c) - Y(j, c));
                        forces(i, c) += force, forces(j, c) -= force;
                    }
                }
                CHECK(close(found.stress, expected.stress));
                CHECK(close(found.size, expected.size) && close(found.cross, expected.cross));
                for (int64_t i = 0; i < n; i++)
                    for (int64_t c = 0; c < 2; c++)
                        CHECK(close(moved(i, c), std::as_const(forces)(i, c)));
            }
}

}  // namespace
