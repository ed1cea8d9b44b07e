// SNE and t-SNE by all pairs, in float64.
#include <optional>

#include "all_pairs.hpp"
#include "columns.hpp"
#include "lowd/embed.hpp"

namespace lowd {

namespace {

class Exact final : public Descent {
public:
    Exact(Lists P, const double* values, int k, Likeness like)
        : n_(P.count()),
          k_(k),
          like_(like),
          starts_(P.starts.begin(), P.starts.end()),
          ends_(P.members.begin(), P.members.end()),
          p_(values, values + P.members.size()) {
        if (like != Likeness::student || k > 3) return;
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
            moved = level().embed.advance64(n_, k_, momentum, rate, a.data(), y_.data(),
                                            velocity_.data(), gain_.data());
        }
        return moved;
    }
    void places(Matrix<double> out) const override {
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
    Mesh mesh(Matrix<const double>, Job&) override { return {}; }

private:
    static constexpr int64_t SOME = 16;

    void sums(const double* y, double* a, double* r, Job& job) {
        if (!pairs_) {
            pulls(y, a, job);
            pushes(y, r, job);
            return;
        }
        const double z = (*pairs_)(y, k_, r, a, job);
        for (int64_t i = 0; i < n_ * k_; i++) r[i] /= z;
    }

    void pulls(const double* y, double* a, Job& job) const {
        blocks(job, n_, SOME, [&](int64_t first, int64_t last, int) {
            for (int64_t i = first; i < last; i++) {
                const auto s = size_t(i);
                level().embed.attraction(y, k_, like_ == Likeness::student, i,
                                         ends_.data() + starts_[s], p_.data() + starts_[s],
                                         starts_[s + 1] - starts_[s], a + i * k_);
            }
        });
    }

    // For thin tails, and in more than three dimensions.
    void pushes(const double* y, double* r, Job& job) const {
        const Columns columns({y, n_, k_, k_});
        const bool heavy = like_ == Likeness::student;
        std::vector<double> z(size_t(round_up(n_, 8)), 0.0);
        const auto sum = [&](const double* scale, double* z_to, double* to) {
            blocks(job, n_, SOME, [&](int64_t first, int64_t last, int) {
                for (int64_t i = first; i < last; i++)
                    level().embed.pair_sums(columns.get(), columns.stride(), k_, heavy, scale, i,
                                            z_to + i, to + i * k_);
            });
        };
        sum(nullptr, z.data(), r);
        if (like_ != Likeness::rows) {
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
    Likeness like_;
    std::vector<int64_t> starts_;
    std::vector<int32_t> ends_;
    std::vector<double> p_, y_, velocity_, gain_;
    std::optional<AllPairs<double>> pairs_;
};

}  // namespace

std::unique_ptr<Descent> exact(Lists P, const double* values, int k, Likeness like) {
    return std::make_unique<Exact>(P, values, k, like);
}

}  // namespace lowd
