// Vectors of one CPU level, on the compiler's vector extensions. Everything that includes this file
// lives in an anonymous namespace: no inline function of a high level may be shared with code that
// runs on older CPUs.

#if defined(__AVX512F__)
constexpr int BYTES = 64;
#elif defined(__AVX2__)
constexpr int BYTES = 32;
#else
constexpr int BYTES = 16;
#endif
constexpr bool MANY_REGISTERS = BYTES == 64;  // 32 registers instead of 16

// Sums live in registers only if every step is inlined; the compiler's own heuristic gives up
// too early.
#define INLINE __attribute__((always_inline))

template <class T>
struct Simd;
template <>
struct Simd<float> {
    typedef float V __attribute__((vector_size(BYTES)));
    typedef int32_t I __attribute__((vector_size(BYTES)));
    static constexpr int32_t MAGNITUDE = 0x7fffffff;
};
template <>
struct Simd<double> {
    typedef double V __attribute__((vector_size(BYTES)));
    typedef int64_t I __attribute__((vector_size(BYTES)));
    static constexpr int64_t MAGNITUDE = 0x7fffffffffffffff;
};
typedef float HalfFloat __attribute__((vector_size(BYTES / 2)));

template <class T>
using Vec = typename Simd<T>::V;
using Wide = Vec<double>;
template <class T>
constexpr int W = BYTES / int(sizeof(T));  // lanes of a vector
template <class T>
constexpr int LINE = 64 / int(sizeof(T));  // entries of a cache line
template <class T>  // float64 vectors that hold one vector of T
constexpr int PARTS = int(sizeof(double) / sizeof(T));

template <class N>
constexpr N least(N a, N b) {
    return b < a ? b : a;
}

template <class T>
inline INLINE Vec<T> load(const T* p) {
    Vec<T> v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
template <class T>
inline INLINE void store(T* p, Vec<T> v) {
    __builtin_memcpy(p, &v, sizeof v);
}
// The first count lanes (all, if count >= W); zeros beyond.
#if defined(__AVX512F__)
inline INLINE Vec<float> load_some(const float* p, int64_t n) {
    return _mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p);
}
inline INLINE Vec<double> load_some(const double* p, int64_t n) {
    return _mm512_maskz_loadu_pd(__mmask8((1u << n) - 1), p);
}
inline INLINE void store_some(float* p, Vec<float> v, int64_t n) {
    _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), v);
}
inline INLINE void store_some(double* p, Vec<double> v, int64_t n) {
    _mm512_mask_storeu_pd(p, __mmask8((1u << n) - 1), v);
}
#else
template <class T>
inline INLINE Vec<T> load_some(const T* p, int64_t n) {
    Vec<T> v = {};
    __builtin_memcpy(&v, p, size_t(n) * sizeof(T));
    return v;
}
inline INLINE void store_some(float* p, Vec<float> v, int64_t n) {
    __builtin_memcpy(p, &v, size_t(n) * sizeof(float));
}
inline INLINE void store_some(double* p, Vec<double> v, int64_t n) {
    __builtin_memcpy(p, &v, size_t(n) * sizeof(double));
}
#endif
template <class T>
inline INLINE Vec<T> load_part(const T* p, int64_t count) {
    return count >= W<T> ? load(p) : load_some(p, count);
}
template <class T>
inline INLINE void store_part(T* p, Vec<T> v, int64_t count) {
    count >= W<T> ? store(p, v) : store_some(p, v, count);
}
template <class T>
inline INLINE Vec<T> spread(T x) {
    return x - Vec<T>{};  // x + 0 would lose the sign of a zero
}

// Keeps a loaded vector in its register: GCC would rather load it again for each use, and loads are
// the bottleneck.
template <class V>
inline INLINE void pin(V& v) {
#if defined(__AVX512F__)
    asm("" : "+v"(v));
#elif defined(__x86_64__)
    asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#endif
}

// The lanes L of a, followed by those of b. GCC has Clang's form of it from version 12 on; older
// ones find the instruction for lanes that are written one by one.
template <int... L, class V>
inline INLINE auto shuffle(V a, V b) {
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(a, b, L...);
#else
    using T = std::remove_cvref_t<decltype(a[0])>;
    typedef T Lanes __attribute__((vector_size(sizeof...(L) * sizeof(T))));
    constexpr int N = sizeof(V) / sizeof(T);
    return Lanes{(L < N ? a[L % N] : b[L % N])...};
#endif
}

template <class T>
inline INLINE Vec<T> magnitude(Vec<T> v) {
    return (Vec<T>)((typename Simd<T>::I)v & Simd<T>::MAGNITUDE);
}
template <class V>
inline INLINE V larger(V a, V b) {
    return a > b ? a : b;
}
template <class V>
inline INLINE V smaller(V a, V b) {
    return a < b ? a : b;
}

// ---- float64 parts of a vector, and back ----
template <int PART, size_t... L>
inline INLINE HalfFloat half(Vec<float> v, std::index_sequence<L...>) {
    return shuffle<int(PART * (W<float> / 2) + L)...>(v, v);
}
// GCC 12 converts a generic vector of this size in two halves (and warns of the unmasked form).
#if defined(__AVX512F__)
inline INLINE Wide to_double(HalfFloat v) { return _mm512_maskz_cvtps_pd(0xff, v); }
inline INLINE HalfFloat to_float(Wide v) { return _mm512_maskz_cvtpd_ps(0xff, v); }
#else
inline INLINE Wide to_double(HalfFloat v) { return __builtin_convertvector(v, Wide); }
inline INLINE HalfFloat to_float(Wide v) { return __builtin_convertvector(v, HalfFloat); }
#endif
template <int PART>
inline INLINE Wide widen(Vec<float> v) {
    return to_double(half<PART>(v, std::make_index_sequence<W<float> / 2>()));
}
template <int PART>
inline INLINE Wide widen(Vec<double> v) {
    return v;
}
template <size_t... L>
inline INLINE Vec<float> join(HalfFloat a, HalfFloat b, std::index_sequence<L...>) {
    return shuffle<int(L)...>(a, b);
}
inline INLINE void narrow(const Wide* w, Vec<float>& v) {
    v = join(to_float(w[0]), to_float(w[1]), std::make_index_sequence<W<float>>());
}
inline INLINE void narrow(const Wide* w, Vec<double>& v) { v = w[0]; }
template <class T>
inline INLINE void add_to(double* sums, Vec<T> v) {
    store(sums, load(sums) + widen<0>(v));
    if constexpr (PARTS<T> == 2) store(sums + W<double>, load(sums + W<double>) + widen<1>(v));
}

// ---- Shuffles of a and b by bit H of the lane l: clear, set ----
template <int H, class V, size_t... L>  // a[l], b[l]
inline INLINE V select_lanes(V a, V b, std::index_sequence<L...>) {
    return shuffle<int(L & H ? sizeof...(L) + L : L)...>(a, b);
}
template <int H, class V, size_t... L>  // a[l^H], b[l^H]
inline INLINE V swap_lanes(V a, V b, std::index_sequence<L...>) {
    return shuffle<int(L & H ? sizeof...(L) + (L ^ H) : L ^ H)...>(a, b);
}
template <int H, class V, size_t... L>  // a[l], b[l^H]
inline INLINE V lower_pair(V a, V b, std::index_sequence<L...>) {
    return shuffle<int(L & H ? sizeof...(L) + (L ^ H) : L)...>(a, b);
}
template <int H, class V, size_t... L>  // a[l^H], b[l]
inline INLINE V upper_pair(V a, V b, std::index_sequence<L...>) {
    return shuffle<int(L & H ? sizeof...(L) + L : L ^ H)...>(a, b);
}

// Transposes W x W entries in registers.
template <class T, int H = 1>
inline INLINE void transpose(Vec<T>* r) {
    if constexpr (H < W<T>) {
        constexpr auto lanes = std::make_index_sequence<W<T>>();
#pragma GCC unroll 16
        for (int i = 0; i < W<T>; i++)
            if (!(i & H)) {
                const Vec<T> a = r[i], b = r[i | H];
                r[i] = lower_pair<H>(a, b, lanes);
                r[i | H] = upper_pair<H>(a, b, lanes);
            }
        transpose<T, 2 * H>(r);
    }
}

// Lane l = the sum over all lanes of v[l % M]. The order of additions is the same for every M: rows
// treated alone and rows treated together get the same bits.
template <class T, int M, int H = 1>
inline INLINE Vec<T> sums(Vec<T>* v) {
    constexpr auto lanes = std::make_index_sequence<W<T>>();
    if constexpr (H == W<T>) {
        return v[0];
    } else if constexpr (M > 1) {
#pragma GCC unroll 16
        for (int i = 0; i < M / 2; i++)
            v[i] = select_lanes<H>(v[2 * i], v[2 * i + 1], lanes) +
                   swap_lanes<H>(v[2 * i], v[2 * i + 1], lanes);
        return sums<T, M / 2, 2 * H>(v);
    } else {
        v[0] += swap_lanes<H>(v[0], v[0], lanes);
        return sums<T, 1, 2 * H>(v);
    }
}
template <class T>
inline INLINE T total_of(Vec<T> v) {
    return sums<T, 1>(&v)[0];
}

template <class T>
inline INLINE Vec<T> subtract_shift(Vec<T> x, Shift<T> s, int64_t k) {
    x -= load(s.high + k);
    // In float64 the high part is all of the shift.
    if constexpr (sizeof(T) == 4) x -= load(s.low + k);
    return x;
}

// ---- exp, log: float64 vectors; float32 results come from them by fewer terms ----
typedef int64_t Whole __attribute__((vector_size(BYTES)));

// 2^n for whole |n| <= 1000: n goes into the exponent's bits.
inline INLINE Wide exponent(Wide n) {
    const Wide magic = spread(0x1.8p52);
    return (Wide)(((Whole)(n + magic) + 1023) << 52);
}
struct Power {
    Wide fraction, low, high;  // e^x = (1 + fraction) low high
};
// Taylor's series on |r| <= ln(2)/2: the remainder after r^13 is below 1e-17, after r^7 below 1e-8.
template <class T>
inline INLINE Power exp_parts(Wide x) {
    x = x < -746.0 ? spread(-746.0) : x;  // underflows to 0
    x = x > 710.0 ? spread(710.0) : x;  // overflows
    const Wide magic = spread(0x1.8p52);
    const Wide n = (x * 0x1.71547652b82fep0 + magic) - magic;
    Wide r = x - n * 0x1.62e42fefa3800p-1;  // 43 bits of ln 2: the product is exact
    r -= n * 0x1.ef35793c76730p-45;
    constexpr double inverse[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                  1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                  1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    constexpr int TERMS = sizeof(T) == 4 ? 6 : 12;
    Wide p = spread(inverse[TERMS - 1]);
#pragma GCC unroll 16
    for (int i = TERMS - 2; i >= 0; i--) p = p * r + inverse[i];
    // In two factors, because 2^-1074 is not a normal number.
    const Wide half = ((n * 0.5) + magic) - magic;
    return {r * r * p + r, exponent(half), exponent(n - half)};
}
template <class T>
inline INLINE Wide exp(Wide x) {
    const Power p = exp_parts<T>(x);
    return (1.0 + p.fraction) * p.low * p.high;
}
template <class T>
inline INLINE Wide expm1(Wide x) {
    const Power p = exp_parts<T>(x);
    const Wide scale = p.low * p.high;
    return scale * p.fraction + (scale - 1.0);
}
template <class T>
inline INLINE Wide tanh(Wide x) {
    const Wide t = expm1<T>(-2.0 * magnitude<double>(x));
    const Wide y = -t / (t + 2.0);
    return x < 0.0 ? -y : y;
}
// log x = e ln 2 + 2 artanh((m - 1) / (m + 1)), x = 2^e m, m in [sqrt(1/2), sqrt(2)); x > 0 normal.
inline INLINE Wide log(Wide x) {
    const Whole bits = (Whole)x - 0x3fe6a09e667f3bcd;  // sqrt(1/2)
    const Whole e = bits >> 52;
    const Wide m = (Wide)((Whole)x - (e << 52)), n = __builtin_convertvector(e, Wide);
    const Wide s = (m - 1.0) / (m + 1.0), t = s * s;
    Wide p = spread(2.0 / 23);
#pragma GCC unroll 16
    for (int i = 21; i >= 3; i -= 2) p = p * t + 2.0 / i;
    return n * 0x1.62e42fefa39efp-1 + (s * t * p + 2.0 * s);
}
inline INLINE Wide pow(Wide x, double y) {
    return x > 0x1p-1022 ? exp<double>(y * log(x > 0x1p-1022 ? x : spread(1.0))) : Wide{};
}
