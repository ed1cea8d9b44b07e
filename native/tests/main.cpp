#include <exception>

#include "check.hpp"

namespace lowd::test {

namespace {
int failures = 0;
}

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
        if (argc > 1 && !std::strstr(c.name, argv[1])) continue;
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
