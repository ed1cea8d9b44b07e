// Neighbor embedding: perplexities, sums over all pairs, attraction, steps, resting places.

// p = exp(-beta d^2) / sum of a list, with the entropy `target`; returns beta. gaps and there:
// scratch of round_up(count, W). Newton's method on log(beta); a step that does not halve the error
// is followed by a bisection, because Newton's steps inside a bracket go round in circles on some
// rows.
double perplexity(const double* squares, int64_t count, double target, double* gaps, double* there,
                  double* p) {
    constexpr double CLOSE = 1e-12, FAR = 700;
    const int64_t padded = (count + W<double> - 1) / W<double> * W<double>;
    double least = squares[0], scale = 0;
    for (int64_t j = 1; j < count; j++) least = squares[j] < least ? squares[j] : least;
    for (int64_t j = 0; j < padded; j++) {
        gaps[j] = j < count ? squares[j] - least : 0;
        there[j] = j < count ? 1 : 0;
        scale += gaps[j];
    }
    scale /= double(count);
    if (!(scale > 0)) {
        for (int64_t j = 0; j < count; j++) p[j] = 1 / double(count);
        return 0;
    }
    for (int64_t j = 0; j < count; j++) gaps[j] /= scale;
    double x = 0, low = -FAR, high = FAR, last = __builtin_inf(), sum = 1, beta = 1;
    for (int it = 0; it < 200; it++) {
        beta = exp<double>(spread(x))[0];
        Wide s = {}, sd = {}, sdd = {};
        for (int64_t j = 0; j < padded; j += W<double>) {
            const Wide d = load(gaps + j), e = exp<double>(-beta * d) * load(there + j), ed = e * d;
            s += e;
            sd += ed;
            sdd += ed * d;
        }
        sum = total_of<double>(s);
        const double mean = total_of<double>(sd) / sum;
        const double excess = log(spread(sum))[0] + beta * mean - target;
        const double error = excess < 0 ? -excess : excess;
        if (error <= CLOSE || high - low < CLOSE) break;
        (excess > 0 ? low : high) = x;
        const double slope = beta * beta * (total_of<double>(sdd) / sum - mean * mean);
        double next = slope > 0 ? x + excess / slope : excess > 0 ? x + 2 : x - 2;
        next = next < x - 2 ? x - 2 : next > x + 2 ? x + 2 : next;
        if (!(low < next && next < high && error < 0.5 * last)) {
            if (high == FAR)
                next = x + 1 < FAR ? x + 1 : FAR;
            else if (low == -FAR)
                next = x - 1 > -FAR ? x - 1 : -FAR;
            else
                next = 0.5 * (low + high);
        }
        x = next;
        last = error;
    }
    for (int64_t j = 0; j < padded; j += W<double>) {
        const Wide e = exp<double>(-beta * load(gaps + j)) / sum;
        store_part(p + j, e, count - j);
    }
    return beta / scale;
}

// Of point i: z = sum_j w_ij, r = sum_j (y_i - y_j) times w^2 (heavy tails) or w scale_j (scale may
// be null). y: a column of `stride` entries per dimension, padded by points far out.
void pair_sums(const double* y, int64_t stride, int k, bool heavy, const double* scale, int64_t i,
               double* z, double* r) {
    constexpr int MOST = 4;  // dimensions in registers
    Wide sum = {}, push[MOST] = {};
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
    for (int c = 0; c < k; c += MOST) {
        const int some = k - c < MOST ? k - c : MOST;
        for (int b = 0; b < MOST; b++) push[b] = Wide{};
        for (int64_t j = 0; j < stride; j += W<double>) {
            Wide w = weight(j);
            if (c == 0) sum += w;
            w = heavy ? w * w : scale ? w * load(scale + j) : w;
            for (int b = 0; b < some; b++)
                push[b] += w * (y[(c + b) * stride + i] - load(y + (c + b) * stride + j));
        }
        for (int b = 0; b < some; b++) r[c + b] = total_of<double>(push[b]);
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

// The sum of p log(p / w) over the listed pairs of point i; y by rows.
double surprise(const double* y, int64_t stride, int k, bool heavy, int64_t i, const int32_t* ends,
                const double* p, int64_t count) {
    constexpr int L = W<double>;
    const double* const mine = y + i * stride;
    Wide sum = {};
    for (int64_t e = 0; e < count; e += L) {
        Wide chance = {}, s = {};
        for (int l = 0; l < L && e + l < count; l++) {
            const double* const other = y + int64_t(ends[e + l]) * stride;
            double square = 0;
            for (int c = 0; c < k; c++) square += (mine[c] - other[c]) * (mine[c] - other[c]);
            chance[l] = p[e + l];
            s[l] = square;
        }
        const auto some = chance > 0x1p-1000;  // of less than that nothing is left
        const Wide known = some ? chance : spread(1.0);
        const Wide told = heavy ? log(known * (1.0 + s)) : log(known) + s;
        sum += some ? chance * told : Wide{};
    }
    return total_of<double>(sum);
}

// A step of at most 5 for each point, by momentum and gains; returns the sum of its squares.
constexpr int LONGEST = 5;
template <class T>
inline INLINE Vec<T> velocity_of(Vec<T> force, Vec<T> velocity, Vec<T>& gain, T momentum, T rate) {
    constexpr T LARGE = T(1e15);  // whose square is a number
    gain = larger(force * velocity <= T(0) ? gain + T(0.2) : gain * T(0.8), spread(T(0.01)));
    const Vec<T> v = momentum * velocity - rate * gain * force;
    return larger(smaller(v, spread(LARGE)), spread(-LARGE));
}
// K coordinates of a point lie side by side.
template <int K, class T>
inline INLINE Vec<T> squares_of(Vec<T> v) {
    constexpr auto lanes = std::make_index_sequence<W<T>>();
    v *= v;
    if constexpr (K >= 2) v += crossed<1>(v, v, lanes);
    if constexpr (K >= 4) v += crossed<2>(v, v, lanes);
    return v;
}
template <class T>
inline INLINE Vec<T> roots_of(Vec<T> v) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
        return _mm512_maskz_sqrt_ps(0xffff, v);
    else
        return _mm512_maskz_sqrt_pd(0xff, v);
#else
    for (int l = 0; l < W<T>; l++) v[l] = T(__builtin_sqrt(v[l]));
    return v;
#endif
}
template <int K, class T>
double advance_in(int64_t count, T momentum, T rate, const T* force, T* y, T* velocity, T* gain) {
    Wide moved = {};
    for (int64_t i = 0; i < count; i += W<T>) {
        const int64_t left = count - i;
        Vec<T> g = load_part(gain + i, left);
        Vec<T> v = velocity_of<T>(load_part(force + i, left), load_part(velocity + i, left), g,
                                  momentum, rate);
        // A short step is shrunk by 5 / 5.
        v *= T(LONGEST) / roots_of<T>(larger(squares_of<K, T>(v), spread(T(LONGEST * LONGEST))));
        store_part(gain + i, g, left);
        store_part(velocity + i, v, left);
        store_part(y + i, load_part(y + i, left) + v, left);
        if (left < W<T>)
            for (int l = int(left); l < W<T>; l++) v[l] = 0;
        v *= v;
        moved += widen<0>(v);
        if constexpr (PARTS<T> == 2) moved += widen<1>(v);
    }
    return total_of<double>(moved);
}
template <class T>
double advance(int64_t points, int k, T momentum, T rate, const T* force, T* y, T* velocity,
               T* gain) {
    if (k == 1) return advance_in<1>(points, momentum, rate, force, y, velocity, gain);
    if (k == 2) return advance_in<2>(2 * points, momentum, rate, force, y, velocity, gain);
    if constexpr (W<T> >= 4)
        if (k == 4) return advance_in<4>(4 * points, momentum, rate, force, y, velocity, gain);
    double moved = 0;
    for (int64_t i = 0; i < points; i++, force += k, y += k, velocity += k, gain += k) {
        T s = 0;
        for (int c = 0; c < k; c++) {
            Vec<T> g = spread(gain[c]);
            const T v = velocity_of<T>(spread(force[c]), spread(velocity[c]), g, momentum, rate)[0];
            gain[c] = g[0];
            velocity[c] = v;
            s += v * v;
        }
        const T shrink = s > T(LONGEST * LONGEST) ? T(LONGEST) / T(__builtin_sqrt(s)) : T(1);
        for (int c = 0; c < k; c++) y[c] += velocity[c] *= shrink;
        moved += double(s * shrink * shrink);
    }
    return moved;
}

// ---- Resting places ----

// Values, slopes and curvatures of the four cubic B-splines that reach fraction t of a cell.
template <class T>
inline INLINE void splines(T t, T value[4], T slope[4], T bend[4]) {
    const T u = 1 - t, sixth = T(1) / 6;
    value[0] = u * u * u * sixth;
    value[1] = ((3 * t - 6) * t * t + 4) * sixth;
    value[2] = ((3 * u - 6) * u * u + 4) * sixth;
    value[3] = t * t * t * sixth;
    slope[0] = T(-0.5) * u * u;
    slope[1] = (T(1.5) * t - 2) * t;
    slope[2] = (2 - T(1.5) * u) * u;
    slope[3] = T(0.5) * t * t;
    if (bend) {
        bend[0] = u;
        bend[1] = 3 * t - 2;
        bend[2] = 3 * u - 2;
        bend[3] = t;
    }
}

// What a new point goes down, and how steep it is: see `settle`. One object per thread.
struct Slope {
    double height, curvature;
    double* gradient;  // k
    double* hessian;  // k x k
};

// The potential of a mesh and its derivatives, in one or two dimensions.
inline void mesh_field(const MeshView& mesh, const double* y, double* value, double* first,
                       double* second) {
    double tables[2][3][4] = {{{1}}, {{1}}};
    int64_t cell[2] = {0, 0};
    for (int c = 0; c < mesh.k; c++) {
        const double last = double(mesh.nodes[c] - 3);
        double at = (y[c] - mesh.origin[c]) / mesh.spacing;
        at = at < 1 ? 1 : at > last ? last : at;
        cell[c] = int64_t(at) < mesh.nodes[c] - 4 ? int64_t(at) : mesh.nodes[c] - 4;
        splines(at - double(cell[c]), tables[c][0], tables[c][1], tables[c][2]);
        cell[c]--;
    }
    const double h = 1 / mesh.spacing;
    double line[3][4] = {};  // the last axis, summed with its three tables
    const int rows = mesh.k == 2 ? 4 : 1, last = mesh.k - 1;
    for (int r = 0; r < rows; r++) {
        const float* const phi =
            mesh.phi + (mesh.k == 2 ? (cell[0] + r) * mesh.nodes[1] : 0) + cell[last];
        for (int o = 0; o < 3; o++)
            for (int q = 0; q < 4; q++) line[o][r] += tables[last][o][q] * double(phi[q]);
    }
    if (mesh.k == 1) {
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

// log of the sum of w over all anchors, its gradient and its Hessian. work: (1 + k + k k) vectors.
void field_of(const Anchors& all, const double* y, double* value, double* gradient, double* hessian,
              double* work) {
    const int k = all.k;
    if (all.mesh.phi) {
        double phi;
        mesh_field(all.mesh, y, &phi, gradient, hessian);
        for (int c = 0; c < k; c++) gradient[c] /= phi;
        for (int a = 0; a < k; a++)
            for (int b = 0; b < k; b++)
                hessian[a * k + b] = hessian[a * k + b] / phi - gradient[a] * gradient[b];
        *value = log(spread(phi))[0];
        return;
    }
    Wide* const sums = reinterpret_cast<Wide*>(work);  // 0; first: 1 .. k; second: from 1 + k
    for (int m = 0; m < 1 + k + k * k; m++) sums[m] = Wide{};
    double nearest = 0;
    if (!all.heavy) {
        Wide least = spread(__builtin_inf());
        for (int64_t j = 0; j < all.stride; j += W<double>) {
            Wide s = {};
            for (int c = 0; c < k; c++) {
                const Wide d = y[c] - load(all.columns + c * all.stride + j);
                s += d * d;
            }
            least = smaller(least, s);
        }
        nearest = least[0];
        for (int l = 1; l < W<double>; l++) nearest = least[l] < nearest ? least[l] : nearest;
    }
    Wide extra = {};  // sum of w^2
    for (int64_t j = 0; j < all.stride; j += W<double>) {
        Wide s = {};
        for (int c = 0; c < k; c++) {
            const Wide d = y[c] - load(all.columns + c * all.stride + j);
            s += d * d;
        }
        const Wide w = all.heavy ? 1.0 / (1.0 + s) : exp<double>(nearest - s);
        const Wide w2 = all.heavy ? w * w : w, w3 = all.heavy ? w2 * w : w;
        sums[0] += w;
        extra += w2;
        for (int a = 0; a < k; a++) {
            const Wide da = y[a] - load(all.columns + a * all.stride + j);
            sums[1 + a] += w2 * da;
            const Wide wa = w3 * da;
            for (int b = 0; b <= a; b++)
                sums[1 + k + a * k + b] += wa * (y[b] - load(all.columns + b * all.stride + j));
        }
    }
    const double phi = total_of<double>(sums[0]), squares = total_of<double>(extra);
    for (int a = 0; a < k; a++) gradient[a] = -2 * total_of<double>(sums[1 + a]) / phi;
    for (int a = 0; a < k; a++)
        for (int b = 0; b <= a; b++) {
            const double part = total_of<double>(sums[1 + k + a * k + b]) / phi;
            const double own = a == b ? -2 * squares / phi : 0;
            const double h = (all.heavy ? 8 : 4) * part + own - gradient[a] * gradient[b];
            hessian[a * k + b] = hessian[b * k + a] = h;
        }
    *value = log(spread(phi))[0] - nearest;
}

// The listed points side by side, a column of `padded` entries per dimension, and their weights;
// padding weighs nothing.
struct Listed {
    int64_t padded;
    const double *columns, *p;
};

// K: the dimensions if they are known to the compiler, else 0. work: (3 + k + k k) vectors.
template <int K>
inline INLINE void slope_at(const Anchors& all, const Listed& near, const double* y, Slope& at,
                            double* work) {
    const int k = K ? K : all.k;
    field_of(all, y, &at.height, at.gradient, at.hessian, work);
    Wide height = {}, pull = {}, known[K ? K + K * K : 1];
    Wide* const first = K ? known : reinterpret_cast<Wide*>(work);
    Wide* const second = first + k;
    for (int m = 0; m < k + k * k; m++) first[m] = Wide{};
    for (int64_t j = 0; j < near.padded; j += W<double>) {
        const auto gap = [&](int c) INLINE { return y[c] - load(near.columns + c * near.padded + j); };
        const Wide p = load(near.p + j);
        Wide s = {};
#pragma GCC unroll 3
        for (int c = 0; c < k; c++) s += gap(c) * gap(c);
        const Wide w = all.heavy ? 1.0 / (1.0 + s) : spread(1.0), pw = p * w;
        height += p * (all.heavy ? log(1.0 + s) : s);
        pull += pw;
#pragma GCC unroll 3
        for (int a = 0; a < k; a++) {
            const Wide force = pw * gap(a), bent = force * w;
            first[a] += force;
            if (all.heavy)
#pragma GCC unroll 3
                for (int b = 0; b <= a; b++) second[a * k + b] += bent * gap(b);
        }
    }
    at.height += total_of<double>(height);
    at.curvature = 2 * total_of<double>(pull);
    for (int a = 0; a < k; a++) {
        at.gradient[a] += 2 * total_of<double>(first[a]);
        at.hessian[a * k + a] += at.curvature;
        for (int b = 0; b <= a && all.heavy; b++) {
            const double h = at.hessian[a * k + b] - 4 * total_of<double>(second[a * k + b]);
            at.hessian[a * k + b] = at.hessian[b * k + a] = h;
        }
    }
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

double median(double* x, const double* w, int64_t count, double share) {
    constexpr int L = W<double>, SOME = 4;
    const int64_t padded = (count + SOME * L - 1) / (SOME * L) * (SOME * L);
    double most = x[0];
    for (int64_t i = 1; i < count; i++) most = x[i] > most ? x[i] : most;
    for (int64_t i = count; i < padded; i++) x[i] = most;
    Wide found = spread(most);
    for (int64_t i = 0; i < padded; i += SOME * L) {
        Wide place[SOME], below[SOME] = {};
        for (int v = 0; v < SOME; v++) place[v] = load(x + i + v * L);
        for (int64_t j = 0; j < count; j++)
#pragma GCC unroll 4
            for (int v = 0; v < SOME; v++)
                below[v] += spread(x[j]) <= place[v] ? spread(w[j]) : Wide{};
        for (int v = 0; v < SOME; v++)
            found = below[v] >= share ? smaller(found, place[v]) : found;
    }
    for (int l = 0; l < L; l++) most = found[l] < most ? found[l] : most;
    return most;
}

// Height of the heavy-tailed attraction alone.
template <int K>
inline INLINE double pull_at(const Listed& near, int k, const double* y) {
    Wide height = {};
    for (int64_t j = 0; j < near.padded; j += W<double>) {
        Wide s = {};
#pragma GCC unroll 3
        for (int c = 0; c < (K ? K : k); c++) {
            const Wide gap = y[c] - load(near.columns + c * near.padded + j);
            s += gap * gap;
        }
        height += load(near.p + j) * log(1.0 + s);
    }
    return total_of<double>(height);
}

// From y to the one of the heaviest listed places where the attraction is clearly lower, if there is
// one: neighbors in several places have a median that is near none of them.
template <int K>
inline INLINE void choose_start(const Listed& near, int64_t count, int k, double* y, double* other) {
    constexpr int TRIED = 8;
    constexpr double CLEARLY = 1 - 1e-9;  // rounding does not decide
    double least = pull_at<K>(near, k, y);
    int64_t last = -1;
    for (int tried = 0; tried < TRIED && tried < count; tried++) {
        int64_t next = -1;  // the heaviest of those not tried, the first of equals
        for (int64_t e = 0; e < count; e++) {
            const double w = near.p[e];
            const bool left = last < 0 || w < near.p[last] || (w == near.p[last] && e > last);
            if (left && (next < 0 || w > near.p[next])) next = e;
        }
        last = next;
        for (int c = 0; c < k; c++) other[c] = near.columns[c * near.padded + next];
        const double there = pull_at<K>(near, k, other);
        if (there < CLEARLY * least) {
            least = there;
            for (int c = 0; c < k; c++) y[c] = other[c];
        }
    }
}

// One new point comes to rest: Newton's steps where the hill is a bowl, else those of the
// attraction's majorizer; at most 1 long, halved until they go down.
template <int K>
void settle_in(const Anchors& all, const int32_t* near, const double* p, int64_t count, double* y,
               double* work) {
    constexpr double ROUNDING = 1e-13;
    const int k = K ? K : all.k;
    const auto next = [&](int64_t size) {
        double* const part = work;
        work += (size + 7) / 8 * 8;
        return part;
    };
    Slope here{0, 0, next(k), next(k * k)}, there{0, 0, next(k), next(k * k)};
    double *const step = next(k), *const to = next(k), *const L = next(k * k);
    const int64_t padded = (count + W<double> - 1) / W<double> * W<double>;
    double *const columns = next(k * padded), *const weights = next(padded);
    for (int64_t e = 0; e < padded; e++) {
        weights[e] = e < count ? p[e] : 0;
        for (int c = 0; c < k; c++)
            columns[c * padded + e] = e < count ? all.rows[int64_t(near[e]) * k + c] : 0;
    }
    const Listed listed{padded, columns, weights};
    if (all.choose) choose_start<K>(listed, count, k, y, to);
    slope_at<K>(all, listed, y, here, work);
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
        const double size = here.height < 0 ? -here.height : here.height;
        const double bar = here.height + ROUNDING * (size > 1 ? size : 1);
        double share = length > 1 ? 1 / length : 1, moved = 0;
        for (double halves = 1;; halves /= 2) {
            if (!(halves > 1e-6)) return;
            moved = 0;
            for (int c = 0; c < k; c++) {
                double v = y[c] + share * halves * step[c];
                v = v < all.low[c] ? all.low[c] : v > all.high[c] ? all.high[c] : v;
                const double d = v < y[c] ? y[c] - v : v - y[c];
                moved = d > moved ? d : moved;
                to[c] = v;
            }
            slope_at<K>(all, listed, to, there, work);
            if (there.height <= bar) break;
        }
        for (int c = 0; c < k; c++) y[c] = to[c];
        const Slope old = here;
        here = there;
        there = old;
        if (moved < all.rest) return;
    }
}
// work: settle_scratch(k, count).
void settle(const Anchors& all, const int32_t* near, const double* p, int64_t count, double* y,
            double* work) {
    (all.k == 1   ? settle_in<1>
     : all.k == 2 ? settle_in<2>
     : all.k == 3 ? settle_in<3>
                  : settle_in<0>)(all, near, p, count, y, work);
}
