// Grids convolved by Fourier transforms of every size.
#include "embedding/particle_mesh.hpp"

#include <array>

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

struct Charge {
    std::array<int64_t, 3> node;
    double size;
};

// body(offset in the grid, weight) for the 3^k nodes where a spline on a node is not 0.
template <class F>
void around(const Convolver& grid, int k, const std::array<int64_t, 3>& node, F body) {
    const double share[3] = {1.0 / 6, 4.0 / 6, 1.0 / 6};
    for (int e = 0; e < (k == 1 ? 3 : k == 2 ? 9 : 27); e++) {
        const int step[3] = {e % 3, e / 3 % 3, e / 9};
        int64_t at = 0;
        double weight = 1;
        for (int c = k - 1; c >= 0; c--) {
            at = at * (c == 0 ? grid.stride() : grid.rows()) + node[size_t(c)] + step[c] - 1;
            weight *= share[step[c]];
        }
        body(at, weight);
    }
}

// Charges on nodes at opposite corners and between: the potential at any of these nodes is the sum
// of the kernel over their distances, without wrapping around.
void check_size(int k, int size, double cutoff) {
    const double h = 0.4;
    const int64_t last = size / 2 - 2;
    const std::vector<Charge> charges{{{1, 1, 1}, 1.0},
                                      {{last, last, last}, 2.0},
                                      {{last, 1, last / 2}, 0.5},
                                      {{last / 3, last / 2, 1}, 1.5}};
    const auto kernel = [&](double s) { return student_kernel().value(s, cutoff); };
    const auto found = on_any_threads([&](Job& job) {
        const Convolver convolve(k, size, h, kernel, job);
        Buffer<float> in(convolve.cells() + 64, 0.0f), out(convolve.cells() + 64, 0.0f);
        for (const Charge& charge : charges)
            around(convolve, k, charge.node,
                   [&](int64_t at, double weight) { in[at] += float(charge.size * weight); });
        convolve(in.get(), out.get(), job);
        Data<double> potential(int64_t(charges.size()), 1);
        for (size_t i = 0; i < charges.size(); i++) {
            potential(int64_t(i), 0) = 0;
            around(convolve, k, charges[i].node, [&](int64_t at, double weight) {
                potential(int64_t(i), 0) += weight * double(out[at]);
            });
        }
        return potential;
    });
    for (size_t i = 0; i < charges.size(); i++) {
        double expected = 0;
        for (const Charge& other : charges) {
            double s = 0;
            for (int c = 0; c < k; c++)
                s += std::pow(h * double(charges[i].node[size_t(c)] - other.node[size_t(c)]), 2);
            const double x = std::max(cutoff * cutoff - s, 0.0) / (1 + cutoff * cutoff);
            expected += other.size * (1 - x * x * x) / (1 + s);
        }
        CHECK(std::abs(found(int64_t(i), 0) - expected) < 2e-5);
    }
}

TEST(a_grid_of_every_size_is_convolved) {
    for (int size :
         {32, 40, 48, 64, 72, 80, 96, 100, 120, 128, 144, 160, 192, 200, 240, 256, 480}) {
        CHECK(good_size(size) == size);
        check_size(1, size, 0);
        check_size(2, size, size % 3 ? 0 : 1);
        if (size <= 120) check_size(3, size, size % 3 ? 1 : 0);
    }
}

}  // namespace
