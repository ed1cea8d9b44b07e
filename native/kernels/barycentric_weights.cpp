#include "for_each_patch.hpp"
#include "instantiate.hpp"
#include "lowd/alignment.hpp"
#include "lowd/levels.hpp"
#include "scratch.hpp"

namespace lowd {

template <class T>
void barycentric_weights(Matrix<const T> Q, Matrix<const T> X, Ragged near, double reg,
                         double* weights, Job& job) {
    Scratch<double> scratch(job, patch_scratch(near.longest(), X.cols));
    job.expect(ceil_div(near.count(), PATCHES_PER_BLOCK));
    for_each_patch(near.count(), job, [&](int64_t i, int worker) {
        kernels<T>().barycenter(Q.row(i), X.data, X.stride, X.cols, near.row(i), int(near.size(i)),
                                reg, scratch[worker], weights + near.indptr[i]);
    });
}

#define INSTANTIATE(T)                                                                           \
    template void barycentric_weights(Matrix<const T>, Matrix<const T>, Ragged, double, double*, \
                                      Job&);
LOWD_FOR_FLOATS(INSTANTIATE)

}  // namespace lowd
