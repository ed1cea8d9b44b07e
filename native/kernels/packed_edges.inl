// Attractive forces along packed edges, and the partition function, in float32.

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
    return shuffle<int(2 * L + FIRST)...>(a, b);
}

typedef uint16_t Weights16 __attribute__((vector_size(BYTES / 2)));
inline INLINE Vec<float> load_weights(const uint16_t* p) {
    Weights16 v;
    __builtin_memcpy(&v, p, sizeof v);
#if defined(__AVX512F__)  // GCC converts in two halves, and warns of the forms without a mask
    return _mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, (__m256i)v));
#else
    return __builtin_convertvector(v, Vec<float>);
#endif
}

// The coordinates of the other ends of sixteen edges, copied together: plain loads are faster than
// gathers. Points in three dimensions have a fourth coordinate, which is 0.
template <int K>
struct EdgeEnds {
    static constexpr int WIDTH = K == 3 ? 4 : K;
    alignas(64) float near[WIDTH * PackedEdges::COUNT];

    inline INLINE EdgeEnds(const float* y, const PackedEdges& t) {
        for (int j = 0; j < PackedEdges::COUNT; j++)
            __builtin_memcpy(near + WIDTH * j, y + WIDTH * int64_t(t.ends[j]),
                             WIDTH * sizeof(float));
    }
    // y_i - y_j of the edges from number j on.
    inline INLINE void gaps(const float* me, int j, Vec<float>* gap) const {
        constexpr int L = W<float>;
        constexpr auto lanes = std::make_index_sequence<L>();
        const Vec<float> a = load(near + WIDTH * j);
        if constexpr (K == 1) {
            gap[0] = me[0] - a;
        } else if constexpr (K == 2) {
            const Vec<float> b = load(near + WIDTH * j + L);
            gap[0] = me[0] - every_other<0>(a, b, lanes);
            gap[1] = me[1] - every_other<1>(a, b, lanes);
        } else {
            const Vec<float> b = load(near + WIDTH * j + L), c = load(near + WIDTH * j + 2 * L),
                             d = load(near + WIDTH * j + 3 * L);
            const Vec<float> even[2] = {every_other<0>(a, b, lanes), every_other<0>(c, d, lanes)};
            gap[0] = me[0] - every_other<0>(even[0], even[1], lanes);
            gap[1] = me[1] - every_other<0>(every_other<1>(a, b, lanes),
                                            every_other<1>(c, d, lanes), lanes);
            gap[2] = me[2] - every_other<1>(even[0], even[1], lanes);
        }
    }
};
inline INLINE void prefetch_edges(const PackedEdges* t) {
    constexpr int DISTANCE = 4096 / sizeof(PackedEdges);
    __builtin_prefetch(reinterpret_cast<const char*>(t + DISTANCE));
    __builtin_prefetch(reinterpret_cast<const char*>(t + DISTANCE) + 64);
}

// f = scale unit_i sum_j weight (y_i - y_j) / (1 + d^2) for points first .. last - 1.
template <int K>
inline INLINE void attract_in(const float* y, int64_t first, int64_t last, const int64_t* indptr,
                              const PackedEdges* edges, const float* unit, float scale, float* f) {
    constexpr int WIDTH = EdgeEnds<K>::WIDTH;
    for (int64_t i = first; i < last; i++, f += WIDTH) {
        Vec<float> sum[K] = {};
        for (const PackedEdges* t = edges + indptr[i]; t < edges + indptr[i + 1]; t++) {
            prefetch_edges(t);
            const EdgeEnds<K> ends(y, *t);
            for (int j = 0; j < PackedEdges::COUNT; j += W<float>) {
                Vec<float> gap[K];
                ends.gaps(y + WIDTH * i, j, gap);
                Vec<float> square = 1.0f + gap[0] * gap[0];
                for (int c = 1; c < K; c++) square += gap[c] * gap[c];
                const Vec<float> w = load_weights(t->weights + j) * inverse_of(square);
                for (int c = 0; c < K; c++) sum[c] += w * gap[c];
            }
        }
        for (int c = 0; c < K; c++) f[c] = scale * unit[i] * total_of<float>(sum[c]);
        if constexpr (K == 3) f[3] = 0;
    }
}
void attract(const float* y, int k, int64_t first, int64_t last, const int64_t* indptr,
             const PackedEdges* edges, const float* unit, float scale, float* f) {
    k == 3   ? attract_in<3>(y, first, last, indptr, edges, unit, scale, f)
    : k == 2 ? attract_in<2>(y, first, last, indptr, edges, unit, scale, f)
             : attract_in<1>(y, first, last, indptr, edges, unit, scale, f);
}

// The sum of 1 / (1 + d^2) over pairs of one of points i .. i + count with a later one; a column of
// `stride` entries per dimension, padded by points far out.
template <int K>
inline INLINE double similarity_sum_in(const float* y, int64_t stride, int64_t n, int64_t i,
                                       int count) {
    constexpr int L = W<float>, VECTORS_PER_SUM = 64;
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
            const int64_t end = j + VECTORS_PER_SUM * L < padded ? j + VECTORS_PER_SUM * L : padded;
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
double similarity_sum(const float* y, int64_t stride, int k, int64_t n, int64_t i, int count) {
    return k == 3   ? similarity_sum_in<3>(y, stride, n, i, count)
           : k == 2 ? similarity_sum_in<2>(y, stride, n, i, count)
                    : similarity_sum_in<1>(y, stride, n, i, count);
}

constexpr void fill_forces(ForceKernels& table) {
    table.perplexity = perplexity;
    table.pair_sums = pair_sums;
    table.attraction = attraction;
    table.cross_term = cross_term;
    table.pair_strip64 = pair_strip<double>;
    table.pair_strip32 = pair_strip<float>;
    table.pair_gather64 = pair_gather<double>;
    table.pair_gather32 = pair_gather<float>;
    table.advance64 = advance<double>;
    table.advance32 = advance<float>;
    table.attract = attract;
    table.similarity_sum = similarity_sum;
    table.weighted_median = weighted_median;
    table.optimize_new_point = optimize_new_point;
}
