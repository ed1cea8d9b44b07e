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
