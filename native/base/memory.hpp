// Aligned memory, and scratch memory of the workers of a parallel call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "base/threads.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lowd {

// Aligned scratch memory.

// Aligned to a cache line (and to the widest vector). Not cleared: pages are first touched by the
// thread that fills them. Large buffers ask for huge pages: fewer faults, and fetching ahead does
// not stop at every 4 KB.
template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(int64_t count) : bytes_(size_t(count < 1 ? 1 : count) * sizeof(T)) {
        data_ = static_cast<T*>(::operator new(bytes_, alignment()));
#if defined(MADV_HUGEPAGE)
        if (bytes_ >= HUGE_BYTES) madvise(data_, bytes_, MADV_HUGEPAGE);
#endif
    }
    Buffer(int64_t count, T value) : Buffer(count) { std::fill_n(data_, count, value); }
    Buffer(Buffer&& other) noexcept
        : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        std::swap(data_, other.data_);
        return *this;
    }
    ~Buffer() { ::operator delete(data_, alignment()); }

    T* get() const { return data_; }
    T& operator[](int64_t i) const { return data_[i]; }
    explicit operator bool() const { return data_; }

private:
    static constexpr size_t HUGE_BYTES = size_t(1) << 21;
    std::align_val_t alignment() const {
        return std::align_val_t{bytes_ >= HUGE_BYTES ? HUGE_BYTES : 64};
    }
    size_t bytes_ = 0;
    T* data_ = nullptr;
};

// Scratch memory of the workers of a parallel call.

// Scratch memory made by each worker when it first needs it, so that its pages lie near it.
template <class T>
class Scratch {
public:
    Scratch(const Job& job, int64_t size) : size_(size), memory_(job.threads()) {}
    T* operator[](int worker) {
        if (!memory_[worker]) memory_[worker] = Buffer<T>(size_);
        return memory_[worker].get();
    }

private:
    int64_t size_;
    std::vector<Buffer<T>> memory_;
};

}  // namespace lowd
