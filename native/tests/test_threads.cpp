#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "check.hpp"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace lowd;
using namespace lowd::test;

static void spend(int microseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
}

TEST(every_block_runs_once) {
    for (int threads : {1, 2, 5, 16})
        for (int blocks : {0, 1, 2, 7, 1000}) {
            std::vector<std::atomic<int>> runs(size_t(blocks + 1));
            Job job(threads);
            job.parallel(blocks, [&](int64_t b, int worker) {
                runs[size_t(b)]++;
                CHECK(worker >= 0 && worker < threads);
            });
            for (int b = 0; b < blocks; b++) CHECK(runs[size_t(b)] == 1);
            CHECK(runs[size_t(blocks)] == 0);
        }
}

TEST(workers_have_distinct_numbers) {
    Job job(5);
    std::vector<std::atomic<int>> inside(5);
    job.parallel(200, [&](int64_t, int worker) {
        CHECK(inside[size_t(worker)]++ == 0);
        spend(50);
        inside[size_t(worker)]--;
    });
}

TEST(many_short_jobs) {
    std::atomic<int64_t> total{0};
    for (int i = 0; i < 3000; i++) {
        Job job(3);
        job.parallel(4, [&](int64_t b, int) { total += b; });
    }
    CHECK(total == 3000 * 6);
}

TEST(nested_calls_run) {
    std::atomic<int> inner{0};
    Job job(4);
    job.parallel(8, [&](int64_t, int) {
        Job nested(4);
        nested.parallel(10, [&](int64_t, int worker) {
            CHECK(worker == 0);
            inner++;
        });
    });
    CHECK(inner == 80);
}

TEST(callers_share_the_pool) {
    std::atomic<int> total{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < 8; c++)
        callers.emplace_back([&] {
            for (int i = 0; i < 50; i++) {
                Job job(2);
                job.parallel(5, [&](int64_t, int) { total++; });
            }
        });
    for (auto& caller : callers) caller.join();
    CHECK(total == 8 * 50 * 5);
}

TEST(exceptions_reach_the_caller) {
    for (int threads : {1, 3}) {
        Job job(threads);
        bool caught = false;
        try {
            job.parallel(100, [&](int64_t b, int) {
                if (b == 40) throw std::runtime_error("forty");
            });
        } catch (const std::runtime_error& e) {
            caught = std::string(e.what()) == "forty";
        }
        CHECK(caught);
        Job after(threads);
        std::atomic<int> runs{0};
        after.parallel(10, [&](int64_t, int) { runs++; });
        CHECK(runs == 10);
    }
}

struct Counter : Monitor {
    int calls = 0, stop_at;
    int64_t done = 0, total = 0;
    std::thread::id caller = std::this_thread::get_id();
    explicit Counter(int stop_at) : stop_at(stop_at) {}
    bool proceed(int64_t d, int64_t t) override {
        CHECK(std::this_thread::get_id() == caller);
        CHECK(d >= done && d <= t && t > 0);
        done = d, total = t;
        return ++calls != stop_at;
    }
};

TEST(monitor_is_called_and_stops) {
    Counter quiet(0);
    Job brief(2, &quiet);
    brief.parallel(10, [](int64_t, int) {});
    CHECK(quiet.calls == 0);

    Counter listener(0);
    Job job(2, &listener);
    job.expect(100);
    const auto began = std::chrono::steady_clock::now();
    job.parallel(100, [](int64_t, int) { spend(4000); });
    // At most once in 50 ms, however long a busy machine takes.
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    CHECK(listener.calls >= 1 && listener.calls <= taken.count() / 0.05 + 1);
    CHECK(listener.total == 100);

    Counter early(0);  // before the amount of work is known
    Job preparing(2, &early);
    preparing.parallel(100, [](int64_t, int) { spend(4000); }, 0);
    CHECK(early.calls >= 1);

    Counter stopper(1);
    Job stopped(2, &stopper);
    std::atomic<int> runs{0};
    bool cancelled = false;
    try {
        stopped.parallel(10000, [&](int64_t, int) {
            runs++;
            spend(2000);
        });
    } catch (const Cancelled&) {
        cancelled = true;
    }
    CHECK(cancelled && stopper.calls == 1 && runs < 1000);
}

TEST(a_long_kernel_can_be_cancelled) {
    const auto X = Data<float>::random(3000, 600);
    const std::vector<double> mean(600);
    Data<double> out(600, 600);
    Counter stopper(1);
    bool cancelled = false;
    for (int i = 0; i < 200 && !cancelled; i++) try {
            Job job(2, &stopper);
            while (!cancelled) scatter(X.in(), nullptr, mean.data(), 1, out.out(), job);
        } catch (const Cancelled&) {
            cancelled = true;
        }
    CHECK(cancelled);
}

// ThreadSanitizer does not follow threads of a forked child.
#if !defined(_WIN32) && !defined(__SANITIZE_THREAD__)
TEST(a_forked_child_has_its_own_pool) {
    const auto X = Data<double>::random(500, 40);
    const auto sums = [&] {
        Data<double> out(1, 40, 0);
        Job job(4);
        column_sums(X.in(), nullptr, out.memory.data(), nullptr, job);
        return out;
    };
    const auto before = sums();
    for (int round = 0; round < 5; round++) {
        const pid_t child = fork();
        if (!child) _exit(same(sums(), before) ? 0 : 1);
        int status = 1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
        CHECK(same(sums(), before));
    }
}
#endif
