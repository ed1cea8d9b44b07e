// A small set of row indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lowd::search {

// A hash table with open addressing, small enough to stay in L1.
class RowSet {
public:
    void clear() {
        for (const size_t at : taken_) table_[at] = NONE;
        taken_.clear();
    }
    bool add(int32_t row) {
        const size_t mask = table_.size() - 1;
        size_t at = uint32_t(row) * 0x9e3779b1u >> 8 & mask;
        for (; table_[at] != NONE; at = (at + 1) & mask)
            if (table_[at] == row) return false;
        table_[at] = row;
        taken_.push_back(at);
        if (2 * taken_.size() > table_.size()) grow();
        return true;
    }

private:
    void grow() {
        std::vector<int32_t> old(2 * table_.size(), NONE);
        old.swap(table_);
        taken_.clear();
        for (const int32_t row : old)
            if (row != NONE) add(row);
    }
    static constexpr int32_t NONE = -1;
    std::vector<int32_t> table_ = std::vector<int32_t>(512, NONE);
    std::vector<size_t> taken_;
};

}  // namespace lowd::search
