// Affinities of one list of neighbors.

// Conditional probabilities with a given perplexity.

// p = exp(-beta d^2) / sum of a list, with the entropy `target`; returns beta. gaps and present:
// scratch of round_up(count, W). Newton's method on log(beta); a step that does not halve the error
// is followed by a bisection, because Newton steps inside a bracket cycle on some rows.
double perplexity(const double* squares, int64_t count, double target, double* gaps,
                  double* present, double* p) {
    constexpr double TOLERANCE = 1e-12, MAX_LOG_BETA = 700;
    const int64_t padded = (count + W<double> - 1) / W<double> * W<double>;
    double least = squares[0], scale = 0;
    for (int64_t j = 1; j < count; j++) least = squares[j] < least ? squares[j] : least;
    for (int64_t j = 0; j < padded; j++) {
        gaps[j] = j < count ? squares[j] - least : 0;
        present[j] = j < count ? 1 : 0;
        scale += gaps[j];
    }
    scale /= double(count);
    if (!(scale > 0)) {
        for (int64_t j = 0; j < count; j++) p[j] = 1 / double(count);
        return 0;
    }
    for (int64_t j = 0; j < count; j++) gaps[j] /= scale;
    double x = 0, low = -MAX_LOG_BETA, high = MAX_LOG_BETA, last = __builtin_inf(), sum = 1,
           beta = 1;
    for (int it = 0; it < 200; it++) {
        beta = exp<double>(spread(x))[0];
        Wide s = {}, sd = {}, sdd = {};
        for (int64_t j = 0; j < padded; j += W<double>) {
            const Wide d = load(gaps + j), e = exp<double>(-beta * d) * load(present + j),
                       ed = e * d;
            s += e;
            sd += ed;
            sdd += ed * d;
        }
        sum = total_of<double>(s);
        const double mean = total_of<double>(sd) / sum;
        const double excess = log(spread(sum))[0] + beta * mean - target;
        const double error = excess < 0 ? -excess : excess;
        if (error <= TOLERANCE || high - low < TOLERANCE) break;
        (excess > 0 ? low : high) = x;
        const double slope = beta * beta * (total_of<double>(sdd) / sum - mean * mean);
        double next = slope > 0 ? x + excess / slope : excess > 0 ? x + 2 : x - 2;
        next = next < x - 2 ? x - 2 : next > x + 2 ? x + 2 : next;
        if (!(low < next && next < high && error < 0.5 * last)) {
            if (high == MAX_LOG_BETA)
                next = x + 1 < MAX_LOG_BETA ? x + 1 : MAX_LOG_BETA;
            else if (low == -MAX_LOG_BETA)
                next = x - 1 > -MAX_LOG_BETA ? x - 1 : -MAX_LOG_BETA;
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
