// What a NeighborIndex consists of.
#pragma once

#include <memory>
#include <vector>

#include "filter_bounds.hpp"
#include "lowd/neighbors.hpp"
#include "original_rows.hpp"
#include "packed_rows.hpp"

namespace lowd {

template <class T>
struct NeighborIndex<T>::Parts {
    Matrix<const T> X;
    std::vector<double> center;
    search::FilterBounds bounds;
    std::unique_ptr<search::PackedRows> rows;
    std::unique_ptr<search::OriginalRows<T>> originals;
    bool refined = false;

    Parts(Matrix<const T> x, int64_t m, Projection projection)
        : X(x),
          center(projection.center, projection.center + x.cols),
          bounds(x.cols, m, projection) {}
};

}  // namespace lowd
