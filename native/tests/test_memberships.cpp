// Fuzzy memberships, and their union.
#include "embedding/affinities.hpp"

#include "embeddings.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

struct Memberships {
    std::vector<double> values, rho, sigma;
};
Memberships memberships_of(const std::vector<int64_t>& starts, const std::vector<double>& distances,
                           double connectivity, std::optional<double> mean = {}) {
    const auto n = int64_t(starts.size()) - 1, total = int64_t(distances.size());
    const auto all = on_any_threads([&](Job& job) {
        Data<double> out(1, total + 2 * n, 0);
        double* const at = out.memory.data();
        fuzzy_memberships(starts, distances.data(), connectivity, mean, at, at + total,
                          at + total + n, job);
        return out;
    });
    const auto at = all.memory.begin();
    return {{at, at + total}, {at + total, at + total + n}, {at + total + n, all.memory.end()}};
}

TEST(memberships_have_the_sum_of_the_definition) {
    std::vector<int64_t> starts{0};
    std::vector<double> distances;
    for (int64_t i = 0; i < 700; i++) {
        double d = 0.3;
        for (int64_t e = 0; e < 1 + i % 31; e++) distances.push_back(d += 0.01 + (i + e) % 7);
        starts.push_back(int64_t(distances.size()));
    }
    const Memberships found = memberships_of(starts, distances, 1);
    for (size_t i = 0; i + 1 < starts.size(); i++) {
        double sum = 0;
        CHECK(found.rho[i] == distances[size_t(starts[i])]);
        for (auto e = size_t(starts[i]); e < size_t(starts[i + 1]); e++) {
            CHECK(close(found.values[e], std::exp(-(distances[e] - found.rho[i]) / found.sigma[i]),
                        1e-12));
            sum += found.values[e];
        }
        CHECK(std::abs(sum - std::log2(double(starts[i + 1] - starts[i] + 1))) < 1e-5);
    }
}

// rho of whole and fractional connectivities, with zeros, and of fewer positive distances.
TEST(the_connected_distance_is_interpolated) {
    const std::vector<int64_t> starts{0, 5, 8, 8, 10};
    const std::vector<double> distances{0, 1, 2, 4, 8, 1, 3, 3, 0, 0};
    const auto rho = [&](double connectivity) {
        return memberships_of(starts, distances, connectivity).rho;
    };
    CHECK((rho(1) == std::vector<double>{1, 1, 0, 0}));
    CHECK((rho(2) == std::vector<double>{2, 3, 0, 0}));
    CHECK((rho(1.5) == std::vector<double>{1.5, 2, 0, 0}));
    CHECK((rho(0.5) == std::vector<double>{0.5, 0.5, 0, 0}));
    CHECK((rho(3.5) == std::vector<double>{6, 3, 0, 0}));
    CHECK((rho(5) == std::vector<double>{8, 3, 0, 0}));
}

// Equal distances have no root: sigma is a thousandth of a mean, in which the point itself counts.
TEST(sigma_has_a_least_value) {
    const std::vector<int64_t> starts{0, 3, 6, 6};
    const std::vector<double> distances{2, 2, 2, 0, 0, 0};
    const Memberships found = memberships_of(starts, distances, 1);
    CHECK(close(found.sigma[0], 1e-3 * 6 / 4, 1e-12));
    CHECK(close(found.sigma[1], 1e-3 * 6 / 9, 1e-12));
    CHECK(found.sigma[2] == 1);
    CHECK(close(memberships_of(starts, distances, 1, 5.0).sigma[1], 5e-3, 1e-12));
    CHECK(memberships_of({0, 2}, {0, 0}, 1).sigma[0] > 0);
    for (double v : found.values) CHECK(v == 1);
}

TEST(a_fuzzy_union_is_that_of_the_definition) {
    // Row i has neighbors i + 4, i + 9 and i - 4, which has it as well; one membership is 0.
    const int64_t n = 700;
    std::vector<int64_t> starts{0};
    std::vector<int32_t> ends;
    std::vector<double> p;
    Data<double> A(n, n);
    std::fill(A.memory.begin(), A.memory.end(), 0.0);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t step : {int64_t(4), int64_t(9), n - 4}) {
            ends.push_back(int32_t((i + step) % n));
            p.push_back(step == 9 && i == 5 ? 0 : double(1 + (i * step) % 7) / 8);
            A(i, ends.back()) = p.back();
        }
        starts.push_back(int64_t(ends.size()));
    }
    for (double share : {0.0, 0.3, 1.0})
        on_any_threads([&](Job& job) {
            const SymmetricMatrix found = symmetrize({starts, ends}, p.data(), share, job);
            Data<double> out(n, n);
            std::fill(out.memory.begin(), out.memory.end(), 0.0);
            for (int64_t i = 0; i < n; i++)
                for (int64_t e = found.indptr[size_t(i)]; e < found.indptr[size_t(i + 1)]; e++) {
                    CHECK(out(i, found.indices[e]) == 0);  // each once
                    CHECK(found.values[e] > 0);
                    out(i, found.indices[e]) = found.values[e];
                }
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) {
                    const double both = A(i, j) * A(j, i);
                    CHECK(close(out(i, j), share * (A(i, j) + A(j, i) - both) + (1 - share) * both,
                                1e-15));
                }
            return out;
        });
}

}  // namespace
