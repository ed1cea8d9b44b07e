// The kernels of one CPU level, as a table of functions. Each level is the same source compiled
// with other flags.
//
// Kernels are coarse (thousands of operations), take plain pointers, and treat every row by itself:
// the bits of a row depend neither on its position in a block nor on the other rows.
#pragma once

#include <string>
#include <vector>

#include "embedding/kernels.hpp"
#include "graph/kernels.hpp"
#include "linear/kernels.hpp"
#include "neighbors/kernels.hpp"
#include "ranks/kernels.hpp"
#include "stress/kernels.hpp"

namespace lowd {

// Kernels that exist for both types of entries.
template <class T>
struct Kernels : MomentKernels<T>,
                 LinearKernels<T>,
                 PairwiseKernels<T>,
                 HadamardKernels<T>,
                 PathKernels<T>,
                 DistanceKernels<T>,
                 GuttmanKernels<T> {};

struct Level {
    const char* name;
    Kernels<float> float32;
    Kernels<double> float64;
    SparseKernels sparse;
    SearchKernels search;
    RankKernels ranks;
    StressKernels stress;
    ForceKernels forces;
    GridKernels grid;
    LayoutKernels layout;
};

// The level in use: the highest supported one, or the one that the environment variable
// LOWD_CPU_LEVEL names.
const Level& level();
std::vector<std::string> levels();  // supported levels, lowest first

template <class T>
const Kernels<T>& kernels();

}  // namespace lowd
