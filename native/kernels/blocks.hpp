// Parallel loops over blocks of items.
#pragma once

#include <algorithm>

#include "lowd/matrix.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// body(first, last, worker) for blocks of about `size` of n items.
template <class F>
void parallel_blocks(Job& job, int64_t n, int64_t size, F&& body) {
    job.parallel(ceil_div(n, size), [&](int64_t b, int worker) {
        body(b * size, std::min(n, (b + 1) * size), worker);
    });
}

}  // namespace lowd
