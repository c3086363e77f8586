// The public holidays of countries and regions, written by Sources/CHolidays/make.
#include <stddef.h>

const unsigned char *waymark_holidays(size_t *count);
