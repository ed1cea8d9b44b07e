// Points that others are repelled by, as columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowd/levels/layout.hpp"
#include "lowd/matrix.hpp"

namespace lowd {

// All have the same weight, of sum 1; padding has none.
template <class T>
class RepellingColumns {
public:
    RepellingColumns(int64_t count, int k)
        : k_(k),
          padded_(round_up(count, LANES)),
          columns_(size_t(padded_ * k), T(0)),
          weights_(size_t(padded_), T(0)) {
        for (int64_t i = 0; i < count; i++) weights_[size_t(i)] = T(1 / double(count));
    }
    explicit RepellingColumns(Matrix<const double> Y) : RepellingColumns(Y.rows, int(Y.cols)) {
        for (int64_t i = 0; i < Y.rows; i++) set(i, Y.row(i));
    }

    template <class U>
    void set(int64_t i, const U* y) {
        for (int c = 0; c < k_; c++) columns_[size_t(c * padded_ + i)] = T(y[c]);
    }
    int64_t padded() const { return padded_; }
    RepellingPoints<T> view() const { return view(0, padded_); }
    // `count` points from number `first` on, both multiples of the lanes.
    RepellingPoints<T> view(int64_t first, int64_t count) const {
        return {columns_.data() + first, weights_.data() + first, padded_, count};
    }

private:
    static constexpr int64_t LANES = 64 / int64_t(sizeof(T));  // of the widest vector

    int k_;
    int64_t padded_;
    std::vector<T> columns_, weights_;
};

}  // namespace lowd
