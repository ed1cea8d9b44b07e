// Forces by all pairs and by an interpolation grid, and gradient descents.
#include <algorithm>

#include "embeddings.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

TEST(forces_of_all_pairs_are_the_sums) {
    for (Similarity kernel : {Similarity::student, Similarity::gauss, Similarity::rows})
        for (int64_t k : {1, 2, 3, 5})
            for (int64_t n : {2, 9, 65, 100, 420}) {  // blocks around an odd and an even circle
                if (n > 65 && kernel != Similarity::student) continue;
                const CircleGraph graph(n, std::min<int64_t>(n == 100 ? 49 : 3, n / 2));
                const Data<double> Y = spread_out(n, k, 0.7);
                const Data<double> found = forces_of(graph, Y, kernel, Repulsion::exact);
                Data<double> a(n, k), r(n, k);
                plain_forces(graph, Y, kernel, a, r);
                for (int64_t i = 0; i < n; i++)
                    for (int64_t c = 0; c < k; c++) {
                        CHECK(close(found(i, c), a(i, c)));
                        CHECK(close(found(n + i, c), r(i, c)));
                    }
            }
}

TEST(forces_in_float32_are_those_of_all_pairs) {
    for (int64_t k : {1, 2, 3})
        for (int64_t n : {2, 65, 420, 1500}) {  // the last has enough for several threads
            const CircleGraph graph(n, std::min<int64_t>(4, n / 2));
            const Data<double> Y = spread_out(n, k, 3);
            const Data<double> found = forces_of(graph, Y, Similarity::student, Repulsion::float32);
            Data<double> a(n, k), r(n, k);
            plain_forces(graph, Y, Similarity::student, a, r);
            CHECK(error_of(found, 0, a) < 1e-5);
            CHECK(error_of(found, n, r) < 1e-5);
        }
}

// No force comes from very far, and nothing overflows.
TEST(forces_of_points_very_far_apart_are_numbers) {
    for (Repulsion repulsion : {Repulsion::exact, Repulsion::float32}) {
        const CircleGraph graph(3, 1);
        Data<double> Y(3, 2);
        for (int64_t i = 0; i < 3; i++) Y(i, 0) = Y(i, 1) = i < 2 ? double(i) : 1e25;
        const Data<double> found = forces_of(graph, Y, Similarity::student, repulsion);
        for (int64_t i = 0; i < 6; i++)
            for (int64_t c = 0; c < 2; c++) CHECK(std::isfinite(found(i, c)));
        CHECK(close(found(3, 0), -found(4, 0), 1e-6) && found(4, 0) > 0);
    }
}

TEST(forces_of_a_grid_are_near_the_sums) {
    for (int64_t k : {1, 2, 3})
        for (double size :
             {0.5, 1.0, 8.0, 40.0}) {  // except on the line the last two have short-range forces
            const int64_t n = 600;
            const CircleGraph graph(n, 4);
            const Data<double> Y = spread_out(n, k, size);
            const Data<double> found = forces_of(graph, Y, Similarity::student, Repulsion::grid);
            Data<double> a(n, k), r(n, k);
            plain_forces(graph, Y, Similarity::student, a, r);
            CHECK(error_of(found, 0, a) < 1e-5);
            // On the line a few points far apart hardly repel each other.
            CHECK(error_of(found, n, r) < (k > 1 && size > 1 ? 0.01 : size > 10 ? 0.1 : 0.03));
        }
}

// Large, small and large again: the grid of one embedding is not used for the next.
TEST(a_grid_follows_the_size_of_the_embedding) {
    for (int64_t k : {1, 2, 3}) {
        const int64_t n = 600;
        const CircleGraph graph(n, 4);
        const auto plan = descent(graph.ragged(), graph.values.data(), int(k), Similarity::student,
                                  Repulsion::grid);
        Job job(2);
        for (double size : {1.0, 20.0, 0.3, 30.0}) {
            const Data<double> Y = spread_out(n, k, size);
            Data<double> a(n, k), r(n, k), found(n, k);
            plan->forces(Y.in(), a.out(), found.out(), job);
            plain_forces(graph, Y, Similarity::student, a, r);
            CHECK(error_of(found, 0, r) < (size < 1 ? 0.03 : k > 1 && size > 1 ? 0.01 : 0.1));
        }
    }
}

// Two points along one axis.
TEST(a_pair_is_repelled_along_every_axis) {
    for (int64_t k : {1, 2, 3})
        for (int64_t axis = 0; axis < k; axis++) {
            const CircleGraph graph(2, 1);
            Data<double> Y(2, k), a(2, k), r(2, k);
            for (int64_t c = 0; c < k; c++) Y(0, c) = Y(1, c) = 0.1 * double(c);
            Y(0, axis) -= 0.9;
            Y(1, axis) += 1.3;
            const Data<double> found = forces_of(graph, Y, Similarity::student, Repulsion::grid);
            plain_forces(graph, Y, Similarity::student, a, r);
            CHECK(error_of(found, 2, r) < 0.2);  // on a grid a point repels itself a little
            for (int64_t c = 0; c < k; c++)
                if (c != axis) CHECK(std::abs(found(2, c)) < 1e-3 * std::abs(found(2, axis)));
        }
}

// Gains, momentum, and no step longer than 5, by the definition.
template <class T>
void check_advance(int64_t points, int k,
                   double (*advance)(int64_t, int, T, T, const T*, T*, T*, T*)) {
    std::vector<T> force, y, velocity, gain;
    for (int i = 0; i < int(points) * k; i++) {
        force.push_back(T(i * 7 % 11 - 5)), velocity.push_back(T(i * 5 % 7 - 3) / 4);
        gain.push_back(i % 5 ? T(1) : T(0.005)), y.push_back(T(i % 3));
    }
    std::vector<double> to(y.begin(), y.end()), v(to), g(to);
    double sum = 0;
    for (int64_t i = 0; i < points; i++) {
        double square = 0;
        for (auto s = size_t(i * k); s < size_t((i + 1) * k); s++) {
            g[s] = force[s] * velocity[s] <= 0 ? gain[s] + 0.2 : gain[s] * 0.8;
            g[s] = std::max(g[s], 0.01);
            v[s] = 0.5 * velocity[s] - g[s] * force[s];
            square += v[s] * v[s];
        }
        const double shrink = std::min(1.0, 5 / std::sqrt(square));
        for (auto s = size_t(i * k); s < size_t((i + 1) * k); s++) to[s] += v[s] *= shrink;
        sum += square * shrink * shrink;
    }
    CHECK(close(
        advance(points, k, T(0.5), T(1), force.data(), y.data(), velocity.data(), gain.data()), sum,
        1e-6));
    for (size_t s = 0; s < y.size(); s++)
        CHECK(close(y[s], to[s], 1e-6) && close(velocity[s], v[s], 1e-6) &&
              close(gain[s], g[s], 1e-6));
}
TEST(a_step_has_momentum_gains_and_a_maximum) {
    for (int64_t points : {1, 7, 37})
        for (int k : {1, 2, 3, 4, 7}) {
            check_advance<float>(points, k, level().forces.advance32);
            check_advance<double>(points, k, level().forces.advance64);
        }
}

// The potential for new points is by the grid alone, that of a descent may have short-range forces:
// one does not replace the other.
TEST(a_potential_for_new_points_leaves_the_forces_alone) {
    const int64_t n = 600;
    const CircleGraph graph(n, 4);
    const Data<double> Y = spread_out(n, 2, 20);
    Job job(2);
    const auto plan =
        descent(graph.ragged(), graph.values.data(), 2, Similarity::student, Repulsion::grid);
    Data<double> a(n, 2), before(n, 2), after(n, 2);
    plan->forces(Y.in(), a.out(), before.out(), job);
    CHECK(!plan->interpolation_grid(Y.in(), job).phi.empty());
    plan->forces(Y.in(), a.out(), after.out(), job);
    CHECK(same(before, after));
}

TEST(a_step_follows_the_forces) {
    for (int64_t k : {1, 2, 3})
        for (Repulsion repulsion : {Repulsion::exact, Repulsion::float32, Repulsion::grid}) {
            const int64_t n = 700;
            const CircleGraph graph(n, 4);
            const Data<double> Y = spread_out(n, k, k == 3 ? 6 : 2);
            const Data<double> f = forces_of(graph, Y, Similarity::student, repulsion);
            const double early = 4, rate = 50;
            Job job(2);
            const auto plan = descent(graph.ragged(), graph.values.data(), int(k),
                                      Similarity::student, repulsion);
            plan->start(Y.in());
            plan->advance(1, early, 0.5, rate, job);
            Data<double> moved(n, k);
            plan->embedding(moved.out());
            double worst = 0;
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < k; c++) {  // the first gain is 1 + 0.2
                    const double step = -rate * 1.2 * (early * f(i, c) - f(n + i, c));
                    worst = std::max(worst, std::abs(moved(i, c) - Y(i, c) - step));
                }
            CHECK(worst < (repulsion == Repulsion::exact ? 1e-12 : 1e-5));
        }
}

TEST(a_descent_goes_down_and_threads_do_not_matter) {
    for (int64_t k : {1, 2, 3}) {
        const int64_t n = 1100;  // several chunks, and past a sorting
        const CircleGraph graph(n, 5);
        const Data<double> Y = spread_out(n, k, 1e-2);
        const auto loss = [&](const Data<double>& at) {
            double total = 0, sum = 0;
            for (int64_t i = 0; i < n; i++) total += row_sum(at, i, true);
            for (int64_t i = 0; i < n; i++)
                for (int64_t e = graph.indptr[size_t(i)]; e < graph.indptr[size_t(i + 1)]; e++)
                    sum +=
                        graph.values[size_t(e)] * std::log1p(square(at, i, graph.ends[size_t(e)]));
            return sum + std::log(total);
        };
        const auto found = on_any_threads([&](Job& job) {
            const auto plan = descent(graph.ragged(), graph.values.data(), int(k),
                                      Similarity::student, Repulsion::grid);
            plan->start(Y.in());
            plan->advance(60, 4, 0.5, double(n) / 4, job);
            plan->advance(60, 1, 0.8, double(n), job);
            Data<double> out(n, k);
            plan->embedding(out.out());
            return out;
        });
        CHECK(loss(found) < loss(Y) - 1);
    }
}

}  // namespace
