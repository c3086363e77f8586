#include "CHolidays.h"

static const unsigned char holidays[] = {
#embed "holidays.bin"
};

const unsigned char *holiday_rules(size_t *count) {
  *count = sizeof holidays;
  return holidays;
}

static const unsigned char regions[] = {
#embed "regions.bin"
};

const unsigned char *holiday_regions(size_t *count) {
  *count = sizeof regions;
  return regions;
}
