// The particle mesh and its short-range forces.

// Short-range forces of P3M, which complete the smooth kernel of the grid.

// The smooth kernel lacks x^3 / (1 + s) of 1 / (1 + s), with x = (cutoff - s) / (1 + cutoff) where
// s, the square of a distance, is below the cutoff; see Convolver. Forces of that part on points
// first .. last - 1 by those of all runs (columns, `stride` apart), two or four entries each;
// returns its sum. A point may be in a run itself.
template <int K>
inline INLINE double short_range_in(const float* y, int64_t stride, int64_t first, int64_t last,
                                    const Run* runs, int count, float cutoff, float* forces) {
    constexpr int L = W<float>, WIDTH = K == 3 ? 4 : K;
    const float unit = 1 / (1 + cutoff);
    Vec<float> lane;
    for (int l = 0; l < L; l++) lane[l] = float(l);
    double total = 0;
    for (int64_t i = first; i < last; i++, forces += WIDTH) {
        Vec<float> me[K], sum = {}, f[K] = {};
        for (int c = 0; c < K; c++) me[c] = spread(y[c * stride + i]);
        for (const Run* run = runs; run < runs + count; run++)
            for (int64_t j = run->first; j < run->last; j += L) {
                Vec<float> gap[K], s = {};
                for (int c = 0; c < K; c++) {
                    gap[c] = me[c] - load(y + c * stride + j);
                    s += gap[c] * gap[c];
                }
                const Vec<float> inside = larger((cutoff - s) * unit, Vec<float>{});
                const Vec<float> x = lane < float(run->last - j) ? inside : Vec<float>{};
                const Vec<float> w = inverse_of(1.0f + s), part = w * x * x;
                sum += part * x;
                const Vec<float> force = part * (w * x + 3 * unit);
                for (int c = 0; c < K; c++) f[c] += force * gap[c];
            }
        for (int c = 0; c < K; c++) forces[c] = total_of<float>(f[c]);
        if constexpr (K == 3) forces[3] = 0;
        total += double(total_of<float>(sum));
    }
    return total;
}
double short_range(const float* y, int64_t stride, int k, int64_t first, int64_t last,
                   const Run* runs, int count, float cutoff, float* forces) {
    return (k == 3 ? short_range_in<3> : short_range_in<2>)(y, stride, first, last, runs, count,
                                                            cutoff, forces);
}

// Sums of 1 / (1 + d^2) over many points in one, two or three dimensions by a particle mesh:
// charges are spread on a grid by cubic B-splines, the grid is convolved (see fft.inl), and
// the potential at a point is interpolated by the same splines. Points in three dimensions have a
// fourth coordinate, which is 0.
typedef float Four __attribute__((vector_size(16)));
inline INLINE Four load4(const float* p) {
    Four v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
inline INLINE float sum4(Four v) { return (v[0] + v[1]) + (v[2] + v[3]); }

// The four cubic B-splines that are not 0 at a point: see `spline_derivatives`.
struct SplineWeights {
    int cell;
    Four value, slope;
};
inline INLINE SplineWeights spline_weights(float y, float origin, float inverse) {
    constexpr float S = 1.0f / 6;
    constexpr Four once = {S, 4 * S, S, 0}, linear = {-0.5f, 0, 0.5f, 0},
                   square = {0.5f, -1, 0.5f, 0}, cube = {-S, 0.5f, -0.5f, S};
    SplineWeights r;
    const float u = (y - origin) * inverse;
    r.cell = int(u);
    const float t = u - float(r.cell);
    r.value = ((cube * t + square) * t + linear) * t + once;
    r.slope = (3 * cube * t + 2 * square) * t + linear;
    return r;
}

// Adds the charges of points to a tile.
template <int K>
inline INLINE void spread_in(const GridView& grid, const float* y, int64_t count,
                             const TileView& tile) {
    constexpr int PLANES = K == 3 ? 4 : 1, ROWS = K >= 2 ? 4 : 1, WIDTH = K == 3 ? 4 : K;
    for (int64_t i = 0; i < count; i++, y += WIDTH) {
        const SplineWeights c = spline_weights(y[0], grid.origin[0], grid.inverse);
        SplineWeights r{}, p{};
        float* at = tile.cells + c.cell - 1 - tile.first[0];
        if constexpr (K >= 2) {
            r = spline_weights(y[1], grid.origin[1], grid.inverse);
            at += (r.cell - 1 - tile.first[1]) * tile.count[0];
        }
        if constexpr (K == 3) {
            p = spline_weights(y[2], grid.origin[2], grid.inverse);
            at += (p.cell - 1 - tile.first[2]) * tile.count[1] * tile.count[0];
        }
        for (int o = 0; o < PLANES; o++) {
            const Four across = K == 3 ? p.value[o] * c.value : c.value;
            float* line = at + o * tile.count[1] * tile.count[0];
            for (int q = 0; q < ROWS; q++, line += tile.count[0]) {
                const Four sum = load4(line) + (K >= 2 ? r.value[q] * across : across);
                __builtin_memcpy(line, &sum, sizeof sum);
            }
        }
    }
}
void spread_charges(const GridView& grid, const float* y, int64_t count, const TileView& tile) {
    grid.k == 3   ? spread_in<3>(grid, y, count, tile)
    : grid.k == 2 ? spread_in<2>(grid, y, count, tile)
                  : spread_in<1>(grid, y, count, tile);
}

// f += scale times the gradient of the potential at points.
template <int K>
inline INLINE void interpolate_in(const GridView& grid, const float* y, int64_t count, float scale,
                                  float* f) {
    constexpr int PLANES = K == 3 ? 4 : 1, WIDTH = K == 3 ? 4 : K;
    const float unit = scale * grid.inverse;
    for (int64_t i = 0; i < count; i++, y += WIDTH, f += WIDTH) {
        const SplineWeights c = spline_weights(y[0], grid.origin[0], grid.inverse);
        const float* at = grid.phi + c.cell - 1;
        if constexpr (K == 1) {
            f[0] += unit * sum4(c.slope * load4(at));
            continue;
        }
        const SplineWeights r = spline_weights(y[K >= 2], grid.origin[1], grid.inverse);
        at += int64_t(r.cell - 1) * grid.stride;
        SplineWeights p{};
        if constexpr (K == 3) {
            p = spline_weights(y[2], grid.origin[2], grid.inverse);
            at += int64_t(p.cell - 1) * grid.plane;
        }
        Four value = {}, row_slope = {}, plane_slope = {};  // at the columns, along rows and planes
        for (int o = 0; o < PLANES; o++) {
            Four value_here = {}, slope_here = {};
            const float* from = at + o * grid.plane;
            for (int q = 0; q < 4; q++, from += grid.stride) {
                const Four line = load4(from);
                value_here += r.value[q] * line;
                slope_here += r.slope[q] * line;
            }
            if constexpr (K == 3) {
                value += p.value[o] * value_here;
                row_slope += p.value[o] * slope_here;
                plane_slope += p.slope[o] * value_here;
            } else {
                value = value_here;
                row_slope = slope_here;
            }
        }
        f[0] += unit * sum4(value * c.slope);
        f[1] += unit * sum4(row_slope * c.value);
        if constexpr (K == 3) f[2] += unit * sum4(plane_slope * c.value);
    }
}
void interpolate_gradient(const GridView& grid, const float* y, int64_t count, float scale,
                          float* f) {
    grid.k == 3   ? interpolate_in<3>(grid, y, count, scale, f)
    : grid.k == 2 ? interpolate_in<2>(grid, y, count, scale, f)
                  : interpolate_in<1>(grid, y, count, scale, f);
}

void add_line(float* to, const float* from, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i] += from[i];
}
double inner_product(const float* a, const float* b, int64_t count) {
    Wide sum = {};
    for (int64_t i = 0; i < count; i += W<float>) {
        const Vec<float> product = load(a + i) * load(b + i);
        sum += widen<0>(product) + widen<1>(product);
    }
    return total_of<double>(sum);
}
// Coordinates alternate in the lanes, whose number is a multiple of k: 1, 2 or 4.
void bounding_box(const float* y, int64_t count, int k, float* low, float* high) {
    constexpr int L = W<float>;
    for (int c = 0; c < k; c++) low[c] = high[c] = y[c];
    int64_t i = 0;
    if (count * k >= L) {
        Vec<float> least = load(y), most = least;
        for (; i + L <= count * k; i += L) {
            const Vec<float> v = load(y + i);
            least = smaller(least, v);
            most = larger(most, v);
        }
        for (int l = 0; l < L; l++) {
            low[l % k] = low[l % k] < least[l] ? low[l % k] : least[l];
            high[l % k] = high[l % k] > most[l] ? high[l % k] : most[l];
        }
    }
    for (; i < count * k; i++) {
        low[i % k] = low[i % k] < y[i] ? low[i % k] : y[i];
        high[i % k] = high[i % k] > y[i] ? high[i % k] : y[i];
    }
}

constexpr void fill_grid(GridKernels& table) {
    table.lanes = W<float>;
    table.fft_even_lines = fft_even_lines;
    table.fft_columns = fft_columns;
    table.convolve_lines = convolve_lines;
    table.inverse_fft_columns = inverse_fft_columns;
    table.fft_plane = fft_plane;
    table.inverse_fft_plane = inverse_fft_plane;
    table.convolve_line = convolve_line;
    table.spread_charges = spread_charges;
    table.interpolate_gradient = interpolate_gradient;
    table.short_range = short_range;
    table.add_line = add_line;
    table.inner_product = inner_product;
    table.bounding_box = bounding_box;
}
