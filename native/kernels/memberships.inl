// Fuzzy memberships of one list of neighbors.

// The bisection of UMAP's first implementation, with its tolerance: memberships agree with it.
double bandwidth(const double* gaps, int64_t count, double target, double sigma) {
    constexpr double TOLERANCE = 1e-5;
    constexpr int MAX_BISECTIONS = 64;
    double low = 0, high = __builtin_inf();
    for (int it = 0; it < MAX_BISECTIONS; it++) {
        Wide sum = {};
        const double rate = -1 / sigma;
        for (int64_t j = 0; j < count; j += W<double>) sum += exp<double>(rate * load(gaps + j));
        const double excess = total_of<double>(sum) - target;
        if ((excess < 0 ? -excess : excess) < TOLERANCE) break;
        (excess > 0 ? high : low) = sigma;
        sigma = high == __builtin_inf() ? 2 * sigma : (low + high) / 2;
    }
    return sigma;
}

void memberships(const double* gaps, int64_t count, double sigma, double* out) {
    const double rate = -1 / sigma;
    for (int64_t j = 0; j < count; j += W<double>)
        store_part(out + j, exp<double>(rate * load(gaps + j)), count - j);
}
