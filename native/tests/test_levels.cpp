#include <cstdlib>

#include "check.hpp"

using namespace lowd;
using namespace lowd::test;

TEST(levels_are_listed) {
    CHECK(!levels().empty() && levels().front() == "base");
    const char* wanted = std::getenv("LOWD_CPU_LEVEL");
    for (const auto& name : levels())
        if (wanted && name == wanted) CHECK(name == level().name);
}

// A table that lacks a kernel holds a null pointer; the few numbers between pointers are not 0.
TEST(tables_have_all_kernels) {
    static_assert(sizeof(Level) % sizeof(uintptr_t) == 0);
    uintptr_t words[sizeof(Level) / sizeof(uintptr_t)];
    std::memcpy(words, &level(), sizeof(Level));
    for (size_t w = 0; w < std::size(words); w++) CHECK(words[w] != 0);
}
