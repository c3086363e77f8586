#include "CHolidays.h"

static const unsigned char holidays[] = {
#embed "holidays.bin"
};

const unsigned char *waymark_holidays(size_t *count) {
  *count = sizeof holidays;
  return holidays;
}
