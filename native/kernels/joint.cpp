// From the chances of each row to those of pairs, and how well a map tells them.
#include <numeric>

#include "drive.hpp"
#include "lowd/embed.hpp"

namespace lowd {

namespace {

constexpr int64_t SOME = 256;  // rows of a block

// The entries of each column, by their rows. Every worker reads all entries and keeps those of its
// own columns: so they are written close together, and in their order.
struct Transposed {
    std::vector<int64_t> starts;
    Buffer<int32_t> rows;
    Buffer<double> values;

    Transposed(Lists A, const double* p, Job& job)
        : starts(A.starts.size() + 1, 0),
          rows(int64_t(A.members.size())),
          values(int64_t(A.members.size())) {
        const int64_t n = A.count(), ranges = std::clamp<int64_t>(n / 4096, 1, 16);
        const auto every_entry = [&](auto&& body) {
            job.parallel(ranges, [&](int64_t r, int) {
                const int64_t low = n * r / ranges, count = n * (r + 1) / ranges - low;
                for (int64_t i = 0; i < n; i++)
                    for (int64_t e = A.starts[i]; e < A.starts[i + 1]; e++)
                        if (uint64_t(A.members[e] - low) < uint64_t(count))
                            body(i, e, size_t(A.members[e]));
            });
        };
        every_entry([&](int64_t, int64_t, size_t j) { starts[j + 2]++; });
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        every_entry([&](int64_t i, int64_t e, size_t j) {  // begins of columns move to their ends
            const int64_t to = starts[j + 1]++;
            rows[to] = int32_t(i);
            values[to] = p[e];
        });
    }
};

}  // namespace

Joint joint(Lists A, const double* p, Job& job) {
    const int64_t n = A.count();
    const Transposed back(A, p, job);
    Joint out;
    out.starts.assign(size_t(n) + 1, 0);
    std::vector<std::vector<int32_t>> marks(static_cast<size_t>(job.threads()));
    // body(i, mark): mark[j] is where row i holds column j, or -1.
    const auto every_row = [&](auto&& body) {
        job.parallel(ceil_div(n, SOME), [&](int64_t block, int worker) {
            std::vector<int32_t>& mark = marks[size_t(worker)];
            mark.resize(size_t(n), -1);
            for (int64_t i = block * SOME; i < std::min(n, (block + 1) * SOME); i++) {
                for (int64_t e = 0; e < A.size(i); e++) mark[size_t(A.list(i)[e])] = int32_t(e);
                body(i, mark.data());
                for (int64_t e = 0; e < A.size(i); e++) mark[size_t(A.list(i)[e])] = -1;
            }
        });
    };
    every_row([&](int64_t i, const int32_t* mark) {
        int64_t count = A.size(i);
        for (int64_t b = back.starts[size_t(i)]; b < back.starts[size_t(i) + 1]; b++)
            count += mark[back.rows[b]] < 0;
        out.starts[size_t(i) + 1] = count;
    });
    std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
    out.members = Buffer<int32_t>(out.starts.back());
    out.values = Buffer<double>(out.starts.back());
    const double share = 1 / double(2 * n);
    every_row([&](int64_t i, const int32_t* mark) {
        int32_t* const members = out.members.get() + out.starts[size_t(i)];
        double* const values = out.values.get() + out.starts[size_t(i)];
        int64_t count = A.size(i);
        std::copy_n(A.list(i), count, members);
        for (int64_t e = 0; e < count; e++) values[e] = share * p[A.starts[i] + e];
        for (int64_t b = back.starts[size_t(i)]; b < back.starts[size_t(i) + 1]; b++) {
            const int32_t from = back.rows[b], at = mark[from];
            const double value = share * back.values[b];
            if (at >= 0) {
                values[at] += value;
            } else {
                members[count] = from;
                values[count++] = value;
            }
        }
    });
    return out;
}

double surprise(Lists P, const double* values, Matrix<const double> Y, Likeness like, Job& job) {
    const int64_t n = P.count(), blocks = ceil_div(n, SOME);
    std::vector<double> sums(size_t(blocks), 0.0);
    job.expect(blocks);
    job.parallel(blocks, [&](int64_t b, int) {
        for (int64_t i = b * SOME; i < std::min(n, (b + 1) * SOME); i++)
            sums[size_t(b)] += level().embed.surprise(
                Y.data, Y.stride, int(Y.cols), like == Likeness::student, i, P.list(i),
                values + P.starts[i], P.size(i));
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace lowd
