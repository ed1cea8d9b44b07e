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
