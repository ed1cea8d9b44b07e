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
