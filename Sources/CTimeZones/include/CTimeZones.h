// The time zones by position, written by Sources/CTimeZones/make: © OpenStreetMap contributors, ODbL.
#include <stddef.h>

const unsigned char *waymark_time_zones(size_t *count);
