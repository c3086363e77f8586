// The built-in mappings, YAML documents, as part of the program.
#include <stddef.h>

typedef struct {
  const char *name;
  const unsigned char *bytes;
  size_t count;
} waymark_mapping;

// Returns the mapping at an index; one without a name behind the last.
waymark_mapping waymark_built_in_mapping(size_t index);
