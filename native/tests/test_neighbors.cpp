#include "neighbors/neighbors.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

struct Found {
    Data<int32_t> ids;
    Data<double> distances;
    Found(int64_t rows, int64_t k) : ids(rows, k), distances(rows, k) {
        for (int64_t i = 0; i < rows; i++)
            for (int64_t q = 0; q < k; q++) ids(i, q) = -1, distances(i, q) = HUGE_VAL;
    }
};
bool same(const Found& a, const Found& b) {
    return test::same(a.ids, b.ids) && test::same(a.distances, b.distances);
}

// All distances in float64, sorted by (distance, index).
template <class T>
Found brute(const Data<T>& Q, const Data<T>& X, int64_t k, bool among) {
    Found found(Q.rows, k);
    std::vector<std::pair<double, int32_t>> all;
    for (int64_t i = 0; i < Q.rows; i++) {
        all.clear();
        for (int64_t j = 0; j < X.rows; j++) {
            double s = 0;
            for (int64_t q = 0; q < X.cols; q++) s += (Q(i, q) - X(j, q)) * (Q(i, q) - X(j, q));
            if (!among || i != j) all.emplace_back(std::sqrt(s), int32_t(j));
        }
        std::partial_sort(all.begin(), all.begin() + k, all.end());
        for (int64_t q = 0; q < k; q++) {
            found.distances(i, q) = all[size_t(q)].first;
            found.ids(i, q) = all[size_t(q)].second;
        }
    }
    return found;
}

// The projections for the filter: the first m coordinates in a random orthonormal basis.
struct RandomProjection {
    int64_t cols, features;
    std::vector<double> center, basis;
    double scale = 1, error = 0;

    template <class T>
    RandomProjection(const Data<T>& X, int64_t m, bool rotate) : cols(X.cols), features(m) {
        center.assign(size_t(cols), 0.0);
        double largest = 1e-300;
        for (int64_t j = 0; j < cols; j++) {
            for (int64_t i = 0; i < X.rows; i++) center[size_t(j)] += X(i, j) / double(X.rows);
            for (int64_t i = 0; i < X.rows; i++)
                largest = std::max(largest, std::abs(X(i, j) - center[size_t(j)]));
        }
        scale = std::ldexp(1.0, 30 - std::ilogb(largest));
        error = 1.01 * 0x1p-24 + (rotate ? double(cols) * 0x1p-50 : 0);
        const Data<double> noise = Data<double>::random(m, cols, 0, 77);
        basis.assign(size_t(m * cols), 0.0);
        for (int64_t q = 0; q < m; q++) {  // Gram-Schmidt, twice
            double* const v = &basis[size_t(q * cols)];
            for (int64_t j = 0; j < cols; j++) v[j] = rotate ? noise(q, j) : double(q == j);
            for (int round = 0; round < 2; round++)
                for (int64_t p = 0; p <= q; p++) {
                    const double* const u = &basis[size_t(p * cols)];
                    double s = 0;
                    for (int64_t j = 0; j < cols; j++) s += u[j] * v[j];
                    for (int64_t j = 0; j < cols; j++)
                        p == q ? void(v[j] /= std::sqrt(s)) : void(v[j] -= s * u[j]);
                    if (p == q && round == 0) break;
                }
        }
    }
    template <class T>
    Data<float> operator()(const Data<T>& X) const {
        Data<float> Z(X.rows, features);
        for (int64_t i = 0; i < X.rows; i++)
            for (int64_t q = 0; q < features; q++) {
                double s = 0;
                for (int64_t j = 0; j < cols; j++)
                    s += (X(i, j) - center[size_t(j)]) * basis[size_t(q * cols + j)];
                Z(i, q) = float(s * scale);
            }
        return Z;
    }
    Projection projection() const { return {center.data(), scale, error}; }
};

constexpr Metric EUCLIDEAN{true, 1, 1};

template <class T>
Found self_join(const Data<T>& X, int64_t k, int64_t m, bool rotate, int threads) {
    const RandomProjection project(X, m, rotate);
    const Data<float> Z = project(X);
    Job job(threads);
    const NeighborIndex<T> index(X.in(), Z.in(), project.projection(), job);
    Found found(X.rows, k);
    index.join(EUCLIDEAN, found.ids.out(), found.distances.out(), job);
    return found;
}

bool agree(const Found& a, const Found& b) {
    for (int64_t i = 0; i < a.ids.rows; i++)
        for (int64_t q = 0; q < a.ids.cols; q++) {
            const double x = a.distances(i, q), y = b.distances(i, q);
            if (a.ids(i, q) != b.ids(i, q) || !(std::abs(x - y) <= 1e-12 * y)) {
                std::printf("  row %d, neighbor %d: %g at %.17g, expected %g at %.17g\n", int(i),
                            int(q), a.ids(i, q), x, b.ids(i, q), y);
                return false;
            }
        }
    return true;
}

template <class T>
std::vector<Data<T>> awkward_sets() {
    std::vector<Data<T>> sets;
    const auto add = [&](int64_t n, int64_t d, std::function<double(int64_t, int64_t)> entry) {
        Data<T> X(n, d);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < d; j++) X(i, j) = T(entry(i, j));
        sets.push_back(std::move(X));
    };
    const Data<double> g = Data<double>::random(1500, 20);
    for (int64_t d : {1, 2, 3, 5, 9, 20}) add(800, d, [&](auto i, auto j) { return g(i, j); });
    add(2, 3, [&](auto i, auto j) { return g(i, j); });
    add(31, 4, [&](auto i, auto j) { return g(i, j); });
    add(800, 20, [&](auto i, auto j) { return g(i % 40, j); });  // duplicates
    add(800, 8, [](auto, auto) { return 3.0; });  // all equal
    add(800, 6, [&](auto i, auto j) { return std::floor(g(i, j)); });  // ties
    add(900, 3, [](auto i, auto j) { return double(j == 0 ? i % 30 : j == 1 ? i / 30 : 0); });
    for (double offset : {1e3, 1e6}) add(800, 10, [&](auto i, auto j) { return offset + g(i, j); });
    add(800, 10, [&](auto i, auto j) { return i == 500 ? 1e6 : g(i, j); });  // an outlier
    for (double scale : {1e-30, 1e30}) add(800, 7, [&](auto i, auto j) { return scale * g(i, j); });
    for (double tight : {1e-2, 3e-3, 1e-4, 1e-7})  // clusters far from the middle
        add(900, 12, [&](auto i, auto j) { return 3 * g(i % 5, j) + tight * g(i, j); });
    add(900, 20, [&](auto i, auto j) { return g(i, j) * std::exp(-0.4 * double(j)); });
    return sets;
}

template <class T>
void agrees_with_brute_force() {
    int number = 0;
    for (const Data<T>& X : awkward_sets<T>()) {
        std::printf("  set %d: %d x %d\n", number++, int(X.rows), int(X.cols));
        for (int64_t k : {1, 12}) {
            if (k >= X.rows) continue;
            const Found expected = brute(X, X, k, true);
            for (const int64_t m : {X.cols, (X.cols + 1) / 2}) {
                const Found found = self_join(X, k, m, m < X.cols || k > 1, 1);
                CHECK(agree(found, expected));
                CHECK(same(found, self_join(X, k, m, m < X.cols || k > 1, 2)));
                if (k > 1) CHECK(same(found, self_join(X, k, m, true, 5)));
            }
            // Brute force: the same bits.
            Found direct(X.rows, k);
            Job job(2);
            nearest(X.in(), X.in(), true, EUCLIDEAN, direct.ids.out(), direct.distances.out(), job);
            CHECK(same(direct, self_join(X, k, X.cols, true, 2)));
        }
    }
}

}  // namespace

TEST(neighbors_agree_with_brute_force) {
    both_types([](auto t) { agrees_with_brute_force<decltype(t)>(); });
}

TEST(neighbors_of_new_rows) {
    both_types([](auto t) {
        using T = decltype(t);
        // By a part of the directions, and by all: then limits come from projections alone.
        for (const auto& [d, m, k] :
             {std::tuple{2, 1, 9}, {11, 6, 9}, {11, 6, 70}, {11, 11, 9}, {11, 11, 70}}) {
            const auto X = Data<T>::random(1100, d), Q = Data<T>::random(500, d, 0.3, 5);
            const Found expected = brute(Q, X, k, false);
            const RandomProjection project(X, m, true);
            const Data<float> Z = project(X), ZQ = project(Q);
            for (int threads : {1, 2, 5}) {
                Job job(threads);
                const NeighborIndex<T> index(X.in(), Z.in(), project.projection(), job);
                Found found(Q.rows, k), direct(Q.rows, k);
                index.query(Q.in(), ZQ.in(), EUCLIDEAN, found.ids.out(), found.distances.out(),
                            job);
                CHECK(agree(found, expected));
                nearest(Q.in(), X.in(), false, EUCLIDEAN, direct.ids.out(), direct.distances.out(),
                        job);
                CHECK(same(found, direct));
                Found alone(1, k);
                nearest(Q.in(77, 1), X.in(), false, EUCLIDEAN, alone.ids.out(),
                        alone.distances.out(), job);
                CHECK(same_row(alone.distances, 0, found.distances, 77));
                CHECK(same_row(alone.ids, 0, found.ids, 77));
            }
        }
    });
}

// Near groups, then NN-descent, then all pairs: ends with the lists of all pairs at once, and
// nothing is inserted twice. Pairs that have been joined are not compared again.
TEST(candidate_lists_are_improved_in_parts) {
    both_types([](auto t) {
        using T = decltype(t);
        const auto X = Data<T>::random(2500, 6);
        const RandomProjection project(X, 6, true);
        const Data<float> Z = project(X);
        Job job(2), five(5);
        const NeighborIndex<T> index(X.in(), Z.in(), project.projection(), job);
        Data<float> centroids(index.groups(), index.coordinates());
        index.centroids(centroids.out());
        Found near(index.groups(), 3);
        nearest(centroids.in(), centroids.in(), true, EUCLIDEAN, near.ids.out(),
                near.distances.out(), job);
        const Matrix<const int32_t> groups = near.ids.in();
        for (const int64_t k : {7, 15, 32, 40}) {
            CandidateLists<T> lists(index, EUCLIDEAN, k, job), again(index, EUCLIDEAN, k, five),
                forgetful(index, EUCLIDEAN, k, job);
            const auto now = [&](CandidateLists<T>& made) {
                Found found(X.rows, k);
                made.copy_to(found.ids.out(), found.distances.out(), job);
                return found;
            };
            lists.join(groups, job);
            again.join(groups, five);
            forgetful.join(groups, job);
            const Found expected = self_join(X, k, 6, true, 1), before = now(lists);
            CHECK(same(before, now(again)));
            CHECK(!same(before, expected));
            lists.nn_descent(groups, 2, job);
            again.nn_descent(groups, 2, five);
            forgetful.nn_descent({groups.data, groups.rows, 0, groups.stride}, 2, job);
            CHECK(same(now(lists), now(again)));
            if (k <= 32) CHECK(same(now(lists), now(forgetful)));  // limits of long lists lag
            CHECK(!same(now(lists), before));
            CHECK(lists.unpruned_fraction(job) > 0);
            lists.join(job);
            CHECK(same(now(lists), expected));
        }
    });
}

// A short list takes what is nearer than its last, once; ties are ordered by index.
TEST(entries_are_inserted_in_order) {
    for (const int64_t k : {1, 2, 7, 8, 15, 16, 31, 32}) {
        const int64_t front = list_front(k);
        std::vector<double> d(size_t(front + k), HUGE_VAL);
        std::vector<int32_t> n(size_t(front + k), -1);
        std::fill_n(d.begin(), front, -HUGE_VAL);
        std::vector<std::pair<double, int32_t>> expected;
        bool right = true;
        for (int offer = 0; offer < 300; offer++) {
            const int step = offer % 3 ? offer : offer / 3;  // every third comes again
            const double distance = step % 2 ? (step * 37) % 101 / 10 : std::sin(step);
            const std::pair<double, int32_t> entry{distance, (step * 7) % 200};
            const bool there = std::find(expected.begin(), expected.end(), entry) != expected.end();
            if (!there) expected.push_back(entry);
            std::sort(expected.begin(), expected.end());
            bool fits = !there;
            if (int64_t(expected.size()) > k) {
                fits &= expected.back() != entry;
                expected.pop_back();
            }
            right &= level().search.insert_sorted(&d[size_t(front)], &n[size_t(front)], k,
                                                  entry.first, entry.second) == fits;
            for (size_t q = 0; q < expected.size(); q++)
                right &= d[size_t(front) + q] == expected[q].first &&
                         n[size_t(front) + q] == expected[q].second;
        }
        CHECK(right);
    }
}

TEST(neighbors_stop_when_asked) {
    struct Never : Monitor {
        bool proceed(int64_t, int64_t) override { return false; }
    } never;
    const auto X = Data<float>::random(20000, 20);
    const RandomProjection project(X, 20, false);
    const Data<float> Z = project(X);
    Job build(2), job(2, &never);
    const NeighborIndex<float> index(X.in(), Z.in(), project.projection(), build);
    Found found(X.rows, 10);
    bool stopped = false;
    try {
        index.join(EUCLIDEAN, found.ids.out(), found.distances.out(), job);
    } catch (const Cancelled&) {
        stopped = true;
    }
    CHECK(stopped);
}

TEST(smallest_entries) {
    both_types([](auto t) {
        using T = decltype(t);
        auto D = Data<T>::random(40, 700);
        for (int64_t i = 0; i < 20; i++)
            for (int64_t j = 0; j < 700; j++) D(i, j) = std::floor(2 * D(i, j));  // ties
        for (int64_t j = 0; j < 700; j++) D(3, j) = std::numeric_limits<T>::infinity();
        std::vector<int64_t> own(40);
        for (int64_t i = 0; i < 40; i++) own[size_t(i)] = (i * 17) % 700;
        for (const int64_t k : {1, 5, 90, 699})
            for (const bool skip : {false, true}) {
                Found found(40, k);
                Job job(2);
                select(D.in(), skip ? own.data() : nullptr, found.ids.out(), found.distances.out(),
                       job);
                bool right = true;
                for (int64_t i = 0; i < 40; i++) {
                    std::vector<std::pair<double, int32_t>> all;
                    for (int64_t j = 0; j < 700; j++)
                        if (!skip || j != own[size_t(i)]) all.emplace_back(double(D(i, j)), j);
                    std::sort(all.begin(), all.end());
                    for (int64_t q = 0; q < k; q++)
                        right &= all[size_t(q)].first == found.distances(i, q) &&
                                 all[size_t(q)].second == found.ids(i, q);
                }
                CHECK(right);
            }
    });
}
