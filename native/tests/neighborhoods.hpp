// Nearest neighbors by the definition, as lists of indices.
#pragma once

#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "base/matrix.hpp"

namespace lowd::test {

// Lists of indices that own their arrays.
struct OwnedRagged {
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> indices;

    void add(const std::vector<int32_t>& list) {
        indices.insert(indices.end(), list.begin(), list.end());
        indptr.push_back(int64_t(indices.size()));
    }
    operator Ragged() const { return {indptr, indices}; }
};

template <class T>
double gap(const Data<T>& X, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < X.cols; c++) sum += (X(i, c) - X(j, c)) * (X(i, c) - X(j, c));
    return std::sqrt(sum);
}
// The k other rows nearest to row i.
template <class T>
std::vector<int32_t> nearest(const Data<T>& X, int64_t i, int k) {
    std::vector<int32_t> order(size_t(X.rows));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return std::pair(gap(X, i, a), a) < std::pair(gap(X, i, b), b);
    });
    std::erase(order, int32_t(i));
    order.resize(size_t(k));
    return order;
}

}  // namespace lowd::test
