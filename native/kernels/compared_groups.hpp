// Groups of rows whose pairs have been compared.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "lowd/buffer.hpp"
#include "lowd/matrix.hpp"
#include "search_common.hpp"

namespace lowd::search {

// The groups of rows (panels) whose rows have been compared with each other: pairs between them
// need not be compared again.
class ComparedGroups {
public:
    // `near` is the graph by which they were joined: one group is in the list of the other.
    explicit ComparedGroups(Matrix<const int32_t> near) : groups_(near.rows) {
        first_.assign(size_t(groups_ + 2), 0);  // begins move to ends while they are used
        const auto each = [&](auto&& body) {
            for (int64_t g = 0; g < groups_; g++)
                for (int64_t q = 0; q < near.cols; q++) {
                    body(g, near.row(g)[q]);
                    body(near.row(g)[q], g);
                }
        };
        each([&](int64_t g, int64_t) { first_[size_t(g) + 2]++; });
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        others_ = Buffer<int32_t>(first_.back());
        each([&](int64_t g, int64_t other) { others_[first_[size_t(g) + 1]++] = int32_t(other); });
    }

    // One bit per group, for the rows of one group at a time: small enough for L1.
    class Mask {
    public:
        explicit Mask(const ComparedGroups& all)
            : all_(all), words_(size_t(ceil_div(all.groups_, 64)), 0) {}
        void select(int64_t group) {
            change(group_, 0);
            change(group_ = group, ~uint64_t(0));
        }
        bool holds(int64_t row) const {
            const auto group = size_t(row) / P;
            return words_[group / 64] >> group % 64 & 1;
        }

    private:
        void change(int64_t group, uint64_t to) {
            if (group < 0) return;
            const auto set = [&](int64_t other) {
                uint64_t& word = words_[size_t(other) / 64];
                const uint64_t bit = uint64_t(1) << other % 64;
                word = (word & ~bit) | (to & bit);
            };
            const int64_t block = group / PANELS;  // the block is compared with itself
            for (int64_t g = block * PANELS; g < std::min((block + 1) * PANELS, all_.groups_); g++)
                set(g);
            for (int64_t e = all_.first_[size_t(group)]; e < all_.first_[size_t(group) + 1]; e++)
                set(all_.others_[e]);
        }
        const ComparedGroups& all_;
        std::vector<uint64_t> words_;
        int64_t group_ = -1;
    };

private:
    const int64_t groups_;
    std::vector<int64_t> first_;
    Buffer<int32_t> others_;
};

}  // namespace lowd::search
