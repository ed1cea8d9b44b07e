// Forces of UMAP: along packed edges, and from points that repel.

// body(edges, first of the vector, s, weight) -> factor for every vector of edges of point i, and f
// = unit_i sum_j factor (y_j - y_i), if it is not null. K: the dimensions, or 0.
template <int K, class F>
inline INLINE void sum_over_edges(const PackedView& graph, const float* y, int k, int64_t i,
                                  float* f, F body) {
    constexpr int L = W<float>;
    const PackedEdges* const end = graph.edges + graph.indptr[i + 1];
    if constexpr (K > 0) {
        Vec<float> sum[K] = {};
        for (const PackedEdges* t = graph.edges + graph.indptr[i]; t < end; t++) {
            prefetch_edges(t);
            const EdgeEnds<K> ends(y, *t);
            for (int j = 0; j < PackedEdges::COUNT; j += L) {
                Vec<float> gap[K], s = {};
                ends.gaps(y + EdgeEnds<K>::WIDTH * i, j, gap);
                for (int c = 0; c < K; c++) s += gap[c] * gap[c];
                const Vec<float> factor = body(*t, j, s, load_weights(t->weights + j));
                for (int c = 0; c < K; c++) sum[c] -= factor * gap[c];
            }
        }
        if (!f) return;
        for (int c = 0; c < K; c++) f[c] += graph.unit[i] * total_of<float>(sum[c]);
    } else {
        const float* const me = y + i * k;
        for (const PackedEdges* t = graph.edges + graph.indptr[i]; t < end; t++)
            for (int j = 0; j < PackedEdges::COUNT; j += L) {
                const auto gap = [&](int c) INLINE {
                    Vec<float> to;
                    for (int l = 0; l < L; l++) to[l] = y[int64_t(t->ends[j + l]) * k + c];
                    return to - me[c];
                };
                Vec<float> s = {};
                for (int c = 0; c < k; c++) s += gap(c) * gap(c);
                const Vec<float> factor = body(*t, j, s, load_weights(t->weights + j));
                for (int c = 0; c < k && f; c++)
                    f[c] += graph.unit[i] * total_of<float>(factor * gap(c));
            }
    }
}

template <int K>
inline INLINE void layout_attract_in(const ForceLaw& given, const PackedView& graph, const float* y,
                                     int k, int width, int64_t first, int64_t last, float* f) {
    const Law<float> law(given);
    for (int64_t i = first; i < last; i++, f += width) {
        for (int c = 0; c < width; c++) f[c] = 0;
        sum_over_edges<K>(graph, y, k, i, f,
                          [&](const PackedEdges&, int, Vec<float> s, Vec<float> weight)
                              INLINE { return weight * law.attraction(s); });
    }
}
void layout_attract(const ForceLaw& law, const PackedView& graph, const float* y, int k, int width,
                    int64_t first, int64_t last, float* f) {
    k == 1   ? layout_attract_in<1>(law, graph, y, k, width, first, last, f)
    : k == 2 ? layout_attract_in<2>(law, graph, y, k, width, first, last, f)
    : k == 3 ? layout_attract_in<3>(law, graph, y, k, width, first, last, f)
             : layout_attract_in<0>(law, graph, y, k, width, first, last, f);
}

// to += the weighted sum of g_r (y - y_j) over points.
template <int K, class T>
inline INLINE void repel_in(const Law<T>& law, const RepellingPoints<T>& points, const T* y, int k,
                            T scale, T* to) {
    constexpr int L = W<T>, VECTORS_AT_ONCE = 32;
    const auto gap = [&](int c, int64_t j)
                         INLINE { return y[c] - load(points.columns + c * points.stride + j); };
    if constexpr (K > 0) {
        Vec<T> sum[K] = {};
        for (int64_t j = 0; j < points.count; j += L) {
            Vec<T> s = {};
            for (int c = 0; c < K; c++) s += gap(c, j) * gap(c, j);
            const Vec<T> factor = load(points.weights + j) * law.repulsion(s);
            for (int c = 0; c < K; c++) sum[c] += factor * gap(c, j);
        }
        for (int c = 0; c < K; c++) to[c] += scale * total_of<T>(sum[c]);
    } else {
        for (int64_t first = 0; first < points.count; first += VECTORS_AT_ONCE * L) {
            const int64_t last = least<int64_t>(points.count, first + VECTORS_AT_ONCE * L);
            Vec<T> factors[VECTORS_AT_ONCE];
            for (int64_t j = first; j < last; j += L) {
                Vec<T> s = {};
                for (int c = 0; c < k; c++) s += gap(c, j) * gap(c, j);
                factors[(j - first) / L] = load(points.weights + j) * law.repulsion(s);
            }
            for (int c = 0; c < k; c++) {
                Vec<T> sum = {};
                for (int64_t j = first; j < last; j += L)
                    sum += factors[(j - first) / L] * gap(c, j);
                to[c] += scale * total_of<T>(sum);
            }
        }
    }
}
template <class T>
void layout_repel(const ForceLaw& given, const RepellingPoints<T>& points, const T* y, int k,
                  T scale, T* f) {
    const Law<T> law(given);
    k == 1   ? repel_in<1>(law, points, y, k, scale, f)
    : k == 2 ? repel_in<2>(law, points, y, k, scale, f)
    : k == 3 ? repel_in<3>(law, points, y, k, scale, f)
             : repel_in<0>(law, points, y, k, scale, f);
}
