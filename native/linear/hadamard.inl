// Walsh-Hadamard transforms.

// Butterflies between 2^LOG vectors that lie `step` entries apart.
template <int LOG, class T>
inline INLINE void butterflies(Vec<T>* v) {
#pragma GCC unroll 3
    for (int h = 1; h < 1 << LOG; h *= 2)
#pragma GCC unroll 8
        for (int i = 0; i < 1 << LOG; i++)
            if (!(i & h)) {
                const Vec<T> a = v[i], b = v[i | h];
                v[i] = a + b;
                v[i | h] = a - b;
            }
}
template <class T, int H = 1, size_t... L>
inline INLINE Vec<T> lane_butterflies(Vec<T> v, std::index_sequence<L...> lanes) {
    if constexpr (H < W<T>) {
        constexpr Vec<T> sign = {(L & H ? T(-1) : T(1))...};
        return lane_butterflies<T, 2 * H>(swap_lanes<H>(v, v, lanes) + v * sign, lanes);
    } else {
        return v;
    }
}
template <int LOG, class T>
inline INLINE void pass(T* row, int64_t size, int64_t step) {
    Vec<T> v[1 << LOG];
    for (int64_t i = 0; i < size; i += step << LOG)
        for (int64_t j = i; j < i + step; j += W<T>) {
#pragma GCC unroll 8
            for (int u = 0; u < 1 << LOG; u++) v[u] = load(row + j + u * step);
            butterflies<LOG, T>(v);
#pragma GCC unroll 8
            for (int u = 0; u < 1 << LOG; u++) store(row + j + u * step, v[u]);
        }
}
// The first visit: signs, all stages within a vector, and LOG stages between neighbors.
template <int LOG, class T>
inline INLINE void first_pass(const T* x, const T* signs, int64_t cols, T* row, int64_t size) {
    Vec<T> v[1 << LOG];
    for (int64_t i = 0; i < size; i += W<T> << LOG) {
#pragma GCC unroll 8
        for (int u = 0; u < 1 << LOG; u++) {
            const int64_t j = i + u * W<T>, left = cols - j;
            v[u] = left > 0
                       ? lane_butterflies<T>(load_part(x + j, left) * load_part(signs + j, left),
                                             std::make_index_sequence<W<T>>())
                       : Vec<T>{};
        }
        butterflies<LOG, T>(v);
#pragma GCC unroll 8
        for (int u = 0; u < 1 << LOG; u++) store(row + i + u * W<T>, v[u]);
    }
}
template <class T>
void hadamard_row(const T* x, const T* signs, int64_t cols, T* row, int64_t size) {
    if (size < 8 * W<T>) {  // too short for vectors
        for (int64_t j = 0; j < size; j++) row[j] = j < cols ? x[j] * signs[j] : T(0);
        for (int64_t h = 1; h < size; h *= 2)
            for (int64_t j = 0; j < size; j++)
                if (!(j & h)) {
                    const T a = row[j], b = row[j + h];
                    row[j] = a + b;
                    row[j + h] = a - b;
                }
        return;
    }
    first_pass<3>(x, signs, cols, row, size);
    int64_t step = 8 * W<T>;
    for (; step * 8 <= size; step *= 8) pass<3>(row, size, step);
    if (step * 4 <= size)
        pass<2>(row, size, step);
    else if (step * 2 <= size)
        pass<1>(row, size, step);
}
template <class T>
void hadamard(const HadamardRows<T>& given, T* scratch) {
    const HadamardRows<T> s = given;
    for (int i = 0; i < s.rows; i++) {
        hadamard_row(s.x + i * s.stride, s.signs, s.cols, scratch, s.padded);
        T* const to = s.out + i * s.out_stride;
        for (int64_t j = 0; j < s.k; j++) to[j] = s.scale * scratch[s.picks[j]];
    }
}

template <class T>
constexpr void fill_hadamard(HadamardKernels<T>& table) {
    table.hadamard = hadamard<T>;
}
