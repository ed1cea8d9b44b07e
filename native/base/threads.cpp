#include "base/threads.hpp"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace lowd {

namespace {

constexpr int MAX_THREADS = 256;
// Waking a sleeping thread takes about 50 us.
constexpr auto SPIN_TIME = std::chrono::microseconds(20);
constexpr auto REPORT_INTERVAL = std::chrono::milliseconds(50);

void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

template <class F>
bool spin_until(F ready) {
    const auto end = std::chrono::steady_clock::now() + SPIN_TIME;
    do {
        for (int i = 0; i < 64; i++) {
            if (ready()) return true;
            pause_cpu();
        }
    } while (std::chrono::steady_clock::now() < end);
    return ready();
}

}  // namespace

// The blocks of one parallel call, and the threads at work on them.
class Team {
public:
    Team(Job& job, int64_t blocks, Job::Call call, void* body, int64_t weight)
        : job_(job), blocks_(blocks), call_(call), body_(body), weight_(weight) {}

    void work(int worker) {
        const bool polls = job_.monitor_ && std::this_thread::get_id() == job_.owner_;
        try {
            while (!failed_ && !job_.stopped_) {
                const int64_t block = next_.fetch_add(1, std::memory_order_relaxed);
                if (block >= blocks_) return;
                call_(body_, block, worker);
                job_.done_.fetch_add(weight_, std::memory_order_relaxed);
                if (polls) job_.poll();
            }
        } catch (...) {
            std::scoped_lock lock(error_lock_);
            if (!error_) error_ = std::current_exception();
            failed_ = true;
        }
    }
    void rethrow() {
        if (error_) std::rethrow_exception(error_);
        if (job_.stopped_) throw Cancelled();
    }

private:
    Job& job_;
    const int64_t blocks_;
    const Job::Call call_;
    void* const body_;
    const int64_t weight_;
    std::atomic<int64_t> next_{0};
    std::atomic<bool> failed_{false};
    std::mutex error_lock_;
    std::exception_ptr error_;
};

namespace {

class Pool {
public:
    bool enter() { return !busy_.exchange(true, std::memory_order_acquire); }
    void leave() { busy_.store(false, std::memory_order_release); }

    // The caller works too. A helper that wakes after all blocks are done gets no seat and is not
    // waited for: a short job never pays for it.
    void run(Team& team, int helpers) {
        grow(helpers);
        {
            std::scoped_lock lock(lock_);
            team_ = &team;
            taken_ = 0;
            seats_.store(helpers, std::memory_order_release);
        }
        wake_.notify_all();
        team.work(0);
        {
            std::scoped_lock lock(lock_);
            seats_.store(0, std::memory_order_relaxed);
        }
        if (spin_until([&] { return seated_.load(std::memory_order_acquire) == 0; })) return;
        std::unique_lock lock(lock_);
        all_left_.wait(lock, [&] { return seated_.load(std::memory_order_acquire) == 0; });
    }

    // For a caller that has entered and will not leave: from now on every job runs in its caller.
    void close() {
        {
            std::scoped_lock lock(lock_);
            leaving_ = true;
        }
        wake_.notify_all();
        for (auto& thread : threads_) thread.join();
        threads_.clear();
    }

private:
    void grow(int helpers) {
        try {
            while (int(threads_.size()) < helpers) threads_.emplace_back([this] { serve(); });
        } catch (const std::system_error&) {
            return;  // there is a limit on threads: fewer do the job
        }
    }
    void serve() {
        for (;;) {
            spin_until([&] { return seats_.load(std::memory_order_relaxed) > 0; });
            Team* team;
            int worker;
            {
                std::unique_lock lock(lock_);
                wake_.wait(lock,
                           [&] { return leaving_ || seats_.load(std::memory_order_relaxed) > 0; });
                if (leaving_) return;
                seats_.fetch_sub(1, std::memory_order_relaxed);
                seated_.fetch_add(1, std::memory_order_relaxed);
                team = team_;
                worker = ++taken_;
            }
            team->work(worker);
            {
                std::scoped_lock lock(lock_);
                seated_.fetch_sub(1, std::memory_order_release);
                all_left_.notify_one();
            }
        }
    }

    std::mutex lock_;
    std::condition_variable wake_, all_left_;
    std::vector<std::thread> threads_;
    Team* team_ = nullptr;
    int taken_ = 0;
    bool leaving_ = false;
    std::atomic<bool> busy_{false};
    std::atomic<int> seats_{0}, seated_{0};
};

// Owns the pool of this process. A forked child has no threads: there the parent's pool is
// abandoned (its locks may be held by threads that no longer exist) and a new one is made on
// demand.
class PoolOwner {
public:
    static PoolOwner& instance() {
        static PoolOwner owner;
        return owner;
    }
    Pool& pool() {
        Pool* pool = pool_.load(std::memory_order_acquire);
        if (pool) return *pool;
        auto fresh = std::make_unique<Pool>();
        if (pool_.compare_exchange_strong(pool, fresh.get())) return *fresh.release();
        return *pool;
    }
    // At exit a daemon thread of Python may still be inside a job, or start one: the pool is
    // closed, but never deleted.
    ~PoolOwner() {
// Windows has ended the threads already; joining them under the loader lock would hang.
#if !defined(_WIN32)
        Pool* pool = pool_.load();
        if (pool && pool->enter()) pool->close();
#endif
    }

private:
    PoolOwner() {
#if !defined(_WIN32)
        pthread_atfork(nullptr, nullptr, [] {
            PoolOwner& owner = instance();
            owner.abandoned_ = owner.pool_.exchange(nullptr);
        });
#endif
    }
    std::atomic<Pool*> pool_{nullptr};
    // Keeps the parent's pool reachable, so that it does not count as a leak.
    Pool* abandoned_ = nullptr;
};

}  // namespace

Job::Job(int threads, Monitor* monitor)
    : threads_(std::clamp(threads, 1, MAX_THREADS)), monitor_(monitor) {}

void Job::poll() {
    const auto now = std::chrono::steady_clock::now();
    if (now - reported_ < REPORT_INTERVAL) return;
    // The total is never 0, because the callback may divide by it.
    if (!monitor_->proceed(done_, std::max<int64_t>({total_, done_, 1}))) stopped_ = true;
    reported_ = std::chrono::steady_clock::now();
}

void Job::run(int64_t blocks, Call call, void* body, int64_t weight) {
    if (blocks <= 0) return;
    Team team(*this, blocks, call, body, weight);
    const int helpers = int(std::min<int64_t>(threads_, blocks)) - 1;
    Pool* pool = helpers > 0 ? &PoolOwner::instance().pool() : nullptr;
    if (pool && pool->enter()) {
        struct Exit {
            Pool* pool;
            ~Exit() { pool->leave(); }
        } exit{pool};
        pool->run(team, helpers);
    } else {
        team.work(0);
    }
    team.rethrow();
}

}  // namespace lowd
