#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "lowd/graphs.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

// Lists that own their arrays.
struct Owned {
    std::vector<int64_t> starts{0};
    std::vector<int32_t> members;

    void add(const std::vector<int32_t>& list) {
        members.insert(members.end(), list.begin(), list.end());
        starts.push_back(int64_t(members.size()));
    }
    operator Lists() const { return {starts, members}; }
};

template <class T>
double gap(const Data<T>& X, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < X.cols; c++) sum += (X(i, c) - X(j, c)) * (X(i, c) - X(j, c));
    return std::sqrt(sum);
}
// The k rows nearest to row i, itself first if asked for.
template <class T>
std::vector<int32_t> nearest(const Data<T>& X, int64_t i, int k, bool itself) {
    std::vector<int32_t> order(size_t(X.rows));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return std::pair(gap(X, i, a), a) < std::pair(gap(X, i, b), b);
    });
    std::erase(order, int32_t(i));
    order.resize(size_t(k));
    if (itself) order.insert(order.begin(), int32_t(i));
    return order;
}

template <class T>
struct Graph {
    Owned lists;
    std::vector<T> lengths;

    // Either end names the other among its k nearest; every `zero`-th pair lies at no distance.
    static Graph of(const Data<T>& X, int k, int zero) {
        std::vector<std::vector<int32_t>> ends(size_t(X.rows));
        for (int64_t i = 0; i < X.rows; i++)
            for (int32_t j : nearest(X, i, k, false)) {
                ends[size_t(i)].push_back(j);
                ends[size_t(j)].push_back(int32_t(i));
            }
        Graph graph;
        for (int64_t i = 0; i < X.rows; i++) {
            auto& list = ends[size_t(i)];
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
            graph.lists.add(list);
            for (int32_t j : list) graph.lengths.push_back((i + j) % zero ? T(gap(X, i, j)) : T(0));
        }
        return graph;
    }
};

// Bellman and Ford's way, in T: the least rounded sum over all paths.
template <class T>
std::vector<T> plain_paths(const Graph<T>& graph, const Lists& from, const std::vector<T>& steps,
                           int64_t source) {
    const Lists lists = graph.lists;
    std::vector<T> d(size_t(lists.count()), std::numeric_limits<T>::infinity());
    for (int64_t e = from.starts[source]; e < from.starts[source + 1]; e++) {
        T& length = d[size_t(from.members[e])];
        length = std::min(length, steps[size_t(e)]);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t i = 0; i < lists.count(); i++)
            for (int64_t e = lists.starts[i]; e < lists.starts[i + 1]; e++) {
                const T path = d[size_t(i)] + graph.lengths[size_t(e)];
                if (path < d[size_t(lists.members[e])])
                    d[size_t(lists.members[e])] = path, changed = true;
            }
    }
    return d;
}

template <class T>
std::vector<T> plain_paths(const Graph<T>& graph, int64_t source) {
    Owned from;
    from.add({int32_t(source)});
    return plain_paths(graph, from, std::vector<T>{0}, 0);
}

template <class T>
void check_paths(const Graph<T>& graph, const std::vector<int64_t>& sources) {
    const int64_t n = Lists(graph.lists).count();
    Owned from;
    for (int64_t source : sources) from.add({int32_t(source)});
    const auto found = on_any_threads([&](Job& job) {
        Data<T> out(int64_t(sources.size()), n);
        paths<T>(graph.lists, graph.lengths.data(), from, nullptr, out.out(), job);
        return out;
    });
    for (size_t s = 0; s < sources.size(); s++) {
        const auto expected = plain_paths(graph, sources[s]);
        CHECK(!std::memcmp(expected.data(), found.in(int64_t(s), 1).data, size_t(n) * sizeof(T)));
    }
}

std::vector<int64_t> every(int64_t n, int64_t step = 1) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < n; i += step) all.push_back(i * 7 % n);
    return all;
}

}  // namespace

TEST(paths_are_the_least_rounded_sums) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [n, d, k] :
             {std::tuple{1, 2, 0}, {2, 2, 1}, {40, 2, 3}, {300, 2, 4}, {301, 8, 6}}) {
            const auto graph = Graph<T>::of(Data<T>::random(n, d), k, 11);
            check_paths(graph, every(n));
            check_paths(graph, every(n, 5));
            check_paths(graph, {0});
            check_paths(graph, {});
            check_paths(graph, std::vector<int64_t>(40, n - 1));
        }
    });
}

TEST(paths_in_pieces_and_along_a_chain) {
    both_types([](auto zero) {
        using T = decltype(zero);
        auto X = Data<T>::random(200, 3);
        for (int64_t i = 0; i < 200; i++) X(i, 0) += T(100 * (i % 3));
        check_paths(Graph<T>::of(X, 3, 1000), every(200));
        check_paths(Graph<T>::of(X, 3, 1000), {0, 150});
        Graph<T> chain;  // in a shuffled order
        const int n = 500;
        std::vector<std::vector<std::pair<int32_t, T>>> links(n);
        for (int i = 0; i + 1 < n; i++) {
            const int a = i * 211 % n, b = (i + 1) * 211 % n;
            links[size_t(a)].push_back({b, T(1 + i % 7)});
            links[size_t(b)].push_back({a, T(1 + i % 7)});
        }
        for (const auto& list : links) {
            std::vector<int32_t> ends;
            for (auto [end, length] : list) ends.push_back(end), chain.lengths.push_back(length);
            chain.lists.add(ends);
        }
        check_paths(chain, every(n));
        check_paths(chain, {n / 3});
        chain.lengths[size_t(n)] = T(1e6);  // one edge longer than classes of length can hold
        check_paths(chain, {n / 3});
    });
}

TEST(paths_begin_with_a_step) {
    both_types([](auto zero) {
        using T = decltype(zero);
        const int n = 300;
        const auto graph = Graph<T>::of(Data<T>::random(n, 3), 5, 11);
        for (int sources : {40, 3, 1}) {
            Owned from;
            std::vector<T> steps;
            for (int i = 40 - sources; i < 40; i++) {
                std::vector<int32_t> list;
                for (int j = 0; j < i % 6; j++)
                    list.push_back((i * 31 + j * 77) % n), steps.push_back(T(0.25 * ((i + j) % 4)));
                from.add(list);
            }
            const auto found = on_any_threads([&](Job& job) {
                Data<T> out(sources, n);
                paths<T>(graph.lists, graph.lengths.data(), from, steps.data(), out.out(), job);
                return out;
            });
            for (int64_t s = 0; s < sources; s++) {
                const auto expected = plain_paths(graph, from, steps, s);
                CHECK(!std::memcmp(expected.data(), found.in(s, 1).data, size_t(n) * sizeof(T)));
            }
        }
    });
}

TEST(a_ring_holds_each_pair_once) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (int64_t n : {1, 2, 3, 32, 65, 600}) {
            const int k = int(std::min<int64_t>(8, n - 1));
            const auto graph = Graph<T>::of(Data<T>::random(n, 2), k, 11);
            Data<T> held(n, n / 2);
            const auto rings = on_any_threads([&](Job& job) {
                ring<T>(graph.lists, graph.lengths.data(), held.out(), job);
                return held;
            });
            Data<double> G(n, n);
            for (int64_t i = 0; i < n; i++) {
                const auto row = plain_paths(graph, i);
                for (int64_t t = 0; t < n / 2; t++) {
                    const int64_t j = (i + 1 + t) % n;
                    const bool other = 2 * (t + 1) == n && i >= n / 2;
                    CHECK(T(rings(i, t)) == (other ? T(0) : row[size_t(j)]));
                    if (!other) G(i, j) = G(j, i) = double(row[size_t(j)]);
                }
                G(i, i) = 0;
            }
            for (int64_t b : {1, 8, 9}) {
                const auto V = Data<T>::random(n, b);
                const auto found = on_any_threads([&](Job& job) {
                    Data<double> out(n, b);
                    ring_times<T>(rings.in(), V.in(), out.out(), job);
                    return out;
                });
                for (int64_t i = 0; i < n; i++)
                    for (int64_t c = 0; c < b; c++) {
                        double sum = 0, size = 0;
                        for (int64_t j = 0; j < n; j++) {
                            const double term = -0.5 * G(i, j) * G(i, j) * double(V(j, c));
                            sum += term, size += std::abs(term);
                        }
                        const double unit = std::numeric_limits<T>::epsilon();
                        CHECK(std::abs(found(i, c) - sum) <= 50 * unit * size);
                    }
            }
        }
    });
}

TEST(relax_matches) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (int64_t n : {1, 7, 63, 300}) {
            const auto G = Data<T>::random(20, n);
            Owned near;
            std::vector<T> lengths;
            for (int i = 0; i < 30; i++) {
                std::vector<int32_t> list;
                for (int j = 0; j < i % 6; j++)
                    list.push_back((i * 3 + j * 7) % 20), lengths.push_back(T(0.25 * j));
                near.add(list);
            }
            const Lists lists = near;
            const auto found = on_any_threads([&](Job& job) {
                Data<T> out(30, n);
                relax(lists, lengths.data(), G.in(), out.out(), job);
                return out;
            });
            for (int64_t i = 0; i < 30; i++)
                for (int64_t c = 0; c < n; c++) {
                    T least = std::numeric_limits<T>::infinity();
                    for (int64_t e = lists.starts[i]; e < lists.starts[i + 1]; e++)
                        least = std::min(least, T(T(G(lists.members[e], c)) + lengths[size_t(e)]));
                    CHECK(T(found(i, c)) == least);
                }
        }
    });
}

template <class I>
static void check_sparse_times() {
    for (int64_t n : {1, 50, 1500})
        for (int64_t width : {1, 2, 3, 5, 7, 8, 9, 16, 20, 31}) {
            std::vector<I> starts{0}, columns;
            std::vector<double> values;
            for (int64_t i = 0; i < n; i++) {
                for (int64_t e = 0; e < i % 9; e++)
                    columns.push_back(I((i * 31 + e * 17) % n)),
                        values.push_back(0.5 * double(e) - 1);
                starts.push_back(I(columns.size()));
            }
            const auto full = Data<double>::random(n, width),
                       extra = Data<double>::random(n, width, 1);
            std::vector<double> V, U;
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < width; j++)
                    V.push_back(full(i, j)), U.push_back(extra(i, j));
            for (bool with : {false, true}) {
                const double b = with ? 0.5 : 0, c = -1.5;
                const auto found = on_any_threads([&](Job& job) {
                    Data<double> out(n, width, 0);
                    sparse_times(n, starts.data(), columns.data(), values.data(),
                                 Matrix<const double>{V.data(), n, width, width}, 2.0, b,
                                 with ? U.data() : nullptr, c, out.memory.data(), job);
                    return out;
                });
                CHECK(near(found, 1e-14, [&](int64_t i, int64_t j) {
                    double sum = 0;
                    for (I e = starts[size_t(i)]; e < starts[size_t(i) + 1]; e++)
                        sum += values[size_t(e)] * full(columns[size_t(e)], j);
                    return 2 * sum + (with ? b * full(i, j) + c * extra(i, j) : 0);
                }));
            }
        }
}
TEST(sparse_times_matches) {
    check_sparse_times<int32_t>();
    check_sparse_times<int64_t>();
}

// Weights are right if they sum to 1 and all partial derivatives of the error are equal.
TEST(barycenters_are_stationary) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (auto [d, k] : {std::pair{1, 2}, {3, 12}, {20, 7}, {40, 30}, {3, 1}}) {
            const auto X = Data<T>::random(200, d);
            Owned lists;
            for (int64_t i = 0; i < X.rows; i++) lists.add(nearest(X, i, k, false));
            const Lists near = lists;
            for (double reg : {1e-3, 1e-8}) {
                const auto found = on_any_threads([&](Job& job) {
                    Data<double> out(1, int64_t(near.members.size()));
                    barycenters(X.in(), X.in(), near, reg, out.out().data, job);
                    return out;
                });
                for (int64_t i = 0; i < X.rows; i++) {
                    const double* w = &found.memory[size_t(near.starts[i])];
                    const int32_t* list = near.list(i);
                    double total = 0, trace = 0, low = 1e300, high = -1e300, size = 0;
                    std::vector<double> residual(size_t(d), 0);
                    for (int e = 0; e < k; e++) {
                        total += w[e];
                        for (int c = 0; c < d; c++) {
                            const double z = X(list[e], c) - X(i, c);
                            residual[size_t(c)] += w[e] * z;
                            trace += z * z;
                        }
                    }
                    for (int e = 0; e < k; e++) {
                        double slope = reg * trace * w[e];
                        size = std::fmax(size, std::abs(slope));
                        for (int c = 0; c < d; c++)
                            slope += residual[size_t(c)] * (X(list[e], c) - X(i, c));
                        low = std::fmin(low, slope), high = std::fmax(high, slope);
                    }
                    CHECK(std::abs(total - 1) < 1e-12);
                    CHECK(high - low < 1e-5 * size + 1e-12 * trace);
                }
                Job job(2);  // alone as in the batch
                Owned one;
                one.add({near.list(77), near.list(77) + k});
                std::vector<double> alone(static_cast<size_t>(k));
                barycenters(X.in(77, 1), X.in(), one, reg, alone.data(), job);
                CHECK(!std::memcmp(alone.data(), &found.memory[size_t(near.starts[77])],
                                   size_t(k) * sizeof(double)));
            }
        }
    });
}

TEST(barycenters_of_hard_cases) {
    Job job(1);
    std::vector<double> w(3);
    const auto weigh = [&](std::vector<double> points, double q, double reg) {
        Owned near;
        near.add({0, 1, 2});
        Data<double> X(3, 1), Q(1, 1);
        for (int i = 0; i < 3; i++) X(i, 0) = points[size_t(i)];
        Q(0, 0) = q;
        barycenters(Q.in(), X.in(), near, reg, w.data(), job);
        return std::abs(w[0] + w[1] + w[2] - 1) < 1e-9;
    };
    for (double reg : {0.0, 1e-18, 1e-3, 1.0}) {
        CHECK(weigh({5, 5, 5}, 5, reg));
        CHECK(w[0] == w[1] && w[1] == w[2]);
        for (double size : {1e-320, 1e-200, 1.0, 1e200, 1.7e308}) {
            CHECK(weigh({-size, 0.5 * size, size}, 0.25 * size, reg));
            if (reg < 1e-9 && size > 1e-300)  // nothing is lost
                CHECK(std::abs(-w[0] + 0.5 * w[1] + w[2] - 0.25) < 1e-6);
            CHECK(weigh({-size, 0.5 * size, 0.5 * size}, size, reg));
        }
    }
}

// A matrix that vanishes on constants, and on the coordinates of flat data where it should.
template <class T>
static void check_alignment(const Data<T>& X, const Owned& lists, Alignment kind, int k,
                            bool flat) {
    const Lists patches = lists;
    std::vector<double> mass(size_t(patches.count()));
    for (size_t i = 0; i < mass.size(); i++) mass[i] = 1 + double(i % 3);
    std::vector<int64_t> starts(size_t(X.rows) + 1);
    std::vector<int32_t> columns;
    const auto found = on_any_threads([&](Job& job) {
        alignment_starts(patches, X.rows, starts.data(), job);
        columns.resize(size_t(starts.back()));
        Data<double> values(1, starts.back(), 0);
        alignment(X.in(), patches, kind, k, 1e-3, mass.data(), starts.data(), columns.data(),
                  values.memory.data(), job);
        return values;
    });
    double largest = 0, constant = 0, linear = 0;
    for (int64_t i = 0; i < X.rows; i++)
        for (int64_t c = 0; c < X.cols; c++) largest = std::fmax(largest, std::abs(X(i, c)));
    bool finite = true, rising = true, symmetric = true, positive = true;
    for (int64_t i = 0; i < X.rows; i++) {
        double sum = 0;
        std::vector<double> moved(size_t(X.cols), 0);
        for (int64_t e = starts[size_t(i)]; e < starts[size_t(i) + 1]; e++) {
            const int32_t j = columns[size_t(e)];
            const double v = found.memory[size_t(e)];
            finite &= std::isfinite(v);
            rising &= e == starts[size_t(i)] || columns[size_t(e) - 1] < j;
            const auto begin = columns.begin() + starts[size_t(j)],
                       end = columns.begin() + starts[size_t(j) + 1],
                       mirror = std::lower_bound(begin, end, int32_t(i));
            symmetric &= mirror != end && *mirror == i &&
                         found.memory[size_t(mirror - columns.begin())] == v;
            positive &= j != i || v >= 0;
            sum += v;
            for (int64_t c = 0; c < X.cols; c++) moved[size_t(c)] += v * X(j, c);
        }
        constant = std::fmax(constant, std::abs(sum));
        for (double m : moved) linear = std::fmax(linear, std::abs(m));
    }
    CHECK(finite && rising && symmetric && positive);
    CHECK(constant < 1e-11);  // entries are of the order 1
    CHECK(!flat || linear < 1e-10 * (1 + largest));
    if (constant >= 1e-11 || (flat && linear >= 1e-10 * (1 + largest)))
        std::printf("  kind %d, k %d, %d columns: %g %g\n", int(kind), k, int(X.cols), constant,
                    linear);
}

TEST(alignment_vanishes_where_it_should) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (Alignment kind : {Alignment::ltsa, Alignment::hessian, Alignment::modified}) {
            const auto patches = [&](const Data<T>& X, int k) {
                Owned lists;
                for (int64_t i = 0; i < X.rows; i++) {
                    auto list = nearest(X, i, k + int(i % 3), true);
                    if (kind == Alignment::modified)
                        std::rotate(list.begin(), list.begin() + 1, list.end());
                    lists.add(list);
                }
                return lists;
            };
            // Regularized weights rebuild nothing exactly.
            const bool exact = kind != Alignment::modified;
            for (int d : {3, 8, 30}) {
                const auto X = Data<T>::random(150, d);
                check_alignment(X, patches(X, 11), kind, 2, false);
                check_alignment(X, patches(X, 14), kind, 3, false);
                Data<T> flat(150,
                             d);  // whole numbers: exactly a plane, with ties and collinear rows
                for (int64_t i = 0; i < 150; i++)
                    for (int64_t c = 0; c < d; c++)
                        flat(i, c) = T((i % 12) * (c % 5) - (i / 12) * (c % 3));
                check_alignment(flat, patches(flat, 9), kind, 2, exact);
                check_alignment(flat, patches(flat, 12), kind, 3, exact);
                Data<T> line(60, d);
                for (int64_t i = 0; i < 60; i++)
                    for (int64_t c = 0; c < d; c++) line(i, c) = T(i * (1 + c % 4));
                check_alignment(line, patches(line, 10), kind, 2, exact);
                const Data<T> point(40, d);  // all equal
                check_alignment(point, patches(point, 9), kind, 2, exact);
            }
        }
    });
}
