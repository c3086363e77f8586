// The time zones by position, written by Sources/Libraries/CTimeZones/make: © OpenStreetMap contributors, ODbL.
#include <stddef.h>

const unsigned char *time_zone_shapes(size_t *count);
