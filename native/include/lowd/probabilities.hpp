// Conditional and joint probabilities of SNE and t-SNE.
#pragma once

#include <span>
#include <vector>

#include "lowd/buffer.hpp"
#include "lowd/ragged.hpp"
#include "lowd/threads.hpp"

namespace lowd {

// Conditional probabilities p ~ exp(-beta d^2) over each row of squared distances, with
// exp(entropy) = target.
void conditional_probabilities(std::span<const int64_t> indptr, const double* squares,
                               double target, double* p, double* beta, Job& job);

// A sparse matrix in CSR form that owns its arrays.
struct JointProbabilities {
    std::vector<int64_t> indptr;
    Buffer<int32_t> indices;
    Buffer<double> values;
};
// (A + A^T) / 2n of the conditional probabilities A of n rows: the entries of A in their order,
// then those of A^T alone.
JointProbabilities symmetrize_probabilities(Ragged A, const double* p, Job& job);

}  // namespace lowd
