// The pool of threads, progress and cancelling.
//
// Work is cut into blocks whose number depends on the problem only; which thread runs a block never
// shows in the result.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <type_traits>

#include "base/matrix.hpp"

namespace lowd {

// A progress callback, called by the calling thread between its blocks, at most every 50 ms.
// `false` asks all threads to stop.
struct Monitor {
    virtual ~Monitor() = default;
    virtual bool proceed(int64_t done, int64_t total) = 0;
};

struct Cancelled : std::exception {
    const char* what() const noexcept override { return "cancelled by the monitor"; }
};

// One call of the library: how many threads it may use, its progress callback, how far it is.
class Job {
public:
    explicit Job(int threads, Monitor* monitor = nullptr);

    int threads() const { return threads_; }
    void expect(int64_t units) { total_ = units; }

    // body(block, worker) for every block < blocks; worker < threads() tells concurrent bodies
    // apart (for scratch memory). A nested call, and a call while another job holds the pool, runs
    // in the calling thread alone.
    template <class F>
    void parallel(int64_t blocks, F&& body, int64_t weight = 1) {
        using Body = std::remove_reference_t<F>;
        run(
            blocks,
            [](void* f, int64_t block, int worker) { (*static_cast<Body*>(f))(block, worker); },
            const_cast<void*>(static_cast<const void*>(&body)), weight);
    }

    // The same for small blocks of a large array, which a thread takes in runs: the hardware
    // prefetches the next one. A million x 50 numbers times 4 columns take 8 ms instead of 16.
    template <class F>
    void parallel_runs(int64_t blocks, F&& body) {
        const int64_t size = std::clamp<int64_t>(blocks / 64, 1, 16);
        const int64_t runs = (blocks + size - 1) / size;
        expect(runs);
        parallel(runs, [&](int64_t run, int worker) {
            for (int64_t block = run * size; block < std::min(blocks, (run + 1) * size); block++)
                body(block, worker);
        });
    }

private:
    friend class Team;
    using Call = void (*)(void*, int64_t, int);
    void run(int64_t blocks, Call call, void* body, int64_t weight);
    void poll();

    const int threads_;
    Monitor* const monitor_;
    const std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
    int64_t total_ = 0;
    std::atomic<int64_t> done_{0};
    std::atomic<bool> stopped_{false};
};

// Parallel loops over blocks of items.

// body(first, last, worker) for blocks of about `size` of n items.
template <class F>
void parallel_blocks(Job& job, int64_t n, int64_t size, F&& body) {
    job.parallel(ceil_div(n, size), [&](int64_t b, int worker) {
        body(b * size, std::min(n, (b + 1) * size), worker);
    });
}

}  // namespace lowd
