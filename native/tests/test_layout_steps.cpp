// Steps of UMAP's descent, and its new points.
#include <algorithm>

#include "layouts.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

// Momentum, and no step longer than 4, by the definition.
TEST(a_layout_step_has_momentum_and_a_maximum) {
    for (int64_t points : {1, 7, 37})
        for (int k : {1, 2, 4, 5}) {
            std::vector<float> force, y, velocity;
            for (int i = 0; i < int(points) * k; i++) {
                force.push_back(float(i * 7 % 11 - 5)), velocity.push_back(float(i * 5 % 7 - 3));
                y.push_back(float(i % 3));
            }
            std::vector<double> to(y.begin(), y.end()), v(to);
            double sum = 0;
            for (int64_t i = 0; i < points; i++) {
                double length = 0;
                for (auto s = size_t(i * k); s < size_t((i + 1) * k); s++) {
                    v[s] = 0.5 * double(velocity[s]) + 0.75 * double(force[s]);
                    length += v[s] * v[s];
                }
                const double shrink = std::min(1.0, 4 / std::sqrt(length));
                for (auto s = size_t(i * k); s < size_t((i + 1) * k); s++) to[s] += v[s] *= shrink;
                sum += length * shrink * shrink;
            }
            CHECK(close(level().layout.momentum_step(points, k, 0.5f, 0.75f, force.data(), y.data(),
                                                     velocity.data()),
                        sum, 1e-6));
            for (size_t s = 0; s < y.size(); s++)
                CHECK(close(y[s], to[s], 1e-6) && close(velocity[s], v[s], 1e-6));
        }
}

TEST(a_layout_goes_down_and_threads_do_not_matter) {
    for (int64_t k : {1, 2, 3, 5})
        for (int64_t n : {400, 4400})  // several chunks, and past a sorting
            for (bool exact : {true, false}) {
                if (exact && n > 400) continue;
                const CircleGraph graph(n, 5);
                const Data<double> Y = spread_out(n, k, 3);
                std::vector<double> rates, repulsions, densities;
                for (int t = 0; t < 70; t++) {
                    rates.push_back(0.5 * (1 - t / 70.0));
                    repulsions.push_back(t < 20 ? 1 : 7.5);
                    densities.push_back(t < 60 ? 0 : 0.5);
                }
                const auto found = on_any_threads([&](Job& job) {
                    const auto plan = layout_of(graph, k, exact, job, 3, standard_radii(n));
                    plan->start(Y.in());
                    plan->advance({rates, repulsions, densities}, job);
                    Data<double> out(n, k);
                    plan->embedding(out.out());
                    return out;
                });
                Job job(2);
                const auto plan = layout_of(graph, k, exact, job);
                const auto loss = [&](const Data<double>& at) {
                    return attractive_loss(graph.ragged(), graph.values.data(), at.in(), LAW, job) +
                           7.5 * plan->repulsive_loss(at.in(), job);
                };
                CHECK(loss(found) < loss(Y) - 0.1);
            }
}

// One step is rate times the sum of the forces.
TEST(a_layout_step_follows_the_forces) {
    for (int64_t k : {1, 2, 3, 5})
        for (bool exact : {true, false}) {
            const int64_t n = 450;
            const CircleGraph graph(n, 4);
            const Data<double> Y = spread_out(n, k, 2);
            Job job(2);
            const auto plan = layout_of(graph, k, exact, job, 5, standard_radii(n));
            Data<double> a(n, k), r(n, k), t(n, k), moved(n, k);
            plan->forces(Y.in(), a.out(), r.out(), job);
            plan->density_forces(Y.in(), 2, t.out(), job);
            const std::vector<double> rates{0.25}, repulsions{7.5}, densities{2};
            plan->start(Y.in());
            plan->advance({rates, repulsions, densities}, job);
            plan->embedding(moved.out());
            double worst = 0;
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < k; c++) {
                    const double step = 0.25 * (a(i, c) + 7.5 * r(i, c) + t(i, c));
                    worst = std::max(worst, std::abs(moved(i, c) - Y(i, c) - step));
                }
            CHECK(worst < (exact ? 1e-12 : 1e-5));
        }
}

// New points in the middle of their neighbors, repelled by all points or by the grid.
TEST(new_points_of_a_layout_are_stationary_and_alone) {
    for (int64_t k : {1, 2, 3, 5}) {
        const int64_t n = 600, m = 9, count = 11;
        const CircleGraph graph(n, 4);
        const Data<double> Y = spread_out(n, k, 4);
        std::vector<int64_t> starts{0}, rows;
        std::vector<int32_t> near;
        std::vector<double> p;
        for (int64_t i = 0; i < n; i++) rows.push_back(i);
        for (int64_t i = 0; i < m; i++) {
            std::vector<int32_t> order(rows.begin(), rows.end());
            std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
                return square(Y, 7 * i, a) < square(Y, 7 * i, b);
            });
            for (int64_t e = 0; e < count; e++)
                near.push_back(order[size_t(e)]), p.push_back(double(1 + e) / 66.0);
            starts.push_back(int64_t(near.size()));
        }
        Job job(2);
        const PotentialGrid grid =
            k <= 2 ? layout_of(graph, k, false, job)->interpolation_grid(Y.in(), job)
                   : PotentialGrid{};
        CHECK(grid.phi.empty() == (k > 2));
        for (bool by_grid : {false, true}) {
            if (by_grid && k > 2) continue;
            LayoutRepulsion repulsion{7.5, {}, rows};
            if (by_grid) {
                repulsion.rows = {};
                repulsion.potential = {int(k),
                                       grid.phi.data(),
                                       {grid.nodes[0], grid.nodes[1]},
                                       {grid.origin[0], grid.origin[1]},
                                       grid.spacing};
            }
            const auto optimize = [&](Ragged lists, const double* weights, Job& some) {
                Data<double> out(lists.count(), k);
                optimize_layout_points(lists, weights, Y.in(), LAW, repulsion, 0.5, 30, out.out(),
                                       some);
                return out;
            };
            const auto found =
                on_any_threads([&](Job& some) { return optimize({starts, near}, p.data(), some); });
            for (int64_t i = 0; i < m; i++) {
                const std::vector<int64_t> own{0, count};
                const std::span list(near.data() + i * count, size_t(count));
                const auto alone = optimize({own, list}, p.data() + i * count, job);
                CHECK(same_row(alone, 0, found, i));
                std::vector<double> force(size_t(k), 0.0);
                double size = 0;
                const auto gap = [&](int64_t j, int64_t c) { return Y(j, c) - found(i, c); };
                const auto away = [&](int64_t j) {
                    double s = 0;
                    for (int64_t c = 0; c < k; c++) s += gap(j, c) * gap(j, c);
                    return s;
                };
                for (int64_t c = 0; c < k; c++) {
                    for (int64_t e = 0; e < count; e++) {
                        const int64_t j = list[size_t(e)];
                        const double one = p[size_t(e)] * attraction_at(LAW, away(j)) * gap(j, c);
                        force[size_t(c)] += one;
                        size += std::abs(one);
                    }
                    for (int64_t j = 0; j < n; j++)
                        force[size_t(c)] -=
                            7.5 * repulsion_at(LAW, away(j)) * gap(j, c) / double(2 * n);
                }
                for (int64_t c = 0; c < k; c++)
                    CHECK(std::abs(force[size_t(c)]) < (by_grid ? 0.05 : 0.02) * size);
            }
        }
    }
}

}  // namespace
