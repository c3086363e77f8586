// The migrations of the folder Migrations, as part of the program.
//
// In C, because `#embed` includes a file quickly.
#include <stddef.h>

struct waymark_migration {
  // The name of the file without `.sql`.
  const char *name;
  const unsigned char *bytes;
  size_t count;
};

// In order of the names.
const struct waymark_migration *waymark_migrations(void);
size_t waymark_migration_count(void);
