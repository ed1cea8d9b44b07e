// Forces of SNE and t-SNE, one step of their descent, and the terms of the KL divergence.

// Sums over all pairs, attractive forces along edges, and the cross term of the KL divergence.

// Of point i: z = sum_j w_ij, r = sum_j (y_i - y_j) times w^2 (heavy tails) or w scale_j (scale may
// be null). y: a column of `stride` entries per dimension, padded by points far out.
void pair_sums(const double* y, int64_t stride, int k, bool heavy, const double* scale, int64_t i,
               double* z, double* r) {
    constexpr int MAX_IN_REGISTERS = 4;  // dimensions up to which sums stay in registers
    Wide sum = {}, force[MAX_IN_REGISTERS] = {};
    const auto weight = [&](int64_t j) INLINE {
        Wide s = {};
        for (int c = 0; c < k; c++) {
            const Wide d = y[c * stride + i] - load(y + c * stride + j);
            s += d * d;
        }
        Wide w = heavy ? 1.0 / (1.0 + s) : exp<double>(-s);
        if (i >= j && i < j + W<double>) w[i - j] = 0;
        return w;
    };
    for (int c = 0; c < k; c += MAX_IN_REGISTERS) {
        const int some = k - c < MAX_IN_REGISTERS ? k - c : MAX_IN_REGISTERS;
        for (int b = 0; b < MAX_IN_REGISTERS; b++) force[b] = Wide{};
        for (int64_t j = 0; j < stride; j += W<double>) {
            Wide w = weight(j);
            if (c == 0) sum += w;
            w = heavy ? w * w : scale ? w * load(scale + j) : w;
            for (int b = 0; b < some; b++)
                force[b] += w * (y[(c + b) * stride + i] - load(y + (c + b) * stride + j));
        }
        for (int b = 0; b < some; b++) r[c + b] = total_of<double>(force[b]);
    }
    *z = total_of<double>(sum);
}

// a = sum_j p_ij (y_i - y_j), times w_ij for heavy tails; y by rows.
void attraction(const double* y, int k, bool heavy, int64_t i, const int32_t* ends, const double* p,
                int64_t count, double* a) {
    const double* const mine = y + i * k;
    for (int c = 0; c < k; c++) a[c] = 0;
    for (int64_t e = 0; e < count; e++) {
        const double* const other = y + int64_t(ends[e]) * k;
        double s = 0;
        for (int c = 0; c < k; c++) s += (mine[c] - other[c]) * (mine[c] - other[c]);
        const double w = heavy ? p[e] / (1 + s) : p[e];
        for (int c = 0; c < k; c++) a[c] += w * (mine[c] - other[c]);
    }
}

// The cross term, the sum of p log(p / w), over the listed pairs of point i; y by rows.
double cross_term(const double* y, int64_t stride, int k, bool heavy, int64_t i,
                  const int32_t* ends, const double* p, int64_t count) {
    constexpr int L = W<double>;
    const double* const mine = y + i * stride;
    Wide sum = {};
    for (int64_t e = 0; e < count; e += L) {
        Wide probability = {}, s = {};
        for (int l = 0; l < L && e + l < count; l++) {
            const double* const other = y + int64_t(ends[e + l]) * stride;
            double square = 0;
            for (int c = 0; c < k; c++) square += (mine[c] - other[c]) * (mine[c] - other[c]);
            probability[l] = p[e + l];
            s[l] = square;
        }
        const auto some = probability > 0x1p-1000;  // a smaller one adds nothing
        const Wide known = some ? probability : spread(1.0);
        const Wide log_ratio = heavy ? log(known * (1.0 + s)) : log(known) + s;
        sum += some ? probability * log_ratio : Wide{};
    }
    return total_of<double>(sum);
}

// One step of gradient descent with momentum and gains.
constexpr int MAX_STEP = 5;  // longest step of a point
template <class T>
inline INLINE Vec<T> velocity_of(Vec<T> force, Vec<T> velocity, Vec<T>& gain, T momentum, T rate) {
    constexpr T MAX_VELOCITY = T(1e15);  // its square is finite
    gain = larger(force * velocity <= T(0) ? gain + T(0.2) : gain * T(0.8), spread(T(0.01)));
    const Vec<T> v = momentum * velocity - rate * gain * force;
    return larger(smaller(v, spread(MAX_VELOCITY)), spread(-MAX_VELOCITY));
}
// |v|^2 of each point in all of its lanes; its K coordinates are adjacent.
template <int K, class T>
inline INLINE Vec<T> squares_of(Vec<T> v) {
    constexpr auto lanes = std::make_index_sequence<W<T>>();
    v *= v;
    if constexpr (K >= 2) v += swap_lanes<1>(v, v, lanes);
    if constexpr (K >= 4) v += swap_lanes<2>(v, v, lanes);
    return v;
}
template <class T>
inline INLINE Vec<T> roots_of(Vec<T> v) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
        return _mm512_maskz_sqrt_ps(0xffff, v);
    else
        return _mm512_maskz_sqrt_pd(0xff, v);
#else
    for (int l = 0; l < W<T>; l++) v[l] = T(__builtin_sqrt(v[l]));
    return v;
#endif
}
template <int K, class T>
double advance_in(int64_t count, T momentum, T rate, const T* force, T* y, T* velocity, T* gain) {
    Wide moved = {};
    for (int64_t i = 0; i < count; i += W<T>) {
        const int64_t left = count - i;
        Vec<T> g = load_part(gain + i, left);
        Vec<T> v = velocity_of<T>(load_part(force + i, left), load_part(velocity + i, left), g,
                                  momentum, rate);
        // A short step is multiplied by 5 / 5.
        v *= T(MAX_STEP) / roots_of<T>(larger(squares_of<K, T>(v), spread(T(MAX_STEP * MAX_STEP))));
        store_part(gain + i, g, left);
        store_part(velocity + i, v, left);
        store_part(y + i, load_part(y + i, left) + v, left);
        if (left < W<T>)
            for (int l = int(left); l < W<T>; l++) v[l] = 0;
        v *= v;
        moved += widen<0>(v);
        if constexpr (PARTS<T> == 2) moved += widen<1>(v);
    }
    return total_of<double>(moved);
}
// Returns the sum of the squares of the steps.
template <class T>
double advance(int64_t points, int k, T momentum, T rate, const T* force, T* y, T* velocity,
               T* gain) {
    if (k == 1) return advance_in<1>(points, momentum, rate, force, y, velocity, gain);
    if (k == 2) return advance_in<2>(2 * points, momentum, rate, force, y, velocity, gain);
    if constexpr (W<T> >= 4)
        if (k == 4) return advance_in<4>(4 * points, momentum, rate, force, y, velocity, gain);
    double moved = 0;
    for (int64_t i = 0; i < points; i++, force += k, y += k, velocity += k, gain += k) {
        T s = 0;
        for (int c = 0; c < k; c++) {
            Vec<T> g = spread(gain[c]);
            const T v = velocity_of<T>(spread(force[c]), spread(velocity[c]), g, momentum, rate)[0];
            gain[c] = g[0];
            velocity[c] = v;
            s += v * v;
        }
        const T shrink = s > T(MAX_STEP * MAX_STEP) ? T(MAX_STEP) / T(__builtin_sqrt(s)) : T(1);
        for (int c = 0; c < k; c++) y[c] += velocity[c] *= shrink;
        moved += double(s * shrink * shrink);
    }
    return moved;
}

// Forces of all pairs of few points, each pair once. Points lie in blocks of PAIR_BLOCK on a
// circle; a block is paired with itself and the blocks that follow, half of the way around: all
// strips are equally long.
template <class T>
inline INLINE Vec<T> reciprocal(Vec<T> v) {
#if defined(__AVX512F__)  // Newton steps from 14 bits take half the time of a division
    if constexpr (sizeof(T) == 4) {
        const Vec<T> r = _mm512_maskz_rcp14_ps(0xffff, v);
        return r * (2.0f - v * r);
    } else {
        const Vec<T> r = _mm512_maskz_rcp14_pd(0xff, v), closer = r * (2.0 - v * r);
        return closer * (2.0 - v * closer);
    }
#else
    return T(1) / v;
#endif
}

// Points i .. i + rows - 1 against block j, two vectors at a time; returns the sums of 1 / (1 +
// d^2). own: sums over the others of each point, a vector per force; theirs: a line per force,
// repulsion (and attraction) with the opposite sign. A block paired with itself has all in `own`.
template <class T, int K, bool ATTRACT, bool SAME>
inline INLINE Vec<T> pair_block(const PairStrip<T>& s, int64_t i, int rows, int64_t j, const T* p,
                                T* own, T* theirs) {
    constexpr int L = W<T>, F = ATTRACT ? 2 * K : K, VECTORS_AT_ONCE = 2;
    Vec<T> z = {};
    for (int b = 0; b < PAIR_BLOCK; b += VECTORS_AT_ONCE * L) {
        Vec<T> there[VECTORS_AT_ONCE][K], sum[VECTORS_AT_ONCE][F] = {};
        for (int v = 0; v < VECTORS_AT_ONCE; v++)
            for (int c = 0; c < K; c++) there[v][c] = load(s.y + c * s.stride + j + b + v * L);
        for (int a = 0; a < rows; a++) {
            T* const to = own + a * F * L;
            Vec<T> mine[F];
            for (int f = 0; f < F; f++) mine[f] = load(to + f * L);
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS_AT_ONCE; v++) {
                Vec<T> gap[K], square = spread(T(1));
                for (int c = 0; c < K; c++) {
                    gap[c] = s.y[c * s.stride + i + a] - there[v][c];
                    square += gap[c] * gap[c];
                }
                Vec<T> w = reciprocal<T>(square);
                if constexpr (SAME) {
                    const int lane = a - b - v * L;  // no point acts on itself
                    if (lane >= 0 && lane < L) w[lane] = 0;
                }
                z += w;
                const Vec<T> repulsion = w * w;
                for (int c = 0; c < K; c++) {
                    mine[c] += repulsion * gap[c];
                    if constexpr (!SAME) sum[v][c] += repulsion * gap[c];
                }
                if constexpr (ATTRACT) {
                    const Vec<T> attraction = w * load(p + a * PAIR_BLOCK + b + v * L);
                    for (int c = 0; c < K; c++) {
                        mine[K + c] += attraction * gap[c];
                        if constexpr (!SAME) sum[v][K + c] += attraction * gap[c];
                    }
                }
            }
            for (int f = 0; f < F; f++) store(to + f * L, mine[f]);
        }
        if constexpr (!SAME)
            for (int v = 0; v < VECTORS_AT_ONCE; v++)
                for (int f = 0; f < F; f++) store(theirs + f * PAIR_BLOCK + b + v * L, sum[v][f]);
    }
    return z;
}

template <class T, int K, bool ATTRACT>
double pair_strip_in(const PairStrip<T>& s) {
    constexpr int L = W<T>, F = ATTRACT ? 2 * K : K, TILE = PAIR_BLOCK * PAIR_BLOCK;
    const int64_t i = s.block * PAIR_BLOCK;
    const int rows = s.n - i < PAIR_BLOCK ? int(s.n - i) : PAIR_BLOCK;
    alignas(64) T own[PAIR_BLOCK * F * L] = {};
    double z =
        double(total_of<T>(pair_block<T, K, ATTRACT, true>(s, i, rows, i, s.p, own, nullptr)));
    for (int64_t t = 1; t < pair_tiles(s.block, s.blocks); t++) {
        const int64_t other = (s.block + t) % s.blocks;
        const Vec<T> part = pair_block<T, K, ATTRACT, false>(s, i, rows, other * PAIR_BLOCK,
                                                             ATTRACT ? s.p + t * TILE : nullptr,
                                                             own, s.out + t * F * PAIR_BLOCK);
        z += 2 * double(total_of<T>(part));
    }
    for (int f = 0; f < F; f++)
        for (int a = 0; a < PAIR_BLOCK; a += L) {
            Vec<T> some[L];
            for (int l = 0; l < L; l++) some[l] = load(own + ((a + l) * F + f) * L);
            store(s.out + f * PAIR_BLOCK + a, sums<T, L>(some));
        }
    return z;
}
template <class T>
double pair_strip(const PairStrip<T>& s) {
    if constexpr (sizeof(T) == 8)
        if (s.p)
            return s.k == 3   ? pair_strip_in<T, 3, true>(s)
                   : s.k == 2 ? pair_strip_in<T, 2, true>(s)
                              : pair_strip_in<T, 1, true>(s);
    return s.k == 3   ? pair_strip_in<T, 3, false>(s)
           : s.k == 2 ? pair_strip_in<T, 2, false>(s)
                      : pair_strip_in<T, 1, false>(s);
}

template <class T>
void pair_gather(const T* out, int64_t block, int64_t blocks, int64_t lines, T* sums) {
    const int64_t size = lines * PAIR_BLOCK, strip = pair_tiles(0, blocks) * size;
    for (int64_t e = 0; e < size; e += W<T>) {
        Vec<T> sum = load(out + block * strip + e);
        for (int64_t t = 1; t < pair_tiles(0, blocks); t++) {
            const int64_t other = (block - t + blocks) % blocks;
            if (t < pair_tiles(other, blocks)) sum -= load(out + other * strip + t * size + e);
        }
        store(sums + e, sum);
    }
}

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
}
