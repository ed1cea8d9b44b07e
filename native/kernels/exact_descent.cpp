// Gradient descent of SNE and t-SNE by all pairs, in float64.
#include <algorithm>
#include <optional>
#include <vector>

#include "all_pairs.hpp"
#include "blocks.hpp"
#include "descent_routes.hpp"
#include "lowd/levels.hpp"
#include "point_columns.hpp"

namespace lowd {

namespace {

class ExactDescent final : public Descent {
public:
    ExactDescent(Ragged P, const double* values, int k, Similarity similarity)
        : n_(P.count()),
          k_(k),
          similarity_(similarity),
          indptr_(P.indptr.begin(), P.indptr.end()),
          ends_(P.indices.begin(), P.indices.end()),
          p_(values, values + P.indices.size()) {
        if (similarity != Similarity::student || k > 3) return;
        pairs_ = AllPairs<double>(P, values, k);
    }

    int dimensions() const override { return k_; }
    void start(Matrix<const double> Y) override {
        y_.assign(size_t(n_ * k_), 0);
        velocity_ = y_;
        gain_.assign(y_.size(), 1.0);
        for (int64_t i = 0; i < n_; i++) std::copy_n(Y.row(i), k_, &y_[size_t(i * k_)]);
    }
    double advance(int64_t steps, double exaggeration, double momentum, double rate,
                   Job& job) override {
        std::vector<double> a(y_.size()), r(y_.size());
        double moved = 0;
        for (int64_t s = 0; s < steps; s++) {
            sums(y_.data(), a.data(), r.data(), job);
            for (size_t i = 0; i < a.size(); i++) a[i] = exaggeration * a[i] - r[i];
            moved = level().forces.advance64(n_, k_, momentum, rate, a.data(), y_.data(),
                                             velocity_.data(), gain_.data());
        }
        return moved;
    }
    void embedding(Matrix<double> out) const override {
        for (int64_t i = 0; i < n_; i++) std::copy_n(&y_[size_t(i * k_)], k_, out.row(i));
    }
    void forces(Matrix<const double> Y, Matrix<double> attraction, Matrix<double> repulsion,
                Job& job) override {
        std::vector<double> y(size_t(n_ * k_)), a(y.size()), r(y.size());
        for (int64_t i = 0; i < n_; i++) std::copy_n(Y.row(i), k_, &y[size_t(i * k_)]);
        sums(y.data(), a.data(), r.data(), job);
        for (int64_t i = 0; i < n_; i++) {
            std::copy_n(&a[size_t(i * k_)], k_, attraction.row(i));
            std::copy_n(&r[size_t(i * k_)], k_, repulsion.row(i));
        }
    }
    PotentialGrid interpolation_grid(Matrix<const double>, Job&) override { return {}; }

private:
    static constexpr int64_t ROWS_PER_BLOCK = 16;

    void sums(const double* y, double* a, double* r, Job& job) {
        if (!pairs_) {
            attraction(y, a, job);
            repulsion(y, r, job);
            return;
        }
        const double z = (*pairs_)(y, k_, r, a, job);
        for (int64_t i = 0; i < n_ * k_; i++) r[i] /= z;
    }

    void attraction(const double* y, double* a, Job& job) const {
        parallel_blocks(job, n_, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int) {
            for (int64_t i = first; i < last; i++) {
                const auto s = size_t(i);
                level().forces.attraction(y, k_, similarity_ == Similarity::student, i,
                                          ends_.data() + indptr_[s], p_.data() + indptr_[s],
                                          indptr_[s + 1] - indptr_[s], a + i * k_);
            }
        });
    }

    // For thin tails, and in more than three dimensions.
    void repulsion(const double* y, double* r, Job& job) const {
        const PointColumns columns({y, n_, k_, k_});
        const bool heavy = similarity_ == Similarity::student;
        std::vector<double> z(size_t(round_up(n_, 8)), 0.0);
        const auto sum = [&](const double* scale, double* z_to, double* to) {
            parallel_blocks(job, n_, ROWS_PER_BLOCK, [&](int64_t first, int64_t last, int) {
                for (int64_t i = first; i < last; i++)
                    level().forces.pair_sums(columns.get(), columns.stride(), k_, heavy, scale, i,
                                             z_to + i, to + i * k_);
            });
        };
        sum(nullptr, z.data(), r);
        if (similarity_ != Similarity::rows) {
            double all = 0;
            for (double part : z) all += part;
            for (int64_t i = 0; i < n_ * k_; i++) r[i] /= all;
            return;
        }
        std::vector<double> inverse(z.size()), again(z.size()), more(size_t(n_ * k_));
        for (size_t i = 0; i < z.size(); i++) inverse[i] = 1 / std::max(z[i], 0x1p-1022);
        sum(inverse.data(), again.data(), more.data());
        for (int64_t i = 0; i < n_; i++)
            for (int c = 0; c < k_; c++) {
                const auto at = size_t(i * k_ + c);
                r[at] = (r[at] * inverse[size_t(i)] + more[at]) / double(2 * n_);
            }
    }

    int64_t n_;
    int k_;
    Similarity similarity_;
    std::vector<int64_t> indptr_;
    std::vector<int32_t> ends_;
    std::vector<double> p_, y_, velocity_, gain_;
    std::optional<AllPairs<double>> pairs_;
};

}  // namespace

std::unique_ptr<Descent> exact_descent(Ragged P, const double* values, int k,
                                       Similarity similarity) {
    return std::make_unique<ExactDescent>(P, values, k, similarity);
}

}  // namespace lowd
