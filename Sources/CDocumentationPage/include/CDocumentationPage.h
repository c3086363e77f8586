// The files of the documentation page, as part of the program.
#include <stddef.h>

typedef struct {
  const unsigned char *bytes;
  size_t count;
} waymark_file;

waymark_file waymark_documentation_page(void);
waymark_file waymark_documentation_style(void);
waymark_file waymark_documentation_script(void);
