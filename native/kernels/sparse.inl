// Products with a sparse matrix in CSR form.

// N columns of a row of a A V + b V + c U; the sum runs over the row's entries in their order.
template <int N, class I>
inline INLINE void sparse_row(const I* columns, const double* values, int64_t count,
                              const double* v, int64_t width, double a, double b, const double* own,
                              double c, const double* u, double* out) {
    constexpr int L = W<double>, WHOLE = N / L, REMAINDER = N % L;
    // Otherwise the remainder is summed one by one.
    constexpr bool MASKED = MANY_REGISTERS && REMAINDER;
    constexpr int VECTORS = WHOLE + MASKED, SINGLE = MASKED ? 0 : REMAINDER;
    const auto part = [](const double* p, int k) INLINE {
        return k < WHOLE ? load(p + k * L) : Wide(load_some(p + WHOLE * L, REMAINDER));
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
            store_some(out + k * L, s, REMAINDER);
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
void sparse_matmul(const I* indptr, const I* columns, const double* values, int64_t first,
                   int64_t last, const double* v, int64_t width, double a, double b,
                   const double* u, double c, double* out) {
    for (int64_t i = first; i < last; i++) {
        const int64_t begin = indptr[i], count = indptr[i + 1] - begin;
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

constexpr void fill_sparse(SparseKernels& table) {
    table.matmul32 = sparse_matmul<int32_t>;
    table.matmul64 = sparse_matmul<int64_t>;
}
