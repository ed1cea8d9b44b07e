#define LOWD_LEVEL base
#include "level.inl"
