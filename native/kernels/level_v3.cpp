#define LOWD_LEVEL v3
#include "level.inl"
