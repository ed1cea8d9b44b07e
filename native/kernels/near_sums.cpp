#include "near_sums.hpp"

#include <numeric>

namespace lowd {

namespace {

constexpr int64_t CELLS = 64;  // on an axis, at most
constexpr int WIDTH = 4;  // entries of a point

// Points by cells at least as wide as the reach: all that is near a point is in the 27 cells around.
struct Cells {
    int64_t side, stride;
    std::vector<int64_t> starts;  // of the points of each cell
    std::vector<int32_t> slots;  // of points by cells
    std::vector<float> columns;  // their coordinates, `stride` apart

    Cells(const float* y, int64_t n, const float* low, float span, float reach)
        : side(std::clamp(int64_t(span / reach), int64_t(1), CELLS)),
          stride(n + 64),  // whole vectors are read
          starts(size_t(side * side * side + 1)),
          slots(size_t(n)),
          columns(size_t(3 * stride), 0.0f) {
        const float unit = float(side) / span;
        std::vector<int32_t> cell(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; i++) {
            int64_t at = 0;
            for (int c = 2; c >= 0; c--)
                at = at * side + std::min(int64_t((y[i * WIDTH + c] - low[c]) * unit), side - 1);
            cell[size_t(i)] = int32_t(at);
            starts[size_t(at) + 1]++;
        }
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        std::vector<int64_t> next(starts.begin(), starts.end() - 1);
        for (int64_t i = 0; i < n; i++) {
            const int64_t to = next[size_t(cell[size_t(i)])]++;
            slots[size_t(to)] = int32_t(i);
            for (int c = 0; c < 3; c++) columns[size_t(c * stride + to)] = y[i * WIDTH + c];
        }
    }

    // Cells x - 1, x, x + 1 of a row lie side by side: at most nine runs. Returns how many.
    int around(int64_t x, int64_t y, int64_t z, Run* runs) const {
        const auto from = [](int64_t v) { return std::max<int64_t>(v - 1, 0); };
        const auto to = [&](int64_t v) { return std::min(v + 1, side - 1); };
        int count = 0;
        for (int64_t c = from(z); c <= to(z); c++)
            for (int64_t b = from(y); b <= to(y); b++) {
                const int64_t row = (c * side + b) * side;
                runs[count++] = {starts[size_t(row + from(x))], starts[size_t(row + to(x) + 1)]};
            }
        return count;
    }
};

}  // namespace

double near_sums(const float* y, int64_t n, const float* low, float span, float reach,
                 float* pushes, Job& job) {
    const Cells cells(y, n, low, span, reach);
    const int64_t side = cells.side;
    std::vector<double> sums(size_t(side * side), 0.0);
    std::vector<float> found(size_t(n * WIDTH));
    job.parallel(side * side, [&](int64_t row, int) {
        for (int64_t x = 0; x < side; x++) {
            const int64_t first = cells.starts[size_t(row * side + x)];
            const int64_t last = cells.starts[size_t(row * side + x + 1)];
            if (first == last) continue;
            Run runs[9];
            const int count = cells.around(x, row % side, row / side, runs);
            sums[size_t(row)] +=
                level().embed.near_pairs(cells.columns.data(), cells.stride, first, last, runs,
                                         count, reach * reach, &found[size_t(first * WIDTH)]);
            for (int64_t i = first; i < last; i++)
                std::copy_n(&found[size_t(i * WIDTH)], WIDTH,
                            pushes + cells.slots[size_t(i)] * int64_t(WIDTH));
        }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace lowd
