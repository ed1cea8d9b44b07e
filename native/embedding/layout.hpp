// The descent of UMAP: full batch, with momentum.
//
// Bits depend on the input only. With the random walk P = W / D of the memberships W, the forces on
// point i are A_i = sum_j P_ij g_a (y_j - y_i) and R_i = 1 / 2n sum_j g_r (y_i - y_j).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/matrix.hpp"
#include "base/threads.hpp"
#include "embedding/potential.hpp"

namespace lowd {

// Strengths of the terms, one for each iteration.
struct LayoutSchedule {
    std::span<const double> rates, repulsions, densities;  // densities may be empty
};

// Logarithms of the local radii in the data, of mean 0 and variance 1, for the density term: T_i is
// n / 2 times the mean degree over D_i times the gradient of corr = sum R r / n / sqrt(var r +
// shift), r_i = log(sum phi d^2 / sum phi + 1e-8) over the edges of i (densMAP; Narayan, Berger and
// Cho, 2021). The part of an edge in density T_i is at most 4 P_ij long, as in UMAP's first
// implementation: without a limit points of small radii, whose gradient grows as 1 / r, overshoot.
struct Radii {
    std::span<const double> values;  // empty if there is no density term
    double variance_shift;
};

class Layout {
public:
    virtual ~Layout() = default;
    virtual int dimensions() const = 0;
    virtual void start(Matrix<const double> Y) = 0;
    // v = 0.8 v + rate (A + repulsion R + density T), |v| <= 4, y = y + v, the last term limited.
    // Returns the sum of the squares of the last steps. A cancelled job leaves whole iterations.
    virtual double advance(const LayoutSchedule& schedule, Job& job) = 0;
    virtual void embedding(Matrix<double> out) const = 0;
    virtual void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion,
                        Job& job) = 0;
    // The density term T, limited.
    virtual void density_forces(Matrix<const double> Y, double density, Matrix<double> out,
                                Job& job) = 0;
    // The sum of V / 2n over points at Y, V' = -g_r d, V(infinity) = 0; no nodes where forces are
    // not those of a grid.
    virtual PotentialGrid interpolation_grid(Matrix<const double> Y, Job& job) = 0;
    // The mean over points of the sum of V / 2n over all others.
    virtual double repulsive_loss(Matrix<const double> Y, Job& job) = 0;
};
// W is symmetric. Exact descents sum over all pairs in float64. Others use float32: a grid in one
// and two dimensions, and in more dimensions samples that the seed draws.
std::unique_ptr<Layout> layout(Ragged W, const double* values, int k, const ForceLaw& law,
                               bool exact, uint64_t seed, const Radii& radii, Job& job);

// R of some rows, by all pairs: in float64, or in float32 with sums in float64.
void layout_repulsion(Matrix<const double> Y, const ForceLaw& law, bool exact,
                      std::span<const int64_t> rows, Matrix<double> out, Job& job);
// The mean over points of sum_j P_ij log(1 + a d^2b).
double attractive_loss(Ragged W, const double* values, Matrix<const double> Y, const ForceLaw& law,
                       Job& job);

// What repels new points: the potential of all training points, or the listed ones.
struct LayoutRepulsion {
    double strength;
    PotentialView potential;
    std::span<const int64_t> rows;
};
// Each new point by itself, with the embedding Y held fixed: from the mean of its neighbors, a
// number of steps share F / (max(1, 2b - 1) sum_j p_j g_a), at most 1 long, F = A + strength R.
void optimize_layout_points(Ragged near, const double* weights, Matrix<const double> Y,
                            const ForceLaw& law, const LayoutRepulsion& repulsion, double share,
                            int steps, Matrix<double> out, Job& job);

}  // namespace lowd
