// Kernels of the neighbor search: insertion into lists, squared distances, and the filter.

// Insertion into a short sorted list of neighbors, by whole vectors.

// One bit per lane that is not zero.
inline INLINE uint32_t bits_of(Whole lanes) {
#if defined(__AVX512F__)
    return _mm512_movepi64_mask((__m512i)lanes);
#elif defined(__AVX2__)
    return uint32_t(_mm256_movemask_pd((__m256d)lanes));
#elif defined(__x86_64__)
    return uint32_t(_mm_movemask_pd((__m128d)lanes));
#else
    uint32_t bits = 0;
    for (int l = 0; l < W<double>; l++) bits |= uint32_t(lanes[l] != 0) << l;
    return bits;
#endif
}

// Shifts by one lane: lane l = v[l - 1], and lane 0 stays.
template <class V, size_t... L>
inline INLINE V shift_lanes(V v, std::index_sequence<L...>) {
    return shuffle<int(L ? L - 1 : 0)...>(v, v);
}

// If no distance is tied with it: new_i = min(d_i, max(d_{i-1}, distance)), from the end to the
// front.
inline bool insert_sorted(double* d, int32_t* n, int64_t k, double distance, int32_t id) {
    typedef int32_t Numbers __attribute__((vector_size(BYTES / 2)));
    constexpr int64_t LANES = W<double>;
    constexpr auto lanes = std::make_index_sequence<LANES>();
    const auto numbers = [&](int64_t i) INLINE {
        Numbers v;
        __builtin_memcpy(&v, n + i, sizeof v);
        return v;
    };
    const Wide own = spread(distance);
    Whole tied = {};
    for (int64_t i = k - LANES; i > -LANES; i -= LANES) tied |= load(d + i) == own;
    if (bits_of(tied)) {
        int64_t at = k;
        while (at && (d[at - 1] > distance ||
                      (d[at - 1] == distance && uint32_t(n[at - 1]) > uint32_t(id))))
            at--;
        if (at == k || (at && d[at - 1] == distance && n[at - 1] == id)) return false;
        for (int64_t i = k - 1; i > at; i--) d[i] = d[i - 1], n[i] = n[i - 1];
        d[at] = distance;
        n[at] = id;
        return true;
    }
    for (int64_t i = k - LANES; i > -LANES; i -= LANES) {
        const Wide here = load(d + i), before = i < 0 ? shift_lanes(here, lanes) : load(d + i - 1);
        const Whole beyond = here > own, moved = before > own;
        if (!bits_of(beyond)) return i < k - LANES;
        const Numbers here_n = numbers(i),
                      before_n = i < 0 ? shift_lanes(here_n, lanes) : numbers(i - 1),
                      gone = __builtin_convertvector(beyond, Numbers),
                      later = __builtin_convertvector(moved, Numbers),
                      new_n = gone ? (later ? before_n : id - Numbers{}) : here_n;
        store(d + i, smaller(here, larger(before, own)));
        __builtin_memcpy(n + i, &new_n, sizeof new_n);
    }
    return true;
}

// Squared distances from differences, in float64.

// The sum over the lanes, the halves of a vector first: so 16 sums are added in the same order
// whatever the size of a vector.
template <int H>
inline INLINE double fold_lanes(Wide v) {
    if constexpr (H > 0) {
        v += swap_lanes<H>(v, v, std::make_index_sequence<W<double>>());
        return fold_lanes<H / 2>(v);
    } else {
        return v[0];
    }
}

// The square of |x - y| unit in float64: 16 sums in a fixed order and no fused multiply-add, so the
// bits are the same on every CPU level. Sums of squares only grow, rounded or not: a part above
// `limit` ends it early.
template <class T>
double difference_square(const T* x, const T* y, int64_t cols, double unit, double limit) {
    constexpr int LANES = 16, VECTORS = LANES / W<T>, SUMS = LANES / W<double>;
    constexpr int64_t CHECK_EVERY = 128;
    Wide sum[SUMS] = {};
    const auto add = [&](Vec<T> a, Vec<T> b, int v) INLINE {
        Wide u = (widen<0>(a) - widen<0>(b)) * unit;
        u *= u;
        pin(u);
        sum[v * PARTS<T>] += u;
        if constexpr (PARTS<T> == 2) {
            Wide w = (widen<1>(a) - widen<1>(b)) * unit;
            w *= w;
            pin(w);
            sum[v * PARTS<T> + 1] += w;
        }
    };
    const auto total = [&]() INLINE {
        Wide s[SUMS];
#pragma GCC unroll 8
        for (int v = 0; v < SUMS; v++) s[v] = sum[v];
#pragma GCC unroll 4
        for (int half = SUMS / 2; half; half /= 2)
#pragma GCC unroll 8
            for (int v = 0; v < half; v++) s[v] += s[v + half];
        return fold_lanes<W<double> / 2>(s[0]);
    };
    int64_t k = 0;
    for (; k + LANES <= cols; k += LANES) {
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) add(load(x + k + v * W<T>), load(y + k + v * W<T>), v);
        if ((k + LANES) % CHECK_EVERY == 0)
            if (const double part = total(); part > limit) return part;
    }
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; v++) {
        const int64_t from = k + v * W<T>;
        if (from < cols) add(load_part(x + from, cols - from), load_part(y + from, cols - from), v);
    }
    return total();
}

// |x - center|^2 in float64.
template <class T>
double centered_square(const T* x, const double* center, int64_t cols) {
    Wide sum = {};
    int64_t k = 0;
    for (; k + W<T> <= cols; k += W<T>) {
        const Vec<T> v = load(x + k);
        const Wide u = widen<0>(v) - load(center + k);
        sum += u * u;
        if constexpr (PARTS<T> == 2) {
            const Wide w = widen<1>(v) - load(center + k + W<double>);
            sum += w * w;
        }
    }
    double total = total_of<double>(sum);
    for (; k < cols; k++) total += (double(x[k]) - center[k]) * (double(x[k]) - center[k]);
    return total;
}

template <class T>
constexpr void fill_distances(DistanceKernels<T>& table) {
    table.difference_square = difference_square<T>;
    table.centered_square = centered_square<T>;
}

// The pruning of pairs of rows by float32 bounds, tile by tile.

// One bit per lane: a >= b.
inline INLINE uint32_t at_least(Vec<float> a, Vec<float> b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
#elif defined(__AVX2__)
    return uint32_t(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ)));
#elif defined(__x86_64__)
    return uint32_t(_mm_movemask_ps(_mm_cmpge_ps(a, b)));
#else
    uint32_t bits = 0;
    for (int l = 0; l < W<float>; l++) bits |= uint32_t(a[l] >= b[l]) << l;
    return bits;
#endif
}

struct MinusSquare {
    template <class V>
    static void step(V& sum, const V& a, const V& b) {
        const V gap = a - b;
        sum -= gap * gap;
    }
};

inline void near_boxes(const Boxes& boxes, uint32_t* live) {
    constexpr int VECTORS = BOX_LANES / W<float>, PANELS = SEARCH_BLOCK / PANEL<float>;
    alignas(64) float of_panel[BOX_LANES];
    for (int p = 0; p < BOX_LANES; p++) of_panel[p] = -1;
    if (boxes.limit_b)
        for (int p = 0; p < PANELS; p++) {
            Vec<float> most = load(boxes.limit_b + p * PANEL<float>);
            for (int c = W<float>; c < PANEL<float>; c += W<float>)
                most = larger(most, load(boxes.limit_b + p * PANEL<float> + c));
            for (int l = 0; l < W<float>; l++)
                of_panel[p] = most[l] > of_panel[p] ? most[l] : of_panel[p];
        }
    const float *const low_b = boxes.b, *const high_b = boxes.b + BOX_FEATURES * BOX_LANES;
    for (int g = 0; g < PANEL<float> / boxes.group; g++) {
        const float *const low = boxes.a + g * 2 * BOX_FEATURES, *const high = low + BOX_FEATURES;
        const float* const limit = boxes.limit_a + g * boxes.group;
        float own = limit[0];
        for (int r = 1; r < boxes.group; r++) own = own > limit[r] ? own : limit[r];
        live[g] = 0;
        for (int v = 0; v < VECTORS; v++) {
            Vec<float> square = {};
            for (int q = 0; q < BOX_FEATURES; q++) {
                const int at = q * BOX_LANES + v * W<float>;
                const Vec<float> gap = larger(
                    Vec<float>{},
                    larger(load(low_b + at) - spread(high[q]), spread(low[q]) - load(high_b + at)));
                square += gap * gap;
            }
            const Vec<float> most = larger(spread(own), load(of_panel + v * W<float>));
            live[g] |= at_least(most, square) << v * W<float>;
        }
    }
}

constexpr int TILE_COLUMNS = NV * W<float>;

// The tile of rows i .. of panel a and columns j .. of the strip; b points at those columns.
struct TileAt {
    const float *a, *b;
    int i, j;
};

inline INLINE void init_sums(const Strip& s, TileAt at, Vec<float> (&sum)[MR][NV]) {
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) {
        const Vec<float> half = load(s.half_b + at.j + v * W<float>);
#pragma GCC unroll 8
        for (int r = 0; r < MR; r++) sum[r][v] = spread(-s.half_a[at.i + r]) - half;
    }
}

// Whether any pair survives: the largest bound of a column against the loosest limit of the rows.
inline INLINE bool any_survivor(const Strip& s, int c, TileAt at, float loosest,
                                const Vec<float> (&sum)[MR][NV]) {
    uint32_t any = 0;
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) {
        const int j = at.j + v * W<float>;
        const Vec<float> tail = load(s.tail_b[c] + j);
        Vec<float> most = spread(s.tail_a[c][at.i]) * tail + sum[0][v];
#pragma GCC unroll 8
        for (int r = 1; r < MR; r++)
            most = larger(most, spread(s.tail_a[c][at.i + r]) * tail + sum[r][v]);
        any |= at_least(most, smaller(spread(loosest), load(s.limit_b + j)));
    }
    return any != 0;
}

// One bit per pair.
inline INLINE bool mark_survivors(const Strip& s, int c, TileAt at, const Vec<float> (&sum)[MR][NV],
                                  uint32_t* bits) {
    uint32_t any = 0;
#pragma GCC unroll 8
    for (int r = 0; r < MR; r++) bits[r] = 0;
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) {
        const int j = at.j + v * W<float>;
        const Vec<float> tail = load(s.tail_b[c] + j), limit = load(s.limit_b + j);
#pragma GCC unroll 8
        for (int r = 0; r < MR; r++) {
            const Vec<float> bound = spread(s.tail_a[c][at.i + r]) * tail + sum[r][v];
            bits[r] |= at_least(bound, smaller(spread(s.limit_a[at.i + r]), limit)) << v * W<float>;
            any |= bits[r];
        }
    }
    return any != 0;
}

template <class Step>
inline INLINE void advance(TileAt& at, int features, Vec<float> (&sum)[MR][NV]) {
    micro<Step, NV, 1, PANEL<float>>(at.a, at.b, features, sum);
    at.a += features * PANEL<float>;
    at.b += features * PANEL<float>;
}

template <class Step>
inline INLINE bool tile(const Strip& s, TileAt at, float loosest, uint32_t* bits) {
    Vec<float> sum[MR][NV];
    init_sums(s, at, sum);
    int done = 0;
    for (int c = 0; c + 1 < s.checks; c++) {
        advance<Step>(at, s.at[c] - done, sum);
        done = s.at[c];
        if (!any_survivor(s, c, at, loosest, sum)) return false;
    }
    advance<Step>(at, s.at[s.checks - 1] - done, sum);
    return mark_survivors(s, s.checks - 1, at, sum, bits);
}

template <class F>
inline INLINE void each_tile(const Strip& s, F f) {
    float loosest[PANEL<float> / MR];
    for (int i = 0; i < PANEL<float>; i += MR) {
        loosest[i / MR] = s.limit_a[i];
        for (int r = 1; r < MR; r++) loosest[i / MR] = least(loosest[i / MR], s.limit_a[i + r]);
    }
    for (uint32_t panels = s.live[0]; panels; panels &= panels - 1) {
        const int p = __builtin_ctz(panels);
        const float* const b = s.b + p * s.features * PANEL<float>;
        for (int j = 0; j < PANEL<float>; j += TILE_COLUMNS)
            for (int i = 0; i < PANEL<float>; i += MR)
                f(TileAt{s.a + i, b + j, i, p * PANEL<float> + j}, loosest[i / MR]);
    }
}

template <class Step>
int strip_of(const Strip& s, uint32_t* pairs) {
    uint32_t* end = pairs;
    each_tile(s, [&](TileAt at, float loosest) INLINE {
        uint32_t bits[MR];
        if (!tile<Step>(s, at, loosest, bits)) return;
        for (int r = 0; r < MR; r++)
            for (uint32_t b = bits[r]; b; b &= b - 1)
                *end++ = uint32_t(at.i + r) << 16 | uint32_t(at.j + __builtin_ctz(b));
    });
    return int(end - pairs);
}

// The same where each row of a is pruned by itself. A row against a panel of b is a line. All lines
// go from check point to check point together: to continue only with those that are left takes no
// branch that would have to be predicted.
template <class Step>
int strip_of_rows(const Strip& s, uint32_t* pairs, int64_t* tiles, int64_t* survivors) {
    constexpr int V = PANEL<float> / W<float>, PANELS = SEARCH_BLOCK / PANEL<float>;
    struct Line {
        uint16_t i, j;
    } lines[PANEL<float> * PANELS];
    alignas(64) float sums[PANEL<float> * SEARCH_BLOCK];
    int count = 0;
    for (int i = 0; i < PANEL<float>; i++)
        for (uint32_t panels = s.live[i]; panels; panels &= panels - 1)
            lines[count++] = {uint16_t(i), uint16_t(__builtin_ctz(panels) * PANEL<float>)};
    uint32_t* end = pairs;
    for (int c = 0, done = 0; c < s.checks; done = s.at[c++]) {
        const bool first = c == 0, last = c + 1 == s.checks;
        const int64_t features = s.at[c] - done, stride = s.features;
        const float *const from_a = s.a + done * PANEL<float>,
                           *const from_b = s.b + done * PANEL<float>, *const half_a = s.half_a,
                           *const half_b = s.half_b, *const tail_a = s.tail_a[c],
                           *const tail_b = s.tail_b[c], *const limit = s.limit_a;
        int kept = 0;
        for (int l = 0; l < count; l++) {
            const int64_t i = lines[l].i, j = lines[l].j;
            Vec<float> sum[V];
#pragma GCC unroll 8
            for (int v = 0; v < V; v++)
                sum[v] = first ? spread(-half_a[i]) - load(half_b + j + v * W<float>)
                               : load(sums + l * PANEL<float> + v * W<float>);
            const float *a = from_a + i, *b = from_b + j * stride;
            for (int64_t k = 0; k < features; k++, a += PANEL<float>, b += PANEL<float>)
#pragma GCC unroll 8
                for (int v = 0; v < V; v++) Step::step(sum[v], spread(*a), load(b + v * W<float>));
            uint32_t bits = 0;
#pragma GCC unroll 8
            for (int v = 0; v < V; v++) {
                const Vec<float> bound =
                    spread(tail_a[i]) * load(tail_b + j + v * W<float>) + sum[v];
                bits |= at_least(bound, spread(limit[i])) << v * W<float>;
                store(sums + kept * PANEL<float> + v * W<float>, sum[v]);
            }
            lines[kept] = lines[l];
            kept += bits != 0;
            if (survivors) survivors[c] += __builtin_popcount(bits);
            if (last)
                for (; bits; bits &= bits - 1)
                    *end++ = uint32_t(i) << 16 | uint32_t(j + __builtin_ctz(bits));
        }
        count = kept;
        if (tiles) tiles[c] += count;
    }
    return int(end - pairs);
}

inline int strip(const Strip& s, uint32_t* pairs) {
    if (s.group == 1)
        return s.differences ? strip_of_rows<MinusSquare>(s, pairs, nullptr, nullptr)
                             : strip_of_rows<Product>(s, pairs, nullptr, nullptr);
    return s.differences ? strip_of<MinusSquare>(s, pairs) : strip_of<Product>(s, pairs);
}

template <class Step>
void count_survivors_of(const Strip& s, int64_t* tiles, int64_t* pairs) {
    each_tile(s, [&](TileAt at, float) INLINE {
        Vec<float> sum[MR][NV];
        uint32_t bits[MR];
        init_sums(s, at, sum);
        for (int c = 0, done = 0; c < s.checks; done = s.at[c++]) {
            advance<Step>(at, s.at[c] - done, sum);
            if (!mark_survivors(s, c, at, sum, bits)) return;
            tiles[c]++;
            for (int r = 0; r < MR; r++) pairs[c] += __builtin_popcount(bits[r]);
        }
    });
}
inline void count_survivors(const Strip& s, int64_t* tiles, int64_t* pairs) {
    uint32_t left[PANEL<float> * SEARCH_BLOCK];
    if (s.group == 1)
        s.differences ? strip_of_rows<MinusSquare>(s, left, tiles, pairs)
                      : strip_of_rows<Product>(s, left, tiles, pairs);
    else
        s.differences ? count_survivors_of<MinusSquare>(s, tiles, pairs)
                      : count_survivors_of<Product>(s, tiles, pairs);
}

// known + |a - b|^2 scale^2; `limit` ends it early (with a number above the limit).
inline INLINE float gap_within(const float* a, const float* b, int64_t features, float scale,
                               float known, float limit) {
    constexpr int64_t CHUNK = 128;
    for (int64_t k = 0; k < features && known <= limit; k += CHUNK) {
        const int64_t end = least(features, k + CHUNK);
        Vec<float> sum[2] = {};
        int64_t q = k;
        for (; q + 2 * W<float> <= end; q += 2 * W<float>) {
            const Vec<float> u = (load(a + q) - load(b + q)) * scale,
                             v = (load(a + q + W<float>) - load(b + q + W<float>)) * scale;
            sum[0] += u * u;
            sum[1] += v * v;
        }
        for (; q < end; q += W<float>) {
            const Vec<float> u = (load_part(a + q, end - q) - load_part(b + q, end - q)) * scale;
            sum[0] += u * u;
        }
        known += total_of<float>(sum[0] + sum[1]);
    }
    return known;
}
inline float gap(const float* a, const float* b, int64_t features, float scale, float limit) {
    return gap_within(a, b, features, scale, 0, limit);
}

inline void panel_gaps(const float* z, const float* panel, int64_t features, float* out) {
    constexpr int VECTORS = PANEL<float> / W<float>;
    Vec<float> sum[VECTORS] = {};
    for (int64_t k = 0; k < features; k++, panel += PANEL<float>)
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) {
            const Vec<float> u = load(panel + v * W<float>) - spread(z[k]);
            sum[v] += u * u;
        }
    for (int v = 0; v < VECTORS; v++) store(out + v * W<float>, sum[v]);
}

// Bisects between a bound that fewer than k numbers are below and one that k numbers are below.
inline float bound_of_smallest(const float* x, int64_t count, int64_t k) {
    constexpr int STEPS = 10;
    const auto count_up_to = [&](float bound) INLINE {
        int64_t found = 0;
        for (int64_t i = 0; i < count; i += W<float>)
            found += __builtin_popcount(at_least(spread(bound), load(x + i)));
        return found;
    };
    Vec<float> least_of = load(x);
    for (int64_t i = W<float>; i < count; i += W<float>) least_of = smaller(least_of, load(x + i));
    float low = least_of[0];
    for (int l = 1; l < W<float>; l++) low = least_of[l] < low ? least_of[l] : low;
    float high = 2 * low;
    while (count_up_to(high) < k) {
        if (!(high < __FLT_MAX__ / 4)) return __FLT_MAX__;
        low = high;
        high = high > 0 ? 2 * high : __FLT_MIN__;
    }
    for (int step = 0; step < STEPS; step++) {
        const float middle = low + (high - low) / 2;
        (count_up_to(middle) < k ? low : high) = middle;
    }
    return high;
}

inline int refine(const float* a, const float* b, int64_t features, const float* const low[2],
                  const float* const high[2], const float* limit_a, const float* limit_b,
                  uint32_t* pairs, int count) {
    constexpr int PREFETCH_DISTANCE = 4;
    int kept = 0;
    for (int p = 0; p < count; p++) {
        if (p + PREFETCH_DISTANCE < count) {
            const float *const x = a + (pairs[p + PREFETCH_DISTANCE] >> 16) * features,
                               *const y = b + (pairs[p + PREFETCH_DISTANCE] & 0xffff) * features;
            for (int l = 0; l < 64; l += 16) {
                __builtin_prefetch(x + l);
                __builtin_prefetch(y + l);
            }
        }
        const uint32_t i = pairs[p] >> 16, j = pairs[p] & 0xffff;
        const float limit = limit_a[i] > limit_b[j] ? limit_a[i] : limit_b[j];
        const float above = low[0][i] - high[1][j], below = low[1][j] - high[0][i];
        const float apart = above > below ? above : below;
        const float known = apart > 0 ? apart * apart : 0;
        if (gap_within(a + i * features, b + j * features, features, 1, known, limit) <= limit)
            pairs[kept++] = pairs[p];
    }
    return kept;
}

inline void project_on(const float* z, int64_t stride, const int32_t* rows, int64_t count,
                       int features, const float* v, float* out) {
    for (int64_t r = 0; r < count; r++) {
        const float* const row = z + rows[r] * stride;
        if (r + 8 < count) __builtin_prefetch(z + rows[r + 8] * stride);
        Vec<float> sum = {};
        for (int k = 0; k < features; k += W<float>)
            sum += load_part(row + k, features - k) * load(v + k);
        out[r] = total_of<float>(sum);
    }
}

constexpr void fill_search(SearchKernels& table) {
    table.near_boxes = near_boxes;
    table.strip = strip;
    table.count_survivors = count_survivors;
    table.tile_rows = MR;
    table.tile_columns = TILE_COLUMNS;
    table.refine = refine;
    table.gap = gap;
    table.panel_gaps = panel_gaps;
    table.bound_of_smallest = bound_of_smallest;
    table.insert_sorted = insert_sorted;
    table.project_on = project_on;
}
