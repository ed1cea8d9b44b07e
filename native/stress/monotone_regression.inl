// Isotonic regression, and the Guttman transform over sorted pairs.

// The sum of entries, whatever their number, in the order of one vector.
inline INLINE double sum_of(const double* x, int64_t count) {
    Wide sum = {};
    for (int64_t i = 0; i < count; i += W<double>) sum += load_part(x + i, count - i);
    return total_of<double>(sum);
}

// Bit l: a[l] < b[l].
inline INLINE uint32_t below(Wide a, Wide b) {
#if defined(__AVX512F__)
    return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ);
#elif defined(__AVX2__)
    return uint32_t(_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ)));
#else
    uint32_t bits = 0;
    for (int l = 0; l < W<double>; l++) bits |= uint32_t(a[l] < b[l]) << l;
    return bits;
#endif
}

// Pools whose means increase: the last ones are merged with the next until they do (pool adjacent
// violators; Kruskal, 1964). Means are compared by products: divisions would take most of the time.
struct Pools {
    Pool* first;
    int64_t count = 0;
    inline INLINE void add(Pool next) {
        for (; count > 0; count--) {
            const Pool& last = first[count - 1];
            if (last.sum * next.weight < next.sum * last.weight) break;
            next.sum += last.sum;
            next.weight += last.weight;
        }
        first[count++] = next;
    }
};

// Every comparison of the plain algorithm is an unpredictable branch. In terms of running
// sums, pools end where the greatest convex minorant touches them, which is never
// above the minorant of every 32nd sum. So that comes first, and only items below it are pooled one
// by one: a few percent. Sums run within 32 items, so that the chains of additions are short and
// overlap.
template <bool UNWEIGHTED>
inline INLINE int64_t pools_in(const double* sums, const double* weights, int64_t count,
                               double* scratch, Pool* out) {
    constexpr int64_t COARSE_STEP = 32;
    const int64_t parts = ceil_div(count, COARSE_STEP);
    double* const within =
        scratch;  // sums of the items before, from the last multiple of COARSE_STEP on
    double* const weights_within = within + count + COARSE_STEP;  // the same of their weights
    double* const before =
        weights_within + (UNWEIGHTED ? 0 : count + COARSE_STEP);  // sums up to that multiple
    double* const weights_before = before + parts + 1;  // and of weights
    double sum = 0, weight = 0;
    for (int64_t s = 0; s < parts; s++) {
        before[s] = sum;
        if (!UNWEIGHTED) weights_before[s] = weight;
        const int64_t at = s * COARSE_STEP, size = least(COARSE_STEP, count - at);
        double here = 0, weight_here = 0;
        for (int64_t i = at; i < at + size; i++) {
            within[i] = here, here += sums[i];
            if (!UNWEIGHTED) weights_within[i] = weight_here, weight_here += weights[i];
        }
        if (size < COARSE_STEP) {
            within[count] = here;
            if (!UNWEIGHTED) weights_within[count] = weight_here;
        }
        sum += here, weight += weight_here;
    }
    if (count % COARSE_STEP == 0) {
        within[count] = 0;
        before[parts] = sum;
        if (!UNWEIGHTED) weights_within[count] = 0, weights_before[parts] = weight;
    }
    const auto pool = [&](int64_t a, int64_t b) INLINE -> Pool {
        const double all =
            (before[b / COARSE_STEP] - before[a / COARSE_STEP]) + (within[b] - within[a]);
        if (UNWEIGHTED) return {all, double(b - a), b};
        return {all,
                (weights_before[b / COARSE_STEP] - weights_before[a / COARSE_STEP]) +
                    (weights_within[b] - weights_within[a]),
                b};
    };
    Pools coarse{out};
    for (int64_t i = 0; i < count; i += COARSE_STEP)
        coarse.add(pool(i, least(i + COARSE_STEP, count)));
    Wide ramp;
    for (int l = 0; l < W<double>; l++) ramp[l] = l;
    Pools fine{out + parts};  // stored behind the coarse ones
    int64_t begin = 0, last = 0;
    for (int64_t c = 0; c < coarse.count; c++) {
        const Pool line = out[c];
        const double slope = line.sum / line.weight;
        // The line's height over the sums at `begin` is 0; a part begins `lift` above it.
        for (int64_t s = begin / COARSE_STEP; s * COARSE_STEP < line.end; s++) {
            const int64_t at = s * COARSE_STEP, size = least(COARSE_STEP, line.end - at);
            const double behind = UNWEIGHTED
                                      ? double(at - begin)
                                      : weights_before[s] - weights_before[begin / COARSE_STEP];
            const double lift = slope * behind - (before[s] - before[begin / COARSE_STEP]);
            for (int64_t l = 0; l < size; l += W<double>) {
                Wide height = load(within + at + l);
                if (UNWEIGHTED)
                    height -= slope * (ramp + double(l));
                else
                    height -= slope * load(weights_within + at + l);
                uint32_t found = below(height, spread(lift));
                if (size - l < W<double>) found &= (1u << (size - l)) - 1;
                if (at + l == begin) found &= ~1u;  // the line's own end
                for (; found; found &= found - 1) {
                    const int64_t i = at + l + __builtin_ctz(found);
                    fine.add(pool(last, i));
                    last = i;
                }
            }
        }
        fine.add(pool(last, line.end));
        begin = last = line.end;
    }
    // The pools are summed again from their items, because running sums have lost digits.
    Pools exact{out};
    int64_t at = 0;
    for (int64_t f = 0; f < fine.count; f++) {
        const int64_t end = fine.first[f].end, size = end - at;
        const double weight_here = UNWEIGHTED ? double(size) : sum_of(weights + at, size);
        exact.add({sum_of(sums + at, size), weight_here, end});
        at = end;
    }
    return exact.count;
}
int64_t pool_adjacent_violators(const double* sums, const double* weights, int64_t count,
                                double* scratch, Pool* out) {
    return weights ? pools_in<false>(sums, weights, count, scratch, out)
                   : pools_in<true>(sums, weights, count, scratch, out);
}

// Points are rows of P entries, or of several such parts. What can be vectorized
// over pairs is done in loops of its own, some pairs at a time.
typedef double Vec2 __attribute__((vector_size(16)));
typedef double Vec4 __attribute__((vector_size(32)));
inline INLINE double total(double v) { return v; }
inline INLINE double total(Vec2 v) { return v[0] + v[1]; }
inline INLINE double total(Vec4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }
template <class V>
struct Row {
    static constexpr int64_t SIZE = sizeof(V) / sizeof(double);
    static inline INLINE V load(const double* p) {
        V v;
        __builtin_memcpy(&v, p, sizeof v);
        return v;
    }
    static inline INLINE void store(double* p, V v) { __builtin_memcpy(p, &v, sizeof v); }
};
constexpr int64_t PAIRS_AT_ONCE = 256;

template <class V>
inline INLINE void distances_in(const PointPair* pairs, int64_t count, const double* y,
                                int64_t width, double* distances) {
    using R = Row<V>;
    constexpr int64_t P = R::SIZE;
    if constexpr (P <= 2) width = P;
    for (int64_t begin = 0; begin < count; begin += PAIRS_AT_ONCE) {
        const int64_t end = least(begin + PAIRS_AT_ONCE, count);
        for (int64_t p = begin; p < end; p++) {
            const double* const a = y + pairs[p].first * width;
            const double* const b = y + pairs[p].second * width;
            V squares = {};
            for (int64_t c = 0; c < width; c += P) {
                const auto gap = R::load(a + c) - R::load(b + c);
                squares += gap * gap;
            }
            distances[p] = total(squares);
        }
        for (int64_t p = begin; p < end; p += W<double>) {
            const Wide d2 = load_part(distances + p, end - p);
            store_part(distances + p, d2 * inverse_root(d2), end - p);
        }
    }
}
void pair_distances(const PointPair* pairs, int64_t count, const double* y, int k,
                    double* distances) {
    switch (k) {
        case 1: return distances_in<double>(pairs, count, y, 1, distances);
        case 2: return distances_in<Vec2>(pairs, count, y, 2, distances);
        default: return distances_in<Vec4>(pairs, count, y, padded_width(k), distances);
    }
}

template <class V>
inline INLINE void guttman_pairs_in(const PointPair* pairs, const double* weights, int64_t first,
                                    int64_t last, const DisparityRun* run, const double* y,
                                    int64_t width, double* moved, double* sums) {
    using R = Row<V>;
    constexpr int64_t P = R::SIZE;
    if constexpr (P <= 2) width = P;
    Wide stress = {}, size = {}, cross = {};
    alignas(64) double squares[PAIRS_AT_ONCE], disparities[PAIRS_AT_ONCE], gaps[PAIRS_AT_ONCE * P];
    for (int64_t begin = first; begin < last; begin += PAIRS_AT_ONCE) {
        const int64_t count = least(PAIRS_AT_ONCE, last - begin);
        const PointPair* const some = pairs + begin;
        for (int64_t p = 0; p < count; p++) {
            const double* const a = y + some[p].first * width;
            const double* const b = y + some[p].second * width;
            V sum = {};
            for (int64_t c = 0; c < width; c += P) {
                const auto gap = R::load(a + c) - R::load(b + c);
                if (c == 0) R::store(gaps + p * P, gap);
                sum += gap * gap;
            }
            squares[p] = total(sum);
        }
        for (int64_t p = 0; p < count; run += begin + p == run->end) {
            const int64_t end = least(run->end - begin, count);
            const double disparity = run->disparity;
            for (; p < end; p++) disparities[p] = disparity;
        }
        for (int64_t p = 0; p < count; p += W<double>) {
            const int64_t left = count - p;
            const Wide d2 = load_part(squares + p, left), t = load_part(disparities + p, left);
            const Wide w = weights ? load_part(weights + begin + p, left) : spread(1.0);
            const Wide inverse = inverse_root(d2), d = d2 * inverse, weighted = w * t;
            stress += w * (t - d) * (t - d);  // beyond the end all values are 0
            size += w * d2;
            cross += weighted * d;
            store(squares + p, weighted * inverse);
        }
        for (int64_t p = 0; p < count; p++) {
            const int64_t i = some[p].first * width, j = some[p].second * width;
            for (int64_t c = 0; c < width; c += P) {
                const auto gap =
                    c == 0 ? R::load(gaps + p * P) : R::load(y + i + c) - R::load(y + j + c);
                const auto force = squares[p] * gap;
                R::store(moved + i + c, R::load(moved + i + c) + force);
                R::store(moved + j + c, R::load(moved + j + c) - force);
            }
        }
    }
    sums[0] = total_of<double>(stress);
    sums[1] = total_of<double>(size);
    sums[2] = total_of<double>(cross);
}
void guttman_pairs(const PointPair* pairs, const double* weights, int64_t begin, int64_t end,
                   const DisparityRun* run, const double* y, int k, double* moved, double* sums) {
    const int64_t width = padded_width(k);
    switch (k) {
        case 1:
            return guttman_pairs_in<double>(pairs, weights, begin, end, run, y, width, moved, sums);
        case 2:
            return guttman_pairs_in<Vec2>(pairs, weights, begin, end, run, y, width, moved, sums);
        default:
            return guttman_pairs_in<Vec4>(pairs, weights, begin, end, run, y, width, moved, sums);
    }
}

constexpr void fill_stress(StressKernels& table) {
    table.guttman_float32 = guttman_float32;
    table.multilaterate_point = multilaterate_point;
    table.pair_distances = pair_distances;
    table.pool_adjacent_violators = pool_adjacent_violators;
    table.guttman_pairs = guttman_pairs;
}
