// Sums over listed points in float64: forces and loss of UMAP, and new points, optimized with the
// embedding held fixed.

// body(squares, weights, gap) for every vector of the listed pairs of point i; y by rows, weights
// beyond the last 0, gap(c) = y_j - y_i.
template <class F>
inline INLINE void for_each_pair(const double* y, int64_t stride, int k, int64_t i,
                                 const int32_t* ends, const double* p, int64_t count, F body) {
    constexpr int L = W<double>;
    const double* const mine = y + i * stride;
    for (int64_t e = 0; e < count; e += L) {
        const auto gap = [&](int c) INLINE {
            Wide v = {};
            for (int l = 0; l < L && e + l < count; l++)
                v[l] = y[int64_t(ends[e + l]) * stride + c] - mine[c];
            return v;
        };
        Wide s = {};
        for (int c = 0; c < k; c++) s += gap(c) * gap(c);
        body(s, load_part(p + e, count - e), gap);
    }
}
void attract64(const ForceLaw& given, const double* y, int k, int64_t i, const int32_t* ends,
               const double* p, int64_t count, double* f) {
    const Law<double> law(given);
    for (int c = 0; c < k; c++) f[c] = 0;
    for_each_pair(y, k, k, i, ends, p, count, [&](Wide s, Wide weight, auto gap) INLINE {
        const Wide factor = weight * law.attraction(s);
        for (int c = 0; c < k; c++) f[c] += total_of<double>(factor * gap(c));
    });
}
// The sum of p log(1 + a s^b) over the listed pairs of point i; y by rows.
double attractive_loss(const ForceLaw& given, const double* y, int64_t stride, int k, int64_t i,
                       const int32_t* ends, const double* p, int64_t count) {
    const Law<double> law(given);
    Wide sum = {};
    for_each_pair(y, stride, k, i, ends, p, count, [&](Wide s, Wide weight, auto) INLINE {
        sum += weight * log(1.0 + law.odds(s));
    });
    return total_of<double>(sum);
}

// Neighbors of a new point, a column of `padded` entries per dimension; weights of padding are 0.
// f = sum_j p_j g_a (y_j - y); returns sum_j p_j g_a.
template <int K>
inline INLINE double attraction_of_neighbors(const Law<double>& law, const Neighborhood& near,
                                             int k, const double* y, double* f, double* work) {
    Wide known[K ? K : 1], total_weight = {};
    Wide* const sum = K ? known : reinterpret_cast<Wide*>(work);
    for (int c = 0; c < k; c++) sum[c] = Wide{};
    for (int64_t j = 0; j < near.padded; j += W<double>) {
        const auto gap = [&](int c)
                             INLINE { return load(near.columns + c * near.padded + j) - y[c]; };
        Wide s = {};
        for (int c = 0; c < k; c++) s += gap(c) * gap(c);
        const Wide factor = load(near.p + j) * law.attraction(s);
        total_weight += factor;
        for (int c = 0; c < k; c++) sum[c] += factor * gap(c);
    }
    for (int c = 0; c < k; c++) f[c] = total_of<double>(sum[c]);
    return total_of<double>(total_weight);
}

template <int K>
void layout_point_in(const FixedLayout& fixed, const int32_t* near, const double* p, int64_t count,
                     double* y, double* work) {
    constexpr double MAX_STEP_LENGTH = 1;
    // The step is shorter where the force rises faster than the distance.
    const double share = fixed.share / (fixed.law.b > 1 ? 2 * fixed.law.b - 1 : 1);
    const Law<double> law(fixed.law);
    const int k = K ? K : fixed.k;
    const int64_t padded = (count + W<double> - 1) / W<double> * W<double>;
    const auto next = [&](int64_t size) {
        double* const part = work;
        work += (size + 7) / 8 * 8;
        return part;
    };
    double *const columns = next(k * padded), *const weights = next(padded), *const f = next(k),
                  *const slope = next(4);
    for (int64_t e = 0; e < padded; e++) {
        weights[e] = e < count ? p[e] : 0;
        for (int c = 0; c < k; c++)
            columns[c * padded + e] = fixed.rows[int64_t(near[e < count ? e : 0]) * k + c];
    }
    const Neighborhood neighbors{padded, columns, weights};
    for (int c = 0; c < k; c++) {
        y[c] = 0;
        for (int64_t e = 0; e < count; e++) y[c] += weights[e] * columns[c * padded + e];
    }
    for (int it = 0; it < fixed.steps; it++) {
        const double total_weight = attraction_of_neighbors<K>(law, neighbors, k, y, f, work);
        if (!(total_weight > 0)) return;
        if (fixed.potential.phi) {
            double value, second[4];
            grid_potential(fixed.potential, y, &value, slope, second);
            for (int c = 0; c < k; c++) f[c] -= fixed.repulsion * slope[c];
        } else {
            repel_in<K>(law, fixed.repelling, y, k, 0.5 * fixed.repulsion, f);
        }
        double length = 0;
        for (int c = 0; c < k; c++) {
            f[c] *= share / total_weight;
            length += f[c] * f[c];
        }
        const double shrink =
            length > MAX_STEP_LENGTH ? MAX_STEP_LENGTH / __builtin_sqrt(length) : 1;
        for (int c = 0; c < k; c++) y[c] += shrink * f[c];
    }
}
// work: layout_scratch(k, count).
void layout_point(const FixedLayout& fixed, const int32_t* near, const double* p, int64_t count,
                  double* y, double* work) {
    (fixed.k == 1   ? layout_point_in<1>
     : fixed.k == 2 ? layout_point_in<2>
     : fixed.k == 3 ? layout_point_in<3>
                    : layout_point_in<0>)(fixed, near, p, count, y, work);
}

constexpr void fill_layout(LayoutKernels& table) {
    table.bandwidth = bandwidth;
    table.memberships = memberships;
    table.attract = layout_attract;
    table.attract64 = attract64;
    table.repel32 = layout_repel<float>;
    table.repel64 = layout_repel<double>;
    table.density_sums = density_sums;
    table.density = density;
    table.momentum_step = momentum_step;
    table.attractive_loss = attractive_loss;
    table.new_point = layout_point;
}
