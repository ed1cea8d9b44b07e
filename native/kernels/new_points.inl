// New points of SNE and t-SNE, optimized with the embedding held fixed.

// L L' = A - shift I in the lower triangle of L; false if that is not positive definite.
inline bool cholesky(const double* A, int k, double shift, double* L) {
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++) {
            double s = A[i * k + j] - (i == j ? shift : 0);
            for (int m = 0; m < j; m++) s -= L[i * k + m] * L[j * k + m];
            if (i == j) {
                if (!(s > 0)) return false;
                L[i * k + i] = __builtin_sqrt(s);
            } else {
                L[i * k + j] = s / L[j * k + j];
            }
        }
    return true;
}

// From y to the one of the heaviest neighbors where the attraction is clearly lower, if there is
// one: neighbors in several clusters have a median that is near none of them.
template <int K>
inline INLINE void choose_start(const Neighborhood& near, int64_t count, int k, double* y,
                                double* other) {
    constexpr int MAX_TRIALS = 8;
    constexpr double CLEARLY_LESS = 1 - 1e-9;  // so that rounding does not decide
    double least = attraction_at<K>(near, k, y);
    int64_t last = -1;
    for (int tried = 0; tried < MAX_TRIALS && tried < count; tried++) {
        int64_t next = -1;  // the heaviest one not tried, the first among equals
        for (int64_t e = 0; e < count; e++) {
            const double w = near.p[e];
            const bool left = last < 0 || w < near.p[last] || (w == near.p[last] && e > last);
            if (left && (next < 0 || w > near.p[next])) next = e;
        }
        last = next;
        for (int c = 0; c < k; c++) other[c] = near.columns[c * near.padded + next];
        const double there = attraction_at<K>(near, k, other);
        if (there < CLEARLY_LESS * least) {
            least = there;
            for (int c = 0; c < k; c++) y[c] = other[c];
        }
    }
}

// Minimizes the loss of one new point: Newton steps where the Hessian is positive definite, else
// those of the attraction's majorizer; at most 1 long, halved until the loss decreases.
template <int K>
void optimize_new_point_in(const FixedEmbedding& fixed, const int32_t* near, const double* p,
                           int64_t count, double* y, double* work) {
    constexpr double VALUE_TOLERANCE = 1e-13;
    const int k = K ? K : fixed.k;
    const auto next = [&](int64_t size) {
        double* const part = work;
        work += (size + 7) / 8 * 8;
        return part;
    };
    Loss here{0, 0, next(k), next(k * k)}, there{0, 0, next(k), next(k * k)};
    double *const step = next(k), *const to = next(k), *const L = next(k * k);
    const int64_t padded = (count + W<double> - 1) / W<double> * W<double>;
    double *const columns = next(k * padded), *const weights = next(padded);
    for (int64_t e = 0; e < padded; e++) {
        weights[e] = e < count ? p[e] : 0;
        for (int c = 0; c < k; c++)
            columns[c * padded + e] = e < count ? fixed.rows[int64_t(near[e]) * k + c] : 0;
    }
    const Neighborhood neighbors{padded, columns, weights};
    if (fixed.choose_start) choose_start<K>(neighbors, count, k, y, to);
    loss_at<K>(fixed, neighbors, y, here, work);
    for (int it = 0; it < 200; it++) {
        for (int c = 0; c < k; c++) step[c] = -here.gradient[c] / here.curvature;
        if (cholesky(here.hessian, k, 1e-6 * here.curvature, L) &&
            cholesky(here.hessian, k, 0, L)) {
            for (int i = 0; i < k; i++) {
                double s = -here.gradient[i];
                for (int m = 0; m < i; m++) s -= L[i * k + m] * step[m];
                step[i] = s / L[i * k + i];
            }
            for (int i = k - 1; i >= 0; i--) {
                double s = step[i];
                for (int m = i + 1; m < k; m++) s -= L[m * k + i] * step[m];
                step[i] = s / L[i * k + i];
            }
        }
        double length = 0;
        for (int c = 0; c < k; c++) length += step[c] * step[c];
        length = __builtin_sqrt(length);
        const double size = here.value < 0 ? -here.value : here.value;
        const double bar = here.value + VALUE_TOLERANCE * (size > 1 ? size : 1);
        double share = length > 1 ? 1 / length : 1, moved = 0;
        for (double halves = 1;; halves /= 2) {
            if (!(halves > 1e-6)) return;
            moved = 0;
            for (int c = 0; c < k; c++) {
                double v = y[c] + share * halves * step[c];
                v = v < fixed.low[c] ? fixed.low[c] : v > fixed.high[c] ? fixed.high[c] : v;
                const double d = v < y[c] ? y[c] - v : v - y[c];
                moved = d > moved ? d : moved;
                to[c] = v;
            }
            loss_at<K>(fixed, neighbors, to, there, work);
            if (there.value <= bar) break;
        }
        for (int c = 0; c < k; c++) y[c] = to[c];
        const Loss old = here;
        here = there;
        there = old;
        if (moved < fixed.min_step) return;
    }
}
// work: new_point_scratch(k, count).
void optimize_new_point(const FixedEmbedding& fixed, const int32_t* near, const double* p,
                        int64_t count, double* y, double* work) {
    (fixed.k == 1   ? optimize_new_point_in<1>
     : fixed.k == 2 ? optimize_new_point_in<2>
     : fixed.k == 3 ? optimize_new_point_in<3>
                    : optimize_new_point_in<0>)(fixed, near, p, count, y, work);
}
