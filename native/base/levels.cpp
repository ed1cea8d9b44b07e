#include "base/levels.hpp"

#include <cstdlib>

#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#endif

namespace lowd {

extern const Level level_base;
#if defined(LOWD_X86_LEVELS)
extern const Level level_v3, level_v4;
#endif

namespace {

// Clang-cl does not link the runtime that __builtin_cpu_supports needs.
#if defined(LOWD_X86_LEVELS) && defined(_WIN32)
bool has_v3() { return IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE); }
bool has_v4() { return has_v3() && IsProcessorFeaturePresent(PF_AVX512F_INSTRUCTIONS_AVAILABLE); }
#elif defined(LOWD_X86_LEVELS)
bool has_v3() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
bool has_v4() {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

std::vector<const Level*> supported() {
    std::vector<const Level*> found{&level_base};
#if defined(LOWD_X86_LEVELS)
    if (has_v3()) found.push_back(&level_v3);
    if (has_v4()) found.push_back(&level_v4);
#endif
    return found;
}

const Level& choose() {
    const auto found = supported();
    if (const char* wanted = std::getenv("LOWD_CPU_LEVEL"))
        for (const Level* candidate : found)
            if (std::string(wanted) == candidate->name) return *candidate;
    return *found.back();
}

}  // namespace

const Level& level() {
    static const Level& chosen = choose();
    return chosen;
}

std::vector<std::string> levels() {
    std::vector<std::string> names;
    for (const Level* candidate : supported()) names.emplace_back(candidate->name);
    return names;
}

template <>
const Kernels<float>& kernels() {
    return level().float32;
}
template <>
const Kernels<double>& kernels() {
    return level().float64;
}

}  // namespace lowd
