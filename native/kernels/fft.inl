// The fast Fourier transform; as many of them as a vector has lanes run at once.

template <class T>
struct Complex {
    Vec<T> re, im;
};
template <class T>
inline INLINE Complex<T> operator+(Complex<T> a, Complex<T> b) {
    return {a.re + b.re, a.im + b.im};
}
template <class T>
inline INLINE Complex<T> operator-(Complex<T> a, Complex<T> b) {
    return {a.re - b.re, a.im - b.im};
}

// The transform of R numbers. PADDED: the upper half of them are zeros, and not read.
template <int R, bool PADDED, class T>
inline INLINE void fft_radix(Complex<T>* a) {
    if constexpr (R == 2) {
        const Complex<T> d = a[0] - a[1];
        a[0] = a[0] + a[1];
        a[1] = d;
    } else if constexpr (R == 3) {
        constexpr T HALF = T(0.5), SINE = T(0.86602540378443864676);
        const Complex<T> sum = a[1] + a[2], gap = a[1] - a[2];
        const Complex<T> mid{a[0].re - HALF * sum.re, a[0].im - HALF * sum.im};
        a[0] = a[0] + sum;
        a[1] = {mid.re + SINE * gap.im, mid.im - SINE * gap.re};
        a[2] = {mid.re - SINE * gap.im, mid.im + SINE * gap.re};
    } else if constexpr (R == 4) {
        const Complex<T> s = PADDED ? a[0] : a[0] + a[2], d = PADDED ? a[0] : a[0] - a[2],
                         t = PADDED ? a[1] : a[1] + a[3], g = PADDED ? a[1] : a[1] - a[3];
        a[0] = s + t;
        a[1] = {d.re + g.im, d.im - g.re};
        a[2] = s - t;
        a[3] = {d.re - g.im, d.im + g.re};
    } else if constexpr (R == 5) {  // cosines and sines of a fifth and of two fifths
        constexpr T C1 = T(0.30901699437494742410), C2 = T(-0.80901699437494742410),
                    S1 = T(0.95105651629515357212), S2 = T(0.58778525229247312917);
        const Complex<T> p = a[1] + a[4], q = a[2] + a[3], g = a[1] - a[4], h = a[2] - a[3];
        const Complex<T> m{a[0].re + C1 * p.re + C2 * q.re, a[0].im + C1 * p.im + C2 * q.im},
            n{a[0].re + C2 * p.re + C1 * q.re, a[0].im + C2 * p.im + C1 * q.im},
            u{S1 * g.re + S2 * h.re, S1 * g.im + S2 * h.im},
            v{S2 * g.re - S1 * h.re, S2 * g.im - S1 * h.im};
        a[0] = a[0] + p + q;
        a[1] = {m.re + u.im, m.im - u.re};
        a[2] = {n.re + v.im, n.im - v.re};
        a[3] = {n.re - v.im, n.im + v.re};
        a[4] = {m.re - u.im, m.im + u.re};
    } else {  // 8: even entries, and odd ones times eighth roots of unity
        constexpr T ROOT = T(0.70710678118654752440);
        Complex<T> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
        fft_radix<4, PADDED>(even);
        fft_radix<4, PADDED>(odd);
        odd[1] = {ROOT * (odd[1].re + odd[1].im), ROOT * (odd[1].im - odd[1].re)};
        odd[2] = {odd[2].im, -odd[2].re};
        odd[3] = {ROOT * (odd[3].im - odd[3].re), -ROOT * (odd[3].re + odd[3].im)};
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            a[i] = even[i] + odd[i];
            a[i + 4] = even[i] - odd[i];
        }
    }
}

// One pass over all numbers: parts of `length`, `apart` of them interleaved, become parts of
// length / R in their final order (Stockham).
template <int R, bool PADDED, class T>
inline INLINE void fft_pass(const FftPlan<T>& plan, int length, int apart, const Complex<T>* from,
                            Complex<T>* to) {
    const int m = length / R;
    const auto read = [&](const Complex<T>* in, Complex<T>* a) INLINE {
#pragma GCC unroll 8
        for (int k = 0; k < (PADDED ? R / 2 : R); k++) a[k] = in[apart * m * k];
        fft_radix<R, PADDED>(a);
    };
    for (int q = 0; q < apart;
         q++) {  // p = 0, where the twiddle factors are 1: all parts of the last pass
        Complex<T> a[R] = {};
        read(from + q, a);
#pragma GCC unroll 8
        for (int k = 0; k < R; k++) to[q + apart * k] = a[k];
    }
    for (int p = 1; p < m; p++) {
        T c[R], s[R];
        for (int k = 1; k < R; k++) c[k] = plan.cos[p * k * apart], s[k] = plan.sin[p * k * apart];
        for (int q = 0; q < apart; q++) {
            Complex<T> a[R] = {};
            read(from + q + apart * p, a);
            Complex<T>* const out = to + q + apart * R * p;
            out[0] = a[0];
#pragma GCC unroll 8
            for (int k = 1; k < R; k++)
                out[apart * k] = {c[k] * a[k].re - s[k] * a[k].im, c[k] * a[k].im + s[k] * a[k].re};
        }
    }
}
// The transform of plan.size numbers in a; b: room for as many. The result is in the one that is
// returned. PADDED: the upper half of a is taken as zeros, whatever is there.
template <bool PADDED = false, class T>
inline Complex<T>* fft(const FftPlan<T>& plan, Complex<T>* a, Complex<T>* b) {
    int length = plan.size, apart = 1;
    for (int i = 0; i < plan.passes; i++) {
        const int R = plan.radix[i];
        if (R == 8)
            PADDED&& i == 0 ? fft_pass<8, PADDED>(plan, length, apart, a, b)
                            : fft_pass<8, false>(plan, length, apart, a, b);
        else if (R == 4)
            PADDED&& i == 0 ? fft_pass<4, PADDED>(plan, length, apart, a, b)
                            : fft_pass<4, false>(plan, length, apart, a, b);
        else if (R == 5)
            fft_pass<5, false>(plan, length, apart, a, b);
        else if (R == 3)
            fft_pass<3, false>(plan, length, apart, a, b);
        else
            fft_pass<2, false>(plan, length, apart, a, b);
        length /= R;
        apart *= R;
        std::swap(a, b);
    }
    return a;
}
// The second half of the scratch, with a gap: at a distance of many pages lines of both halves
// would fall into the same cache sets (a seventh of the time).
template <class T>
inline INLINE Complex<T>* second_half(Complex<T>* a, int size) {
    return a + size + FFT_GAP;
}
