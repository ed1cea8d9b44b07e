#include "short_range.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "lowd/levels.hpp"

namespace lowd {

namespace {

// Points by cells at least as wide as the cutoff: all points within it are in the 9 or 27 cells
// around.
template <int K>
struct Cells {
    static constexpr int64_t MAX_CELLS = K == 3 ? 64 : 512;  // on an axis
    static constexpr int WIDTH = K == 3 ? 4 : 2;  // entries of a point
    int64_t side, rows, stride;
    std::vector<int32_t> starts;  // of the points of each cell
    std::vector<int32_t> slots;  // of points by cells
    std::vector<float> columns;  // their coordinates, `stride` apart

    Cells(const float* y, int64_t n, const float* low, float span, float cutoff)
        : side(std::clamp(int64_t(span / cutoff), int64_t(1), MAX_CELLS)),
          rows(K == 3 ? side * side : side),
          stride(n + 64),  // whole vectors are read
          starts(size_t(rows * side + 1)),
          slots(size_t(n)),
          columns(size_t(K * stride), 0.0f) {
        const float unit = float(side) / span;
        std::vector<int32_t> cell(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; i++) {
            int32_t at = 0;
            for (int c = K - 1; c >= 0; c--)
                at = at * int32_t(side) +
                     std::min(int32_t((y[i * WIDTH + c] - low[c]) * unit), int32_t(side) - 1);
            cell[size_t(i)] = at;
            starts[size_t(at) + 1]++;
        }
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        std::vector<int32_t> next(starts.begin(), starts.end() - 1);
        for (int64_t i = 0; i < n; i++) {
            const int64_t to = next[size_t(cell[size_t(i)])]++;
            slots[size_t(to)] = int32_t(i);
            for (int c = 0; c < K; c++) columns[size_t(c * stride + to)] = y[i * WIDTH + c];
        }
    }

    // Cells x - 1, x, x + 1 of a row are adjacent: at most nine runs. Returns how many.
    int around(int64_t x, int64_t y, int64_t z, Run* runs) const {
        const auto from = [](int64_t v) { return std::max<int64_t>(v - 1, 0); };
        const auto to = [](int64_t v, int64_t all) { return std::min(v + 1, all - 1); };
        int count = 0;
        for (int64_t c = from(z); c <= to(z, rows / side); c++)
            for (int64_t b = from(y); b <= to(y, side); b++) {
                const int64_t row = (c * side + b) * side;
                runs[count] = {starts[size_t(row + from(x))],
                               starts[size_t(row + to(x, side) + 1)]};
                count += runs[count].first < runs[count].last;
            }
        return count;
    }
};

template <int K>
double short_range_forces_in(const float* y, int64_t n, const float* low, float span, float cutoff,
                             float* forces, Job& job) {
    constexpr int WIDTH = Cells<K>::WIDTH;
    const Cells<K> cells(y, n, low, span, cutoff);
    const int64_t side = cells.side;
    std::vector<double> sums(size_t(cells.rows), 0.0);
    std::vector<float> found(size_t(n * WIDTH));
    job.parallel(cells.rows, [&](int64_t row, int) {
        for (int64_t x = 0; x < side; x++) {
            const int64_t first = cells.starts[size_t(row * side + x)];
            const int64_t last = cells.starts[size_t(row * side + x + 1)];
            if (first == last) continue;
            Run runs[9];
            const int count = cells.around(x, row % side, row / side, runs);
            sums[size_t(row)] +=
                level().grid.short_range(cells.columns.data(), cells.stride, K, first, last, runs,
                                         count, cutoff * cutoff, &found[size_t(first * WIDTH)]);
            for (int64_t i = first; i < last; i++)
                std::copy_n(&found[size_t(i * WIDTH)], WIDTH,
                            forces + cells.slots[size_t(i)] * int64_t(WIDTH));
        }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

double short_range_forces(const float* y, int64_t n, int k, const float* low, float span,
                          float cutoff, float* forces, Job& job) {
    return (k == 3 ? short_range_forces_in<3> : short_range_forces_in<2>)(y, n, low, span, cutoff,
                                                                          forces, job);
}

}  // namespace lowd
