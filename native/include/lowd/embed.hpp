// Neighbor embedding: SNE and t-SNE.
//
// Bits depend on the input only. Forces are a quarter of the gradient of the divergence.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "lowd/graphs.hpp"
#include "lowd/lowd.hpp"

namespace lowd {

// p like exp(-beta d^2) over each list of squared distances, with exp(entropy) = target.
void perplexity(std::span<const int64_t> starts, const double* squares, double target, double* p,
                double* beta, Job& job);

// (A + A^T) / 2n of the chances A of n rows: the entries of A as they come, then the others.
struct Joint {
    std::vector<int64_t> starts;
    Buffer<int32_t> members;
    Buffer<double> values;
};
Joint joint(Lists A, const double* p, Job& job);

// How alike two points of the map are: 1 / (1 + d^2), or exp(-d^2); over all pairs, or over the
// pairs of each row.
enum class Likeness { student, gauss, rows };

struct Mesh {
    std::vector<float> phi;
    std::array<int64_t, 2> nodes{0, 0};
    std::array<double, 2> origin{0, 0};
    double spacing = 1;
};

// A descent under way. P is symmetric, its entries have the sum 1.
class Descent {
public:
    virtual ~Descent() = default;
    virtual int dimensions() const = 0;
    virtual void start(Matrix<const double> Y) = 0;
    // Returns the sum of the squares of the last steps. A cancelled job leaves whole steps.
    virtual double advance(int64_t steps, double exaggeration, double momentum, double rate,
                           Job& job) = 0;
    virtual void places(Matrix<double> out) const = 0;
    virtual void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion,
                        Job& job) = 0;
    // The potential of points at Y; no nodes where forces are exact, or partly sums over pairs.
    virtual Mesh mesh(Matrix<const double> Y, Job& job) = 0;
};
// All pairs in float64, all pairs in float32, or a mesh; the latter two are for heavy tails in up
// to three dimensions.
enum class Sums { exact, single, mesh };
std::unique_ptr<Descent> descent(Lists P, const double* values, int k, Likeness like, Sums sums);

// Exact sums over all other points, of some rows: w, and w^2 (y - y_j) or exp(-d^2) (y - y_j).
void pair_sums(Matrix<const double> Y, Likeness like, std::span<const int64_t> rows, double* z,
               Matrix<double> r, Job& job);
// The sum of p log(p / w) over the listed pairs.
double surprise(Lists P, const double* values, Matrix<const double> Y, Likeness like, Job& job);
// The sum of 1 / (1 + d^2) over all ordered pairs, in float32 with sums in float64; k <= 3.
double normalizer(Matrix<const double> Y, Job& job);

// Places where new points come to rest among those of Y; mesh may have no nodes. They set out from
// `places`, or from the weighted median of the listed places, column by column.
void settle(Lists near, const double* p, Matrix<const double> Y, Likeness like,
            const MeshView& mesh, bool from_medians, Matrix<double> places, Job& job);

}  // namespace lowd
