// Plain views and scratch memory: the only containers that drivers and kernels share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace lowd {

// A matrix whose rows are contiguous but may lie apart: a slice of a NumPy array needs no copy.
template <class T>
struct Matrix {
    T* data;
    int64_t rows, cols, stride;
    T* row(int64_t i) const { return data + i * stride; }
};

// Lanes of a packed panel. 128 bytes on every CPU level, so that drivers need not know the level.
template <class T>
inline constexpr int PANEL = 128 / sizeof(T);

// static: every CPU level has its own copy (the linker must not pick the one of a higher level).
static constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

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

}  // namespace lowd
