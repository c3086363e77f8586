// The GNU C library's extensions of malloc, which Swift's Glibc module omits.
#ifdef __linux__
#include <malloc.h>
#endif
