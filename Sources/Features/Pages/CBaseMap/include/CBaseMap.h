// The vector tiles of the base map, written by Sources/Features/Pages/CBaseMap/make.
#include <stddef.h>

const unsigned char *waymark_base_map(size_t *count);
