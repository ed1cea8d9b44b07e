// The edges of a graph in memory order, packed for the attractive forces: see descent.inl.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/levels.hpp"
#include "base/matrix.hpp"
#include "base/memory.hpp"
#include "base/threads.hpp"

namespace lowd {

class PackedGraph {
public:
    // Every edge keeps a weight of at least `least_weight` 65535ths of the largest of its point: 1
    // if even an edge of almost no weight must remain an edge.
    PackedGraph(Ragged P, const double* values, uint16_t least_weight, Job& job)
        : n_(P.count()),
          indptr_(size_t(n_ + 1), 0),
          spare_indptr_(indptr_),
          unit_(size_t(n_)),
          spare_unit_(size_t(n_)) {
        for (int64_t i = 0; i < n_; i++)
            indptr_[size_t(i + 1)] = indptr_[size_t(i)] + ceil_div(P.size(i), PackedEdges::COUNT);
        edges_ = Buffer<PackedEdges>(indptr_.back() + SLACK);
        spare_edges_ = Buffer<PackedEdges>(indptr_.back() + SLACK);
        parallel_blocks(job, n_, POINTS_PER_BLOCK, [&](int64_t first, int64_t last, int) {
            for (int64_t i = first; i < last; i++)
                pack(i, P.row(i), values + P.indptr[size_t(i)], P.size(i), least_weight);
        });
    }

    // f = scale times the attractive forces on points first .. last - 1.
    void attract(const float* y, int k, int64_t first, int64_t last, float scale, float* f) const {
        level().forces.attract(y, k, first, last, indptr_.data(), edges_.get(), unit_.data(), scale,
                               f);
    }

    PackedView view() const { return {indptr_.data(), edges_.get(), unit_.data()}; }
    // Divides the weights of point i by divisors[i], if that is not 0.
    void divide(std::span<const double> divisors) {
        for (size_t i = 0; i < unit_.size(); i++)
            if (divisors[i] > 0) unit_[i] = float(double(unit_[i]) / divisors[i]);
    }

    // Point source[i] becomes point i; slot is the inverse of source.
    void reorder(std::span<const int32_t> source, std::span<const int32_t> slot, int64_t chunks,
                 Job& job) {
        for (int64_t i = 0; i < n_; i++) {
            const auto from = size_t(source[size_t(i)]);
            spare_unit_[size_t(i)] = unit_[from];
            spare_indptr_[size_t(i + 1)] =
                spare_indptr_[size_t(i)] + indptr_[from + 1] - indptr_[from];
        }
        job.parallel(chunks, [&](int64_t c, int) {
            for (int64_t i = n_ * c / chunks; i < n_ * (c + 1) / chunks; i++) {
                const PackedEdges* from = &edges_[indptr_[size_t(source[size_t(i)])]];
                for (int64_t o = spare_indptr_[size_t(i)]; o < spare_indptr_[size_t(i + 1)]; o++) {
                    PackedEdges& some = spare_edges_[o] = *from++;
                    for (int32_t& end : some.ends) end = slot[size_t(end)];
                }
            }
        });
        indptr_.swap(spare_indptr_);
        unit_.swap(spare_unit_);
        std::swap(edges_, spare_edges_);
    }

private:
    static constexpr int64_t POINTS_PER_BLOCK = 1024;
    static constexpr int64_t SLACK = 64;  // space for prefetching beyond the end

    // The edges of point i; the last sixteen are filled up by edges of weight 0 to itself.
    void pack(int64_t i, const int32_t* ends, const double* p, int64_t count,
              uint16_t least_weight) {
        const double most = count ? *std::max_element(p, p + count) : 0;
        const float scale = most > 0 ? float(65535 / most) : 0;
        unit_[size_t(i)] = float(most / 65535);
        PackedEdges* some = &edges_[indptr_[size_t(i)]];
        for (int64_t e = 0; e < count; e += PackedEdges::COUNT, some++) {
            const auto full = int(std::min<int64_t>(PackedEdges::COUNT, count - e));
            std::fill_n(some->ends, PackedEdges::COUNT, int32_t(i));
            std::fill_n(some->weights, PackedEdges::COUNT, uint16_t(0));
            std::copy_n(ends + e, full, some->ends);
            for (int j = 0; j < full; j++)
                some->weights[j] =
                    std::max(least_weight, uint16_t(int32_t(float(p[e + j]) * scale + 0.5f)));
        }
    }

    int64_t n_;
    std::vector<int64_t> indptr_, spare_indptr_;  // positions of edges, sixteen by sixteen
    std::vector<float> unit_, spare_unit_;
    Buffer<PackedEdges> edges_, spare_edges_;
};

}  // namespace lowd
