// Shortest paths, and products with half-stored geodesic distances.

// Shortest paths from several sources at once, and one min-plus product.

// One line holds a node's distances from all sources of a group.
template <class T>
constexpr int VECTORS = LINE<T> / W<T>;

// Whether a is below b in some lane.
#if defined(__AVX512F__)
inline INLINE bool any_below(Vec<float> a, Vec<float> b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
inline INLINE bool any_below(Vec<double> a, Vec<double> b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ);
}
#elif defined(__AVX2__)
inline INLINE bool any_below(Vec<float> a, Vec<float> b) {
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
inline INLINE bool any_below(Vec<double> a, Vec<double> b) {
    return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ));
}
#else
template <class V>
inline INLINE bool any_below(V a, V b) {
    const auto below = a < b;
    int64_t bits[2];
    __builtin_memcpy(bits, &below, sizeof bits);
    return (bits[0] | bits[1]) != 0;
}
#endif

// Nodes by the distance from one lane's source, nearest first, in buckets of equal width;
// unreachable nodes come last. Returns the largest finite distance.
template <class T>
T order_by_distance(const T* lines, int64_t nodes, int lane, VisitOrder& order) {
    const T infinity = T(__builtin_inf());
    T most = 0;
    for (int64_t i = 0; i < nodes; i++) {
        const T d = lines[i * LINE<T> + lane];
        most = d < infinity && d > most ? d : most;
    }
    const T last = T(PATH_BUCKETS - 1), scale = most > 0 ? last / most : T(0);
    int32_t* const ends = order.starts + 1;  // the start of the next bucket
    for (int c = -1; c < PATH_BUCKETS; c++) ends[c] = 0;
    for (int64_t i = 0; i < nodes; i++) {
        const T d = lines[i * LINE<T> + lane], c = d < infinity ? d * scale : last;
        order.buckets[i] = uint16_t(c < last ? c : last);
        ends[order.buckets[i]]++;
    }
    // From counts to starts, which become the ends as nodes are added.
    int32_t start = 0;
    for (int c = 0; c < PATH_BUCKETS; c++) {
        const int32_t count = ends[c];
        ends[c] = start;
        start += count;
    }
    for (int64_t i = 0; i < nodes; i++) order.nodes[ends[order.buckets[i]]++] = int32_t(i);
    return most;
}

// Label correcting: a node whose distances have decreased relaxes its edges, in the given order.
// After every window of nodes the visits return to the first bucket with a changed node: a distance
// near the sources that is too long is not propagated far before it is corrected. Adding a length
// is monotone, rounding included, so that the result is the least rounded sum over all paths from
// the source: the same bits for any order.
template <class T>
void shortest_paths(const Edges<T>& graph, const int32_t* starts, const int32_t* begins,
                    const T* steps, int count, const VisitOrder& order, int64_t window,
                    uint8_t* changed, T* lines) {
    constexpr int N = VECTORS<T>;
    constexpr int64_t MAX_VISITS = 20;  // visits per node after which windows do not pay
    const Vec<T> infinity = spread(T(__builtin_inf()));
    for (int64_t i = 0; i < graph.nodes * LINE<T>; i += W<T>) store(lines + i, infinity);
    for (int64_t i = 0; i < graph.nodes; i++) changed[i] = 0;
    constexpr uint32_t NONE = ~uint32_t(0);
    uint32_t first_changed = NONE;
    for (int s = 0; s < count; s++)
        for (int32_t e = starts[s]; e < starts[s + 1]; e++) {
            T& length = lines[begins[e] * int64_t(LINE<T>) + s];
            length = least(length, steps[e]);
            changed[begins[e]] = 1;
            first_changed = least<uint32_t>(first_changed, order.buckets[begins[e]]);
        }
    int64_t q = graph.nodes, stop = 0, visits = 0;
    for (;;) {
        if (q >= stop) {
            if (first_changed != NONE && first_changed <= order.buckets[order.nodes[q - 1]])
                q = order.starts[first_changed];
            else if (q == graph.nodes)
                return;
            first_changed = NONE;
            stop =
                least(q + (visits < MAX_VISITS * graph.nodes ? window : graph.nodes), graph.nodes);
        }
        const int64_t i = order.nodes[q++];
        if (!changed[i]) continue;
        changed[i] = 0;
        visits++;
        Vec<T> mine[N];
#pragma GCC unroll 4
        for (int v = 0; v < N; v++) mine[v] = load(lines + i * LINE<T> + v * W<T>);
        const int64_t end = graph.indptr[i + 1];
        for (int64_t e = graph.indptr[i]; e < end; e++) {
            const int64_t to = graph.ends[e];
            const Vec<T> length = spread(graph.lengths[e]);
            T* const line = lines + to * LINE<T>;
            bool less = false;
#pragma GCC unroll 4
            for (int v = 0; v < N; v++) {
                const Vec<T> old = load(line + v * W<T>), path = mine[v] + length;
                less |= any_below(path, old);
                store(line + v * W<T>, smaller(path, old));
            }
            // No branch is taken: whether a distance decreases is hard to predict.
            changed[to] |= uint8_t(less);
            const uint32_t bucket = order.buckets[to] | (uint32_t(less) - 1);
            first_changed = bucket < first_changed ? bucket : first_changed;
        }
    }
}

// rows[s][i] = lane s of the line of node positions[i].
template <class T>
void rows_from_lines(const T* lines, const int32_t* positions, int64_t nodes, T* const* rows,
                     int count) {
    const int64_t whole = nodes / W<T> * W<T>;
    for (int64_t i = 0; i < whole; i += W<T>)
        for (int v = 0; v < LINE<T>; v += W<T>) {
            if (v >= count) break;
            Vec<T> block[W<T>];
#pragma GCC unroll 16
            for (int l = 0; l < W<T>; l++)
                block[l] = load(lines + positions[i + l] * int64_t(LINE<T>) + v);
            transpose<T>(block);
            for (int l = 0; l < W<T> && v + l < count; l++) store(rows[v + l] + i, block[l]);
        }
    for (int64_t i = whole; i < nodes; i++)
        for (int s = 0; s < count; s++) rows[s][i] = lines[positions[i] * int64_t(LINE<T>) + s];
}

template <class T>
constexpr void fill_shortest_paths(PathKernels<T>& table) {
    table.order_by_distance = order_by_distance<T>;
    table.shortest_paths = shortest_paths<T>;
    table.rows_from_lines = rows_from_lines<T>;
}

// (-1/2 G o G) V for a symmetric G of which each pair is stored once: see `geodesic_half`.

// Columns first .. first + HALF_COLUMNS of a strip as a block of -1/2 g^2; what is not stored is 0.
template <class T>
void half_tile(const T* a, int64_t stride, int64_t size, int64_t first, const Block<T>& block) {
    for (int r = 0; r < block.rows; r++) {
        // Entry t of row r belongs to column r + 1 + t.
        const T* const from = a + r * stride;
        const int64_t shift = first - r - 1;
        for (int64_t k = 0; k < HALF_COLUMNS; k += W<T>) {
            const int64_t t = k + shift;
            Vec<T> g = {};
            if (t >= 0 && t + W<T> <= size) {
                g = load(from + t);
            } else if (t > -W<T> && t < size) {
                for (int l = 0; l < W<T>; l++)
                    if (t + l >= 0 && t + l < size) g[l] = from[t + l];
            }
            store(block.at(r, k), g * g * T(-0.5));
        }
    }
}

template <class T>
void geodesic_products(const HalfRows<T>& given, T* scratch, double* z, double* out, int64_t span) {
    const auto [a, stride, rows, size, v, groups, ld, own] = given;
    const Block<T> block{scratch, rows};
    for (int64_t i = 0; i < int64_t(groups) * rows * GROUP; i++) z[i] = 0;
    constexpr int K = MANY_REGISTERS ? 2 : 1;
    for (int64_t first = 0; first < rows + size; first += HALF_COLUMNS) {
        half_tile(a, stride, size, first, block);
        for (int g = 0; g < groups; g++) {
            all_dots<GROUP>(block, rows, 0, HALF_COLUMNS, v + (g * ld + first) * GROUP,
                            z + int64_t(g) * rows * GROUP, nullptr);
            for (int64_t k = 0; k < HALF_COLUMNS; k += K * W<T>)
                outer<K>(block, own + int64_t(g) * rows * GROUP, k, span,
                         out + int64_t(g) * GROUP * span + first, scratch);
        }
    }
}

template <class T>
constexpr void fill_geodesic_products(LinearKernels<T>& table) {
    table.geodesic_products = geodesic_products<T>;
}
