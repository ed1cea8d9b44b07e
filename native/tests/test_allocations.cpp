// A kernel that runs out of memory throws std::bad_alloc, in whichever thread and whichever
// allocation it does; the threads live on, and the next call has its bits.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <new>

#include "layouts.hpp"
#include "neighborhoods.hpp"

#if defined(_WIN32)
#include <malloc.h>
#endif

namespace {

std::atomic<bool> watched{false}, recovers{false};
std::atomic<int64_t> left{0};  // allocations that succeed yet

bool is_refused() {
    if (!watched) return false;
    const int64_t before = left.fetch_sub(1);
    return recovers ? before == 0 : before <= 0;
}

void* allocate(size_t bytes, size_t alignment) {
    if (is_refused()) throw std::bad_alloc();
    const size_t whole = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
#if defined(_WIN32)
    void* const found = _aligned_malloc(whole, alignment);
#else
    void* const found = std::aligned_alloc(alignment, whole);
#endif
    if (!found) throw std::bad_alloc();
    return found;
}

// GCC takes free for a mismatch where it sees that new and delete end in it.
__attribute__((noinline)) void deallocate(void* memory) {
#if defined(_WIN32)
    _aligned_free(memory);
#else
    std::free(memory);
#endif
}

}  // namespace

// The other forms of new and delete call these.
void* operator new(size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, size_t(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept try {
    return operator new(bytes);
} catch (const std::bad_alloc&) {
    return nullptr;
}
void operator delete(void* memory) noexcept { deallocate(memory); }
void operator delete(void* memory, size_t) noexcept { deallocate(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { deallocate(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { deallocate(memory); }

using namespace lowd;
using namespace lowd::test;

namespace {

using Kernel = std::function<Data<double>(Job&)>;

// make() -> a kernel, whose objects are to be of use after a failure, too.
void check_every_failure_of(const char* name, const std::function<Kernel()>& make) {
    // More threads than other tests start: some allocations are those of a new thread.
    constexpr int THREADS = 7;
    Job alone(1);
    const Data<double> expected = make()(alone);
    int64_t failures = 0;
    for (bool once : {true, false})
        for (int64_t first = 0;; first++) {
            const Kernel kernel = make();
            Job job(THREADS);
            bool thrown = false;
            recovers = once;
            left = first;
            watched = true;
            try {
                const Data<double> found = kernel(job);
                watched = false;
                CHECK(same(found, expected));
            } catch (const std::bad_alloc&) {
                thrown = true;
            }
            watched = false;
            failures += thrown;
            if (thrown) {
                Job again(THREADS);
                CHECK(same(kernel(again), expected));
            }
            if (left >= 0) {
                CHECK(!thrown);
                break;
            }
        }
    if (!failures) std::printf("  %s allocates nothing\n", name);
    CHECK(failures > 0);
}
void check_every_failure(const char* name, const Kernel& kernel) {
    check_every_failure_of(name, [&] { return kernel; });
}

Data<double> as_float64(const Data<int32_t>& ids) {
    Data<double> found(ids.rows, ids.cols);
    for (int64_t i = 0; i < ids.rows; i++)
        for (int64_t j = 0; j < ids.cols; j++) found(i, j) = ids(i, j);
    return found;
}

}  // namespace

TEST(moments_and_distances_survive_failed_allocations) {
    const auto X = Data<float>::random(700, 40);
    const std::vector<double> mean(40, 0.0);
    check_every_failure("scatter", [&](Job& job) {
        Data<double> out(40, 40);
        scatter(X.in(), nullptr, mean.data(), 1.0, out.out(), job);
        return out;
    });
    const auto D = Data<double>::random(300, 300);
    check_every_failure("pairwise", [&](Job& job) {
        Data<double> out(300, 300);
        pairwise(D.in(), D.in(), Measure::euclidean, std::vector{1.0}, nullptr, true, out.out(),
                 job);
        return out;
    });
}

TEST(searches_survive_failed_allocations) {
    constexpr int64_t N = 700, K = 5;
    const auto X = Data<float>::random(N, 4);  // X is its own projection
    const std::vector<double> center(4, 0.0);
    const Projection projection{center.data(), 1.0, 0x1p-23};
    const Metric metric{true, 1, 1};
    check_every_failure("join", [&](Job& job) {
        Data<int32_t> ids(N, K);
        Data<double> distances(N, K);
        NeighborIndex<float>(X.in(), X.in(), projection, job)
            .join(metric, ids.out(), distances.out(), job);
        return distances;
    });
    check_every_failure("query", [&](Job& job) {
        Data<int32_t> ids(99, K);
        Data<double> distances(99, K);
        NeighborIndex<float>(X.in(), X.in(), projection, job)
            .query(X.in(0, 99), X.in(0, 99), metric, ids.out(), distances.out(), job);
        return distances;
    });
    check_every_failure("candidate lists", [&](Job& job) {
        Data<int32_t> ids(N, K);
        Data<double> distances(N, K);
        const NeighborIndex<float> index(X.in(), X.in(), projection, job);
        Data<int32_t> groups(index.groups(), 1);
        for (int64_t g = 0; g < groups.rows; g++) groups(g, 0) = int32_t(g);
        CandidateLists<float> lists(index, metric, K, job);
        lists.join(std::as_const(groups).in(), job);
        lists.nn_descent(std::as_const(groups).in(), 2, job);
        lists.copy_to(ids.out(), distances.out(), job);
        return distances;
    });
    Data<int32_t> listed(N, K);
    for (int64_t i = 0; i < N; i++)
        for (int64_t q = 0; q < K; q++) listed(i, q) = int32_t((i * 7 + q * 31) % N);
    check_every_failure("ranks", [&](Job& job) {
        Data<int32_t> out(N, K);
        ranks(X.in(), center.data(), 1.0, nullptr, metric, std::as_const(listed).in(), out.out(),
              job);
        return as_float64(out);
    });
    const auto D = Data<double>::random(60, 300);
    const std::vector<int64_t> own(60, -1);
    check_every_failure("ranks of rows", [&](Job& job) {
        Data<int32_t> out(60, 300);
        rank_rows(D.in(), own.data(), out.out(), job);
        return as_float64(out);
    });
}

TEST(graphs_survive_failed_allocations) {
    const CircleGraph graph(600, 4);
    const Ragged G = graph.ragged();
    check_every_failure("symmetrize", [&](Job& job) {
        const SymmetricMatrix found = symmetrize(G, graph.values.data(), 0.5, job);
        Data<double> out(1, found.indptr.back(), 0);
        std::copy_n(found.values.get(), out.cols, out.memory.data());
        return out;
    });
    OwnedRagged sources;
    for (int32_t i = 0; i < 40; i++) sources.add({i});
    check_every_failure("shortest paths", [&](Job& job) {
        Data<double> out(40, 600);
        shortest_paths(G, graph.values.data(), sources, static_cast<const double*>(nullptr),
                       out.out(), job);
        return out;
    });
    check_every_failure("geodesic half", [&](Job& job) {
        Data<double> out(600, 300);
        geodesic_half(G, graph.values.data(), out.out(), job);
        return out;
    });
}

TEST(descents_survive_failed_allocations) {
    const CircleGraph graph(600, 4);
    const Data<double> Y = spread_out(600, 2, 3.0);
    for (Repulsion repulsion : {Repulsion::exact, Repulsion::float32, Repulsion::grid})
        check_every_failure_of("descent", [&] {
            const std::shared_ptr<Descent> plan =
                descent(graph.ragged(), graph.values.data(), 2, Similarity::student, repulsion);
            return [&, plan](Job& job) {
                plan->start(Y.in());
                plan->advance(2, 1.0, 0.5, 10.0, job);
                Data<double> out(600, 2);
                plan->embedding(out.out());
                return out;
            };
        });
    for (bool exact : {true, false}) {
        check_every_failure("a new layout", [&](Job& job) {
            layout_of(graph, 2, exact, job);
            return Y;
        });
        check_every_failure_of("layout", [&] {
            Job alone(1);
            const std::shared_ptr<Layout> plan = layout_of(graph, 2, exact, alone);
            return [&, plan](Job& job) {
                const std::vector<double> rates{1.0, 0.5}, strengths{1.0, 1.0};
                plan->start(Y.in());
                plan->advance({rates, strengths, {}}, job);
                Data<double> out(600, 2);
                plan->embedding(out.out());
                return out;
            };
        });
    }
    Data<double> D(90, 90);
    for (int64_t i = 0; i < 90; i++)
        for (int64_t j = 0; j < 90; j++) D(i, j) = std::abs(double(i - j));
    const Data<double> Z = spread_out(90, 2, 1.0);
    check_every_failure("monotone regression", [&](Job& job) {
        Data<double> moved(90, 2);
        const Matrix<const double>* const unweighted = nullptr;
        MonotoneRegression(std::as_const(D).in(), unweighted, true, job)
            .step(Z.in(), moved.out(), job);
        return moved;
    });
}
