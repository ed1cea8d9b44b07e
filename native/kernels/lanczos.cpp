#include "lowd/lanczos.hpp"

#include <algorithm>
#include <cmath>

#include "lowd/buffer.hpp"
#include "lowd/levels.hpp"
#include "scratch.hpp"

namespace lowd {
namespace {

constexpr int G = LANCZOS_GROUP;

// A block of vectors: as rows, and in lines for products (see skinny_product.inl).
class Block {
public:
    Block(int64_t n, int width)
        : n_(n),
          ld_(round_up(n, PANEL<double>)),
          rows_(round_up(width, G) * ld_, 0.0),
          lines_(round_up(width, G) * ld_, 0.0) {}
    double* row(int64_t c) const { return &rows_[c * ld_]; }
    int64_t ld() const { return ld_; }

    // The lines of `width` rows; those beyond, to a whole group, become 0.
    const double* lines(int width) const {
        constexpr int64_t LINE = 64 / sizeof(double);
        for (int64_t c = 0; c < round_up(width, G); c++)
            for (int64_t k = 0; k < n_; k += LINE) {
                double* const to = &lines_[(c / G * ld_ + k) * G + c % G * LINE];
                if (c < width)
                    std::copy_n(row(c) + k, LINE, to);
                else
                    std::fill_n(to, LINE, 0.0);
            }
        return lines_.get();
    }

private:
    int64_t n_, ld_;
    Buffer<double> rows_, lines_;
};

}  // namespace

Basis lanczos(Matrix<const double> A, bool half_square, const double* null, Matrix<double> Q,
              Matrix<double> T, Basis basis, int passes, Job& job) {
    constexpr int64_t ROWS = 32;
    const auto& kernel = level().lanczos;
    const int64_t n = A.rows;
    const int most = basis.fresh, groups = int(ceil_div(most, G));
    Block block(n, most);
    Buffer<double> coefficients(groups * G * Q.rows), factor(most * most), unused(most * most);
    Scratch<double> products(job, ROWS * groups * G);
    job.expect(passes * ceil_div(n, ROWS));
    // Subtracts the projections of the block on the first `count` rows of q.
    const auto project_out = [&](const double* q, int64_t stride, int count, int width) {
        const int some = int(ceil_div(width, G));
        kernel.matmul(q, stride, count, n, false, block.lines(width), some, block.ld(),
                      coefficients.get());
        kernel.subtract(q, stride, count, n, coefficients.get(), some, block.row(0), block.ld());
    };
    for (int pass = 0; pass < passes && basis.fresh; pass++) {
        const int m = basis.size, width = basis.fresh, some = int(ceil_div(width, G)),
                  first = m - width;
        for (int c = 0; c < width; c++) std::copy_n(Q.row(first + c), n, block.row(c));
        const double* const lines = block.lines(width);
        job.parallel(ceil_div(n, ROWS), [&](int64_t b, int worker) {
            const int64_t i = b * ROWS;
            const int rows = int(std::min(ROWS, n - i));
            double* const z = products[worker];
            kernel.matmul(A.row(i), A.stride, rows, n, half_square, lines, some, block.ld(), z);
            for (int c = 0; c < width; c++)
                for (int r = 0; r < rows; r++)
                    block.row(c)[i + r] = z[(c / G * rows + r) * G + c % G];
        });
        project_out(null, n, 1, width);
        project_out(Q.row(0), Q.stride, m, width);
        double size = 0;
        for (int c = 0; c < width; c++)
            for (int j = 0; j < m; j++)
                T.row(j)[first + c] = T.row(first + c)[j] =
                    coefficients[(c / G * m + j) * G + c % G];
        for (int j = 0; j < m; j++) size = std::max(size, std::abs(T.row(j)[j]));
        // The remainder is orthogonalized again once it is normalized: twice is enough (Parlett,
        // 1980).
        int kept =
            kernel.orthonormalize(block.row(0), block.ld(), width, 1e-13 * size, factor.get());
        for (int j = 0; j < kept; j++)
            for (int c = 0; c < width; c++) T.row(m + j)[first + c] = factor[j * width + c];
        project_out(null, n, 1, kept);
        project_out(Q.row(0), Q.stride, m, kept);
        const int before = kept;
        kept = kernel.orthonormalize(block.row(0), block.ld(), before, 0.5, unused.get());
        kept = int(std::max<int64_t>(0, std::min<int64_t>(kept, n - 1 - m)));
        for (int c = 0; c < kept; c++) std::copy_n(block.row(c), n, Q.row(m + c));
        basis = {m + kept, kept, before};
    }
    return basis;
}

}  // namespace lowd
