// Scaling by order alone: pairs sorted by their dissimilarity, and the targets that rise with them.
#pragma once

#include <vector>

#include "lowd/stress.hpp"

namespace lowd {

// The known pairs of rows in the order of d_ij, then of i and j.
struct Ordered {
    int64_t count = 0;
    Buffer<Link> pairs;
    Buffer<double> weights;  // none: all are 1
    Buffer<uint8_t> tied;  // whether a pair has the d of the one before; none: no two are tied
};
// Pairs i < j; NaN in D and 0 in W (not negative; may be null) leave a pair out.
template <class T>
Ordered ordered(Matrix<const T> D, const Matrix<const T>* W, Job& job);

// Stress against the best targets in that order, of weighted mean square 1. Tied pairs share a
// target, unless they are `split`: then they are kept sorted by their present distances.
class Order {
public:
    template <class T>
    Order(Matrix<const T> D, const Matrix<const T>* W, bool split, Job& job)
        : rows_(D.rows), split_(split), all_(ordered(D, W, job)) {
        cut();
    }
    int64_t rows() const { return rows_; }

    // As `guttman`, with these targets.
    Stress step(Matrix<const double> Y, Matrix<double> moved, Job& job);

    // Where the function from dissimilarities to targets has its corners: there is d of a pair.
    // Tied pairs with several targets have the mean of them.
    struct Corner {
        Link pair;
        double target;
    };
    std::vector<Corner> curve(Matrix<const double> Y, Job& job);

private:
    struct Room;
    void cut();
    std::vector<Stair> stairs(const Buffer<double>& y, int k, Job& job);
    void pool(int64_t part, const double* y, int k, Room& room);
    void sort_tied(int64_t begin, int64_t end, double* lengths, Room& room);

    int64_t rows_;
    bool split_;
    Ordered all_;
    std::vector<int64_t> edges_;  // of parts that are pooled on their own: no ties across them
    std::vector<std::vector<Pool>> pooled_;
};

}  // namespace lowd
