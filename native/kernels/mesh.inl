// Sums of 1 / (1 + d^2) over many points of the line, the plane or space by a mesh: charges are
// spread on a grid by cubic B-splines, the grid is convolved (see waves.inl), and what is felt at a
// point is read by the same splines. Points of space have a fourth coordinate, which is 0.

typedef float Four __attribute__((vector_size(16)));
inline INLINE Four load4(const float* p) {
    Four v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
inline INLINE float sum4(Four v) { return (v[0] + v[1]) + (v[2] + v[3]); }

// The four cubic B-splines that reach a point, all at once: see `splines`.
struct Reach {
    int cell;
    Four value, slope;
};
inline INLINE Reach reach_of(float y, float origin, float inverse) {
    constexpr float S = 1.0f / 6;
    constexpr Four once = {S, 4 * S, S, 0}, linear = {-0.5f, 0, 0.5f, 0},
                   square = {0.5f, -1, 0.5f, 0}, cube = {-S, 0.5f, -0.5f, S};
    Reach r;
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
        const Reach c = reach_of(y[0], grid.origin[0], grid.inverse);
        Reach r{}, p{};
        float* at = tile.cells + c.cell - 1 - tile.first[0];
        if constexpr (K >= 2) {
            r = reach_of(y[1], grid.origin[1], grid.inverse);
            at += (r.cell - 1 - tile.first[1]) * tile.count[0];
        }
        if constexpr (K == 3) {
            p = reach_of(y[2], grid.origin[2], grid.inverse);
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

// f += scale times the slope of the potential at points.
template <int K>
inline INLINE void read_in(const GridView& grid, const float* y, int64_t count, float scale,
                           float* f) {
    constexpr int PLANES = K == 3 ? 4 : 1, WIDTH = K == 3 ? 4 : K;
    const float unit = scale * grid.inverse;
    for (int64_t i = 0; i < count; i++, y += WIDTH, f += WIDTH) {
        const Reach c = reach_of(y[0], grid.origin[0], grid.inverse);
        const float* at = grid.phi + c.cell - 1;
        if constexpr (K == 1) {
            f[0] += unit * sum4(c.slope * load4(at));
            continue;
        }
        const Reach r = reach_of(y[K >= 2], grid.origin[1], grid.inverse);
        at += int64_t(r.cell - 1) * grid.stride;
        Reach p{};
        if constexpr (K == 3) {
            p = reach_of(y[2], grid.origin[2], grid.inverse);
            at += int64_t(p.cell - 1) * grid.plane;
        }
        Four value = {}, rise = {}, climb = {};  // at the columns, along rows and planes
        for (int o = 0; o < PLANES; o++) {
            Four level = {}, up = {};
            const float* from = at + o * grid.plane;
            for (int q = 0; q < 4; q++, from += grid.stride) {
                const Four line = load4(from);
                level += r.value[q] * line;
                up += r.slope[q] * line;
            }
            if constexpr (K == 3) {
                value += p.value[o] * level;
                rise += p.value[o] * up;
                climb += p.slope[o] * level;
            } else {
                value = level;
                rise = up;
            }
        }
        f[0] += unit * sum4(value * c.slope);
        f[1] += unit * sum4(rise * c.value);
        if constexpr (K == 3) f[2] += unit * sum4(climb * c.value);
    }
}
void read_slopes(const GridView& grid, const float* y, int64_t count, float scale, float* f) {
    grid.k == 3   ? read_in<3>(grid, y, count, scale, f)
    : grid.k == 2 ? read_in<2>(grid, y, count, scale, f)
                  : read_in<1>(grid, y, count, scale, f);
}

inline INLINE Vec<float> inverse_of(Vec<float> v) {
#if defined(__AVX512F__)
    const Vec<float> r = _mm512_maskz_rcp14_ps(0xffff, v);
    return r * (2.0f - v * r);
#else
    return 1.0f / v;
#endif
}
template <int FIRST, size_t... L>
inline INLINE Vec<float> every_other(Vec<float> a, Vec<float> b, std::index_sequence<L...>) {
    return __builtin_shufflevector(a, b, int(2 * L + FIRST)...);
}

typedef uint16_t Shares __attribute__((vector_size(BYTES / 2)));
inline INLINE Vec<float> shares_of(const uint16_t* p) {
    Shares v;
    __builtin_memcpy(&v, p, sizeof v);
#if defined(__AVX512F__)  // GCC converts in two halves, and warns of the forms without a mask
    return _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)v));
#else
    return __builtin_convertvector(v, Vec<float>);
#endif
}

// f = scale unit_i sum_j share (y_i - y_j) / (1 + d^2) for points first .. last - 1. Neighbors are
// brought side by side first: plain loads are faster than gathers.
template <int K>
inline INLINE void attract_in(const float* y, int64_t first, int64_t last, const int64_t* starts,
                              const Ties* ties, const float* unit, float scale, float* f) {
    constexpr int L = W<float>, AHEAD = 4096 / sizeof(Ties), WIDTH = K == 3 ? 4 : K;
    constexpr auto lanes = std::make_index_sequence<L>();
    for (int64_t i = first; i < last; i++, f += WIDTH) {
        const float* const me = y + WIDTH * i;
        Vec<float> sum[K] = {};
        for (const Ties* t = ties + starts[i]; t < ties + starts[i + 1]; t++) {
            __builtin_prefetch(reinterpret_cast<const char*>(t + AHEAD));
            __builtin_prefetch(reinterpret_cast<const char*>(t + AHEAD) + 64);
            alignas(64) float near[WIDTH * Ties::COUNT];
            for (int j = 0; j < Ties::COUNT; j++)
                __builtin_memcpy(near + WIDTH * j, y + WIDTH * int64_t(t->ends[j]),
                                 WIDTH * sizeof(float));
            for (int j = 0; j < Ties::COUNT; j += L) {
                const Vec<float> a = load(near + WIDTH * j);
                const Vec<float> share = shares_of(t->shares + j);
                Vec<float> gap[K];
                if constexpr (K == 1) {
                    gap[0] = me[0] - a;
                } else if constexpr (K == 2) {
                    const Vec<float> b = load(near + WIDTH * j + L);
                    gap[0] = me[0] - every_other<0>(a, b, lanes);
                    gap[1] = me[1] - every_other<1>(a, b, lanes);
                } else {
                    const Vec<float> b = load(near + WIDTH * j + L),
                                     c = load(near + WIDTH * j + 2 * L),
                                     d = load(near + WIDTH * j + 3 * L);
                    const Vec<float> even[2] = {every_other<0>(a, b, lanes),
                                                every_other<0>(c, d, lanes)};
                    gap[0] = me[0] - every_other<0>(even[0], even[1], lanes);
                    gap[1] = me[1] - every_other<0>(every_other<1>(a, b, lanes),
                                                    every_other<1>(c, d, lanes), lanes);
                    gap[2] = me[2] - every_other<1>(even[0], even[1], lanes);
                }
                Vec<float> square = 1.0f + gap[0] * gap[0];
                for (int c = 1; c < K; c++) square += gap[c] * gap[c];
                const Vec<float> w = share * inverse_of(square);
                for (int c = 0; c < K; c++) sum[c] += w * gap[c];
            }
        }
        for (int c = 0; c < K; c++) f[c] = scale * unit[i] * total_of<float>(sum[c]);
        if constexpr (K == 3) f[3] = 0;
    }
}
void attract_all(const float* y, int k, int64_t first, int64_t last, const int64_t* starts,
                 const Ties* ties, const float* unit, float scale, float* f) {
    k == 3   ? attract_in<3>(y, first, last, starts, ties, unit, scale, f)
    : k == 2 ? attract_in<2>(y, first, last, starts, ties, unit, scale, f)
             : attract_in<1>(y, first, last, starts, ties, unit, scale, f);
}

// The sum of 1 / (1 + d^2) over pairs of one of points i .. i + count with a later one; a column of
// `stride` entries per dimension, padded by points far out.
template <int K>
inline INLINE double later_in(const float* y, int64_t stride, int64_t n, int64_t i, int count) {
    constexpr int L = W<float>, SOME = 64;
    const int64_t padded = (n + L - 1) / L * L;
    double sum = 0;
    for (int64_t me = i; me < i + count; me++) {
        int64_t j = me + 1;
        float head = 0;
        for (; j < n && j % L; j++) {
            float square = 1;
            for (int c = 0; c < K; c++) {
                const float gap = y[c * stride + me] - y[c * stride + j];
                square += gap * gap;
            }
            head += 1 / square;
        }
        sum += double(head);
        while (j < n) {
            Vec<float> part = {};
            const int64_t end = j + SOME * L < padded ? j + SOME * L : padded;
            for (; j < end; j += L) {
                Vec<float> square = spread(1.0f);
                for (int c = 0; c < K; c++) {
                    const Vec<float> gap = y[c * stride + me] - load(y + c * stride + j);
                    square += gap * gap;
                }
                part += inverse_of(square);
            }
            sum += double(total_of<float>(part));
        }
    }
    return sum;
}
double later_pairs(const float* y, int64_t stride, int k, int64_t n, int64_t i, int count) {
    return k == 3   ? later_in<3>(y, stride, n, i, count)
           : k == 2 ? later_in<2>(y, stride, n, i, count)
                    : later_in<1>(y, stride, n, i, count);
}

// What a smooth kernel lacks of 1 / (1 + s), s < reach being the square of a distance, is x^3 / (1 +
// s) with x = (reach - s) / (1 + reach); see Convolver. Its push on points first .. last - 1 by those
// of all runs (columns, `stride` apart), two or four entries each; returns its sum. A point may be in
// a run itself.
template <int K>
inline INLINE double near_in(const float* y, int64_t stride, int64_t first, int64_t last,
                             const Run* runs, int count, float reach, float* push) {
    constexpr int L = W<float>, WIDTH = K == 3 ? 4 : K;
    const float unit = 1 / (1 + reach);
    Vec<float> lane;
    for (int l = 0; l < L; l++) lane[l] = float(l);
    double total = 0;
    for (int64_t i = first; i < last; i++, push += WIDTH) {
        Vec<float> me[K], sum = {}, f[K] = {};
        for (int c = 0; c < K; c++) me[c] = spread(y[c * stride + i]);
        for (const Run* run = runs; run < runs + count; run++)
            for (int64_t j = run->first; j < run->last; j += L) {
                Vec<float> gap[K], s = {};
                for (int c = 0; c < K; c++) {
                    gap[c] = me[c] - load(y + c * stride + j);
                    s += gap[c] * gap[c];
                }
                const Vec<float> inside = larger((reach - s) * unit, Vec<float>{});
                const Vec<float> x = lane < float(run->last - j) ? inside : Vec<float>{};
                const Vec<float> w = inverse_of(1.0f + s), part = w * x * x;
                sum += part * x;
                const Vec<float> force = part * (w * x + 3 * unit);
                for (int c = 0; c < K; c++) f[c] += force * gap[c];
            }
        for (int c = 0; c < K; c++) push[c] = total_of<float>(f[c]);
        if constexpr (K == 3) push[3] = 0;
        total += double(total_of<float>(sum));
    }
    return total;
}
double near_pairs(const float* y, int64_t stride, int k, int64_t first, int64_t last,
                  const Run* runs, int count, float reach, float* push) {
    return (k == 3 ? near_in<3> : near_in<2>)(y, stride, first, last, runs, count, reach, push);
}

void add_line(float* to, const float* from, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i] += from[i];
}
double inner(const float* a, const float* b, int64_t count) {
    Wide sum = {};
    for (int64_t i = 0; i < count; i += W<float>) {
        const Vec<float> product = load(a + i) * load(b + i);
        sum += widen<0>(product) + widen<1>(product);
    }
    return total_of<double>(sum);
}
// Coordinates alternate in the lanes, whose number is a multiple of k: 1, 2 or 4.
void extent(const float* y, int64_t count, int k, float* low, float* high) {
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
