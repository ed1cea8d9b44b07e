// Forces, steps, density term and new points of UMAP.

// The forces of UMAP as functions of squared distances, without calls of the math library.

// x^e for normal x > 0, within 3e-6; powers beyond 2^-60 .. 2^60 are those.
inline INLINE Vec<float> pow(Vec<float> x, float e) {
    using I = typename Simd<float>::I;
    constexpr float MAX_EXPONENT = 60, ROUND = 0x1.8p23f;  // adding ROUND leaves whole numbers
    const I bits = (I)x, n = (bits - 0x3f3504f3) >> 23;  // x = 2^n m, m in [sqrt(1/2), sqrt(2))
    const Vec<float> t = (Vec<float>)(bits - (n << 23)) - 1.0f;
    // log2(m) / t, within 3e-7 of log2(m)
    Vec<float> p = spread(0.170632701f);
    p = p * t - 0.27269759f;
    p = p * t + 0.297262947f;
    p = p * t - 0.358961885f;
    p = p * t + 0.480465012f;
    p = p * t - 0.721375871f;
    p = p * t + 1.44269973f;
    Vec<float> y = e * (p * t + __builtin_convertvector(n, Vec<float>));
    y = larger(smaller(y, spread(MAX_EXPONENT)), spread(-MAX_EXPONENT));
    const Vec<float> shifted = y + ROUND, f = y - (shifted - ROUND);
    Vec<float> q = spread(0.001327656f);  // 2^f, within 8e-8
    q = q * f + 0.00967554251f;
    q = q * f + 0.0555071301f;
    q = q * f + 0.240221197f;
    q = q * f + 0.693146967f;
    q = q * f + 1.0f;
    return (Vec<float>)((I)q + ((I)shifted << 23));
}

// A force law in the type of the coordinates.
template <class T>
struct Law {
    // Limits that keep quotients from being NaN.
    static constexpr T MIN_SQUARE = T(1e-12), MAX_SQUARE = T(sizeof(T) == 4 ? 1e12 : 1e60);
    static constexpr double MAX_ODDS = 1e200;  // in float32 they are bounded by the largest power
    T a, b, softening;

    explicit INLINE Law(const ForceLaw& law)
        : a(T(law.a)), b(T(law.b)), softening(T(law.softening)) {}

    inline INLINE Vec<T> within_range(Vec<T> s) const {
        return larger(smaller(s, spread(MAX_SQUARE)), spread(MIN_SQUARE));
    }
    // a s^b, which is 1 / phi - 1.
    inline INLINE Vec<T> odds(Vec<T> s) const {
        const Vec<T> o = a * pow(s, b);
        if constexpr (sizeof(T) == 4)
            return o;
        else
            return smaller(o, spread(MAX_ODDS));
    }
    inline INLINE Vec<T> attraction(Vec<T> s) const {
        s = within_range(s);
        const Vec<T> o = odds(s);
        return 2 * b * o * reciprocal<T>(s * (T(1) + o));
    }
    inline INLINE Vec<T> repulsion(Vec<T> s) const {
        s = within_range(s);
        return 2 * b * reciprocal<T>((softening + s) * (T(1) + odds(s)));
    }
};

// Forces of UMAP: along packed edges, and from points that repel.

// body(edges, first of the vector, s, weight) -> factor for every vector of edges of point i, and f
// = unit_i sum_j factor (y_j - y_i), if it is not null. K: the dimensions, or 0.
template <int K, class F>
inline INLINE void sum_over_edges(const PackedView& graph, const float* y, int k, int64_t i,
                                  float* f, F body) {
    constexpr int L = W<float>;
    const PackedEdges* const end = graph.edges + graph.indptr[i + 1];
    if constexpr (K > 0) {
        Vec<float> sum[K] = {};
        for (const PackedEdges* t = graph.edges + graph.indptr[i]; t < end; t++) {
            prefetch_edges(t);
            const EdgeEnds<K> ends(y, *t);
            for (int j = 0; j < PackedEdges::COUNT; j += L) {
                Vec<float> gap[K], s = {};
                ends.gaps(y + EdgeEnds<K>::WIDTH * i, j, gap);
                for (int c = 0; c < K; c++) s += gap[c] * gap[c];
                const Vec<float> factor = body(*t, j, s, load_weights(t->weights + j));
                for (int c = 0; c < K; c++) sum[c] -= factor * gap[c];
            }
        }
        if (!f) return;
        for (int c = 0; c < K; c++) f[c] += graph.unit[i] * total_of<float>(sum[c]);
    } else {
        const float* const me = y + i * k;
        for (const PackedEdges* t = graph.edges + graph.indptr[i]; t < end; t++)
            for (int j = 0; j < PackedEdges::COUNT; j += L) {
                const auto gap = [&](int c) INLINE {
                    Vec<float> to;
                    for (int l = 0; l < L; l++) to[l] = y[int64_t(t->ends[j + l]) * k + c];
                    return to - me[c];
                };
                Vec<float> s = {};
                for (int c = 0; c < k; c++) s += gap(c) * gap(c);
                const Vec<float> factor = body(*t, j, s, load_weights(t->weights + j));
                for (int c = 0; c < k && f; c++)
                    f[c] += graph.unit[i] * total_of<float>(factor * gap(c));
            }
    }
}

template <int K>
inline INLINE void layout_attract_in(const ForceLaw& given, const PackedView& graph, const float* y,
                                     int k, int width, int64_t first, int64_t last, float* f) {
    const Law<float> law(given);
    for (int64_t i = first; i < last; i++, f += width) {
        for (int c = 0; c < width; c++) f[c] = 0;
        sum_over_edges<K>(graph, y, k, i, f,
                          [&](const PackedEdges&, int, Vec<float> s, Vec<float> weight)
                              INLINE { return weight * law.attraction(s); });
    }
}
void layout_attract(const ForceLaw& law, const PackedView& graph, const float* y, int k, int width,
                    int64_t first, int64_t last, float* f) {
    k == 1   ? layout_attract_in<1>(law, graph, y, k, width, first, last, f)
    : k == 2 ? layout_attract_in<2>(law, graph, y, k, width, first, last, f)
    : k == 3 ? layout_attract_in<3>(law, graph, y, k, width, first, last, f)
             : layout_attract_in<0>(law, graph, y, k, width, first, last, f);
}

// to += the weighted sum of g_r (y - y_j) over points.
template <int K, class T>
inline INLINE void repel_in(const Law<T>& law, const RepellingPoints<T>& points, const T* y, int k,
                            T scale, T* to) {
    constexpr int L = W<T>, VECTORS_AT_ONCE = 32;
    const auto gap = [&](int c, int64_t j)
                         INLINE { return y[c] - load(points.columns + c * points.stride + j); };
    if constexpr (K > 0) {
        Vec<T> sum[K] = {};
        for (int64_t j = 0; j < points.count; j += L) {
            Vec<T> s = {};
            for (int c = 0; c < K; c++) s += gap(c, j) * gap(c, j);
            const Vec<T> factor = load(points.weights + j) * law.repulsion(s);
            for (int c = 0; c < K; c++) sum[c] += factor * gap(c, j);
        }
        for (int c = 0; c < K; c++) to[c] += scale * total_of<T>(sum[c]);
    } else {
        for (int64_t first = 0; first < points.count; first += VECTORS_AT_ONCE * L) {
            const int64_t last = least<int64_t>(points.count, first + VECTORS_AT_ONCE * L);
            Vec<T> factors[VECTORS_AT_ONCE];
            for (int64_t j = first; j < last; j += L) {
                Vec<T> s = {};
                for (int c = 0; c < k; c++) s += gap(c, j) * gap(c, j);
                factors[(j - first) / L] = load(points.weights + j) * law.repulsion(s);
            }
            for (int c = 0; c < k; c++) {
                Vec<T> sum = {};
                for (int64_t j = first; j < last; j += L)
                    sum += factors[(j - first) / L] * gap(c, j);
                to[c] += scale * total_of<T>(sum);
            }
        }
    }
}
template <class T>
void layout_repel(const ForceLaw& given, const RepellingPoints<T>& points, const T* y, int k,
                  T scale, T* f) {
    const Law<T> law(given);
    k == 1   ? repel_in<1>(law, points, y, k, scale, f)
    : k == 2 ? repel_in<2>(law, points, y, k, scale, f)
    : k == 3 ? repel_in<3>(law, points, y, k, scale, f)
             : repel_in<0>(law, points, y, k, scale, f);
}

// One step of UMAP's descent: momentum, and a longest step.
constexpr float MAX_LAYOUT_STEP = 4;
template <class V>
inline INLINE V layout_velocity(V velocity, V force, float momentum, float rate) {
    constexpr float MAX_VELOCITY = 1e15f;  // its square is finite
    const V v = momentum * velocity + rate * force;
    return larger(smaller(v, MAX_VELOCITY - V{}), -MAX_VELOCITY - V{});
}
template <int WIDTH>
double momentum_step_in(int64_t count, float momentum, float rate, const float* force, float* y,
                        float* velocity) {
    constexpr float LONGEST = MAX_LAYOUT_STEP * MAX_LAYOUT_STEP;
    Wide moved = {};
    for (int64_t i = 0; i < count; i += W<float>) {
        const int64_t left = count - i;
        Vec<float> v = layout_velocity(load_part(velocity + i, left), load_part(force + i, left),
                                       momentum, rate);
        // A short step is multiplied by 4 / 4.
        v *=
            MAX_LAYOUT_STEP / roots_of<float>(larger(squares_of<WIDTH, float>(v), spread(LONGEST)));
        store_part(velocity + i, v, left);
        store_part(y + i, load_part(y + i, left) + v, left);
        v *= v;  // 0 beyond the last point
        moved += widen<0>(v) + widen<1>(v);
    }
    return total_of<double>(moved);
}
// Returns the sum of the squares of the steps.
double momentum_step(int64_t points, int width, float momentum, float rate, const float* force,
                     float* y, float* velocity) {
    if (width == 1) return momentum_step_in<1>(points, momentum, rate, force, y, velocity);
    if (width == 2) return momentum_step_in<2>(2 * points, momentum, rate, force, y, velocity);
    if (width == 4) return momentum_step_in<4>(4 * points, momentum, rate, force, y, velocity);
    double moved = 0;
    for (int64_t i = 0; i < points; i++, force += width, y += width, velocity += width) {
        double s = 0;
        for (int c = 0; c < width; c++) {
            velocity[c] = layout_velocity(velocity[c], force[c], momentum, rate);
            s += double(velocity[c]) * double(velocity[c]);
        }
        const double shrink =
            s > double(MAX_LAYOUT_STEP * MAX_LAYOUT_STEP) ? MAX_LAYOUT_STEP / __builtin_sqrt(s) : 1;
        for (int c = 0; c < width; c++) y[c] += velocity[c] *= float(shrink);
        moved += s * shrink * shrink;
    }
    return moved;
}

// The density term of UMAP (densMAP; Narayan, Berger and Cho, 2021): the correlation of the
// logarithms of local radii in the data and in the embedding, r_i = log(sum phi s / sum phi) over
// the edges of i. With w_i the derivative of the correlation by r_i, up to a factor, that by s_ij
// is w_i dr_i + w_j dr_j, dr_i = phi ((1 - b (1 - phi)) exp(-r_i) + a b s^(b - 1) phi) / sum phi.
// The force of each edge is limited.

// Padding has weight 0 and is not an edge.
template <int K>
inline INLINE void density_sums_in(const ForceLaw& given, const PackedView& graph, const float* y,
                                   int k, int64_t first, int64_t last, float* squares,
                                   float* similarity) {
    const Law<float> law(given);
    for (int64_t i = first; i < last; i++) {
        Vec<float> by_square = {}, all = {};
        sum_over_edges<K>(graph, y, k, i, nullptr,
                          [&](const PackedEdges&, int, Vec<float> s, Vec<float> weight) INLINE {
                              s = law.within_range(s);
                              const Vec<float> phi = reciprocal<float>(1.0f + law.odds(s));
                              const Vec<float> some = weight > 0.0f ? phi : Vec<float>{};
                              by_square += some * s;
                              all += some;
                              return phi;
                          });
        *squares++ = total_of<float>(by_square);
        *similarity++ = total_of<float>(all);
    }
}
void density_sums(const ForceLaw& law, const PackedView& graph, const float* y, int k,
                  int64_t first, int64_t last, float* squares, float* similarity) {
    k == 1   ? density_sums_in<1>(law, graph, y, k, first, last, squares, similarity)
    : k == 2 ? density_sums_in<2>(law, graph, y, k, first, last, squares, similarity)
    : k == 3 ? density_sums_in<3>(law, graph, y, k, first, last, squares, similarity)
             : density_sums_in<0>(law, graph, y, k, first, last, squares, similarity);
}

// strength_i: the term's strength times D / D_i over unit_i, with the mean degree D.
template <int K>
inline INLINE void density_in(const ForceLaw& given, const PackedView& graph, const float* y, int k,
                              int width, const DensityFactors* factors, const float* strength,
                              int64_t first, int64_t last, float* f) {
    constexpr int L = W<float>;
    const Law<float> law(given);
    for (int64_t i = first; i < last; i++, f += width) {
        const DensityFactors mine = factors[i];
        sum_over_edges<K>(
            graph, y, k, i, f,
            [&](const PackedEdges& t, int j, Vec<float> s, Vec<float> weight) INLINE {
                Vec<float> by_square, by_slope;
                for (int l = 0; l < L; l++) {
                    by_square[l] = factors[t.ends[j + l]].by_square;
                    by_slope[l] = factors[t.ends[j + l]].by_slope;
                }
                s = law.within_range(s);
                const Vec<float> odds = law.odds(s), phi = reciprocal<float>(1.0f + odds);
                const Vec<float> slope = law.b * odds * phi * reciprocal<float>(s);
                const Vec<float> inner = 1.0f - law.b * (1.0f - phi);
                const Vec<float> force =
                    -strength[i] * phi *
                    (inner * (mine.by_square + by_square) + slope * (mine.by_slope + by_slope));
                const Vec<float> most =  // 0 for padding
                    float(MAX_DENSITY_FORCE) * weight * reciprocal<float>(roots_of<float>(s));
                return larger(smaller(force, most), -most);
            });
    }
}
void density(const ForceLaw& law, const PackedView& graph, const float* y, int k, int width,
             const DensityFactors* factors, const float* strength, int64_t first, int64_t last,
             float* f) {
    k == 1   ? density_in<1>(law, graph, y, k, width, factors, strength, first, last, f)
    : k == 2 ? density_in<2>(law, graph, y, k, width, factors, strength, first, last, f)
    : k == 3 ? density_in<3>(law, graph, y, k, width, factors, strength, first, last, f)
             : density_in<0>(law, graph, y, k, width, factors, strength, first, last, f);
}

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
