#include <exception>

#include "check.hpp"

namespace lowd::test {

namespace {

int failures = 0;

// Arguments name the cases to run, by a part of the name; with a minus before it, those to leave
// out.
bool is_wanted(const char* name, int argc, char** argv) {
    bool is_named = false, others_are = false;
    for (int i = 1; i < argc; i++) {
        const bool leaves_out = argv[i][0] == '-';
        const bool fits = std::strstr(name, argv[i] + leaves_out);
        if (leaves_out && fits) return false;
        (fits ? is_named : others_are) |= !leaves_out;
    }
    return is_named || !others_are;
}

}  // namespace

std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}
void fail(const char* file, int line, const char* what) {
    failures++;
    std::printf("  %s:%d: %s\n", file, line, what);
}

}  // namespace lowd::test

int main(int argc, char** argv) {
    using namespace lowd::test;
    std::printf("level %s\n", lowd::level().name);
    for (const Case& c : cases()) {
        if (!is_wanted(c.name, argc, argv)) continue;
        std::printf("%s\n", c.name);
        std::fflush(stdout);
        try {
            c.run();
        } catch (const std::exception& e) {
            fail(c.name, 0, e.what());
        }
    }
    std::printf("%d failures\n", failures);
    return failures != 0;
}
