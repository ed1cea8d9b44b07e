// Table of kernels of sparse float64 matrices; see sparse.inl and alignment.inl.
#pragma once

#include <cstdint>

namespace lowd {

// Row r is number `slot` among the members of a patch.
struct Membership {
    int32_t patch, slot;
};

// The alignment matrix: a sum over patches of counts (identity I - or + sum_l f_l f_l'), each on
// its members; see `alignment_matrix`.
struct PatchSum {
    const int64_t* indptr;  // the members of patch i begin at members[indptr[i]]
    const int32_t* members;
    // The memberships of row r begin at memberships[membership_indptr[r]].
    const int64_t* membership_indptr;
    const Membership* memberships;
    const int64_t* offsets;  // positions of each patch's first factor; factors are padded vectors
    const double *factors, *counts;
    int added;  // this many factors are added, the others are subtracted
    double identity;  // factor of the identity
    int excluded;  // this many last members have no part in the identity
};

struct SparseKernels {
    // Rows first .. last of out = a A V + b V + c U.
    void (*matmul32)(const int32_t* indptr, const int32_t* columns, const double* values,
                     int64_t first, int64_t last, const double* v, int64_t width, double a,
                     double b, const double* u, double c, double* out);
    void (*matmul64)(const int64_t* indptr, const int64_t* columns, const double* values,
                     int64_t first, int64_t last, const double* v, int64_t width, double a,
                     double b, const double* u, double c, double* out);
    // Rows first .. last of the sum over patches. line: one entry per member of the largest patch,
    // padded; sum: one per row, zero.
    void (*assemble)(const PatchSum& patches, int64_t first, int64_t last, const int64_t* indptr,
                     const int32_t* columns, double* values, double* line, double* sum);
};

}  // namespace lowd
