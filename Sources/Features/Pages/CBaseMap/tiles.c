#include "CBaseMap.h"

static const unsigned char tiles[] = {
#embed "tiles.bin"
};

const unsigned char *waymark_base_map(size_t *count) {
  *count = sizeof tiles;
  return tiles;
}
