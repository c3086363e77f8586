#include "CTimeZones.h"

static const unsigned char zones[] = {
#embed "zones.bin"
};

const unsigned char *waymark_time_zones(size_t *count) {
  *count = sizeof zones;
  return zones;
}
