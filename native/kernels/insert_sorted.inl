// Insertion into a short sorted list of neighbors, by whole vectors.

// One bit per lane that is not zero.
inline INLINE uint32_t bits_of(Whole lanes) {
#if defined(__AVX512F__)
    return _mm512_movepi64_mask((__m512i)lanes);
#elif defined(__AVX2__)
    return uint32_t(_mm256_movemask_pd((__m256d)lanes));
#elif defined(__x86_64__)
    return uint32_t(_mm_movemask_pd((__m128d)lanes));
#else
    uint32_t bits = 0;
    for (int l = 0; l < W<double>; l++) bits |= uint32_t(lanes[l] != 0) << l;
    return bits;
#endif
}

// Shifts by one lane: lane l = v[l - 1], and lane 0 stays.
template <class V, size_t... L>
inline INLINE V shift_lanes(V v, std::index_sequence<L...>) {
    return shuffle<int(L ? L - 1 : 0)...>(v, v);
}

// If no distance is tied with it: new_i = min(d_i, max(d_{i-1}, distance)), from the end to the
// front.
inline bool insert_sorted(double* d, int32_t* n, int64_t k, double distance, int32_t id) {
    typedef int32_t Numbers __attribute__((vector_size(BYTES / 2)));
    constexpr int64_t LANES = W<double>;
    constexpr auto lanes = std::make_index_sequence<LANES>();
    const auto numbers = [&](int64_t i) INLINE {
        Numbers v;
        __builtin_memcpy(&v, n + i, sizeof v);
        return v;
    };
    const Wide own = spread(distance);
    Whole tied = {};
    for (int64_t i = k - LANES; i > -LANES; i -= LANES) tied |= load(d + i) == own;
    if (bits_of(tied)) {
        int64_t at = k;
        while (at && (d[at - 1] > distance ||
                      (d[at - 1] == distance && uint32_t(n[at - 1]) > uint32_t(id))))
            at--;
        if (at == k || (at && d[at - 1] == distance && n[at - 1] == id)) return false;
        for (int64_t i = k - 1; i > at; i--) d[i] = d[i - 1], n[i] = n[i - 1];
        d[at] = distance;
        n[at] = id;
        return true;
    }
    for (int64_t i = k - LANES; i > -LANES; i -= LANES) {
        const Wide here = load(d + i), before = i < 0 ? shift_lanes(here, lanes) : load(d + i - 1);
        const Whole beyond = here > own, moved = before > own;
        if (!bits_of(beyond)) return i < k - LANES;
        const Numbers here_n = numbers(i),
                      before_n = i < 0 ? shift_lanes(here_n, lanes) : numbers(i - 1),
                      gone = __builtin_convertvector(beyond, Numbers),
                      later = __builtin_convertvector(moved, Numbers),
                      new_n = gone ? (later ? before_n : id - Numbers{}) : here_n;
        store(d + i, smaller(here, larger(before, own)));
        __builtin_memcpy(n + i, &new_n, sizeof new_n);
    }
    return true;
}
