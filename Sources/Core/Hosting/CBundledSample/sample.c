#include "CBundledSample.h"

static const unsigned char sample[] = {
#embed "landmarks.geojson"
};

const unsigned char *waymark_sample_bytes(void) { return sample; }
size_t waymark_sample_count(void) { return sizeof sample; }
