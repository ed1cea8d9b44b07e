// Block Lanczos on vectors that fit in the cache: rows of memory, LANCZOS_GROUP of them at a time.

// z (groups, rows, LANCZOS_GROUP) = A V or (-1/2 A o A) V; v as in `skinny_product`.
inline void lanczos_matmul(const double* a, int64_t stride, int rows, int64_t cols,
                           bool half_square, const double* v, int groups, int64_t ld, double* z) {
    const Plain<double> plain{a, stride};
    const HalfSquare<double> squares{plain};
    if (half_square)
        skinny_product<LANCZOS_GROUP>(squares, squares, rows, cols, v, groups, ld, z);
    else
        skinny_product<LANCZOS_GROUP>(plain, plain, rows, cols, v, groups, ld, z);
}

// x_c -= sum_j s[j LANCZOS_GROUP + c] q_j over U vectors of entries, the last one in part.
template <int U>
inline INLINE void subtract_projections(const double* q, int64_t stride, int count, const double* s,
                                        double* x, int64_t ld, int64_t left) {
    constexpr int G = LANCZOS_GROUP;
    Wide sum[G][U];
#pragma GCC unroll 8
    for (int c = 0; c < G; c++)
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) sum[c][u] = load(x + c * ld + u * W<double>);
    for (int j = 0; j < count; j++, q += stride) {
        Wide line[U];
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) line[u] = U > 1 ? load(q + u * W<double>) : load_part(q, left);
#pragma GCC unroll 8
        for (int c = 0; c < G; c++) {
            const Wide share = spread(s[j * G + c]);
#pragma GCC unroll 8
            for (int u = 0; u < U; u++) sum[c][u] -= share * line[u];
        }
    }
#pragma GCC unroll 8
    for (int c = 0; c < G; c++)
#pragma GCC unroll 8
        for (int u = 0; u < U; u++) store(x + c * ld + u * W<double>, sum[c][u]);
}

// x (groups LANCZOS_GROUP, ld) -= s' q, s (groups, count, LANCZOS_GROUP), q rows.
inline void lanczos_subtract(const double* q, int64_t stride, int count, int64_t n, const double* s,
                             int groups, double* x, int64_t ld) {
    constexpr int U = MANY_REGISTERS ? 4 : 2;
    for (int g = 0; g < groups; g++, s += count * LANCZOS_GROUP, x += LANCZOS_GROUP * ld) {
        int64_t i = 0;
        for (; i + U * W<double> <= n; i += U * W<double>)
            subtract_projections<U>(q + i, stride, count, s, x + i, ld, W<double>);
        for (; i < n; i += W<double>)
            subtract_projections<1>(q + i, stride, count, s, x + i, ld, n - i);
    }
}

inline INLINE double padded_dot(const double* a, const double* b, int64_t ld) {
    Wide sum[2] = {};
    for (int64_t i = 0; i < ld; i += 2 * W<double>) {
        sum[0] += load(a + i) * load(b + i);
        sum[1] += load(a + i + W<double>) * load(b + i + W<double>);
    }
    return total_of<double>(sum[0] + sum[1]);
}

// Gram-Schmidt on `count` rows of ld entries. Rows of which no more than `floor` is left are
// dropped, the others move up; factor (count x count): coefficients of the given rows in the new
// ones. Returns how many there are.
inline int lanczos_orthonormalize(double* x, int64_t ld, int count, double floor, double* factor) {
    int kept = 0;
    for (int c = 0; c < count; c++) {
        double *const from = x + c * ld, *const to = x + kept * ld;
        for (int b = 0; b < kept; b++) {
            const double share = padded_dot(x + b * ld, from, ld);
            factor[b * count + c] = share;
            for (int64_t i = 0; i < ld; i += W<double>)
                store(from + i, load(from + i) - share * load(x + b * ld + i));
        }
        const double length = __builtin_sqrt(padded_dot(from, from, ld));
        if (!(length > floor)) continue;
        for (int64_t i = 0; i < ld; i += W<double>) store(to + i, load(from + i) / length);
        for (int b = 0; b < c; b++) factor[kept * count + b] = 0;
        factor[kept++ * count + c] = length;
    }
    return kept;
}

constexpr void fill_lanczos(LanczosKernels& table) {
    table.matmul = lanczos_matmul;
    table.subtract = lanczos_subtract;
    table.orthonormalize = lanczos_orthonormalize;
}
