#include "lowd/embed.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

bool close(double a, double b, double tolerance = 1e-10) {
    return std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

// A symmetric ring of ties, `reach` to each side, with unequal chances of sum 1.
struct Ring {
    std::vector<int64_t> starts{0};
    std::vector<int32_t> ends;
    std::vector<double> values;

    Ring(int64_t n, int64_t reach) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t r = 1; r <= reach; r++)
                for (int64_t j : {(i + r) % n, (i + n - r) % n}) {
                    if (j == i || std::find(ends.begin() + starts.back(), ends.end(), j) !=
                                      ends.end())
                        continue;
                    ends.push_back(int32_t(j));
                    values.push_back(double(1 + (std::min(i, j) * 7 + std::max(i, j)) % 5));
                }
            starts.push_back(int64_t(ends.size()));
        }
        double sum = 0;
        for (double v : values) sum += v;
        for (double& v : values) v /= sum;
    }
    Lists lists() const { return {starts, ends}; }
};

double square(const Data<double>& Y, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < Y.cols; c++) sum += (Y(i, c) - Y(j, c)) * (Y(i, c) - Y(j, c));
    return sum;
}
double likeness(const Data<double>& Y, int64_t i, int64_t j, bool heavy) {
    return heavy ? 1 / (1 + square(Y, i, j)) : std::exp(-square(Y, i, j));
}
double row_sum(const Data<double>& Y, int64_t i, bool heavy) {
    double z = 0;
    for (int64_t j = 0; j < Y.rows; j++) z += i == j ? 0 : likeness(Y, i, j, heavy);
    return z;
}

// Both forces by the definition: a quarter of the gradient, split in two.
void plain_forces(const Ring& ring, const Data<double>& Y, Likeness like, Data<double>& a,
                  Data<double>& r) {
    const bool heavy = like == Likeness::student;
    std::vector<double> z;
    double total = 0;
    for (int64_t i = 0; i < Y.rows; i++) z.push_back(row_sum(Y, i, heavy)), total += z.back();
    for (int64_t i = 0; i < Y.rows; i++)
        for (int64_t c = 0; c < Y.cols; c++) {
            a(i, c) = r(i, c) = 0;
            for (int64_t e = ring.starts[size_t(i)]; e < ring.starts[size_t(i + 1)]; e++) {
                const int64_t j = ring.ends[size_t(e)];
                const double w = heavy ? likeness(Y, i, j, true) : 1;
                a(i, c) += ring.values[size_t(e)] * w * (Y(i, c) - Y(j, c));
            }
            for (int64_t j = 0; j < Y.rows; j++) {
                if (i == j) continue;
                const double w = likeness(Y, i, j, heavy);
                double q = w / total;
                if (like == Likeness::rows)
                    q = (w / z[size_t(i)] + w / z[size_t(j)]) / double(2 * Y.rows);
                r(i, c) += q * (heavy ? w : 1) * (Y(i, c) - Y(j, c));
            }
        }
}

// The forces of a fresh descent, side by side, on one, two and five threads.
Data<double> forces_of(const Ring& ring, const Data<double>& Y, Likeness like, bool approximate) {
    return on_any_threads([&](Job& job) {
        const auto plan =
            descent(ring.lists(), ring.values.data(), int(Y.cols), like, approximate);
        Data<double> both(2 * Y.rows, Y.cols);
        const Matrix<double> all = both.out();
        plan->forces(Y.in(), {all.data, Y.rows, Y.cols, all.stride},
                     {all.row(Y.rows), Y.rows, Y.cols, all.stride}, job);
        return both;
    });
}

// Root mean square of (found - expected) over that of expected.
double error_of(const Data<double>& found, int64_t first, const Data<double>& expected) {
    double gap = 0, size = 0;
    for (int64_t i = 0; i < expected.rows; i++)
        for (int64_t c = 0; c < expected.cols; c++) {
            gap += std::pow(found(first + i, c) - expected(i, c), 2);
            size += std::pow(expected(i, c), 2);
        }
    return std::sqrt(gap / size);
}

Data<double> spread_out(int64_t n, int64_t k, double size) {
    Data<double> Y = Data<double>::random(n, k);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) Y(i, c) *= size;
    return Y;
}

TEST(perplexities_are_reached) {
    std::vector<int64_t> starts{0, 5, 5, 12, 13, 80};  // an empty list, and one of one entry
    std::vector<double> squares;
    for (int64_t e = 0; e < starts.back(); e++) squares.push_back(0.3 + double((e * 37) % 101));
    for (double target : {1.0, 2.5, 4.0}) {
        const auto found = on_any_threads([&](Job& job) {
            Data<double> out(1, starts.back() + 5, 0);
            perplexity(starts, squares.data(), target, out.memory.data(),
                       out.memory.data() + starts.back(), job);
            return out;
        });
        for (size_t i = 0; i + 1 < starts.size(); i++) {
            const double beta = found(0, starts.back() + int64_t(i));
            double sum = 0, entropy = 0, least = 1e300;
            for (int64_t e = starts[i]; e < starts[i + 1]; e++)
                least = std::min(least, squares[size_t(e)]);
            for (int64_t e = starts[i]; e < starts[i + 1]; e++)
                sum += std::exp(-beta * (squares[size_t(e)] - least));
            for (int64_t e = starts[i]; e < starts[i + 1]; e++) {
                const double p = found(0, e);
                CHECK(close(p, std::exp(-beta * (squares[size_t(e)] - least)) / sum));
                entropy -= p > 0 ? p * std::log(p) : 0;
            }
            if (starts[i + 1] - starts[i] >= 5 && target > 1)
                CHECK(close(std::exp(entropy), target, 1e-9));
        }
    }
}

TEST(chances_of_rows_become_those_of_pairs) {
    // Row i picks i + 4, i + 9 and i - 4, which picks it as well; the last row nobody.
    const int64_t n = 700;
    std::vector<int64_t> starts{0};
    std::vector<int32_t> ends;
    std::vector<double> p;
    Data<double> whole(n, n);
    std::fill(whole.memory.begin(), whole.memory.end(), 0.0);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t step : {int64_t(4), int64_t(9), n - 4}) {
            if (i + 1 == n) continue;
            const int64_t j = (i + step) % n;
            ends.push_back(int32_t(j)), p.push_back(double(1 + (i * step) % 7));
            whole(i, j) += p.back() / double(2 * n);
            whole(j, i) += p.back() / double(2 * n);
        }
        starts.push_back(int64_t(ends.size()));
    }
    on_any_threads([&](Job& job) {
        const Joint found = joint({starts, ends}, p.data(), job);
        Data<double> out(n, n);
        std::fill(out.memory.begin(), out.memory.end(), 0.0);
        for (int64_t i = 0; i < n; i++)
            for (int64_t e = found.starts[size_t(i)]; e < found.starts[size_t(i + 1)]; e++) {
                CHECK(out(i, found.members[e]) == 0);  // each once
                out(i, found.members[e]) = found.values[e];
            }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                CHECK(close(out(i, j), whole(i, j), 1e-15));
        return out;
    });
}

TEST(surprise_is_the_sum_over_the_pairs) {
    for (int64_t k : {1, 2, 3})
        for (bool heavy : {true, false}) {
            const Ring ring(600, 5);
            const Data<double> Y = spread_out(600, k, 2);
            double expected = 0;
            for (int64_t i = 0; i < 600; i++)
                for (int64_t e = ring.starts[size_t(i)]; e < ring.starts[size_t(i + 1)]; e++)
                    expected += ring.values[size_t(e)] *
                                std::log(ring.values[size_t(e)] /
                                         likeness(Y, i, ring.ends[size_t(e)], heavy));
            const auto found = on_any_threads([&](Job& job) {
                Data<double> out(1, 1);
                out(0, 0) = surprise(ring.lists(), ring.values.data(), Y.in(),
                                     heavy ? Likeness::student : Likeness::gauss, job);
                return out;
            });
            CHECK(close(found(0, 0), expected));
        }
}

TEST(forces_of_all_pairs_are_the_sums) {
    for (Likeness like : {Likeness::student, Likeness::gauss, Likeness::rows})
        for (int64_t k : {1, 2, 3, 5})
            for (int64_t n : {2, 9, 65}) {
                const Ring ring(n, std::min<int64_t>(3, n / 2));
                const Data<double> Y = spread_out(n, k, 0.7);
                const Data<double> found = forces_of(ring, Y, like, false);
                Data<double> a(n, k), r(n, k);
                plain_forces(ring, Y, like, a, r);
                for (int64_t i = 0; i < n; i++)
                    for (int64_t c = 0; c < k; c++) {
                        CHECK(close(found(i, c), a(i, c)));
                        CHECK(close(found(n + i, c), r(i, c)));
                    }
            }
}

TEST(forces_of_a_mesh_are_near_the_sums) {
    for (int64_t k : {1, 2, 3})
        for (double size : {0.5, 1.0, 8.0, 40.0}) {  // in space the last two have near pairs
            const int64_t n = 600;
            const Ring ring(n, 4);
            const Data<double> Y = spread_out(n, k, size);
            const Data<double> found = forces_of(ring, Y, Likeness::student, true);
            Data<double> a(n, k), r(n, k);
            plain_forces(ring, Y, Likeness::student, a, r);
            CHECK(error_of(found, 0, a) < 1e-5);
            // On the line and in the plane a few points far apart hardly push each other.
            CHECK(error_of(found, n, r) < (k == 3 ? 0.01 : size > 10 ? 0.1 : 0.03));
        }
}

// Large, small and large again: what was made for one map is not taken for the next.
TEST(a_mesh_follows_the_size_of_the_map) {
    for (int64_t k : {1, 2, 3}) {
        const int64_t n = 600;
        const Ring ring(n, 4);
        const auto plan = descent(ring.lists(), ring.values.data(), int(k), Likeness::student, true);
        Job job(2);
        for (double size : {1.0, 20.0, 0.3, 30.0}) {
            const Data<double> Y = spread_out(n, k, size);
            Data<double> a(n, k), r(n, k), found(n, k);
            plan->forces(Y.in(), a.out(), found.out(), job);
            plain_forces(ring, Y, Likeness::student, a, r);
            CHECK(error_of(found, 0, r) < (size < 1 ? 0.03 : k == 3 ? 0.01 : 0.1));
        }
    }
}

// Two points, the least that there can be, along one axis.
TEST(a_pair_pushes_along_every_axis) {
    for (int64_t k : {1, 2, 3})
        for (int64_t axis = 0; axis < k; axis++) {
            const Ring ring(2, 1);
            Data<double> Y(2, k), a(2, k), r(2, k);
            for (int64_t c = 0; c < k; c++) Y(0, c) = Y(1, c) = 0.1 * double(c);
            Y(0, axis) -= 0.9;
            Y(1, axis) += 1.3;
            const Data<double> found = forces_of(ring, Y, Likeness::student, true);
            plain_forces(ring, Y, Likeness::student, a, r);
            CHECK(error_of(found, 2, r) < 0.2);  // a mesh lets a point push itself a little
            for (int64_t c = 0; c < k; c++)
                if (c != axis) CHECK(std::abs(found(2, c)) < 1e-3 * std::abs(found(2, axis)));
        }
}

TEST(a_mesh_of_any_size_is_right) {
    const int64_t n = 600;
    const Ring ring(n, 4);
    for (int64_t k : {1, 2})
        for (int64_t nodes : {64, 80, 96, 100, 120, 128, 144, 160, 192, 200, 240, 256}) {
            Data<double> Y = spread_out(n, k, 1);
            double least = 1e9, most = -1e9;
            for (int64_t i = 0; i < n; i++)
                least = std::min(least, Y(i, 0)), most = std::max(most, Y(i, 0));
            const double span = 0.4 * (double(nodes) / 2 - 8.5);  // just fits
            for (int64_t i = 0; i < n; i++) {
                for (int64_t c = 1; c < k; c++) Y(i, c) *= 0.1;
                Y(i, 0) *= span / (most - least);
            }
            const Data<double> found = forces_of(ring, Y, Likeness::student, true);
            Data<double> a(n, k), r(n, k);
            plain_forces(ring, Y, Likeness::student, a, r);
            CHECK(error_of(found, n, r) < 0.03);
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
    CHECK(close(advance(points, k, T(0.5), T(1), force.data(), y.data(), velocity.data(),
                        gain.data()), sum, 1e-6));
    for (size_t s = 0; s < y.size(); s++)
        CHECK(close(y[s], to[s], 1e-6) && close(velocity[s], v[s], 1e-6) &&
              close(gain[s], g[s], 1e-6));
}
TEST(a_step_has_momentum_gains_and_a_longest) {
    for (int64_t points : {1, 7, 37})
        for (int k : {1, 2, 3, 4, 7}) {
            check_advance<float>(points, k, level().embed.advance32);
            check_advance<double>(points, k, level().embed.advance64);
        }
}

TEST(sums_of_pairs_and_of_all_of_them) {
    for (int64_t k : {1, 2, 3}) {
        const int64_t n = 333;
        const Data<double> Y = spread_out(n, k, 3);
        double total = 0;
        for (int64_t i = 0; i < n; i++) total += row_sum(Y, i, true);
        const auto z = on_any_threads([&](Job& job) {
            Data<double> out(1, 1);
            out(0, 0) = normalizer(Y.in(), job);
            return out;
        });
        CHECK(close(z(0, 0), total, 1e-5));
        const std::vector<int64_t> rows{0, 7, 332, 7};
        std::vector<double> sums(rows.size());
        for (Likeness like : {Likeness::student, Likeness::gauss}) {
            const bool heavy = like == Likeness::student;
            const auto push = on_any_threads([&](Job& job) {
                Data<double> out(int64_t(rows.size()), k);
                pair_sums(Y.in(), like, rows, sums.data(), out.out(), job);
                return out;
            });
            for (size_t m = 0; m < rows.size(); m++) {
                CHECK(close(sums[m], row_sum(Y, rows[m], heavy)));
                for (int64_t c = 0; c < k; c++) {
                    double expected = 0;
                    for (int64_t j = 0; j < n; j++) {
                        const double w = likeness(Y, rows[m], j, heavy);
                        expected += (heavy ? w * w : w) * (Y(rows[m], c) - Y(j, c));
                    }
                    CHECK(close(push(int64_t(m), c), expected));
                }
            }
        }
    }
}

TEST(a_step_follows_the_forces) {
    for (int64_t k : {1, 2, 3})
        for (bool approximate : {false, true}) {
            const int64_t n = 700;
            const Ring ring(n, 4);
            const Data<double> Y = spread_out(n, k, k == 3 ? 6 : 2);
            const Data<double> f = forces_of(ring, Y, Likeness::student, approximate);
            const double early = 4, rate = 50;
            Job job(2);
            const auto plan =
                descent(ring.lists(), ring.values.data(), int(k), Likeness::student, approximate);
            plan->start(Y.in());
            plan->advance(1, early, 0.5, rate, job);
            Data<double> moved(n, k);
            plan->places(moved.out());
            double worst = 0;
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < k; c++) {  // the first gain is 1 + 0.2
                    const double step = -rate * 1.2 * (early * f(i, c) - f(n + i, c));
                    worst = std::max(worst, std::abs(moved(i, c) - Y(i, c) - step));
                }
            CHECK(worst < (approximate ? 1e-5 : 1e-12));
        }
}

TEST(a_descent_goes_down_and_threads_do_not_matter) {
    for (int64_t k : {1, 2, 3}) {
        const int64_t n = 1100;  // several chunks, and past a sorting
        const Ring ring(n, 5);
        const Data<double> Y = spread_out(n, k, 1e-2);
        const auto height = [&](const Data<double>& at) {
            double total = 0, sum = 0;
            for (int64_t i = 0; i < n; i++) total += row_sum(at, i, true);
            for (int64_t i = 0; i < n; i++)
                for (int64_t e = ring.starts[size_t(i)]; e < ring.starts[size_t(i + 1)]; e++)
                    sum += ring.values[size_t(e)] *
                           std::log1p(square(at, i, ring.ends[size_t(e)]));
            return sum + std::log(total);
        };
        const auto found = on_any_threads([&](Job& job) {
            const auto plan =
                descent(ring.lists(), ring.values.data(), int(k), Likeness::student, true);
            plan->start(Y.in());
            plan->advance(60, 4, 0.5, double(n) / 4, job);
            plan->advance(60, 1, 0.8, double(n), job);
            Data<double> out(n, k);
            plan->places(out.out());
            return out;
        });
        CHECK(height(found) < height(Y) - 1);
    }
}

// Where a new point rests its forces are in balance.
TEST(new_points_come_to_rest) {
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
            const Likeness like = heavy ? Likeness::student : Likeness::gauss;
            const auto found = on_any_threads([&](Job& job) {
                Data<double> at(m, k);
                for (int64_t i = 0; i < m; i++)
                    for (int64_t c = 0; c < k; c++)
                        at(i, c) = Y(near[size_t(starts[size_t(i)])], c) + 0.01;
                settle({starts, near}, p.data(), Y.in(), like, {}, false, at.out(), job);
                return at;
            });
            for (int64_t i = 0; i < m; i++) {
                std::vector<double> pull(size_t(k), 0.0), push(size_t(k), 0.0);
                double z = 0;
                const auto weight = [&](int64_t j) {
                    double s = 0;
                    for (int64_t c = 0; c < k; c++) s += std::pow(found(i, c) - Y(j, c), 2);
                    return heavy ? 1 / (1 + s) : std::exp(-s);
                };
                for (int64_t e = starts[size_t(i)]; e < starts[size_t(i + 1)]; e++)
                    for (int64_t c = 0; c < k; c++)
                        pull[size_t(c)] += p[size_t(e)] * (heavy ? weight(near[size_t(e)]) : 1) *
                                           (found(i, c) - Y(near[size_t(e)], c));
                for (int64_t j = 0; j < n; j++) {
                    const double w = weight(j);
                    z += w;
                    for (int64_t c = 0; c < k; c++)
                        push[size_t(c)] += (heavy ? w * w : w) * (found(i, c) - Y(j, c));
                }
                for (size_t c = 0; c < size_t(k); c++) CHECK(close(pull[c], push[c] / z, 1e-6));
            }
        }
}

// Half of the weight lies up to the median, in lists of any length, with equal weights too.
TEST(new_points_set_out_from_weighted_medians) {
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
            for (const auto& [place, weight] : listed) {
                at(i, c) = place;
                left -= weight;
                if (left <= 1e-9) break;
            }
        }
    }
    Job job(2);
    Data<double> found(10, k), expected = at;
    const auto rested = [&](bool from_medians, Data<double>& to) {
        settle({starts, near}, p.data(), Y.in(), Likeness::gauss, {}, from_medians, to.out(), job);
    };
    rested(true, found);
    rested(false, expected);
    for (int64_t i = 0; i < 10; i++)
        for (int64_t c = 0; c < k; c++) CHECK(found(i, c) == expected(i, c));
}

// Neighbors in three places, whose median is near none: the heaviest place takes the point in.
TEST(neighbors_in_several_places_draw_a_new_point_to_one) {
    const int64_t side = 36;
    const int32_t middles[3][2] = {{3, 13}, {13, 32}, {32, 3}};
    Data<double> Y(side * side, 2);
    for (int64_t i = 0; i < side * side; i++) Y(i, 0) = double(i / side), Y(i, 1) = double(i % side);
    std::vector<int32_t> near;
    std::vector<double> p;
    for (int place = 0; place < 3; place++)
        for (int32_t e = 0; e < 25; e++) {
            const int32_t x = middles[place][0] + e / 5 - 2, y = middles[place][1] + e % 5 - 2;
            near.push_back(x * int32_t(side) + y);
            p.push_back((place == 1 ? 0.36 : 0.32) / 25);
        }
    const std::vector<int64_t> starts{0, int64_t(near.size())};
    const auto at = on_any_threads([&](Job& job) {
        Data<double> found(1, 2);
        settle({starts, near}, p.data(), Y.in(), Likeness::student, {}, true, found.out(), job);
        return found;
    });
    CHECK(std::hypot(at(0, 0) - 13, at(0, 1) - 32) < 2);
}

TEST(new_points_rest_on_a_mesh_as_among_all) {
    const int64_t n = 2000, m = 9;
    const Ring ring(n, 3);
    const Data<double> Y = spread_out(n, 2, 10);
    std::vector<int64_t> starts{0};
    std::vector<int32_t> near;
    std::vector<double> p;
    for (int64_t i = 0; i < m; i++) {
        for (int32_t j = 0; j < 4; j++) near.push_back(int32_t(i * 31 + j)), p.push_back(0.25);
        starts.push_back(int64_t(near.size()));
    }
    Job job(2);
    const auto plan = descent(ring.lists(), ring.values.data(), 2, Likeness::student, true);
    const Mesh mesh = plan->mesh(Y.in(), job);
    const MeshView view{2,
                        mesh.phi.data(),
                        {mesh.nodes[0], mesh.nodes[1]},
                        {mesh.origin[0], mesh.origin[1]},
                        mesh.spacing};
    const auto placed = [&](const MeshView& field) {
        return on_any_threads([&](Job& threads) {
            Data<double> at(m, 2);
            for (int64_t i = 0; i < m; i++)
                for (int64_t c = 0; c < 2; c++) at(i, c) = Y(near[size_t(4 * i)], c);
            settle({starts, near}, p.data(), Y.in(), Likeness::student, field, false, at.out(), threads);
            return at;
        });
    };
    const Data<double> exact = placed({}), meshed = placed(view);
    CHECK(error_of(meshed, 0, exact) < 0.01);
}

}  // namespace
