// Forces and losses of UMAP, against their definitions.
#include <algorithm>

#include "layouts.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

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
                a(i, c) += graph.values[size_t(e)] / degree * attraction_at(law, square(Y, i, j)) *
                           (Y(j, c) - Y(i, c));
            }
            for (int64_t j = 0; j < Y.rows; j++)
                r(i, c) +=
                    repulsion_at(law, square(Y, i, j)) * (Y(i, c) - Y(j, c)) / double(2 * Y.rows);
        }
    }
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

}  // namespace
