// Conditional probabilities of SNE and t-SNE.
#pragma once

#include <span>

#include "lowd/threads.hpp"

namespace lowd {

// Conditional probabilities p ~ exp(-beta d^2) over each row of squared distances, with
// exp(entropy) = target.
void conditional_probabilities(std::span<const int64_t> indptr, const double* squares,
                               double target, double* p, double* beta, Job& job);

}  // namespace lowd
