#include "CBuiltInCategories.h"

static const unsigned char categories[] = {
#embed "categories.yaml"
};

const unsigned char *const waymark_built_in_categories = categories;
const size_t waymark_built_in_categories_count = sizeof categories;
