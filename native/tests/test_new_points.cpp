// New points optimized with the embedding held fixed.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "embeddings.hpp"
#include "embedding/descent.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

// At the optimum of a new point its forces are in balance.
TEST(new_points_are_stationary) {
    for (int64_t k : {1, 2, 3, 5})
        for (bool heavy : {true, false}) {
            const int64_t n = 90, m = 11;
            const Data<double> Y = spread_out(n, k, 2);
            std::vector<int64_t> starts{0};
            std::vector<int32_t> near;
            std::vector<double> p;
            for (int64_t i = 0; i < m; i++) {  // five that are near each other
                std::vector<int32_t> order(static_cast<size_t>(n));
                std::iota(order.begin(), order.end(), 0);
                std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
                    return square(Y, 7 * i, a) < square(Y, 7 * i, b);
                });
                for (int32_t j = 0; j < 5; j++)
                    near.push_back(order[size_t(j)]), p.push_back((1 + j) / 15.0);
                starts.push_back(int64_t(near.size()));
            }
            const Similarity kernel = heavy ? Similarity::student : Similarity::gauss;
            const auto found = on_any_threads([&](Job& job) {
                Data<double> at(m, k);
                for (int64_t i = 0; i < m; i++)
                    for (int64_t c = 0; c < k; c++)
                        at(i, c) = Y(near[size_t(starts[size_t(i)])], c) + 0.01;
                optimize_new_points({starts, near}, p.data(), Y.in(), kernel, {}, false, at.out(),
                                    job);
                return at;
            });
            for (int64_t i = 0; i < m; i++) {
                std::vector<double> attraction(size_t(k), 0.0), repulsion(size_t(k), 0.0);
                double z = 0;
                const auto weight = [&](int64_t j) {
                    double s = 0;
                    for (int64_t c = 0; c < k; c++) s += std::pow(found(i, c) - Y(j, c), 2);
                    return heavy ? 1 / (1 + s) : std::exp(-s);
                };
                for (int64_t e = starts[size_t(i)]; e < starts[size_t(i + 1)]; e++)
                    for (int64_t c = 0; c < k; c++)
                        attraction[size_t(c)] += p[size_t(e)] *
                                                 (heavy ? weight(near[size_t(e)]) : 1) *
                                                 (found(i, c) - Y(near[size_t(e)], c));
                for (int64_t j = 0; j < n; j++) {
                    const double w = weight(j);
                    z += w;
                    for (int64_t c = 0; c < k; c++)
                        repulsion[size_t(c)] += (heavy ? w * w : w) * (found(i, c) - Y(j, c));
                }
                for (size_t c = 0; c < size_t(k); c++)
                    CHECK(close(attraction[c], repulsion[c] / z, 1e-6));
            }
        }
}

// The values up to the median have half of the weight, in lists of any length, with equal weights
// too.
TEST(new_points_start_from_weighted_medians) {
    const int64_t n = 1500, k = 2;
    const Data<double> Y = spread_out(n, k, 2);
    std::vector<int64_t> starts{0};
    std::vector<int32_t> near;
    std::vector<double> p;
    Data<double> at(10, k);
    for (int64_t i = 0; i < 10; i++) {
        const auto count = std::array<int64_t, 5>{1, 2, 14, 90, 1400}[size_t(i / 2)];
        for (int64_t e = 0; e < count; e++) {
            near.push_back(int32_t((e * 7 + i) % n));
            p.push_back(i % 2 ? 1 / double(count) : double(e % 11 + 1));
        }
        starts.push_back(int64_t(near.size()));
        for (int64_t c = 0; c < k; c++) {
            std::vector<std::pair<double, double>> listed;
            double left = 0;
            for (auto e = size_t(starts[size_t(i)]); e < near.size(); e++) {
                listed.emplace_back(Y(near[e], c), p[e]);
                left += p[e] / 2;
            }
            std::sort(listed.begin(), listed.end());
            for (const auto& [value, weight] : listed) {
                at(i, c) = value;
                left -= weight;
                if (left <= 1e-9) break;
            }
        }
    }
    Job job(2);
    Data<double> found(10, k), expected = at;
    const auto optimize = [&](bool from_medians, Data<double>& to) {
        optimize_new_points({starts, near}, p.data(), Y.in(), Similarity::gauss, {}, from_medians,
                            to.out(), job);
    };
    optimize(true, found);
    optimize(false, expected);
    for (int64_t i = 0; i < 10; i++)
        for (int64_t c = 0; c < k; c++) CHECK(found(i, c) == expected(i, c));
}

// Neighbors in three clusters, whose median is near none: the point joins the heaviest one.
TEST(neighbors_in_several_clusters_attract_a_new_point_to_one) {
    const int64_t side = 36;
    const int32_t centers[3][2] = {{3, 13}, {13, 32}, {32, 3}};
    Data<double> Y(side * side, 2);
    for (int64_t i = 0; i < side * side; i++)
        Y(i, 0) = double(i / side), Y(i, 1) = double(i % side);
    std::vector<int32_t> near;
    std::vector<double> p;
    for (int cluster = 0; cluster < 3; cluster++)
        for (int32_t e = 0; e < 25; e++) {
            const int32_t x = centers[cluster][0] + e / 5 - 2, y = centers[cluster][1] + e % 5 - 2;
            near.push_back(x * int32_t(side) + y);
            p.push_back((cluster == 1 ? 0.36 : 0.32) / 25);
        }
    const std::vector<int64_t> starts{0, int64_t(near.size())};
    const auto at = on_any_threads([&](Job& job) {
        Data<double> found(1, 2);
        optimize_new_points({starts, near}, p.data(), Y.in(), Similarity::student, {}, true,
                            found.out(), job);
        return found;
    });
    CHECK(std::hypot(at(0, 0) - 13, at(0, 1) - 32) < 2);
}

TEST(new_points_on_a_grid_are_near_those_by_all_pairs) {
    const int64_t n = 2000, m = 9;
    const CircleGraph graph(n, 3);
    const Data<double> Y = spread_out(n, 2, 10);
    std::vector<int64_t> starts{0};
    std::vector<int32_t> near;
    std::vector<double> p;
    for (int64_t i = 0; i < m; i++) {
        for (int32_t j = 0; j < 4; j++) near.push_back(int32_t(i * 31 + j)), p.push_back(0.25);
        starts.push_back(int64_t(near.size()));
    }
    Job job(2);
    const auto plan =
        descent(graph.ragged(), graph.values.data(), 2, Similarity::student, Repulsion::grid);
    const PotentialGrid grid = plan->interpolation_grid(Y.in(), job);
    const PotentialView view{2,
                             grid.phi.data(),
                             {grid.nodes[0], grid.nodes[1]},
                             {grid.origin[0], grid.origin[1]},
                             grid.spacing};
    const auto optimized = [&](const PotentialView& potential) {
        return on_any_threads([&](Job& threads) {
            Data<double> at(m, 2);
            for (int64_t i = 0; i < m; i++)
                for (int64_t c = 0; c < 2; c++) at(i, c) = Y(near[size_t(4 * i)], c);
            optimize_new_points({starts, near}, p.data(), Y.in(), Similarity::student, potential,
                                false, at.out(), threads);
            return at;
        });
    };
    const Data<double> exact = optimized({}), by_grid = optimized(view);
    CHECK(error_of(by_grid, 0, exact) < 0.01);
}

// A coordinate is an index of the grid: NaN and infinity must not be read beyond it.
TEST(coordinates_that_are_no_numbers_stay_on_the_grid) {
    const int64_t n = 300;
    const CircleGraph graph(n, 3);
    Data<double> Y = spread_out(n, 2, 10);
    const std::vector<int64_t> starts{0, 2};
    const std::vector<int32_t> near{0, 1};
    const std::vector<double> p{0.5, 0.5};
    Job job(1);
    const auto plan =
        descent(graph.ragged(), graph.values.data(), 2, Similarity::student, Repulsion::grid);
    const PotentialGrid grid = plan->interpolation_grid(Y.in(), job);
    const PotentialView view{2,
                             grid.phi.data(),
                             {grid.nodes[0], grid.nodes[1]},
                             {grid.origin[0], grid.origin[1]},
                             grid.spacing};
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        Data<double> at(1, 2), attraction(n, 2), repulsion(n, 2);
        at(0, 0) = at(0, 1) = bad;
        optimize_new_points({starts, near}, p.data(), Y.in(), Similarity::student, view, false,
                            at.out(), job);
        const double good = std::exchange(Y(7, 0), bad);
        plan->forces(Y.in(), attraction.out(), repulsion.out(), job);
        CHECK(std::isfinite(repulsion(3, 1)));
        Y(7, 0) = good;
    }
}

}  // namespace
