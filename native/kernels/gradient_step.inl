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
