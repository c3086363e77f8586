// The public holidays of countries and regions, and the regions by position, written by Sources/CHolidays/make.
#include <stddef.h>

const unsigned char *waymark_holidays(size_t *count);

const unsigned char *waymark_holiday_regions(size_t *count);
