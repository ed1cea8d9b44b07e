// Short-range forces of P3M, which complete the smooth kernel of the grid.

// The smooth kernel lacks x^3 / (1 + s) of 1 / (1 + s), with x = (cutoff - s) / (1 + cutoff) where
// s, the square of a distance, is below the cutoff; see Convolver. Forces of that part on points
// first .. last - 1 by those of all runs (columns, `stride` apart), two or four entries each;
// returns its sum. A point may be in a run itself.
template <int K>
inline INLINE double short_range_in(const float* y, int64_t stride, int64_t first, int64_t last,
                                    const Run* runs, int count, float cutoff, float* forces) {
    constexpr int L = W<float>, WIDTH = K == 3 ? 4 : K;
    const float unit = 1 / (1 + cutoff);
    Vec<float> lane;
    for (int l = 0; l < L; l++) lane[l] = float(l);
    double total = 0;
    for (int64_t i = first; i < last; i++, forces += WIDTH) {
        Vec<float> me[K], sum = {}, f[K] = {};
        for (int c = 0; c < K; c++) me[c] = spread(y[c * stride + i]);
        for (const Run* run = runs; run < runs + count; run++)
            for (int64_t j = run->first; j < run->last; j += L) {
                Vec<float> gap[K], s = {};
                for (int c = 0; c < K; c++) {
                    gap[c] = me[c] - load(y + c * stride + j);
                    s += gap[c] * gap[c];
                }
                const Vec<float> inside = larger((cutoff - s) * unit, Vec<float>{});
                const Vec<float> x = lane < float(run->last - j) ? inside : Vec<float>{};
                const Vec<float> w = inverse_of(1.0f + s), part = w * x * x;
                sum += part * x;
                const Vec<float> force = part * (w * x + 3 * unit);
                for (int c = 0; c < K; c++) f[c] += force * gap[c];
            }
        for (int c = 0; c < K; c++) forces[c] = total_of<float>(f[c]);
        if constexpr (K == 3) forces[3] = 0;
        total += double(total_of<float>(sum));
    }
    return total;
}
double short_range(const float* y, int64_t stride, int k, int64_t first, int64_t last,
                   const Run* runs, int count, float cutoff, float* forces) {
    return (k == 3 ? short_range_in<3> : short_range_in<2>)(y, stride, first, last, runs, count,
                                                            cutoff, forces);
}
