// Conditional probabilities of each row.
#include "lowd/probabilities.hpp"

#include <cmath>

#include "blocks.hpp"
#include "lowd/levels.hpp"
#include "lowd/matrix.hpp"
#include "lowd/ragged.hpp"
#include "scratch.hpp"

namespace lowd {

void conditional_probabilities(std::span<const int64_t> indptr, const double* squares,
                               double target, double* p, double* beta, Job& job) {
    const Ragged rows{indptr, {}};
    const int64_t n = rows.count(), longest = round_up(rows.longest(), 8);
    job.expect(ceil_div(n, 64));
    Scratch<double> scratch(job, 2 * longest);
    const double entropy = std::log(target);
    parallel_blocks(job, n, 64, [&](int64_t first, int64_t last, int worker) {
        double* const work = scratch[worker];
        for (int64_t i = first; i < last; i++)
            beta[i] = rows.size(i) == 0
                          ? 0
                          : level().forces.perplexity(squares + indptr[i], rows.size(i), entropy,
                                                      work, work + longest, p + indptr[i]);
    });
}

}  // namespace lowd
