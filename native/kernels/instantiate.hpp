// Explicit instantiation of a template for both types of entries.
#pragma once

#define LOWD_FOR_FLOATS(INSTANTIATE) INSTANTIATE(float) INSTANTIATE(double)
