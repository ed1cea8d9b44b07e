// The similarity of two points of an embedding, by its name.
#pragma once

#include <string>

#include "bind.hpp"
#include "lowd/descent.hpp"

namespace lowd::python {

inline Similarity similarity_of(const std::string& name) {
    require(name == "student" || name == "gauss" || name == "rows", "unknown kernel");
    return name == "student" ? Similarity::student
           : name == "gauss" ? Similarity::gauss
                             : Similarity::rows;
}

}  // namespace lowd::python
