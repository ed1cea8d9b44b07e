// Barycentric weights and alignment matrices.

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/levels.hpp"
#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"
#include "graph/graph.hpp"

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

template <class T>
void barycentric_weights(Matrix<const T> Q, Matrix<const T> X, Ragged near, double reg,
                         double* weights, Job& job) {
    Scratch<double> scratch(job, patch_scratch(near.longest(), X.cols));
    job.expect(ceil_div(near.count(), PATCHES_PER_BLOCK));
    for_each_patch(near.count(), job, [&](int64_t i, int worker) {
        kernels<T>().barycenter(Q.row(i), X.data, X.stride, X.cols, near.row(i), int(near.size(i)),
                                reg, scratch[worker], weights + near.indptr[i]);
    });
}

namespace {

// The patches of each row, and its slots in them.
struct Memberships {
    std::vector<int64_t> indptr;
    std::vector<Membership> all;

    Memberships(Ragged patches, int64_t rows)
        : indptr(size_t(rows + 1), 0), all(patches.indices.size()) {
        for (int32_t member : patches.indices) indptr[size_t(member) + 1]++;
        for (size_t r = 0; r < size_t(rows); r++) indptr[r + 1] += indptr[r];
        std::vector<int64_t> next(indptr.begin(), indptr.end() - 1);
        for (int64_t i = 0; i < patches.count(); i++)
            for (int64_t j = 0; j < patches.size(i); j++)
                all[size_t(next[size_t(patches.row(i)[j])]++)] = {int32_t(i), int32_t(j)};
    }

    // visit(column) once for each column of a row. seen: one entry per row, -1 at first.
    template <class F>
    void columns(Ragged patches, int64_t row, int32_t* seen, F visit) const {
        for (int64_t h = indptr[size_t(row)]; h < indptr[size_t(row) + 1]; h++) {
            const int32_t patch = all[size_t(h)].patch;
            for (int64_t j = 0; j < patches.size(patch); j++) {
                const int32_t column = patches.row(patch)[j];
                if (seen[column] == row) continue;
                seen[column] = int32_t(row);
                visit(column);
            }
        }
    }
};

// Arrays with one entry per row, made by each worker when it first needs it.
template <class T>
class PerWorker {
public:
    PerWorker(const Job& job, int64_t size, T value)
        : size_(size), value_(value), memory_(size_t(job.threads())) {}
    T* operator[](int worker) {
        if (!memory_[size_t(worker)]) memory_[size_t(worker)] = Buffer<T>(size_, value_);
        return memory_[size_t(worker)].get();
    }

private:
    int64_t size_;
    T value_;
    std::vector<Buffer<T>> memory_;
};

// How many eigenvectors each patch takes: all but the last s, where s is at least 1 and as large as
// possible while the tail of the spectrum stays below the median share of the patches. It must be
// below by more than rounding, which would otherwise decide for the patch whose share is the
// median.
template <class T>
std::vector<int32_t> eigenvectors_taken(Matrix<const T> X, Ragged patches, int k,
                                        Scratch<double>& scratch, Job& job) {
    constexpr double MIN_SHARE = 1e-12, TIED_SHARES = 1e-9;
    std::vector<int64_t> at(patches.indptr.size(), 0);
    for (int64_t i = 0; i < patches.count(); i++)
        at[size_t(i) + 1] = at[size_t(i)] + std::min(patches.size(i) - 1, X.cols);
    const Buffer<double> values(at.back());
    std::vector<double> ratios(size_t(patches.count()));
    for_each_patch(patches.count(), job, [&](int64_t i, int worker) {
        double* const own = &values[at[size_t(i)]];
        const int found = kernels<T>().patch_eigenvalues(
            X.data, X.stride, X.cols, patches.row(i), int(patches.size(i)), scratch[worker], own);
        double head = 0, tail = 0;
        for (int l = 0; l < found; l++) (l < k ? head : tail) += own[l];
        ratios[size_t(i)] = head > 0 ? tail / head : 0;
    });
    std::vector<int32_t> taken(size_t(patches.count()));
    if (taken.empty()) return taken;
    std::sort(ratios.begin(), ratios.end());
    const double median = 0.5 * (ratios[ratios.size() / 2] + ratios[(ratios.size() - 1) / 2]),
                 share = (1 - TIED_SHARES) * std::max(median, MIN_SHARE);
    for (int64_t i = 0; i < patches.count(); i++) {
        const double* const own = &values[at[size_t(i)]];
        const int64_t p = patches.size(i) - 1, found = at[size_t(i) + 1] - at[size_t(i)];
        double total = 0, tail = 0;
        for (int64_t l = 0; l < found; l++) total += own[l];
        int64_t s = 1;
        for (int64_t l = 1; l <= p - k; l++) {
            if (p - l < found) tail += own[p - l];
            if (tail < share * (total - tail)) s = l;
        }
        taken[size_t(i)] = int32_t(std::max<int64_t>(p - s, 0));
    }
    return taken;
}

}  // namespace

void alignment_indptr(Ragged patches, int64_t rows, int64_t* indptr, Job& job) {
    const Memberships memberships(patches, rows);
    PerWorker<int32_t> seen(job, rows, -1);
    indptr[0] = 0;
    for_each_patch(rows, job, [&](int64_t row, int worker) {
        int64_t count = 0;
        memberships.columns(patches, row, seen[worker], [&](int32_t) { count++; });
        indptr[row + 1] = count;
    });
    for (int64_t row = 0; row < rows; row++) indptr[row + 1] += indptr[row];
}

template <class T>
void alignment_matrix(Matrix<const T> X, Ragged patches, Alignment kind, int k, double reg,
                      const double* counts, const int64_t* indptr, int32_t* columns, double* values,
                      Job& job) {
    const auto& kernel = kernels<T>();
    const int64_t n = X.rows, longest = patches.longest(), pairs = int64_t(k) * (k + 1) / 2;
    const bool modified = kind == Alignment::modified, hessian = kind == Alignment::hessian;
    // The weight of the part that a quadric does not fit.
    const double remainder = std::min(reg, 1.0);
    job.expect((modified ? 2 : 1) * ceil_div(patches.count(), PATCHES_PER_BLOCK) +
               ceil_div(n, PATCHES_PER_BLOCK));
    const int64_t own = patch_scratch(longest, X.cols), wide = round_up(longest, 8);
    Scratch<double> scratch(job, own + (hessian ? (1 + k + pairs) * wide : 0));

    std::vector<int32_t> taken;
    if (modified) taken = eigenvectors_taken(X, patches, k, scratch, job);
    std::vector<int64_t> offsets(patches.indptr.size(), 0);
    for (int64_t i = 0; i < patches.count(); i++) {
        const int64_t factors = modified  ? 2 + taken[size_t(i)]
                                : hessian ? pairs + (remainder > 0 ? 1 + k : 0)
                                          : 1 + k;
        offsets[size_t(i) + 1] = offsets[size_t(i)] + factors * round_up(patches.size(i), 8);
    }
    const Buffer<double> factors(offsets.back());
    for_each_patch(patches.count(), job, [&](int64_t i, int worker) {
        const int count = int(patches.size(i));
        if (!count) return;
        const int32_t* const members = patches.row(i);
        double *const memory = scratch[worker], *const to = &factors[offsets[size_t(i)]];
        if (modified)
            kernel.patch_modified(X.data, X.stride, X.cols, members, count, taken[size_t(i)], reg,
                                  memory, to);
        else if (hessian)
            kernel.patch_hessian(X.data, X.stride, X.cols, members, count, k, remainder, memory,
                                 memory + own, to);
        else
            kernel.patch_ltsa(X.data, X.stride, X.cols, members, count, k, memory, to);
    });

    const Memberships memberships(patches, n);
    const PatchSum sum{patches.indptr.data(),
                       patches.indices.data(),
                       memberships.indptr.data(),
                       memberships.all.data(),
                       offsets.data(),
                       factors.get(),
                       counts,
                       modified  ? 1
                       : hessian ? int(pairs)
                                 : 0,
                       hessian ? remainder : 1.0,
                       modified ? 1 : 0};
    PerWorker<int32_t> seen(job, n, -1);
    PerWorker<double> line(job, wide, 0), row_sum(job, n, 0);
    job.parallel(ceil_div(n, PATCHES_PER_BLOCK), [&](int64_t block, int worker) {
        const int64_t first = block * PATCHES_PER_BLOCK,
                      last = std::min(n, first + PATCHES_PER_BLOCK);
        for (int64_t row = first; row < last; row++) {
            int32_t *to = columns + indptr[row], *const end = columns + indptr[row + 1];
            const auto check = [](bool holds) {
                if (!holds) throw std::invalid_argument("indptr must be that of these patches");
            };
            memberships.columns(patches, row, seen[worker], [&](int32_t column) {
                check(to < end);
                *to++ = column;
            });
            check(to == end);
            std::sort(columns + indptr[row], to);
        }
        level().sparse.assemble(sum, first, last, indptr, columns, values, line[worker],
                                row_sum[worker]);
    });
}

#define INSTANTIATE(T)                                                                             \
    template void barycentric_weights(Matrix<const T>, Matrix<const T>, Ragged, double, double*,   \
                                      Job&);                                                       \
    template void alignment_matrix(Matrix<const T>, Ragged, Alignment, int, double, const double*, \
                                   const int64_t*, int32_t*, double*, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
