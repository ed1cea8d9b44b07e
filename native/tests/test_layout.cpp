// Forces, loss and descent of UMAP, and its new points.
#include "lowd/layout.hpp"

#include <algorithm>

#include "embeddings.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

const ForceLaw LAW{1.5769, 0.8951, 0.02};

double attraction_at(const ForceLaw& law, double s) {
    s = std::max(s, 1e-12);
    return 2 * law.a * law.b * std::pow(s, law.b - 1) / (1 + law.a * std::pow(s, law.b));
}
double repulsion_at(const ForceLaw& law, double s) {
    return 2 * law.b / ((law.softening + s) * (1 + law.a * std::pow(s, law.b)));
}

// Both forces by the definition.
void plain_layout_forces(const CircleGraph& graph, const Data<double>& Y, const ForceLaw& law,
                         Data<double>& a, Data<double>& r) {
    for (int64_t i = 0; i < Y.rows; i++) {
        double degree = 0;
        for (int64_t e = graph.indptr[size_t(i)]; e < graph.indptr[size_t(i + 1)]; e++)
            degree += graph.values[size_t(e)];
        for (int64_t c = 0; c < Y.cols; c++) {
            a(i, c) = r(i, c) = 0;
            for (int64_t e = graph.indptr[size_t(i)]; e < graph.indptr[size_t(i + 1)]; e++) {
                const int64_t j = graph.ends[size_t(e)];
                a(i, c) += graph.values[size_t(e)] / degree *
                           attraction_at(law, square(Y, i, j)) * (Y(j, c) - Y(i, c));
            }
            for (int64_t j = 0; j < Y.rows; j++)
                r(i, c) += repulsion_at(law, square(Y, i, j)) * (Y(i, c) - Y(j, c)) /
                           double(2 * Y.rows);
        }
    }
}

std::unique_ptr<Layout> layout_of(const CircleGraph& graph, int64_t k, bool exact, Job& job,
                                  uint64_t seed = 0, const std::vector<double>& radii = {},
                                  const ForceLaw& law = LAW) {
    return layout(graph.ragged(), graph.values.data(), int(k), law, exact, seed, {radii, 0.1}, job);
}

// The attractive, then the repulsive forces.
Data<double> layout_forces(const CircleGraph& graph, const Data<double>& Y, bool exact,
                           uint64_t seed = 0, const ForceLaw& law = LAW) {
    return on_any_threads([&](Job& job) {
        Data<double> both(2 * Y.rows, Y.cols);
        const Matrix<double> all = both.out();
        layout_of(graph, Y.cols, exact, job, seed, {}, law)
            ->forces(Y.in(), {all.data, Y.rows, Y.cols, all.stride},
                     {all.row(Y.rows), Y.rows, Y.cols, all.stride}, job);
        return both;
    });
}

std::vector<double> standard_radii(int64_t n) {
    std::vector<double> radii;
    for (int64_t i = 0; i < n; i++) radii.push_back((i * 7 % 11 - 5) / std::sqrt(10.0));
    return radii;
}

TEST(layout_forces_of_all_pairs_are_the_sums) {
    for (const ForceLaw& law : {LAW, ForceLaw{0.115, 1.93, 0.02}, ForceLaw{9, 0.4, 0.1}})
        for (int64_t k : {1, 2, 3, 5})
            for (int64_t n : {2, 9, 100}) {
                const CircleGraph graph(n, std::min<int64_t>(9, n / 2));
                const Data<double> Y = spread_out(n, k, 2);
                const Data<double> found = layout_forces(graph, Y, true, 0, law);
                Data<double> a(n, k), r(n, k);
                plain_layout_forces(graph, Y, law, a, r);
                for (int64_t i = 0; i < n; i++)
                    for (int64_t c = 0; c < k; c++)
                        CHECK(close(found(i, c), a(i, c), 1e-12) &&
                              close(found(n + i, c), r(i, c), 1e-12));
            }
}

TEST(layout_forces_of_a_grid_are_near_the_sums) {
    for (const ForceLaw& law : {LAW, ForceLaw{0.115, 1.93, 0.02}})
        for (int64_t k : {1, 2})
            for (double size : {1.0, 4.0}) {
                const int64_t n = 1500;
                const CircleGraph graph(n, 9);  // more than sixteen edges
                const Data<double> Y = spread_out(n, k, size);
                const Data<double> found = layout_forces(graph, Y, false, 0, law);
                Data<double> a(n, k), r(n, k);
                plain_layout_forces(graph, Y, law, a, r);
                CHECK(error_of(found, 0, a) < 2e-5);
                CHECK(error_of(found, n, r) < 0.04);
            }
}

TEST(sampled_layout_forces_have_the_mean_of_the_sums) {
    const int64_t n = 300, seeds = 400;
    for (int64_t k : {3, 5}) {
        const CircleGraph graph(n, 9);
        const Data<double> Y = spread_out(n, k, 1);
        Data<double> a(n, k), r(n, k), mean(n, k);
        plain_layout_forces(graph, Y, LAW, a, r);
        std::fill(mean.memory.begin(), mean.memory.end(), 0.0);
        const auto add = [&](const Data<double>& found, double share) {
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < k; c++) mean(i, c) += share * found(n + i, c);
        };
        const Data<double> once = layout_forces(graph, Y, false, 1);
        CHECK(error_of(once, 0, a) < 2e-5);
        const double noise = error_of(once, n, r);
        for (int64_t seed = 0; seed < seeds; seed++)
            add(layout_forces(graph, Y, false, uint64_t(seed)), 1 / double(seeds));
        CHECK(error_of(mean, 0, r) < 2 * noise / std::sqrt(double(seeds)));
        CHECK(noise > 0.05);
    }
}

// A grid for it would be too large, and coarser nodes would not resolve the forces.
TEST(a_layout_too_wide_for_a_grid_is_sampled) {
    const int64_t n = 600;
    const CircleGraph graph(n, 4);
    for (double far : {1e3, 1e12, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
        Data<double> Y = spread_out(n, 2, 2), a(n, 2), r(n, 2), found(n, 2);
        Y(7, 1) = far;
        Job job(2);
        const auto plan = layout_of(graph, 2, false, job);
        plan->forces(Y.in(), a.out(), r.out(), job);
        CHECK(plan->interpolation_grid(Y.in(), job).phi.empty());
        const std::vector<double> rates(60, 0.5), repulsions(60, 7.5);
        plan->start(Y.in());
        plan->advance({rates, repulsions, {}}, job);
        plan->embedding(found.out());
        CHECK(std::isfinite(plan->repulsive_loss(found.in(), job)));
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < 2; c++)
                CHECK(std::isfinite(r(i, c)) && std::isfinite(a(i, c)) &&
                      std::isfinite(found(i, c)));
    }
}

TEST(points_without_edges_are_repelled_only) {
    for (bool exact : {true, false}) {
        const std::vector<int64_t> starts{0, 1, 2, 2, 2};
        const std::vector<int32_t> ends{1, 0};
        const std::vector<double> values{0.5, 0.5}, radii{1, -1, 1, -1};
        Job job(1);
        const auto plan =
            layout({starts, ends}, values.data(), 2, LAW, exact, 0, {radii, 0.1}, job);
        const Data<double> Y = spread_out(4, 2, 1);
        Data<double> a(4, 2), r(4, 2), t(4, 2);
        plan->forces(Y.in(), a.out(), r.out(), job);
        plan->density_forces(Y.in(), 1, t.out(), job);
        for (int64_t c = 0; c < 2; c++) {
            CHECK(a(0, c) != 0 && a(0, c) == -a(1, c) && a(2, c) == 0 && a(3, c) == 0);
            CHECK(r(2, c) != 0 && t(2, c) == 0 && t(3, c) == 0 && std::isfinite(t(0, c)));
        }
    }
}

// Equal points, and all of them.
TEST(equal_points_have_finite_forces) {
    for (bool exact : {true, false})
        for (int64_t distinct : {1, 5}) {
            const int64_t n = 40;
            const CircleGraph graph(n, 4);
            const Data<double> some = spread_out(distinct, 2, 1);
            Data<double> Y(n, 2), a(n, 2), r(n, 2), t(n, 2);
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < 2; c++) Y(i, c) = some(i % distinct, c);
            Job job(1);
            const auto plan = layout_of(graph, 2, exact, job, 0, standard_radii(n));
            plan->forces(Y.in(), a.out(), r.out(), job);
            plan->density_forces(Y.in(), 1, t.out(), job);
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < 2; c++)
                    CHECK(std::isfinite(a(i, c)) && std::isfinite(r(i, c)) &&
                          std::isfinite(t(i, c)));
        }
}

TEST(density_forces_in_float32_are_those_in_float64) {
    for (int64_t k : {1, 2, 3, 5}) {
        const int64_t n = 700;
        const CircleGraph graph(n, 9);
        const Data<double> Y = spread_out(n, k, 2);
        const auto forces = [&](bool exact, double strength) {
            return on_any_threads([&](Job& job) {
                Data<double> t(n, k);
                layout_of(graph, k, exact, job, 0, standard_radii(n))
                    ->density_forces(Y.in(), strength, t.out(), job);
                return t;
            });
        };
        for (double strength : {1e-3, 1.0, 1e6})  // of none, some and nearly all edges limited
            CHECK(error_of(forces(false, strength), 0, forces(true, strength)) < 1e-4);
    }
}

// Twice the strength moves points twice as far until edges reach their limit, in sum 4.
TEST(density_forces_are_limited) {
    const int64_t n = 60;
    const CircleGraph graph(n, 4);
    const Data<double> Y = spread_out(n, 2, 1e-3);  // small radii: large gradients
    for (bool exact : {true, false}) {
        Job job(1);
        const auto plan = layout_of(graph, 2, exact, job, 0, standard_radii(n));
        const auto longest = [&](double strength) {
            Data<double> t(n, 2);
            plan->density_forces(Y.in(), strength, t.out(), job);
            double square = 0;
            for (int64_t i = 0; i < n; i++)
                square = std::max(square, t(i, 0) * t(i, 0) + t(i, 1) * t(i, 1));
            return std::sqrt(square);
        };
        CHECK(close(longest(2e-6), 2 * longest(1e-6), 1e-5));
        CHECK(longest(1e-6) > 0 && longest(10) > 1 && longest(1e30) < 4.001);
    }
}

TEST(repulsive_losses_agree) {
    for (int64_t k : {1, 2, 3}) {
        const int64_t n = 1200;
        const CircleGraph graph(n, 4);
        const Data<double> Y = spread_out(n, k, 3);
        const auto loss = [&](bool exact) {
            return on_any_threads([&](Job& job) {
                Data<double> out(1, 1);
                out(0, 0) = layout_of(graph, k, exact, job)->repulsive_loss(Y.in(), job);
                return out;
            })(0, 0);
        };
        const double exact = loss(true);
        CHECK(exact > 0);
        CHECK(close(loss(false) / exact, 1, k == 3 ? 0.02 : 0.002));
    }
}

TEST(exact_repulsion_of_some_rows_is_that_of_all) {
    const std::vector<int64_t> rows{0, 7, 1999, 7};
    for (int64_t k : {1, 2, 3, 5}) {
        const int64_t n = 2000;  // several partial sums
        const Data<double> Y = spread_out(n, k, 3);
        for (bool exact : {true, false}) {
            const auto found = on_any_threads([&](Job& job) {
                Data<double> out(int64_t(rows.size()), k);
                layout_repulsion(Y.in(), LAW, exact, rows, out.out(), job);
                return out;
            });
            for (size_t m = 0; m < rows.size(); m++)
                for (int64_t c = 0; c < k; c++) {
                    double sum = 0;
                    for (int64_t j = 0; j < n; j++)
                        sum += repulsion_at(LAW, square(Y, rows[m], j)) *
                               (Y(rows[m], c) - Y(j, c)) / double(2 * n);
                    CHECK(close(found(int64_t(m), c), sum, exact ? 1e-12 : 1e-6));
                }
        }
    }
}

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
            const auto place = [&](Ragged lists, const double* weights, Job& some) {
                Data<double> out(lists.count(), k);
                optimize_layout_points(lists, weights, Y.in(), LAW, repulsion, 0.5, 30, out.out(),
                                       some);
                return out;
            };
            const auto found = on_any_threads(
                [&](Job& some) { return place({starts, near}, p.data(), some); });
            for (int64_t i = 0; i < m; i++) {
                const std::vector<int64_t> own{0, count};
                const std::span list(near.data() + i * count, size_t(count));
                const auto alone = place({own, list}, p.data() + i * count, job);
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
