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
void geodesic_products(const T* a, int64_t stride, int rows, int64_t size, const T* v, int groups,
                       int64_t ld, const T* own, T* scratch, double* z, double* out, int64_t span) {
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
