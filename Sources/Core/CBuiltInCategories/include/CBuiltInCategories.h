// The built-in tree of categories, a YAML document, as part of the program.
#include <stddef.h>

extern const unsigned char *const waymark_built_in_categories;
extern const size_t waymark_built_in_categories_count;
