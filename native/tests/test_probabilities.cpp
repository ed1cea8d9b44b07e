// Probabilities of pairs, and the terms of the KL divergence.
#include "embedding/affinities.hpp"

#include "embeddings.hpp"

using namespace lowd;
using namespace lowd::test;

namespace {

TEST(perplexities_are_reached) {
    std::vector<int64_t> starts{0, 5, 5, 12, 13, 80};  // an empty list, and one of one entry
    std::vector<double> squares;
    for (int64_t e = 0; e < starts.back(); e++) squares.push_back(0.3 + double((e * 37) % 101));
    for (double target : {1.0, 2.5, 4.0}) {
        const auto found = on_any_threads([&](Job& job) {
            Data<double> out(1, starts.back() + 5, 0);
            conditional_probabilities(starts, squares.data(), target, out.memory.data(),
                                      out.memory.data() + starts.back(), job);
            return out;
        });
        for (size_t i = 0; i + 1 < starts.size(); i++) {
            const double beta = found(0, starts.back() + int64_t(i));
            double sum = 0, entropy = 0, least = 1e300;
            for (int64_t e = starts[i]; e < starts[i + 1]; e++)
                least = std::min(least, squares[size_t(e)]);
            for (int64_t e = starts[i]; e < starts[i + 1]; e++)
                sum += std::exp(-beta * (squares[size_t(e)] - least));
            for (int64_t e = starts[i]; e < starts[i + 1]; e++) {
                const double p = found(0, e);
                CHECK(close(p, std::exp(-beta * (squares[size_t(e)] - least)) / sum));
                entropy -= p > 0 ? p * std::log(p) : 0;
            }
            if (starts[i + 1] - starts[i] >= 5 && target > 1)
                CHECK(close(std::exp(entropy), target, 1e-9));
        }
    }
}

TEST(conditional_probabilities_are_symmetrized) {
    // Row i has neighbors i + 4, i + 9 and i - 4, which has it as well; the last row none.
    const int64_t n = 700;
    std::vector<int64_t> starts{0};
    std::vector<int32_t> ends;
    std::vector<double> p;
    Data<double> whole(n, n);
    std::fill(whole.memory.begin(), whole.memory.end(), 0.0);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t step : {int64_t(4), int64_t(9), n - 4}) {
            if (i + 1 == n) continue;
            const int64_t j = (i + step) % n;
            ends.push_back(int32_t(j)), p.push_back(double(1 + (i * step) % 7));
            whole(i, j) += p.back() / double(2 * n);
            whole(j, i) += p.back() / double(2 * n);
        }
        starts.push_back(int64_t(ends.size()));
    }
    on_any_threads([&](Job& job) {
        const SymmetricMatrix found = symmetrize({starts, ends}, p.data(), {}, job);
        Data<double> out(n, n);
        std::fill(out.memory.begin(), out.memory.end(), 0.0);
        for (int64_t i = 0; i < n; i++)
            for (int64_t e = found.indptr[size_t(i)]; e < found.indptr[size_t(i + 1)]; e++) {
                CHECK(out(i, found.indices[e]) == 0);  // each once
                out(i, found.indices[e]) = found.values[e];
            }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) CHECK(close(out(i, j), whole(i, j), 1e-15));
        return out;
    });
}

TEST(cross_term_is_the_sum_over_the_pairs) {
    for (int64_t k : {1, 2, 3})
        for (bool heavy : {true, false}) {
            const CircleGraph graph(600, 5);
            const Data<double> Y = spread_out(600, k, 2);
            double expected = 0;
            for (int64_t i = 0; i < 600; i++)
                for (int64_t e = graph.indptr[size_t(i)]; e < graph.indptr[size_t(i + 1)]; e++)
                    expected += graph.values[size_t(e)] *
                                std::log(graph.values[size_t(e)] /
                                         similarity(Y, i, graph.ends[size_t(e)], heavy));
            const auto found = on_any_threads([&](Job& job) {
                Data<double> out(1, 1);
                out(0, 0) = cross_term(graph.ragged(), graph.values.data(), Y.in(),
                                       heavy ? Similarity::student : Similarity::gauss, job);
                return out;
            });
            CHECK(close(found(0, 0), expected));
        }
}

TEST(sums_of_pairs_and_of_all_of_them) {
    for (int64_t k : {1, 2, 3}) {
        const int64_t n = 333;
        const Data<double> Y = spread_out(n, k, 3);
        double total = 0;
        for (int64_t i = 0; i < n; i++) total += row_sum(Y, i, true);
        const auto z = on_any_threads([&](Job& job) {
            Data<double> out(1, 1);
            out(0, 0) = partition_function(Y.in(), job);
            return out;
        });
        CHECK(close(z(0, 0), total, 1e-5));
        const std::vector<int64_t> rows{0, 7, 332, 7};
        std::vector<double> sums(rows.size());
        for (Similarity kernel : {Similarity::student, Similarity::gauss}) {
            const bool heavy = kernel == Similarity::student;
            const auto force = on_any_threads([&](Job& job) {
                Data<double> out(int64_t(rows.size()), k);
                pair_sums(Y.in(), kernel, rows, sums.data(), out.out(), job);
                return out;
            });
            for (size_t m = 0; m < rows.size(); m++) {
                CHECK(close(sums[m], row_sum(Y, rows[m], heavy)));
                for (int64_t c = 0; c < k; c++) {
                    double expected = 0;
                    for (int64_t j = 0; j < n; j++) {
                        const double w = similarity(Y, rows[m], j, heavy);
                        expected += (heavy ? w * w : w) * (Y(rows[m], c) - Y(j, c));
                    }
                    CHECK(close(force(int64_t(m), c), expected));
                }
            }
        }
    }
}

}  // namespace
