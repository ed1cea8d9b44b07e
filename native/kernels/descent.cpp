#include "lowd/descent.hpp"

#include "descent_routes.hpp"

namespace lowd {

std::unique_ptr<Descent> descent(Ragged P, const double* values, int k, Similarity similarity,
                                 Repulsion repulsion) {
    if (repulsion != Repulsion::exact && similarity == Similarity::student && k <= 3)
        return grid_descent(P, values, k, repulsion == Repulsion::float32);
    return exact_descent(P, values, k, similarity);
}

}  // namespace lowd
