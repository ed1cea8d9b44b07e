// Padded float64 vectors, and the eigenproblem of a small dense symmetric matrix.

constexpr int64_t ALIGNMENT = 8;  // entries: rows of scratch memory are whole cache lines

inline double root(double x) { return __builtin_sqrt(x); }

// For padded vectors: `size` is a multiple of ALIGNMENT.
inline INLINE double dot(const double* a, const double* b, int64_t size) {
    Wide sum[ALIGNMENT / W<double>] = {};
    for (int64_t i = 0; i < size; i += ALIGNMENT)
#pragma GCC unroll 4
        for (int v = 0; v < ALIGNMENT / W<double>; v++)
            sum[v] += load(a + i + v * W<double>) * load(b + i + v * W<double>);
#pragma GCC unroll 4
    for (int v = 1; v < ALIGNMENT / W<double>; v++) sum[0] += sum[v];
    return total_of<double>(sum[0]);
}
inline INLINE void add(double factor, const double* a, double* to, int64_t size) {
    for (int64_t i = 0; i < size; i += W<double>)
        store(to + i, load(to + i) + factor * load(a + i));
}
inline INLINE void scale(double factor, double* a, int64_t size) {
    for (int64_t i = 0; i < size; i += W<double>) store(a + i, factor * load(a + i));
}
inline void clear(double* a, int64_t size) {
    for (int64_t i = 0; i < size; i++) a[i] = 0;
}

// A = Q T Q' by Householder reflections, T with this diagonal and, from its second entry on, that
// off-diagonal. A (full, rows `ld` apart) is overwritten by the reflections; rows of Qt are the
// columns of Q. Null: only the values are wanted.
inline void tridiagonalize(double* A, int n, int64_t ld, double* diagonal, double* off, double* Qt,
                           double* w) {
    for (int j = 0; j < n; j++) {
        double* const v = A + j * ld;  // row j = column j: zero it beyond the off-diagonal
        diagonal[j] = v[j];
        if (j + 1 == n) break;
        const int64_t from = (j + 1) / ALIGNMENT * ALIGNMENT;
        for (int64_t i = from; i <= j; i++) v[i] = 0;
        const double length = root(dot(v + from, v + from, ld - from));
        const double first = v[j + 1], alpha = first > 0 ? -length : length;
        off[j + 1] = alpha;
        v[j + 1] = first - alpha;
        // |v|^2 / 2; there is nothing to reflect if only the first entry of the column is not zero
        const double half = length * (length + __builtin_fabs(first));
        if (!(half > 0)) {
            clear(v + from, ld - from);
            continue;
        }
        scale(1 / root(half), v + from, ld - from);  // now the reflection is I - v v'
        clear(w + from, ld - from);
        for (int i = j + 1; i < n; i++) w[i] = dot(A + i * ld + from, v + from, ld - from);
        add(-0.5 * dot(w + from, v + from, ld - from), v + from, w + from, ld - from);
        for (int i = j + 1; i < n; i++) {
            add(-v[i], w + from, A + i * ld + from, ld - from);
            add(-w[i], v + from, A + i * ld + from, ld - from);
        }
    }
    if (!Qt) return;
    clear(Qt, n * ld);
    for (int i = 0; i < n; i++) Qt[i * ld + i] = 1;
    for (int j = n - 2; j >= 0; j--) {
        const double* const v = A + j * ld;
        const int64_t from = (j + 1) / ALIGNMENT * ALIGNMENT;
        for (int i = j + 1; i < n; i++) {
            double* const q = Qt + i * ld + from;
            add(-dot(q, v + from, ld - from), v + from, q, ld - from);
        }
    }
}

// Eigenvalues of a tridiagonal matrix in place of its diagonal, by implicit QL steps with
// Wilkinson's shift; the rows of Qt become the eigenvectors.
inline void tridiagonal_eigenvalues(double* diagonal, double* off, int n, double* Qt, int64_t ld) {
    double largest = 0;
    for (int i = 0; i < n; i++) {
        off[i] = i + 1 < n ? off[i + 1] : 0;
        const double size = __builtin_fabs(diagonal[i]) + __builtin_fabs(off[i]);
        largest = size > largest ? size : largest;
    }
    for (int l = 0; l < n; l++)
        for (int turn = 0; turn < 60; turn++) {
            int m = l;  // a Gram matrix is known up to a rounding of its largest entry
            while (m < n - 1 && __builtin_fabs(off[m]) > 0x1p-54 * largest) m++;
            if (m == l) break;
            const double p = (diagonal[l + 1] - diagonal[l]) / (2 * off[l]), r = root(p * p + 1);
            double g = diagonal[m] - diagonal[l] + off[l] / (p + (p < 0 ? -r : r));
            double sine = 1, cosine = 1, moved = 0;
            int i = m - 1;
            for (; i >= l; i--) {
                const double f = sine * off[i], b = cosine * off[i], h = root(f * f + g * g);
                off[i + 1] = h;
                if (h == 0) {  // the matrix splits in two here
                    diagonal[i + 1] -= moved;
                    off[m] = 0;
                    break;
                }
                sine = f / h;
                cosine = g / h;
                g = diagonal[i + 1] - moved;
                const double t = (diagonal[i] - g) * sine + 2 * cosine * b;
                moved = sine * t;
                diagonal[i + 1] = g + moved;
                g = cosine * t - b;
                if (!Qt) continue;
                double *const x = Qt + i * ld, *const y = x + ld;
                for (int64_t j = 0; j < ld; j += W<double>) {
                    const Wide a = load(x + j), c = load(y + j);
                    store(y + j, sine * a + cosine * c);
                    store(x + j, cosine * a - sine * c);
                }
            }
            if (i >= l) continue;
            diagonal[l] -= moved;
            off[l] = g;
            off[m] = 0;
        }
}
