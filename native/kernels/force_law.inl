// The forces of UMAP as functions of squared distances, without calls of the math library.

// x^e for normal x > 0, within 3e-6; powers beyond 2^-60 .. 2^60 are those.
inline INLINE Vec<float> pow(Vec<float> x, float e) {
    using I = typename Simd<float>::I;
    constexpr float MAX_EXPONENT = 60, ROUND = 0x1.8p23f;  // adding ROUND leaves whole numbers
    const I bits = (I)x, n = (bits - 0x3f3504f3) >> 23;  // x = 2^n m, m in [sqrt(1/2), sqrt(2))
    const Vec<float> t = (Vec<float>)(bits - (n << 23)) - 1.0f;
    // log2(m) / t, within 3e-7 of log2(m)
    Vec<float> p = spread(0.170632701f);
    p = p * t - 0.27269759f;
    p = p * t + 0.297262947f;
    p = p * t - 0.358961885f;
    p = p * t + 0.480465012f;
    p = p * t - 0.721375871f;
    p = p * t + 1.44269973f;
    Vec<float> y = e * (p * t + __builtin_convertvector(n, Vec<float>));
    y = larger(smaller(y, spread(MAX_EXPONENT)), spread(-MAX_EXPONENT));
    const Vec<float> shifted = y + ROUND, f = y - (shifted - ROUND);
    Vec<float> q = spread(0.001327656f);  // 2^f, within 8e-8
    q = q * f + 0.00967554251f;
    q = q * f + 0.0555071301f;
    q = q * f + 0.240221197f;
    q = q * f + 0.693146967f;
    q = q * f + 1.0f;
    return (Vec<float>)((I)q + ((I)shifted << 23));
}

// A force law in the type of the coordinates.
template <class T>
struct Law {
    // Limits that keep quotients from being NaN.
    static constexpr T MIN_SQUARE = T(1e-12), MAX_SQUARE = T(sizeof(T) == 4 ? 1e12 : 1e60);
    static constexpr double MAX_ODDS = 1e200;  // in float32 they are bounded by the largest power
    T a, b, softening;

    explicit INLINE Law(const ForceLaw& law)
        : a(T(law.a)), b(T(law.b)), softening(T(law.softening)) {}

    inline INLINE Vec<T> within_range(Vec<T> s) const {
        return larger(smaller(s, spread(MAX_SQUARE)), spread(MIN_SQUARE));
    }
    // a s^b, which is 1 / phi - 1.
    inline INLINE Vec<T> odds(Vec<T> s) const {
        const Vec<T> o = a * pow(s, b);
        if constexpr (sizeof(T) == 4)
            return o;
        else
            return smaller(o, spread(MAX_ODDS));
    }
    inline INLINE Vec<T> attraction(Vec<T> s) const {
        s = within_range(s);
        const Vec<T> o = odds(s);
        return 2 * b * o * reciprocal<T>(s * (T(1) + o));
    }
    inline INLINE Vec<T> repulsion(Vec<T> s) const {
        s = within_range(s);
        return 2 * b * reciprocal<T>((softening + s) * (T(1) + odds(s)));
    }
};
