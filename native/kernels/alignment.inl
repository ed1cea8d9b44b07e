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
