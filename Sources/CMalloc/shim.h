// The GNU C library's own additions to malloc, which Swift's Glibc module leaves out.
#ifdef __linux__
#include <malloc.h>
#endif
