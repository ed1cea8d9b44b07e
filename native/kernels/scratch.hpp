// Scratch memory of the workers of a parallel call.
#pragma once

#include <vector>

#include "lowd/buffer.hpp"
#include "lowd/threads.hpp"

namespace lowd {

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
