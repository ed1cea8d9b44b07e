#define LOWD_LEVEL v4
#include "level.inl"
