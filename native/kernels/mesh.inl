// Sums of 1 / (1 + d^2) over many points of the plane or the line by a mesh: charges are spread on a
// grid by cubic B-splines, the grid is convolved by Fourier transforms, and what is felt at a point
// is read by the same splines. Transforms run side by side in the lanes of vectors.

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

// The transform of R numbers.
template <int R, class T>
inline INLINE void short_transform(Complex<T>* a) {
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
    } else {
        const Complex<T> s = a[0] + a[2], d = a[0] - a[2], t = a[1] + a[3], g = a[1] - a[3];
        a[0] = s + t;
        a[1] = {d.re + g.im, d.im - g.re};
        a[2] = s - t;
        a[3] = {d.re - g.im, d.im + g.re};
    }
}

// One pass over all numbers: parts of `length`, `apart` of them interleaved, become parts of
// length / R in their final order (Stockham).
template <int R, class T>
inline INLINE void pass(const Waves<T>& waves, int length, int apart, const Complex<T>* from,
                        Complex<T>* to) {
    const int m = length / R;
    for (int p = 0; p < m; p++) {
        T c[R], s[R];
        for (int k = 1; k < R; k++) c[k] = waves.cos[p * k * apart], s[k] = waves.sin[p * k * apart];
        for (int q = 0; q < apart; q++) {
            Complex<T> a[R];
            for (int k = 0; k < R; k++) a[k] = from[q + apart * (p + m * k)];
            short_transform<R>(a);
            Complex<T>* const out = to + q + apart * R * p;
            out[0] = a[0];
            for (int k = 1; k < R; k++)
                out[apart * k] = {c[k] * a[k].re - s[k] * a[k].im, c[k] * a[k].im + s[k] * a[k].re};
        }
    }
}
// Of waves.size numbers in a; the result is in the buffer that is returned.
template <class T>
inline Complex<T>* transformed(const Waves<T>& waves, Complex<T>* a, Complex<T>* b) {
    int length = waves.size, apart = 1;
    for (int i = 0; i < waves.passes; i++) {
        const int R = waves.radix[i];
        if (R == 4)
            pass<4>(waves, length, apart, a, b);
        else if (R == 3)
            pass<3>(waves, length, apart, a, b);
        else
            pass<2>(waves, length, apart, a, b);
        length /= R;
        apart *= R;
        std::swap(a, b);
    }
    return a;
}

// Even lines have real transforms, so two lines fit into one complex one: lines (2 W) of half + 1
// entries, out likewise. step: distance of entries, width: distance of lines.
void even_lines(const Waves<double>& waves, const double* in, int64_t in_step, int64_t in_width,
                double* out, int64_t out_step, int64_t out_width, int lines, double* scratch) {
    constexpr int L = W<double>;
    auto* const a = reinterpret_cast<Complex<double>*>(scratch);
    const int size = waves.size, half = size / 2;
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
    const Complex<double>* const z = transformed(waves, a, a + size);
    for (int j = 0; j <= half; j++)
        for (int l = 0; l < lines; l++)
            out[j * out_step + l * out_width] = l < L ? z[j].re[l] : z[j].im[l - L];
}

// Columns c .. c + 2 W of a grid of half rows to half a spectrum, two columns in one transform.
void columns_forward(const Waves<float>& waves, const float* grid, int64_t stride, float* re,
                     float* im, float* scratch) {
    constexpr int L = W<float>;
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = waves.size, half = size / 2;
    for (int r = 0; r < half; r++) a[r] = {load(grid + r * stride), load(grid + r * stride + L)};
    for (int r = half; r < size; r++) a[r] = {Vec<float>{}, Vec<float>{}};
    const Complex<float>* const z = transformed(waves, a, a + size);
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
void lines_through(const Waves<float>& waves, const float* kernel, int64_t pitch, float* re,
                   float* im, int64_t stride, float* scratch) {
    constexpr int L = W<float>;
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = waves.size, half = size / 2;
    Vec<float> square[L];
    for (int part = 0; part < 2; part++) {
        const float* const from = part ? im : re;
        for (int c = 0; c < half; c += L) {
            for (int l = 0; l < L; l++) square[l] = load(from + l * stride + c);
            transpose<float>(square);
            for (int l = 0; l < L && c + l < half; l++) (part ? a[c + l].im : a[c + l].re) = square[l];
        }
    }
    for (int c = half; c < size; c++) a[c] = {Vec<float>{}, Vec<float>{}};
    Complex<float>* z = transformed(waves, a, a + size);
    for (int k = 0; k < size; k++) {  // and exchange the parts: the next transform goes back
        const Vec<float> w = load(kernel + (k <= half ? k : size - k) * pitch);
        z[k] = {w * z[k].im, w * z[k].re};
    }
    z = transformed(waves, z, z == a ? a + size : a);
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

void columns_back(const Waves<float>& waves, const float* re, const float* im, int64_t stride,
                  float* grid, float* scratch) {
    constexpr int L = W<float>;
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = waves.size, half = size / 2;
    for (int k = 0; k <= half; k++) {  // A + iB with its parts exchanged
        const Complex<float> A{load(re + k * stride), load(im + k * stride)};
        const Complex<float> B{load(re + k * stride + L), load(im + k * stride + L)};
        a[k] = {A.im + B.re, A.re - B.im};
        if (k > 0 && k < half) a[size - k] = {B.re - A.im, A.re + B.im};
    }
    const Complex<float>* const z = transformed(waves, a, a + size);
    for (int r = 0; r < half; r++) {
        store(grid + r * stride, z[r].im);
        store(grid + r * stride + L, z[r].re);
    }
}

// A line of half entries times an even kernel, in one lane.
void line_through(const Waves<float>& waves, const float* kernel, const float* in, float* out,
                  float* scratch) {
    auto* const a = reinterpret_cast<Complex<float>*>(scratch);
    const int size = waves.size, half = size / 2;
    for (int j = 0; j < size; j++) a[j] = {spread(j < half ? in[j] : 0.0f), Vec<float>{}};
    Complex<float>* z = transformed(waves, a, a + size);
    for (int k = 0; k < size; k++) {
        const float w = kernel[k <= half ? k : size - k];
        z[k] = {w * z[k].im, w * z[k].re};
    }
    z = transformed(waves, z, z == a ? a + size : a);
    for (int j = 0; j < half; j++) out[j] = z[j].im[0];
}

// ---- Points ----
typedef float Four __attribute__((vector_size(16)));
inline INLINE Four load4(const float* p) {
    Four v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
inline INLINE float sum4(Four v) { return (v[0] + v[1]) + (v[2] + v[3]); }

// The four cubic B-splines that reach a point, all at once: see `splines`.
struct Reach {
    int cell;
    Four value, slope;
};
inline INLINE Reach reach_of(float y, float origin, float inverse) {
    constexpr float S = 1.0f / 6;
    constexpr Four once = {S, 4 * S, S, 0}, linear = {-0.5f, 0, 0.5f, 0},
                   square = {0.5f, -1, 0.5f, 0}, cube = {-S, 0.5f, -0.5f, S};
    Reach r;
    const float u = (y - origin) * inverse;
    r.cell = int(u);
    const float t = u - float(r.cell);
    r.value = ((cube * t + square) * t + linear) * t + once;
    r.slope = (3 * cube * t + 2 * square) * t + linear;
    return r;
}

// Adds the charges of points to a tile whose first node is (row, col) of the mesh.
void spread_charges(const GridView& grid, const float* y, int64_t count, int64_t row, int64_t col,
                    int64_t cols, float* tile) {
    for (int64_t i = 0; i < count; i++) {
        const Reach c = reach_of(y[grid.k * i], grid.origin[0], grid.inverse);
        const Four across = c.value;
        if (grid.k == 1) {
            float* const at = tile + c.cell - 1 - col;
            const Four sum = load4(at) + across;
            __builtin_memcpy(at, &sum, sizeof sum);
            continue;
        }
        const Reach r = reach_of(y[2 * i + 1], grid.origin[1], grid.inverse);
        float* at = tile + (r.cell - 1 - row) * cols + c.cell - 1 - col;
        for (int q = 0; q < 4; q++, at += cols) {
            const Four sum = load4(at) + r.value[q] * across;
            __builtin_memcpy(at, &sum, sizeof sum);
        }
    }
}

// f += scale times the slope of the potential at points.
void read_slopes(const GridView& grid, const float* y, int64_t count, float scale, float* f) {
    const float unit = scale * grid.inverse;
    for (int64_t i = 0; i < count; i++) {
        const Reach c = reach_of(y[grid.k * i], grid.origin[0], grid.inverse);
        if (grid.k == 1) {
            f[i] += unit * sum4(c.slope * load4(grid.phi + c.cell - 1));
            continue;
        }
        const Reach r = reach_of(y[2 * i + 1], grid.origin[1], grid.inverse);
        const float* at = grid.phi + int64_t(r.cell - 1) * grid.stride + c.cell - 1;
        Four level = {}, rise = {};
        for (int q = 0; q < 4; q++, at += grid.stride) {
            const Four line = load4(at);
            level += r.value[q] * line;
            rise += r.slope[q] * line;
        }
        f[2 * i] += unit * sum4(level * c.slope);
        f[2 * i + 1] += unit * sum4(rise * c.value);
    }
}

inline INLINE Vec<float> inverse_of(Vec<float> v) {
#if defined(__AVX512F__)
    const Vec<float> r = _mm512_maskz_rcp14_ps(0xffff, v);
    return r * (2.0f - v * r);
#else
    return 1.0f / v;
#endif
}
template <int FIRST, size_t... L>
inline INLINE Vec<float> every_other(Vec<float> a, Vec<float> b, std::index_sequence<L...>) {
    return __builtin_shufflevector(a, b, int(2 * L + FIRST)...);
}

typedef uint16_t Shares __attribute__((vector_size(BYTES / 2)));
inline INLINE Vec<float> shares_of(const uint16_t* p) {
    Shares v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Vec<float>);
}

// f = scale unit_i sum_j share (y_i - y_j) / (1 + d^2) for points first .. last - 1, in one or two
// dimensions. Neighbors are brought side by side first: plain loads are faster than gathers.
template <int K>
inline INLINE void attract_in(const float* y, int64_t first, int64_t last, const int64_t* starts,
                              const Ties* ties, const float* unit, float scale, float* f) {
    constexpr int L = W<float>, AHEAD = 4096 / sizeof(Ties);
    constexpr auto lanes = std::make_index_sequence<L>();
    for (int64_t i = first; i < last; i++) {
        const float mx = y[K * i], my = y[K * i + K - 1];
        Vec<float> fx = {}, fy = {};
        for (const Ties* t = ties + starts[i]; t < ties + starts[i + 1]; t++) {
            __builtin_prefetch(reinterpret_cast<const char*>(t + AHEAD));
            __builtin_prefetch(reinterpret_cast<const char*>(t + AHEAD) + 64);
            alignas(64) float near[K * Ties::COUNT];
            for (int j = 0; j < Ties::COUNT; j++)
                __builtin_memcpy(near + K * j, y + K * int64_t(t->ends[j]), K * sizeof(float));
            for (int j = 0; j < Ties::COUNT; j += L) {
                const Vec<float> a = load(near + K * j);
                const Vec<float> share = shares_of(t->shares + j);
                if constexpr (K == 2) {
                    const Vec<float> b = load(near + K * j + L);
                    const Vec<float> dx = mx - every_other<0>(a, b, lanes);
                    const Vec<float> dy = my - every_other<1>(a, b, lanes);
                    const Vec<float> w = share * inverse_of(1.0f + dx * dx + dy * dy);
                    fx += w * dx;
                    fy += w * dy;
                } else {
                    const Vec<float> dx = mx - a;
                    fx += share * inverse_of(1.0f + dx * dx) * dx;
                }
            }
        }
        f[K * (i - first)] = scale * unit[i] * total_of<float>(fx);
        if constexpr (K == 2) f[K * (i - first) + 1] = scale * unit[i] * total_of<float>(fy);
    }
}
void attract_all(const float* y, int k, int64_t first, int64_t last, const int64_t* starts,
                 const Ties* ties, const float* unit, float scale, float* f) {
    k == 2 ? attract_in<2>(y, first, last, starts, ties, unit, scale, f)
           : attract_in<1>(y, first, last, starts, ties, unit, scale, f);
}

// The sum of 1 / (1 + d^2) over pairs of one of points i .. i + count with a later one; columns x
// and y (zero on the line) are padded by points far out.
double later_pairs(const float* x, const float* y, int64_t n, int64_t i, int count) {
    constexpr int L = W<float>, SOME = 64;
    const int64_t padded = (n + L - 1) / L * L;
    double sum = 0;
    for (int m = 0; m < count; m++) {
        const int64_t me = i + m;
        int64_t j = me + 1;
        float head = 0;
        for (; j < n && j % L; j++) {
            const float dx = x[me] - x[j], dy = y[me] - y[j];
            head += 1 / (1 + dx * dx + dy * dy);
        }
        sum += double(head);
        while (j < n) {
            Vec<float> part = {};
            const int64_t end = j + SOME * L < padded ? j + SOME * L : padded;
            for (; j < end; j += L) {
                const Vec<float> dx = x[me] - load(x + j), dy = y[me] - load(y + j);
                part += inverse_of(1.0f + dx * dx + dy * dy);
            }
            sum += double(total_of<float>(part));
        }
    }
    return sum;
}

void add_line(float* to, const float* from, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i] += from[i];
}
double inner(const float* a, const float* b, int64_t count) {
    Wide sum = {};
    for (int64_t i = 0; i < count; i += W<float>) {
        const Vec<float> product = load(a + i) * load(b + i);
        sum += widen<0>(product) + widen<1>(product);
    }
    return total_of<double>(sum);
}
// Coordinates alternate in the lanes: an even number of them is as good as one.
void extent(const float* y, int64_t count, int k, float* low, float* high) {
    constexpr int L = W<float>;
    for (int c = 0; c < k; c++) low[c] = high[c] = y[c];
    int64_t i = 0;
    if (count * k >= L) {
        Vec<float> least = load(y), most = least;
        for (; i + L <= count * k; i += L) {
            const Vec<float> v = load(y + i);
            least = smaller(least, v);
            most = larger(most, v);
        }
        for (int l = 0; l < L; l++) {
            low[l % k] = low[l % k] < least[l] ? low[l % k] : least[l];
            high[l % k] = high[l % k] > most[l] ? high[l % k] : most[l];
        }
    }
    for (; i < count * k; i++) {
        low[i % k] = low[i % k] < y[i] ? low[i % k] : y[i];
        high[i % k] = high[i % k] > y[i] ? high[i % k] : y[i];
    }
}
