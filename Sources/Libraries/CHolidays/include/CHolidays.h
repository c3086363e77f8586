// The public holidays of countries and regions, and the regions by position, written by Sources/Libraries/CHolidays/make.
#include <stddef.h>

const unsigned char *holiday_rules(size_t *count);

const unsigned char *holiday_regions(size_t *count);
