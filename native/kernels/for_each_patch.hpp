// A parallel loop over rows or patches.
#pragma once

#include <algorithm>

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

constexpr int64_t PATCHES_PER_BLOCK = 128;  // patches or rows

// body(i, worker) for every i < count.
template <class F>
void for_each_patch(int64_t count, Job& job, F body) {
    job.parallel(ceil_div(count, PATCHES_PER_BLOCK), [&](int64_t block, int worker) {
        for (int64_t i = block * PATCHES_PER_BLOCK;
             i < std::min(count, (block + 1) * PATCHES_PER_BLOCK); i++)
            body(i, worker);
    });
}

}  // namespace lowd
