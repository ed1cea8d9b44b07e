// Pairs in any order, and targets that rise with them.

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

// Pools whose means rise: the last ones are joined by the next until they do (pooling adjacent
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

// Every comparison of the plain algorithm is a coin toss, which CPUs guess wrong. In terms of running
// sums, pools end where the greatest convex minorant touches them, which is never above the minorant
// of every 32nd sum. So that comes first, and only items below it are pooled one by one: a few in a
// hundred. Sums run within 32 items, so that the chains of additions are short and overlap.
template <bool EVEN>
inline INLINE int64_t pools_of(const double* sums, const double* weights, int64_t count,
                               double* scratch, Pool* out) {
    constexpr int64_t STEP = 32;
    const int64_t parts = ceil_div(count, STEP);
    double* const within = scratch;  // sums of the items before, from the last multiple of STEP on
    double* const mass = within + count + STEP;  // the same of their weights
    double* const before = mass + (EVEN ? 0 : count + STEP);  // sums up to that multiple
    double* const heavy = before + parts + 1;  // and of weights
    double sum = 0, weight = 0;
    for (int64_t s = 0; s < parts; s++) {
        before[s] = sum;
        if (!EVEN) heavy[s] = weight;
        const int64_t at = s * STEP, size = least(STEP, count - at);
        double here = 0, mine = 0;
        for (int64_t i = at; i < at + size; i++) {
            within[i] = here, here += sums[i];
            if (!EVEN) mass[i] = mine, mine += weights[i];
        }
        if (size < STEP) {
            within[count] = here;
            if (!EVEN) mass[count] = mine;
        }
        sum += here, weight += mine;
    }
    if (count % STEP == 0) {
        within[count] = 0;
        before[parts] = sum;
        if (!EVEN) mass[count] = 0, heavy[parts] = weight;
    }
    const auto pool = [&](int64_t a, int64_t b) INLINE -> Pool {
        const double all = (before[b / STEP] - before[a / STEP]) + (within[b] - within[a]);
        if (EVEN) return {all, double(b - a), b};
        return {all, (heavy[b / STEP] - heavy[a / STEP]) + (mass[b] - mass[a]), b};
    };
    Pools coarse{out};
    for (int64_t i = 0; i < count; i += STEP) coarse.add(pool(i, least(i + STEP, count)));
    Wide ramp;
    for (int l = 0; l < W<double>; l++) ramp[l] = l;
    Pools fine{out + parts};  // behind the coarse ones
    int64_t begin = 0, last = 0;
    for (int64_t c = 0; c < coarse.count; c++) {
        const Pool line = out[c];
        const double slope = line.sum / line.weight;
        // The line's height over the sums at `begin` is 0; a part begins `lift` above it.
        for (int64_t s = begin / STEP; s * STEP < line.end; s++) {
            const int64_t at = s * STEP, size = least(STEP, line.end - at);
            const double behind = EVEN ? double(at - begin) : heavy[s] - heavy[begin / STEP];
            const double lift = slope * behind - (before[s] - before[begin / STEP]);
            for (int64_t l = 0; l < size; l += W<double>) {
                Wide height = load(within + at + l);
                if (EVEN)
                    height -= slope * (ramp + double(l));
                else
                    height -= slope * load(mass + at + l);
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
    // Sums of the pools again, from their items: running sums have lost digits.
    Pools exact{out};
    int64_t at = 0;
    for (int64_t f = 0; f < fine.count; f++) {
        const int64_t end = fine.first[f].end, size = end - at;
        const double mine = EVEN ? double(size) : sum_of(weights + at, size);
        exact.add({sum_of(sums + at, size), mine, end});
        at = end;
    }
    return exact.count;
}
int64_t pools(const double* sums, const double* weights, int64_t count, double* scratch,
              Pool* out) {
    return weights ? pools_of<false>(sums, weights, count, scratch, out)
                   : pools_of<true>(sums, weights, count, scratch, out);
}

// Points are rows of P entries, or of several such parts. What can be done for several pairs at once
// is done apart from the rest, some pairs at a time.
typedef double Place2 __attribute__((vector_size(16)));
typedef double Place4 __attribute__((vector_size(32)));
inline INLINE double total(double v) { return v; }
inline INLINE double total(Place2 v) { return v[0] + v[1]; }
inline INLINE double total(Place4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }
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
constexpr int64_t PAIRS = 256;

template <class V>
inline INLINE void lengths_of(const Link* pairs, int64_t count, const double* y, int64_t width,
                              double* lengths) {
    using R = Row<V>;
    constexpr int64_t P = R::SIZE;
    if constexpr (P <= 2) width = P;
    for (int64_t begin = 0; begin < count; begin += PAIRS) {
        const int64_t end = least(begin + PAIRS, count);
        for (int64_t p = begin; p < end; p++) {
            const double* const a = y + pairs[p].first * width;
            const double* const b = y + pairs[p].second * width;
            V squares = {};
            for (int64_t c = 0; c < width; c += P) {
                const auto gap = R::load(a + c) - R::load(b + c);
                squares += gap * gap;
            }
            lengths[p] = total(squares);
        }
        for (int64_t p = begin; p < end; p += W<double>) {
            const Wide d2 = load_part(lengths + p, end - p);
            store_part(lengths + p, d2 * inverse_root(d2), end - p);
        }
    }
}
void pair_lengths(const Link* pairs, int64_t count, const double* y, int k, double* lengths) {
    switch (k) {
        case 1: return lengths_of<double>(pairs, count, y, 1, lengths);
        case 2: return lengths_of<Place2>(pairs, count, y, 2, lengths);
        default: return lengths_of<Place4>(pairs, count, y, link_width(k), lengths);
    }
}

template <class V>
inline INLINE void moves_of(const Link* pairs, const double* weights, int64_t first, int64_t last,
                            const Stair* stair, const double* y, int64_t width, double* moved,
                            double* sums) {
    using R = Row<V>;
    constexpr int64_t P = R::SIZE;
    if constexpr (P <= 2) width = P;
    Wide stress = {}, size = {}, cross = {};
    alignas(64) double squares[PAIRS], targets[PAIRS], gaps[PAIRS * P];
    for (int64_t begin = first; begin < last; begin += PAIRS) {
        const int64_t count = least(PAIRS, last - begin);
        const Link* const links = pairs + begin;
        for (int64_t p = 0; p < count; p++) {
            const double* const a = y + links[p].first * width;
            const double* const b = y + links[p].second * width;
            V sum = {};
            for (int64_t c = 0; c < width; c += P) {
                const auto gap = R::load(a + c) - R::load(b + c);
                if (c == 0) R::store(gaps + p * P, gap);
                sum += gap * gap;
            }
            squares[p] = total(sum);
        }
        for (int64_t p = 0; p < count; stair += begin + p == stair->end) {
            const int64_t end = least(stair->end - begin, count);
            const double target = stair->target;
            for (; p < end; p++) targets[p] = target;
        }
        for (int64_t p = 0; p < count; p += W<double>) {
            const int64_t left = count - p;
            const Wide d2 = load_part(squares + p, left), t = load_part(targets + p, left);
            const Wide w = weights ? load_part(weights + begin + p, left) : spread(1.0);
            const Wide inverse = inverse_root(d2), d = d2 * inverse, pull = w * t;
            stress += w * (t - d) * (t - d);  // beyond the end all are 0
            size += w * d2;
            cross += pull * d;
            store(squares + p, pull * inverse);
        }
        for (int64_t p = 0; p < count; p++) {
            const int64_t i = links[p].first * width, j = links[p].second * width;
            for (int64_t c = 0; c < width; c += P) {
                const auto gap = c == 0 ? R::load(gaps + p * P)
                                        : R::load(y + i + c) - R::load(y + j + c);
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
void pair_moves(const Link* pairs, const double* weights, int64_t begin, int64_t end,
                const Stair* stair, const double* y, int k, double* moved, double* sums) {
    const int64_t width = link_width(k);
    switch (k) {
        case 1: return moves_of<double>(pairs, weights, begin, end, stair, y, width, moved, sums);
        case 2: return moves_of<Place2>(pairs, weights, begin, end, stair, y, width, moved, sums);
        default: return moves_of<Place4>(pairs, weights, begin, end, stair, y, width, moved, sums);
    }
}
