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
