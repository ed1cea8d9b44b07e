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
