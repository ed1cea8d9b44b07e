// Small fits to the neighbors of a point: the eigenproblem of a small matrix, patches, barycentric
// weights and alignment matrices.

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

// A patch, a point and its neighbors, as rows in float64: its Gram matrix, spectrum and left
// singular vectors. Every patch is treated by itself.

// The workspace of a patch: parts of one block of memory, see patch_scratch.
struct PatchWorkspace {
    int size;  // p, the number of rows
    int64_t cols, ld, ldp;  // entries of a row and of a vector with one entry per row, padded
    int small;  // the smaller of p and cols: the side of the Gram matrix
    int64_t lds;
    double *rows, *gram, *vectors, *values, *off, *spare, *weights, *ones;

    PatchWorkspace(int p, int64_t d, double* memory)
        : size(p),
          cols(d),
          ld(round_up(d, ALIGNMENT)),
          ldp(round_up(p, ALIGNMENT)),
          small(p < d ? p : int(d)),
          lds(round_up(small, ALIGNMENT)) {
        const auto take = [&](int64_t count) { return memory += count, memory - count; };
        rows = take(p * ld);
        gram = take(ldp * ldp);
        vectors = take(ldp * ldp);
        values = take(ldp);
        off = take(ldp);
        spare = take(ldp > ld ? ldp : ld);
        weights = take(ldp);
        ones = take(ldp);
        for (int64_t i = 0; i < ldp; i++) ones[i] = i < p ? 1 : 0;
    }
};

// Rows of a patch minus an origin, in float64. Halves never overflow, and a power of two brings the
// largest entry near 1: squares are safe for any finite data.
template <class T>
void load_rows(PatchWorkspace& b, const T* x, int64_t stride, const int32_t* members,
               const T* origin) {
    for (int i = 0; i < b.size; i++) {
        const T* const from = x + members[i] * stride;
        double* const to = b.rows + i * b.ld;
        for (int64_t j = 0; j < b.cols; j++)
            to[j] = 0.5 * double(from[j]) - 0.5 * double(origin[j]);
        clear(to + b.cols, b.ld - b.cols);
    }
    Wide sizes = {};
    for (int64_t i = 0; i < b.size * b.ld; i += W<double>)
        sizes = larger(magnitude<double>(load(b.rows + i)), sizes);
    double most = 0;
    for (int l = 0; l < W<double>; l++) most = sizes[l] > most ? sizes[l] : most;
    if (most == 0) return;
    const int power = -__builtin_ilogb(most);
    const double factor = __builtin_ldexp(1.0, power < 1000 ? power : 1000);
    scale(factor, b.rows, b.size * b.ld);
}
inline void center_rows(PatchWorkspace& b) {
    clear(b.spare, b.ld);
    for (int i = 0; i < b.size; i++) add(1, b.rows + i * b.ld, b.spare, b.ld);
    for (int i = 0; i < b.size; i++) add(-1.0 / b.size, b.spare, b.rows + i * b.ld, b.ld);
}

// Products of all pairs of rows, four at a time: one sum alone would wait for each addition.
inline void row_products(PatchWorkspace& b) {
    constexpr int ROWS_AT_ONCE = 4;
    clear(b.gram, b.size * b.ldp);
    for (int i = 0; i < b.size; i++)
        for (int j = 0; j <= i; j += ROWS_AT_ONCE) {
            const double *row = b.rows + i * b.ld, *other[ROWS_AT_ONCE];
            for (int l = 0; l < ROWS_AT_ONCE; l++) other[l] = b.rows + least(j + l, i) * b.ld;
            Wide sum[ROWS_AT_ONCE] = {};
            for (int64_t c = 0; c < b.ld; c += W<double>)
#pragma GCC unroll 4
                for (int l = 0; l < ROWS_AT_ONCE; l++) sum[l] += load(row + c) * load(other[l] + c);
            for (int l = 0; l < ROWS_AT_ONCE && j + l <= i; l++)
                b.gram[i * b.ldp + j + l] = b.gram[(j + l) * b.ldp + i] = total_of<double>(sum[l]);
        }
}
// The Gram matrix of rows or of columns, whichever is smaller.
inline void gram_matrix(PatchWorkspace& b) {
    if (b.small == b.size) return row_products(b);
    clear(b.gram, b.small * b.lds);
    for (int i = 0; i < b.size; i++) {
        const double* const row = b.rows + i * b.ld;
        for (int j = 0; j < b.small; j++) add(row[j], row, b.gram + j * b.lds, b.lds);
    }
}

// Eigenvalues of the n x n matrix in `gram`, largest first and not below 0; rows of `vectors` (if
// wanted) are the eigenvectors. Returns how many are more than rounding.
inline int spectrum(PatchWorkspace& b, int n, int64_t ld, bool with_vectors) {
    constexpr double RANK_TOLERANCE = 1e-13;
    double* const Qt = with_vectors ? b.vectors : nullptr;
    tridiagonalize(b.gram, n, ld, b.values, b.off, Qt, b.spare);
    tridiagonal_eigenvalues(b.values, b.off, n, Qt, ld);
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int j = i + 1; j < n; j++)
            if (b.values[j] > b.values[best]) best = j;
        const double value = b.values[best];
        b.values[best] = b.values[i];
        b.values[i] = value > 0 ? value : 0;
        if (Qt && best != i)
            for (int64_t j = 0; j < ld; j++) {
                const double t = Qt[best * ld + j];
                Qt[best * ld + j] = Qt[i * ld + j];
                Qt[i * ld + j] = t;
            }
    }
    int rank = 0;
    while (rank < n && b.values[rank] > RANK_TOLERANCE * b.values[0]) rank++;
    return rank;
}

// Subtracts from `v` its projections on some unit vectors, twice (once leaves rounding errors that
// grow with what was subtracted), and normalizes it, or clears it if `enough` is not left.
inline bool orthonormalize(double* v, const double* basis, int count, int64_t ld, double enough) {
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < count; l++) add(-dot(v, basis + l * ld, ld), basis + l * ld, v, ld);
    const double length = root(dot(v, v, ld));
    if (!(length > enough)) {
        clear(v, ld);
        return false;
    }
    scale(1 / length, v, ld);
    return true;
}

// The first `wanted` left singular vectors of the rows, as rows of `basis` after the `count` that
// are there. Eigenvectors of the Gram matrix have errors relative to the largest value; one more
// product and a Gram-Schmidt pass leave only those relative to their own.
inline void left_vectors(PatchWorkspace& b, int wanted, double* basis, int count) {
    for (int l = 0; l < wanted; l++) {
        double* const u = basis + (count + l) * b.ldp;
        const double* v = b.vectors + l * b.lds;
        if (b.small == b.size) {
            clear(b.spare, b.ld);
            for (int i = 0; i < b.size; i++) add(v[i], b.rows + i * b.ld, b.spare, b.ld);
            v = b.spare;
        }
        clear(u, b.ldp);
        for (int i = 0; i < b.size; i++) u[i] = dot(b.rows + i * b.ld, v, b.ld);
        orthonormalize(u, basis, count + l, b.ldp, 0);
    }
}

// Barycentric weights: those that sum to 1 and reconstruct a point from its neighbors.

// The solution of (C + shift I) w = 1 by eigenvectors; without a shift its limit: the
// minimum-norm weights that reconstruct best.
inline void weights_by_spectrum(PatchWorkspace& b, double shift) {
    const int p = b.size, rank = spectrum(b, p, b.ldp, true);
    double* const w = b.weights;
    clear(w, b.ldp);
    if (shift == 0) {
        add(1, b.ones, w, b.ldp);
        for (int l = 0; l < rank; l++) {
            const double* const v = b.vectors + l * b.ldp;
            add(-dot(w, v, b.ldp), v, w, b.ldp);
        }
        if (dot(w, w, b.ldp) > 1e-12 * p) return;  // the weights reconstruct without error
        clear(w, b.ldp);
    }
    for (int l = 0; l < (shift == 0 ? rank : p); l++) {
        const double* const v = b.vectors + l * b.ldp;
        add(dot(b.ones, v, b.ldp) / (b.values[l] + shift), v, w, b.ldp);
    }
}

// C + shift I = U'U in the memory of the eigenvectors, then U'U w = 1. False if C is not positive
// enough.
inline bool weights_by_cholesky(PatchWorkspace& b, double shift, double least) {
    const int p = b.size;
    double *const C = b.vectors, *const w = b.weights;
    for (int64_t i = 0; i < p * b.ldp; i++) C[i] = b.gram[i];
    clear(w, b.ldp);
    for (int j = 0; j < p; j++) {
        double* const row = C + j * b.ldp;
        const double pivot = row[j] + shift;
        if (!(pivot > least)) return false;
        const double inverse = 1 / root(pivot);
        const int64_t from = j / ALIGNMENT * ALIGNMENT;
        row[j] = pivot;
        for (int64_t i = from; i < j; i++) row[i] = 0;
        scale(inverse, row + from, b.ldp - from);
        for (int i = j + 1; i < p; i++) {
            const int64_t at = i / ALIGNMENT * ALIGNMENT;
            add(-row[i], row + at, C + i * b.ldp + at, b.ldp - at);
        }
        // Forward substitution: w holds the known part of the right-hand side.
        w[j] = (1 - w[j]) / row[j];
        const double known = w[j];
        for (int i = j + 1; i < p; i++) w[i] += known * row[i];
    }
    for (int j = p - 1; j >= 0; j--) {
        const double* const row = C + j * b.ldp;
        double sum = w[j];
        for (int i = j + 1; i < p; i++) sum -= row[i] * w[i];
        w[j] = sum / row[j];
    }
    return true;
}

// The rows of the workspace are differences from the point to reconstruct.
inline void solve_weights(PatchWorkspace& b, double reg) {
    const int p = b.size;
    row_products(b);
    double trace = 0;
    for (int i = 0; i < p; i++) trace += b.gram[i * b.ldp + i];
    if (trace > 0) {
        const double shift = reg * trace;
        if (reg == 0 || !weights_by_cholesky(b, shift, 1e-14 * trace))
            weights_by_spectrum(b, shift);
    } else {
        clear(b.weights, b.ldp);
        add(1, b.ones, b.weights, b.ldp);
    }
    const double total = dot(b.weights, b.ones, b.ldp);
    for (int i = 0; i < p; i++) b.weights[i] /= total;
}

template <class T>
void barycenter(const T* q, const T* x, int64_t stride, int64_t cols, const int32_t* near,
                int count, double reg, double* scratch, double* weights) {
    if (count == 0) return;
    PatchWorkspace b(count, cols, scratch);
    load_rows(b, x, stride, near, q);
    solve_weights(b, reg);
    for (int i = 0; i < count; i++) weights[i] = b.weights[i];
}

// Factors of one patch's share of an alignment matrix (LTSA, Hessian and modified LLE), and the sum
// over patches.

// Leaves the eigenvalues of a patch around its last member, largest first, in `values`.
template <class T>
int patch_eigenvalues(const T* x, int64_t stride, int64_t cols, const int32_t* members, int count,
                      double* scratch, double* values) {
    PatchWorkspace b(count - 1, cols, scratch);
    load_rows(b, x, stride, members, x + members[count - 1] * stride);
    gram_matrix(b);
    spectrum(b, b.small, b.lds, false);
    for (int i = 0; i < b.small; i++) values[i] = b.values[i];
    return b.small;
}

// F = [1, tangent coordinates]: subtracted from the identity.
template <class T>
void patch_ltsa(const T* x, int64_t stride, int64_t cols, const int32_t* members, int count, int k,
                double* scratch, double* factors) {
    PatchWorkspace b(count, cols, scratch);
    load_rows(b, x, stride, members, x + members[0] * stride);
    center_rows(b);
    gram_matrix(b);
    const int rank = spectrum(b, b.small, b.lds, true);
    clear(factors, (1 + k) * b.ldp);
    add(1 / root(double(count)), b.ones, factors, b.ldp);
    left_vectors(b, least(k, rank), factors, 1);
}

// H = the products of tangent coordinates, made orthogonal to G = [1, tangent coordinates] and to
// each other. A linearly dependent product carries no curvature: it is dropped. Their orthogonal
// complement counts `remainder` times: H H' + remainder (I - G G' - H H') has the factors sqrt(1 -
// remainder) H, and sqrt(remainder) G to be subtracted from remainder I.
template <class T>
void patch_hessian(const T* x, int64_t stride, int64_t cols, const int32_t* members, int count,
                   int k, double remainder, double* scratch, double* basis, double* factors) {
    patch_ltsa(x, stride, cols, members, count, k, scratch, basis);
    const int64_t ld = round_up(count, ALIGNMENT);
    int known = 1 + k;
    for (int a = 0; a < k; a++)
        for (int c = a; c < k; c++, known++) {
            double *const v = basis + known * ld, *const u = basis + (1 + a) * ld,
                          *const t = basis + (1 + c) * ld;
            for (int64_t i = 0; i < ld; i++) v[i] = u[i] * t[i];
            orthonormalize(v, basis, known, ld, 1e-10 * root(dot(v, v, ld)));
        }
    const int64_t first = (1 + k) * ld, products = known * ld - first;
    const double curved = root(1 - remainder), straight = root(remainder);
    for (int64_t i = 0; i < products; i++) factors[i] = curved * basis[first + i];
    if (remainder > 0)
        for (int64_t i = 0; i < first; i++) factors[products + i] = straight * basis[i];
}

// With V the eigenvectors that are not taken, s of them, and W = (1 - a) w 1' + V H (H a
// reflection), F = [W; -1'] has F F' = s t t' - q q' / s + V V', q = V H 1 = V V' 1 / a and t =
// [(1 - a) w + q / s; -1]: no basis V is needed. Factors: sqrt(s) t, q / sqrt(s), and the
// eigenvectors taken. Where a = 0 the sign of q is free; then the mean over both is used: q = 0.
template <class T>
void patch_modified(const T* x, int64_t stride, int64_t cols, const int32_t* members, int count,
                    int taken, double reg, double* scratch, double* factors) {
    const int p = count - 1;
    const int64_t ld = round_up(count, ALIGNMENT);
    PatchWorkspace b(p, cols, scratch);
    clear(factors, (2 + taken) * ld);
    load_rows(b, x, stride, members, x + members[p] * stride);
    solve_weights(b, reg);
    gram_matrix(b);
    taken = least(taken, spectrum(b, b.small, b.lds, true));
    left_vectors(b, taken, b.gram, 0);
    double* const u = b.spare;
    clear(u, b.ldp);
    add(1, b.ones, u, b.ldp);
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < taken; l++)
            add(-dot(u, b.gram + l * b.ldp, b.ldp), b.gram + l * b.ldp, u, b.ldp);
    const double s = p - taken, a = s > 0 ? root(dot(u, u, b.ldp) / s) : 0;
    double *const t = factors, *const q = factors + ld;
    for (int i = 0; i < p; i++) {
        const double along = a > 1e-12 ? u[i] / a : 0;
        t[i] = root(s) * ((1 - a) * b.weights[i] + along / s);
        q[i] = along / root(s);
        for (int l = 0; l < taken; l++) factors[(2 + l) * ld + i] = b.gram[l * b.ldp + i];
    }
    t[p] = -root(s);
}

// Rows first .. last of the sum: `sum` has one entry per column and is zero before and after.
inline void assemble(const PatchSum& patches, int64_t first, int64_t last, const int64_t* indptr,
                     const int32_t* columns, double* values, double* line, double* sum) {
    for (int64_t row = first; row < last; row++) {
        for (int64_t h = patches.membership_indptr[row]; h < patches.membership_indptr[row + 1];
             h++) {
            const Membership here = patches.memberships[h];
            const int64_t begin = patches.indptr[here.patch];
            const int count = int(patches.indptr[here.patch + 1] - begin);
            const int64_t ld = round_up(count, ALIGNMENT);
            const double* f = patches.factors + patches.offsets[here.patch];
            const int64_t factors =
                (patches.offsets[here.patch + 1] - patches.offsets[here.patch]) / ld;
            const double weight = patches.counts[here.patch];
            clear(line, ld);
            for (int l = 0; l < factors; l++, f += ld)
                add(l < patches.added ? f[here.slot] : -f[here.slot], f, line, ld);
            if (here.slot < count - patches.excluded) line[here.slot] += patches.identity;
            const int32_t* const members = patches.members + begin;
            for (int i = 0; i < count; i++) sum[members[i]] += weight * line[i];
        }
        for (int64_t e = indptr[row]; e < indptr[row + 1]; e++) {
            values[e] = sum[columns[e]];
            sum[columns[e]] = 0;
        }
    }
}

template <class T>
constexpr void fill_patches(PatchKernels<T>& table) {
    table.barycenter = barycenter<T>;
    table.patch_eigenvalues = patch_eigenvalues<T>;
    table.patch_ltsa = patch_ltsa<T>;
    table.patch_hessian = patch_hessian<T>;
    table.patch_modified = patch_modified<T>;
}
constexpr void fill_alignment(SparseKernels& table) { table.assemble = assemble; }
