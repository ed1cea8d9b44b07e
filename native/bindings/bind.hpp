// From NumPy arrays to views, and from a Python callable to a monitor.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/matrix.hpp"
#include "base/threads.hpp"

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif
namespace nb = nanobind;

namespace lowd::python {

// From NumPy arrays to views, and from a Python callable to a monitor.
template <class T>
using Array2 = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Array1 = nb::ndarray<T, nb::ndim<1>, nb::device::cpu>;

// Arrays are never converted: a copy would be unexpected, and would be lost if it were an output.
inline auto array(const char* name) { return nb::arg(name).noconvert(); }

inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Kernels number rows and columns by 32 bits; `many` names the things of which there are `count`.
inline void require_numbered(int64_t count, const char* many, int64_t limit = INT32_MAX) {
    if (count > limit)
        throw std::invalid_argument("there are " + std::to_string(count) + " " + many +
                                    ", and the core numbers at most " + std::to_string(limit) +
                                    ": take a sample of them");
}

template <class T>
Matrix<T> view(const Array2<T>& a) {
    const auto rows = int64_t(a.shape(0)), cols = int64_t(a.shape(1));
    require(rows == 0 || cols <= 1 || a.stride(1) == 1,
            "expected an array whose rows are contiguous");
    return {a.data(), rows, cols, rows > 1 ? int64_t(a.stride(0)) : cols};
}
template <class T>
T* view(const Array1<T>& a, int64_t size, const char* what) {
    require(int64_t(a.shape(0)) == size, what);
    require(size <= 1 || a.stride(0) == 1, "expected a contiguous vector");
    return a.data();
}
template <class T>
T* view(const std::optional<Array1<T>>& a, int64_t size, const char* what) {
    return a ? view(*a, size, what) : nullptr;
}
template <class T>
void require_shape(const Matrix<T>& a, int64_t rows, int64_t cols, const char* what) {
    require(a.rows == rows && a.cols == cols, what);
}

// work(), which asks for the GIL. A daemon thread that does so while Python shuts down is ended by
// pthread_exit, whose unwinding would abort the process at the first noexcept frame, or where all
// exceptions are caught. So it sleeps here until the process is gone, as Python 3.14 does.
template <class F>
void outlast_python(F work) {
#if defined(__GLIBCXX__) && defined(__linux__)
    try {
        work();
    } catch (const abi::__forced_unwind&) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
#else
    work();
#endif
}

// The GIL of a calling thread, released for the duration of a job.
class Gil {
public:
    void release() { state_ = PyEval_SaveThread(); }
    void acquire() {
        outlast_python([this] { PyEval_RestoreThread(state_); });
    }

private:
    PyThreadState* state_ = nullptr;
};

// Signals are handled and `poll(done, total)` is called while the job runs; an exception from
// either stops the job.
class Listener final : public Monitor {
public:
    Listener(nb::handle poll, Gil& gil) : poll_(poll), gil_(gil) {}
    bool proceed(int64_t done, int64_t total) override {
        gil_.acquire();
        try {
            // The callback may release the GIL and ask for it again.
            outlast_python([&] {
                if (PyErr_CheckSignals() != 0) throw nb::python_error();
                if (!poll_.is_none()) poll_(done, total);
            });
        } catch (...) {
            error_ = std::current_exception();
        }
        gil_.release();
        return !error_;
    }
    std::exception_ptr error() const { return error_; }

private:
    nb::handle poll_;
    Gil& gil_;
    std::exception_ptr error_;
};

// Runs work(job) without the GIL.
template <class F>
void run(int threads, nb::handle poll, F work) {
    Gil gil;
    Listener listener(poll, gil);
    std::exception_ptr error;
    gil.release();
    try {
        Job job(threads, &listener);
        work(job);
    } catch (...) {
        error = std::current_exception();
    }
    gil.acquire();
    if (listener.error()) std::rethrow_exception(listener.error());
    if (error) std::rethrow_exception(error);
}

// An object that Python threads may share: while one of its methods computes without the GIL,
// another thread may call the next. They take turns, and wait for them without the GIL.
class Turns {
public:
    template <class F>
    void take(int threads, nb::handle poll, F body) {
        if (owner_ == std::this_thread::get_id())
            throw std::logic_error("a progress callback called the object that reports to it");
        run(threads, poll, [&](Job& job) {
            const std::lock_guard held(mutex_);
            const Owner here(owner_);
            body(job);
        });
    }

private:
    struct Owner {
        explicit Owner(std::atomic<std::thread::id>& owner) : owner_(owner) {
            owner_ = std::this_thread::get_id();
        }
        Owner(const Owner&) = delete;
        Owner& operator=(const Owner&) = delete;
        ~Owner() { owner_ = std::thread::id(); }
        std::atomic<std::thread::id>& owner_;
    };
    std::mutex mutex_;
    std::atomic<std::thread::id> owner_;
};

// Defines a function for both types of entries.
#define LOWD_BIND(m, name, function, ...)       \
    m.def(name, &function<float>, __VA_ARGS__); \
    m.def(name, &function<double>, __VA_ARGS__)

void bind_embedding(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_stress(nb::module_& m);

// Lists of indices in CSR form, from two NumPy arrays.
using Indptr = Array1<const int64_t>;
using Indices = Array1<const int32_t>;

inline constexpr const char* PER_INDEX = "there must be one entry per index";

inline std::span<const int64_t> indptr_of(const Indptr& indptr, int64_t total) {
    const std::span found(view(indptr, int64_t(indptr.shape(0)), ""), indptr.shape(0));
    require(!found.empty() && found.front() == 0 && found.back() == total &&
                std::ranges::is_sorted(found),
            "indptr must rise from 0 to the number of indices");
    return found;
}

// All indices must be below `bound`.
inline Ragged ragged_of(const Indptr& indptr, const Indices& indices, int64_t bound) {
    require_numbered(bound, "points");
    const auto total = int64_t(indices.shape(0));
    const Ragged found{indptr_of(indptr, total), {view(indices, total, ""), indices.shape(0)}};
    require(std::ranges::all_of(found.indices, [&](int64_t i) { return 0 <= i && i < bound; }),
            "indices must be row indices");
    return found;
}

}  // namespace lowd::python
