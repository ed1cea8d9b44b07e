// Plain views and scratch memory: the only containers that drivers and kernels share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

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

// Aligned to a cache line (and to the widest vector). Not cleared: pages are first touched by the thread that fills them.
template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(int64_t count) : data_(allocate(count)) {}
    Buffer(int64_t count, T value) : Buffer(count) {
        for (int64_t i = 0; i < count; i++) data_[i] = value;
    }
    T* get() const { return data_.get(); }
    T& operator[](int64_t i) const { return data_[i]; }
    explicit operator bool() const { return bool(data_); }

private:
    struct Free {
        void operator()(T* p) const { ::operator delete(p, std::align_val_t{64}); }
    };
    static T* allocate(int64_t count) {
        return static_cast<T*>(::operator new(size_t(count < 1 ? 1 : count) * sizeof(T), std::align_val_t{64}));
    }
    std::unique_ptr<T[], Free> data_;
};

}  // namespace lowd
