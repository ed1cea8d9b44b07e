// Gradient descent of SNE and t-SNE, the terms of the KL divergence, and new points.
//
// Bits depend on the input only. Forces are a quarter of the gradient of the divergence.
#pragma once

#include <memory>
#include <span>

#include "base/matrix.hpp"
#include "base/threads.hpp"
#include "embedding/potential.hpp"

namespace lowd {

// The similarity of two points of the embedding: 1 / (1 + d^2), or exp(-d^2); normalized over all
// pairs, or over the pairs of each row.
enum class Similarity { student, gauss, rows };

// P is symmetric, and its entries sum to 1.
class Descent {
public:
    virtual ~Descent() = default;
    virtual int dimensions() const = 0;
    virtual void start(Matrix<const double> Y) = 0;
    // Returns the sum of the squares of the last steps. A cancelled job leaves whole steps.
    virtual double advance(int64_t steps, double exaggeration, double momentum, double rate,
                           Job& job) = 0;
    virtual void embedding(Matrix<double> out) const = 0;
    virtual void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion,
                        Job& job) = 0;
    // The potential of points at Y; it has no nodes where forces are exact or partly sums over
    // pairs.
    virtual PotentialGrid interpolation_grid(Matrix<const double> Y, Job& job) = 0;
};
// How repulsive forces are summed: over all pairs in float64, over all pairs in float32, or on an
// interpolation grid; the latter two are for heavy tails in up to three dimensions.
enum class Repulsion { exact, float32, grid };
std::unique_ptr<Descent> descent(Ragged P, const double* values, int k, Similarity similarity,
                                 Repulsion repulsion);

// Exact sums for some rows over all other points: w, and w^2 (y - y_j) or exp(-d^2) (y - y_j).
void pair_sums(Matrix<const double> Y, Similarity similarity, std::span<const int64_t> rows,
               double* z, Matrix<double> r, Job& job);
// The cross term of the KL divergence: the sum of p log(p / w) over the listed pairs.
double cross_term(Ragged P, const double* values, Matrix<const double> Y, Similarity similarity,
                  Job& job);
// The partition function Z, the sum of 1 / (1 + d^2) over all ordered pairs, in float32 with sums
// in float64; k <= 3.
double partition_function(Matrix<const double> Y, Job& job);

// Out-of-sample extension of SNE and t-SNE.

// Optimizes each new point by itself, with the embedding Y held fixed; `potential` may have no
// nodes. The start is `coordinates`, or the weighted median of the neighbors, column by column.
void optimize_new_points(Ragged near, const double* p, Matrix<const double> Y,
                         Similarity similarity, const PotentialView& potential, bool from_medians,
                         Matrix<double> coordinates, Job& job);

}  // namespace lowd
