#include "graph/graph.hpp"

#include <algorithm>

#include "neighborhoods.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

template <class T>
struct Graph {
    OwnedRagged lists;
    std::vector<T> lengths;

    // Either end has the other among its k nearest; every `zero`-th pair has distance 0.
    static Graph of(const Data<T>& X, int k, int zero) {
        std::vector<std::vector<int32_t>> ends(size_t(X.rows));
        for (int64_t i = 0; i < X.rows; i++)
            for (int32_t j : nearest(X, i, k)) {
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

// The Bellman-Ford algorithm in T: the least rounded sum over all paths.
template <class T>
std::vector<T> bellman_ford(const Graph<T>& graph, const Ragged& from, const std::vector<T>& steps,
                            int64_t source) {
    const Ragged lists = graph.lists;
    std::vector<T> d(size_t(lists.count()), std::numeric_limits<T>::infinity());
    for (int64_t e = from.indptr[source]; e < from.indptr[source + 1]; e++) {
        T& length = d[size_t(from.indices[e])];
        length = std::min(length, steps[size_t(e)]);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t i = 0; i < lists.count(); i++)
            for (int64_t e = lists.indptr[i]; e < lists.indptr[i + 1]; e++) {
                const T path = d[size_t(i)] + graph.lengths[size_t(e)];
                if (path < d[size_t(lists.indices[e])])
                    d[size_t(lists.indices[e])] = path, changed = true;
            }
    }
    return d;
}

template <class T>
std::vector<T> bellman_ford(const Graph<T>& graph, int64_t source) {
    OwnedRagged from;
    from.add({int32_t(source)});
    return bellman_ford(graph, from, std::vector<T>{0}, 0);
}

template <class T>
void check_paths(const Graph<T>& graph, const std::vector<int64_t>& sources) {
    const int64_t n = Ragged(graph.lists).count();
    OwnedRagged from;
    for (int64_t source : sources) from.add({int32_t(source)});
    const auto found = on_any_threads([&](Job& job) {
        Data<T> out(int64_t(sources.size()), n);
        shortest_paths<T>(graph.lists, graph.lengths.data(), from, nullptr, out.out(), job);
        return out;
    });
    for (size_t s = 0; s < sources.size(); s++) {
        const auto expected = bellman_ford(graph, sources[s]);
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

TEST(paths_in_connected_components_and_along_a_chain) {
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
        chain.lengths[size_t(n)] = T(1e6);  // one edge longer than the span of all buckets
        check_paths(chain, {n / 3});
    });
}

TEST(paths_begin_with_a_step) {
    both_types([](auto zero) {
        using T = decltype(zero);
        const int n = 300;
        const auto graph = Graph<T>::of(Data<T>::random(n, 3), 5, 11);
        for (int sources : {40, 3, 1}) {
            OwnedRagged from;
            std::vector<T> steps;
            for (int i = 40 - sources; i < 40; i++) {
                std::vector<int32_t> list;
                for (int j = 0; j < i % 6; j++)
                    list.push_back((i * 31 + j * 77) % n), steps.push_back(T(0.25 * ((i + j) % 4)));
                from.add(list);
            }
            const auto found = on_any_threads([&](Job& job) {
                Data<T> out(sources, n);
                shortest_paths<T>(graph.lists, graph.lengths.data(), from, steps.data(), out.out(),
                                  job);
                return out;
            });
            for (int64_t s = 0; s < sources; s++) {
                const auto expected = bellman_ford(graph, from, steps, s);
                CHECK(!std::memcmp(expected.data(), found.in(s, 1).data, size_t(n) * sizeof(T)));
            }
        }
    });
}

TEST(a_geodesic_half_holds_each_pair_once) {
    both_types([](auto zero) {
        using T = decltype(zero);
        for (int64_t n : {1, 2, 3, 32, 65, 600}) {
            const int k = int(std::min<int64_t>(8, n - 1));
            const auto graph = Graph<T>::of(Data<T>::random(n, 2), k, 11);
            Data<T> out(n, n / 2);
            const auto half = on_any_threads([&](Job& job) {
                geodesic_half<T>(graph.lists, graph.lengths.data(), out.out(), job);
                return out;
            });
            Data<double> G(n, n);
            for (int64_t i = 0; i < n; i++) {
                const auto row = bellman_ford(graph, i);
                for (int64_t t = 0; t < n / 2; t++) {
                    const int64_t j = (i + 1 + t) % n;
                    const bool other = 2 * (t + 1) == n && i >= n / 2;
                    CHECK(T(half(i, t)) == (other ? T(0) : row[size_t(j)]));
                    if (!other) G(i, j) = G(j, i) = double(row[size_t(j)]);
                }
                G(i, i) = 0;
            }
            for (int64_t b : {1, 8, 9}) {
                const auto V = Data<T>::random(n, b);
                const auto found = on_any_threads([&](Job& job) {
                    Data<double> out(n, b);
                    geodesic_products<T>(half.in(), V.in(), out.out(), job);
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
