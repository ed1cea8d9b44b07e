// Shortest paths, and products with sparse matrices.

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

// Nodes by the distance from one lane's source, nearest first, in classes of equal width; nodes out
// of reach come last. Returns the largest finite distance.
template <class T>
T nearest_first(const T* lines, int64_t nodes, int lane, PathOrder& order) {
    const T infinity = T(__builtin_inf());
    T most = 0;
    for (int64_t i = 0; i < nodes; i++) {
        const T d = lines[i * LINE<T> + lane];
        most = d < infinity && d > most ? d : most;
    }
    const T last = T(PATH_CLASSES - 1), scale = most > 0 ? last / most : T(0);
    int32_t* const ends = order.starts + 1;  // the start of the next class
    for (int c = -1; c < PATH_CLASSES; c++) ends[c] = 0;
    for (int64_t i = 0; i < nodes; i++) {
        const T d = lines[i * LINE<T> + lane], c = d < infinity ? d * scale : last;
        order.classes[i] = uint16_t(c < last ? c : last);
        ends[order.classes[i]]++;
    }
    // From counts to starts, which the nodes then push to the ends.
    int32_t start = 0;
    for (int c = 0; c < PATH_CLASSES; c++) {
        const int32_t count = ends[c];
        ends[c] = start;
        start += count;
    }
    for (int64_t i = 0; i < nodes; i++) order.nodes[ends[order.classes[i]]++] = int32_t(i);
    return most;
}

// Label correcting: a node whose line fell tells its neighbors, in the given order. After every
// window of nodes the walk returns to the first class in which a line fell meanwhile: an error near
// the sources does not travel far before it is mended. Adding a length is monotone, rounding
// included, so that the end is the least rounded sum over all paths from the source: the same bits
// for any order.
template <class T>
void paths(const Edges<T>& graph, const int32_t* starts, const int32_t* begins, const T* steps,
           int count, const PathOrder& order, int64_t window, uint8_t* fell, T* lines) {
    constexpr int N = VECTORS<T>;
    constexpr int64_t PATIENCE = 20;  // visits per node, after which windows do not pay
    const Vec<T> infinity = spread(T(__builtin_inf()));
    for (int64_t i = 0; i < graph.nodes * LINE<T>; i += W<T>) store(lines + i, infinity);
    for (int64_t i = 0; i < graph.nodes; i++) fell[i] = 0;
    constexpr uint32_t NONE = ~uint32_t(0);
    uint32_t back = NONE;
    for (int s = 0; s < count; s++)
        for (int32_t e = starts[s]; e < starts[s + 1]; e++) {
            T& length = lines[begins[e] * int64_t(LINE<T>) + s];
            length = least(length, steps[e]);
            fell[begins[e]] = 1;
            back = least<uint32_t>(back, order.classes[begins[e]]);
        }
    int64_t q = graph.nodes, stop = 0, visits = 0;
    for (;;) {
        if (q >= stop) {
            if (back != NONE && back <= order.classes[order.nodes[q - 1]])
                q = order.starts[back];
            else if (q == graph.nodes)
                return;
            back = NONE;
            stop = least(q + (visits < PATIENCE * graph.nodes ? window : graph.nodes), graph.nodes);
        }
        const int64_t i = order.nodes[q++];
        if (!fell[i]) continue;
        fell[i] = 0;
        visits++;
        Vec<T> mine[N];
#pragma GCC unroll 4
        for (int v = 0; v < N; v++) mine[v] = load(lines + i * LINE<T> + v * W<T>);
        const int64_t end = graph.starts[i + 1];
        for (int64_t e = graph.starts[i]; e < end; e++) {
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
            // Without a branch: whether a line falls is hard to foretell.
            fell[to] |= uint8_t(less);
            const uint32_t behind = order.classes[to] | (uint32_t(less) - 1);
            back = behind < back ? behind : back;
        }
    }
}

// rows[s][i] = lane s of the line of node places[i].
template <class T>
void rows_of_lines(const T* lines, const int32_t* places, int64_t nodes, T* const* rows,
                   int count) {
    const int64_t whole = nodes / W<T> * W<T>;
    for (int64_t i = 0; i < whole; i += W<T>)
        for (int v = 0; v < LINE<T>; v += W<T>) {
            if (v >= count) break;
            Vec<T> block[W<T>];
#pragma GCC unroll 16
            for (int l = 0; l < W<T>; l++)
                block[l] = load(lines + places[i + l] * int64_t(LINE<T>) + v);
            transpose<T>(block);
            for (int l = 0; l < W<T> && v + l < count; l++) store(rows[v + l] + i, block[l]);
        }
    for (int64_t i = whole; i < nodes; i++)
        for (int s = 0; s < count; s++) rows[s][i] = lines[places[i] * int64_t(LINE<T>) + s];
}

// out = the least of lengths_e + from[near_e] over all e, entry by entry.
template <class T>
void relax(const T* from, int64_t stride, int64_t cols, const int32_t* near, const T* lengths,
           int64_t count, T* out) {
    constexpr int N = 8;
    const Vec<T> infinity = spread(T(__builtin_inf()));
    int64_t j = 0;
    for (; j + N * W<T> <= cols; j += N * W<T>) {
        Vec<T> least[N];
#pragma GCC unroll 8
        for (int v = 0; v < N; v++) least[v] = infinity;
        for (int64_t e = 0; e < count; e++) {
            const T* const row = from + near[e] * stride + j;
            const Vec<T> length = spread(lengths[e]);
#pragma GCC unroll 8
            for (int v = 0; v < N; v++) least[v] = smaller(load(row + v * W<T>) + length, least[v]);
        }
#pragma GCC unroll 8
        for (int v = 0; v < N; v++) store(out + j + v * W<T>, least[v]);
    }
    for (; j < cols; j++) {
        T best = T(__builtin_inf());
        for (int64_t e = 0; e < count; e++) {
            const T path = from[near[e] * stride + j] + lengths[e];
            best = path < best ? path : best;
        }
        out[j] = best;
    }
}

// N columns of a row of a A V + b V + c U; the sum runs over the row's entries in their order.
template <int N, class I>
inline INLINE void sparse_row(const I* columns, const double* values, int64_t count,
                              const double* v, int64_t width, double a, double b, const double* own,
                              double c, const double* u, double* out) {
    constexpr int L = W<double>, WHOLE = N / L, REST = N % L;
    constexpr bool MASKED = MANY_REGISTERS && REST;  // else the rest is summed one by one
    constexpr int VECTORS = WHOLE + MASKED, SINGLE = MASKED ? 0 : REST;
    const auto part = [](const double* p, int k) INLINE {
        return k < WHOLE ? load(p + k * L) : Wide(load_some(p + WHOLE * L, REST));
    };
    Wide sum[VECTORS + 1] = {};
    double single[SINGLE + 1] = {};
    for (int64_t e = 0; e < count; e++) {
        const double* const row = v + int64_t(columns[e]) * width;
        const Wide value = spread(values[e]);
#pragma GCC unroll 8
        for (int k = 0; k < VECTORS; k++) sum[k] += value * part(row, k);
#pragma GCC unroll 8
        for (int k = 0; k < SINGLE; k++) single[k] += values[e] * row[WHOLE * L + k];
    }
#pragma GCC unroll 8
    for (int k = 0; k < VECTORS; k++) {
        Wide s = a * sum[k];
        if (own) s += b * part(own, k);
        if (u) s += c * part(u, k);
        if (k < WHOLE)
            store(out + k * L, s);
        else
            store_some(out + k * L, s, REST);
    }
#pragma GCC unroll 8
    for (int k = 0; k < SINGLE; k++) {
        const int at = WHOLE * L + k;
        double s = a * single[k];
        if (own) s += b * own[at];
        if (u) s += c * u[at];
        out[at] = s;
    }
}

template <class I>
void sparse_times(const I* starts, const I* columns, const double* values, int64_t first,
                  int64_t last, const double* v, int64_t width, double a, double b, const double* u,
                  double c, double* out) {
    for (int64_t i = first; i < last; i++) {
        const int64_t begin = starts[i], count = starts[i + 1] - begin;
        const auto part = [&](auto size, int64_t j) INLINE {
            constexpr int N = decltype(size)::value;
            const int64_t at = i * width + j;
            sparse_row<N>(columns + begin, values + begin, count, v + j, width, a, b,
                          b != 0 ? v + at : nullptr, c, u ? u + at : nullptr, out + at);
        };
        int64_t j = 0;
        for (; j + 16 <= width; j += 16) part(std::integral_constant<int, 16>(), j);
        if (j + 8 <= width) part(std::integral_constant<int, 8>(), j), j += 8;
        switch (width - j) {
            case 1: part(std::integral_constant<int, 1>(), j); break;
            case 2: part(std::integral_constant<int, 2>(), j); break;
            case 3: part(std::integral_constant<int, 3>(), j); break;
            case 4: part(std::integral_constant<int, 4>(), j); break;
            case 5: part(std::integral_constant<int, 5>(), j); break;
            case 6: part(std::integral_constant<int, 6>(), j); break;
            case 7: part(std::integral_constant<int, 7>(), j); break;
            default: break;
        }
    }
}
