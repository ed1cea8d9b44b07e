#include "drive.hpp"
#include "lowd/graphs.hpp"

namespace lowd {

namespace {

constexpr int64_t ROWS = 128;  // rows or patches of one block

// body(i, worker) for every i < count.
template <class F>
void for_each(int64_t count, Job& job, F body) {
    job.parallel(ceil_div(count, ROWS), [&](int64_t block, int worker) {
        for (int64_t i = block * ROWS; i < std::min(count, (block + 1) * ROWS); i++)
            body(i, worker);
    });
}

// Of which patches a row is a member, and at which places.
struct Homes {
    std::vector<int64_t> starts;
    std::vector<Home> homes;

    Homes(Lists patches, int64_t rows)
        : starts(size_t(rows + 1), 0), homes(patches.members.size()) {
        for (int32_t member : patches.members) starts[size_t(member) + 1]++;
        for (size_t r = 0; r < size_t(rows); r++) starts[r + 1] += starts[r];
        std::vector<int64_t> next(starts.begin(), starts.end() - 1);
        for (int64_t i = 0; i < patches.count(); i++)
            for (int64_t j = 0; j < patches.size(i); j++)
                homes[size_t(next[size_t(patches.list(i)[j])]++)] = {int32_t(i), int32_t(j)};
    }

    // visit(column) once for each column of a row. seen: one entry per row, -1 at first.
    template <class F>
    void columns(Lists patches, int64_t row, int32_t* seen, F visit) const {
        for (int64_t h = starts[size_t(row)]; h < starts[size_t(row) + 1]; h++) {
            const int32_t patch = homes[size_t(h)].patch;
            for (int64_t j = 0; j < patches.size(patch); j++) {
                const int32_t column = patches.list(patch)[j];
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

// How many eigenvectors each patch takes: all but the s last, s as large as it can be while what is
// left of the spectrum stays below the usual share (at least 1).
template <class T>
std::vector<int32_t> eigenvectors_taken(Matrix<const T> X, Lists patches, int k,
                                        Scratch<double>& scratch, Job& job) {
    constexpr double ROUNDING = 1e-12;
    std::vector<int64_t> at(patches.starts.size(), 0);
    for (int64_t i = 0; i < patches.count(); i++)
        at[size_t(i) + 1] = at[size_t(i)] + std::min(patches.size(i) - 1, X.cols);
    const Buffer<double> values(at.back());
    std::vector<double> rest(size_t(patches.count()));
    for_each(patches.count(), job, [&](int64_t i, int worker) {
        double* const own = &values[at[size_t(i)]];
        const int found = kernels<T>().patch_values(X.data, X.stride, X.cols, patches.list(i),
                                                    int(patches.size(i)), scratch[worker], own);
        double head = 0, tail = 0;
        for (int l = 0; l < found; l++) (l < k ? head : tail) += own[l];
        rest[size_t(i)] = head > 0 ? tail / head : 0;
    });
    std::vector<int32_t> taken(size_t(patches.count()));
    if (taken.empty()) return taken;
    std::sort(rest.begin(), rest.end());
    const double median = 0.5 * (rest[rest.size() / 2] + rest[(rest.size() - 1) / 2]),
                 share = std::max(median, ROUNDING);
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

template <class T>
void barycenters(Matrix<const T> Q, Matrix<const T> X, Lists near, double reg, double* weights,
                 Job& job) {
    Scratch<double> scratch(job, patch_scratch(near.longest(), X.cols));
    job.expect(ceil_div(near.count(), ROWS));
    for_each(near.count(), job, [&](int64_t i, int worker) {
        kernels<T>().barycenter(Q.row(i), X.data, X.stride, X.cols, near.list(i), int(near.size(i)),
                                reg, scratch[worker], weights + near.starts[i]);
    });
}

void alignment_starts(Lists patches, int64_t rows, int64_t* starts, Job& job) {
    const Homes homes(patches, rows);
    PerWorker<int32_t> seen(job, rows, -1);
    starts[0] = 0;
    for_each(rows, job, [&](int64_t row, int worker) {
        int64_t count = 0;
        homes.columns(patches, row, seen[worker], [&](int32_t) { count++; });
        starts[row + 1] = count;
    });
    for (int64_t row = 0; row < rows; row++) starts[row + 1] += starts[row];
}

template <class T>
void alignment(Matrix<const T> X, Lists patches, Alignment kind, int k, double reg,
               const double* mass, const int64_t* starts, int32_t* columns, double* values,
               Job& job) {
    const auto& kernel = kernels<T>();
    const int64_t n = X.rows, longest = patches.longest(), pairs = int64_t(k) * (k + 1) / 2;
    const bool modified = kind == Alignment::modified, hessian = kind == Alignment::hessian;
    const double rest = std::min(reg, 1.0);  // of what a quadric does not fit
    job.expect((modified ? 2 : 1) * ceil_div(patches.count(), ROWS) + ceil_div(n, ROWS));
    const int64_t own = patch_scratch(longest, X.cols), wide = round_up(longest, 8);
    Scratch<double> scratch(job, own + (hessian ? (1 + k + pairs) * wide : 0));

    std::vector<int32_t> taken;
    if (modified) taken = eigenvectors_taken(X, patches, k, scratch, job);
    std::vector<int64_t> offsets(patches.starts.size(), 0);
    for (int64_t i = 0; i < patches.count(); i++) {
        const int64_t factors = modified  ? 2 + taken[size_t(i)]
                                : hessian ? pairs + (rest > 0 ? 1 + k : 0)
                                          : 1 + k;
        offsets[size_t(i) + 1] = offsets[size_t(i)] + factors * round_up(patches.size(i), 8);
    }
    const Buffer<double> factors(offsets.back());
    for_each(patches.count(), job, [&](int64_t i, int worker) {
        const int count = int(patches.size(i));
        if (!count) return;
        const int32_t* const members = patches.list(i);
        double *const memory = scratch[worker], *const to = &factors[offsets[size_t(i)]];
        if (modified)
            kernel.patch_modified(X.data, X.stride, X.cols, members, count, taken[size_t(i)], reg,
                                  memory, to);
        else if (hessian)
            kernel.patch_hessian(X.data, X.stride, X.cols, members, count, k, rest, memory,
                                 memory + own, to);
        else
            kernel.patch_ltsa(X.data, X.stride, X.cols, members, count, k, memory, to);
    });

    const Homes homes(patches, n);
    const Patches sum{patches.starts.data(),
                      patches.members.data(),
                      homes.starts.data(),
                      homes.homes.data(),
                      offsets.data(),
                      factors.get(),
                      mass,
                      modified  ? 1
                      : hessian ? int(pairs)
                                : 0,
                      hessian ? rest : 1.0,
                      modified ? 1 : 0};
    PerWorker<int32_t> seen(job, n, -1);
    PerWorker<double> line(job, wide, 0), row_sum(job, n, 0);
    job.parallel(ceil_div(n, ROWS), [&](int64_t block, int worker) {
        const int64_t first = block * ROWS, last = std::min(n, first + ROWS);
        for (int64_t row = first; row < last; row++) {
            int32_t* to = columns + starts[row];
            homes.columns(patches, row, seen[worker], [&](int32_t column) { *to++ = column; });
            std::sort(columns + starts[row], to);
        }
        level().sparse.assemble(sum, first, last, starts, columns, values, line[worker],
                                row_sum[worker]);
    });
}

#define INSTANTIATE(T)                                                                         \
    template void barycenters(Matrix<const T>, Matrix<const T>, Lists, double, double*, Job&); \
    template void alignment(Matrix<const T>, Lists, Alignment, int, double, const double*,     \
                            const int64_t*, int32_t*, double*, Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
