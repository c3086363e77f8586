#include "CBuiltInMappings.h"

static const unsigned char columns[] = {
#embed "columns.yaml"
};
static const unsigned char geonames[] = {
#embed "geonames.yaml"
};
static const unsigned char osm[] = {
#embed "osm.yaml"
};
static const unsigned char overture[] = {
#embed "overture.yaml"
};

static const waymark_mapping mappings[] = {
  {"columns", columns, sizeof columns},
  {"geonames", geonames, sizeof geonames},
  {"osm", osm, sizeof osm},
  {"overture", overture, sizeof overture},
};

waymark_mapping waymark_built_in_mapping(size_t index) {
  if (index < sizeof mappings / sizeof *mappings) return mappings[index];
  return (waymark_mapping){NULL, NULL, 0};
}
