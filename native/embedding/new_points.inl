// New points of SNE and t-SNE, optimized with the embedding held fixed.

// The weighted median of few values, by comparing all of them with each other.
double weighted_median(double* x, const double* w, int64_t count, double share) {
    constexpr int L = W<double>, BATCH = 4;
    const int64_t padded = (count + BATCH * L - 1) / (BATCH * L) * (BATCH * L);
    double most = x[0];
    for (int64_t i = 1; i < count; i++) most = x[i] > most ? x[i] : most;
    for (int64_t i = count; i < padded; i++) x[i] = most;
    Wide found = spread(most);
    for (int64_t i = 0; i < padded; i += BATCH * L) {
        Wide value[BATCH], below[BATCH] = {};
        for (int v = 0; v < BATCH; v++) value[v] = load(x + i + v * L);
        for (int64_t j = 0; j < count; j++)
#pragma GCC unroll 4
            for (int v = 0; v < BATCH; v++)
                below[v] += spread(x[j]) <= value[v] ? spread(w[j]) : Wide{};
        for (int v = 0; v < BATCH; v++)
            found = below[v] >= share ? smaller(found, value[v]) : found;
    }
    for (int l = 0; l < L; l++) most = found[l] < most ? found[l] : most;
    return most;
}

// The loss of a new point of SNE and t-SNE, and its derivatives.

// Values and derivatives of the four cubic B-splines that are not 0 at fraction t of a cell.
template <class T>
inline INLINE void spline_derivatives(T t, T value[4], T slope[4], T second[4]) {
    const T u = 1 - t, sixth = T(1) / 6;
    value[0] = u * u * u * sixth;
    value[1] = ((3 * t - 6) * t * t + 4) * sixth;
    value[2] = ((3 * u - 6) * u * u + 4) * sixth;
    value[3] = t * t * t * sixth;
    slope[0] = T(-0.5) * u * u;
    slope[1] = (T(1.5) * t - 2) * t;
    slope[2] = (2 - T(1.5) * u) * u;
    slope[3] = T(0.5) * t * t;
    if (second) {
        second[0] = u;
        second[1] = 3 * t - 2;
        second[2] = 3 * u - 2;
        second[3] = t;
    }
}

// The loss of one new point, its gradient and its Hessian; curvature: of the attraction's
// majorizer.
struct Loss {
    double value, curvature;
    double* gradient;  // k entries
    double* hessian;  // k x k entries
};

// The potential on a grid and its derivatives, in one or two dimensions.
inline void grid_potential(const PotentialView& grid, const double* y, double* value, double* first,
                           double* second) {
    double tables[2][3][4] = {{{1}}, {{1}}};
    int64_t cell[2] = {0, 0};
    for (int c = 0; c < grid.k; c++) {
        const double last = double(grid.nodes[c] - 3);
        double at = (y[c] - grid.origin[c]) / grid.spacing;
        // NaN goes to the first cell, because it becomes an index.
        at = at > last ? last : at >= 1 ? at : 1;
        cell[c] = int64_t(at) < grid.nodes[c] - 4 ? int64_t(at) : grid.nodes[c] - 4;
        spline_derivatives(at - double(cell[c]), tables[c][0], tables[c][1], tables[c][2]);
        cell[c]--;
    }
    const double h = 1 / grid.spacing;
    double line[3][4] = {};  // sums over the last axis with its three tables
    const int rows = grid.k == 2 ? 4 : 1, last = grid.k - 1;
    for (int r = 0; r < rows; r++) {
        const float* const phi =
            grid.phi + (grid.k == 2 ? (cell[0] + r) * grid.nodes[1] : 0) + cell[last];
        for (int o = 0; o < 3; o++)
            for (int q = 0; q < 4; q++) line[o][r] += tables[last][o][q] * double(phi[q]);
    }
    if (grid.k == 1) {
        *value = line[0][0];
        first[0] = line[1][0] * h;
        second[0] = line[2][0] * h * h;
        return;
    }
    double sums[3][3] = {};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int r = 0; r < 4; r++) sums[a][b] += tables[0][a][r] * line[b][r];
    *value = sums[0][0];
    first[0] = sums[1][0] * h;
    first[1] = sums[0][1] * h;
    second[0] = sums[2][0] * h * h;
    second[1] = second[2] = sums[1][1] * h * h;
    second[3] = sums[0][2] * h * h;
}

// log of the sum of w over the embedding, its gradient and its Hessian. work: (1 + k + k k)
// vectors.
void log_potential(const FixedEmbedding& fixed, const double* y, double* value, double* gradient,
                   double* hessian, double* work) {
    const int k = fixed.k;
    if (fixed.potential.phi) {
        double phi;
        grid_potential(fixed.potential, y, &phi, gradient, hessian);
        for (int c = 0; c < k; c++) gradient[c] /= phi;
        for (int a = 0; a < k; a++)
            for (int b = 0; b < k; b++)
                hessian[a * k + b] = hessian[a * k + b] / phi - gradient[a] * gradient[b];
        *value = log(spread(phi))[0];
        return;
    }
    // 0: the sum; 1 .. k: first derivatives; from 1 + k: second ones.
    Wide* const sums = reinterpret_cast<Wide*>(work);
    for (int m = 0; m < 1 + k + k * k; m++) sums[m] = Wide{};
    double nearest = 0;
    if (!fixed.heavy) {
        Wide least = spread(__builtin_inf());
        for (int64_t j = 0; j < fixed.stride; j += W<double>) {
            Wide s = {};
            for (int c = 0; c < k; c++) {
                const Wide d = y[c] - load(fixed.columns + c * fixed.stride + j);
                s += d * d;
            }
            least = smaller(least, s);
        }
        nearest = least[0];
        for (int l = 1; l < W<double>; l++) nearest = least[l] < nearest ? least[l] : nearest;
    }
    Wide extra = {};  // the sum of w^2
    for (int64_t j = 0; j < fixed.stride; j += W<double>) {
        Wide s = {};
        for (int c = 0; c < k; c++) {
            const Wide d = y[c] - load(fixed.columns + c * fixed.stride + j);
            s += d * d;
        }
        const Wide w = fixed.heavy ? 1.0 / (1.0 + s) : exp<double>(nearest - s);
        const Wide w2 = fixed.heavy ? w * w : w, w3 = fixed.heavy ? w2 * w : w;
        sums[0] += w;
        extra += w2;
        for (int a = 0; a < k; a++) {
            const Wide da = y[a] - load(fixed.columns + a * fixed.stride + j);
            sums[1 + a] += w2 * da;
            const Wide wa = w3 * da;
            for (int b = 0; b <= a; b++)
                sums[1 + k + a * k + b] += wa * (y[b] - load(fixed.columns + b * fixed.stride + j));
        }
    }
    const double phi = total_of<double>(sums[0]), squares = total_of<double>(extra);
    for (int a = 0; a < k; a++) gradient[a] = -2 * total_of<double>(sums[1 + a]) / phi;
    for (int a = 0; a < k; a++)
        for (int b = 0; b <= a; b++) {
            const double part = total_of<double>(sums[1 + k + a * k + b]) / phi;
            const double own = a == b ? -2 * squares / phi : 0;
            const double h = (fixed.heavy ? 8 : 4) * part + own - gradient[a] * gradient[b];
            hessian[a * k + b] = hessian[b * k + a] = h;
        }
    *value = log(spread(phi))[0] - nearest;
}

// The neighbors of a new point, a column of `padded` entries per dimension, and their weights;
// those of padding are 0.
struct Neighborhood {
    int64_t padded;
    const double *columns, *p;
};

// K: the dimensions if they are known to the compiler, else 0. work: (3 + k + k k) vectors.
template <int K>
inline INLINE void loss_at(const FixedEmbedding& fixed, const Neighborhood& near, const double* y,
                           Loss& at, double* work) {
    const int k = K ? K : fixed.k;
    log_potential(fixed, y, &at.value, at.gradient, at.hessian, work);
    Wide value = {}, weight = {}, known[K ? K + K * K : 1];
    Wide* const first = K ? known : reinterpret_cast<Wide*>(work);
    Wide* const second = first + k;
    for (int m = 0; m < k + k * k; m++) first[m] = Wide{};
    for (int64_t j = 0; j < near.padded; j += W<double>) {
        const auto gap = [&](int c)
                             INLINE { return y[c] - load(near.columns + c * near.padded + j); };
        const Wide p = load(near.p + j);
        Wide s = {};
#pragma GCC unroll 3
        for (int c = 0; c < k; c++) s += gap(c) * gap(c);
        const Wide w = fixed.heavy ? 1.0 / (1.0 + s) : spread(1.0), pw = p * w;
        value += p * (fixed.heavy ? log(1.0 + s) : s);
        weight += pw;
#pragma GCC unroll 3
        for (int a = 0; a < k; a++) {
            const Wide force = pw * gap(a), second_force = force * w;
            first[a] += force;
            if (fixed.heavy)
#pragma GCC unroll 3
                for (int b = 0; b <= a; b++) second[a * k + b] += second_force * gap(b);
        }
    }
    at.value += total_of<double>(value);
    at.curvature = 2 * total_of<double>(weight);
    for (int a = 0; a < k; a++) {
        at.gradient[a] += 2 * total_of<double>(first[a]);
        at.hessian[a * k + a] += at.curvature;
        for (int b = 0; b <= a && fixed.heavy; b++) {
            const double h = at.hessian[a * k + b] - 4 * total_of<double>(second[a * k + b]);
            at.hessian[a * k + b] = at.hessian[b * k + a] = h;
        }
    }
}

// The attractive part of the loss, for heavy tails.
template <int K>
inline INLINE double attraction_at(const Neighborhood& near, int k, const double* y) {
    Wide value = {};
    for (int64_t j = 0; j < near.padded; j += W<double>) {
        Wide s = {};
#pragma GCC unroll 3
        for (int c = 0; c < (K ? K : k); c++) {
            const Wide gap = y[c] - load(near.columns + c * near.padded + j);
            s += gap * gap;
        }
        value += load(near.p + j) * log(1.0 + s);
    }
    return total_of<double>(value);
}

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

constexpr void fill_new_points(ForceKernels& table) {
    table.weighted_median = weighted_median;
    table.optimize_new_point = optimize_new_point;
}
