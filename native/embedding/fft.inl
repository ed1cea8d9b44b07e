// Fourier transforms of grids.

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

// Fourier transforms and convolutions of real grids by lines and columns.

// Even lines have real transforms, so two lines fit into one complex one: lines (2 W) of half + 1
// entries, out likewise. step: distance of entries, width: distance of lines.
void fft_even_lines(const FftPlan<double>& plan, const double* in, int64_t in_step,
                    int64_t in_width, double* out, int64_t out_step, int64_t out_width, int lines,
                    double* scratch) {
    constexpr int L = W<double>;
    auto* const a = reinterpret_cast<Complex<double>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int j = 0; j < size; j++) {
        const int at = j <= half ? j : size - j;
        for (int l = 0; l < 2 * L; l++) {
            const double v = l < lines ? in[at * in_step + l * in_width] : 0;
            if (l < L)
                a[j].re[l] = v;
            else
                a[j].im[l - L] = v;
        }
    }
    const Complex<double>* const z = fft(plan, a, second_half(a, size));
    for (int j = 0; j <= half; j++)
        for (int l = 0; l < lines; l++)
            out[j * out_step + l * out_width] = l < L ? z[j].re[l] : z[j].im[l - L];
}

// Columns c .. c + 2 W of a grid of half rows to half a spectrum, two columns in one transform.
void fft_columns(const FftPlan<float>& plan, const float* grid, int64_t stride, float* re,
                 float* im, float* scratch) {
    constexpr int L = W<float>;
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int r = 0; r < half; r++) a[r] = {load(grid + r * stride), load(grid + r * stride + L)};
    const Complex<float>* const z = fft<true>(plan, a, second_half(a, size));
    for (int k = 0; k <= half; k++) {
        const Complex<float> u = z[k], v = z[k ? size - k : 0];
        store(re + k * stride, 0.5f * (u.re + v.re));
        store(im + k * stride, 0.5f * (u.im - v.im));
        store(re + k * stride + L, 0.5f * (u.im + v.im));
        store(im + k * stride + L, 0.5f * (v.re - u.re));
    }
}

// W lines of the spectrum: forward along them, times the kernel, and back. Lines must be there to
// a multiple of W columns.
void convolve_lines(const FftPlan<float>& plan, const float* kernel, int64_t pitch, float* re,
                    float* im, int64_t stride, float* scratch) {
    constexpr int L = W<float>;
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    Vec<float> square[L];
    for (int part = 0; part < 2; part++) {
        const float* const from = part ? im : re;
        for (int c = 0; c < half; c += L) {
            for (int l = 0; l < L; l++) square[l] = load(from + l * stride + c);
            transpose<float>(square);
            for (int l = 0; l < L && c + l < half; l++)
                (part ? a[c + l].im : a[c + l].re) = square[l];
        }
    }
    Complex<float>* z = fft<true>(plan, a, second_half(a, size));
    for (int k = 0; k < size; k++) {  // with parts exchanged: the next transform is the inverse one
        const Vec<float> w = load(kernel + (k <= half ? k : size - k) * pitch);
        z[k] = {w * z[k].im, w * z[k].re};
    }
    z = fft(plan, z, z == a ? second_half(a, size) : a);
    for (int part = 0; part < 2; part++) {
        float* const to = part ? im : re;
        for (int c = 0; c < half; c += L) {
            for (int l = 0; l < L; l++)
                square[l] = c + l < half ? (part ? z[c + l].re : z[c + l].im) : Vec<float>{};
            transpose<float>(square);
            for (int l = 0; l < L; l++) store(to + l * stride + c, square[l]);
        }
    }
}

void inverse_fft_columns(const FftPlan<float>& plan, const float* re, const float* im,
                         int64_t stride, float* grid, float* scratch) {
    constexpr int L = W<float>;
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int k = 0; k <= half; k++) {  // A + iB with its parts exchanged
        const Complex<float> A{load(re + k * stride), load(im + k * stride)};
        const Complex<float> B{load(re + k * stride + L), load(im + k * stride + L)};
        a[k] = {A.im + B.re, A.re - B.im};
        if (k > 0 && k < half) a[size - k] = {B.re - A.im, A.re + B.im};
    }
    const Complex<float>* const z = fft(plan, a, second_half(a, size));
    for (int r = 0; r < half; r++) {
        store(grid + r * stride, z[r].im);
        store(grid + r * stride + L, z[r].re);
    }
}

// W columns of half rows of a complex plane to their whole spectrum.
void fft_plane(const FftPlan<float>& plan, const float* re, const float* im, int64_t stride,
               float* to_re, float* to_im, float* scratch) {
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int r = 0; r < half; r++) a[r] = {load(re + r * stride), load(im + r * stride)};
    const Complex<float>* const z = fft<true>(plan, a, second_half(a, size));
    for (int k = 0; k < size; k++) {
        store(to_re + k * stride, z[k].re);
        store(to_im + k * stride, z[k].im);
    }
}
void inverse_fft_plane(const FftPlan<float>& plan, const float* re, const float* im, int64_t stride,
                       float* to_re, float* to_im, float* scratch) {
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int k = 0; k < size; k++) a[k] = {load(im + k * stride), load(re + k * stride)};
    const Complex<float>* const z = fft(plan, a, second_half(a, size));
    for (int r = 0; r < half; r++) {
        store(to_re + r * stride, z[r].im);
        store(to_im + r * stride, z[r].re);
    }
}

// A line of half entries times an even kernel, in one lane.
void convolve_line(const FftPlan<float>& plan, const float* kernel, const float* in, float* out,
                   float* scratch) {
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = plan.size, half = size / 2;
    for (int j = 0; j < size; j++) a[j] = {spread(j < half ? in[j] : 0.0f), Vec<float>{}};
    Complex<float>* z = fft(plan, a, second_half(a, size));
    for (int k = 0; k < size; k++) {
        const float w = kernel[k <= half ? k : size - k];
        z[k] = {w * z[k].im, w * z[k].re};
    }
    z = fft(plan, z, z == a ? second_half(a, size) : a);
    for (int j = 0; j < half; j++) out[j] = z[j].im[0];
}
