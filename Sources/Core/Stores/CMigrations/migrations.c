#include "CMigrations.h"

// A new file of the folder is added here, and to the list below.
static const unsigned char schema[] = {
#embed "../../../../Migrations/0001_schema.sql"
};

static const struct waymark_migration migrations[] = {
    {"0001_schema", schema, sizeof schema},
};

const struct waymark_migration *waymark_migrations(void) { return migrations; }
size_t waymark_migration_count(void) { return sizeof migrations / sizeof *migrations; }
