// Sums over all pairs, attractive forces along edges, and the cross term of the KL divergence.

// Of point i: z = sum_j w_ij, r = sum_j (y_i - y_j) times w^2 (heavy tails) or w scale_j (scale may
// be null). y: a column of `stride` entries per dimension, padded by points far out.
void pair_sums(const double* y, int64_t stride, int k, bool heavy, const double* scale, int64_t i,
               double* z, double* r) {
    constexpr int MAX_IN_REGISTERS = 4;  // dimensions up to which sums stay in registers
    Wide sum = {}, force[MAX_IN_REGISTERS] = {};
    const auto weight = [&](int64_t j) INLINE {
        Wide s = {};
        for (int c = 0; c < k; c++) {
            const Wide d = y[c * stride + i] - load(y + c * stride + j);
            s += d * d;
        }
        Wide w = heavy ? 1.0 / (1.0 + s) : exp<double>(-s);
        if (i >= j && i < j + W<double>) w[i - j] = 0;
        return w;
    };
    for (int c = 0; c < k; c += MAX_IN_REGISTERS) {
        const int some = k - c < MAX_IN_REGISTERS ? k - c : MAX_IN_REGISTERS;
        for (int b = 0; b < MAX_IN_REGISTERS; b++) force[b] = Wide{};
        for (int64_t j = 0; j < stride; j += W<double>) {
            Wide w = weight(j);
            if (c == 0) sum += w;
            w = heavy ? w * w : scale ? w * load(scale + j) : w;
            for (int b = 0; b < some; b++)
                force[b] += w * (y[(c + b) * stride + i] - load(y + (c + b) * stride + j));
        }
        for (int b = 0; b < some; b++) r[c + b] = total_of<double>(force[b]);
    }
    *z = total_of<double>(sum);
}

// a = sum_j p_ij (y_i - y_j), times w_ij for heavy tails; y by rows.
void attraction(const double* y, int k, bool heavy, int64_t i, const int32_t* ends, const double* p,
                int64_t count, double* a) {
    const double* const mine = y + i * k;
    for (int c = 0; c < k; c++) a[c] = 0;
    for (int64_t e = 0; e < count; e++) {
        const double* const other = y + int64_t(ends[e]) * k;
        double s = 0;
        for (int c = 0; c < k; c++) s += (mine[c] - other[c]) * (mine[c] - other[c]);
        const double w = heavy ? p[e] / (1 + s) : p[e];
        for (int c = 0; c < k; c++) a[c] += w * (mine[c] - other[c]);
    }
}

// The cross term, the sum of p log(p / w), over the listed pairs of point i; y by rows.
double cross_term(const double* y, int64_t stride, int k, bool heavy, int64_t i,
                  const int32_t* ends, const double* p, int64_t count) {
    constexpr int L = W<double>;
    const double* const mine = y + i * stride;
    Wide sum = {};
    for (int64_t e = 0; e < count; e += L) {
        Wide probability = {}, s = {};
        for (int l = 0; l < L && e + l < count; l++) {
            const double* const other = y + int64_t(ends[e + l]) * stride;
            double square = 0;
            for (int c = 0; c < k; c++) square += (mine[c] - other[c]) * (mine[c] - other[c]);
            probability[l] = p[e + l];
            s[l] = square;
        }
        const auto some = probability > 0x1p-1000;  // a smaller one adds nothing
        const Wide known = some ? probability : spread(1.0);
        const Wide log_ratio = heavy ? log(known * (1.0 + s)) : log(known) + s;
        sum += some ? probability * log_ratio : Wide{};
    }
    return total_of<double>(sum);
}
