// The files of the service's web pages, as part of the program.
#include <stddef.h>

typedef struct {
  // The path of the call, the call's name for programs, and its summary.
  const char *path;
  const char *id;
  const char *summary;
  const unsigned char *bytes;
  size_t count;
} waymark_page_file;

typedef struct {
  const waymark_page_file *files;
  size_t count;
} waymark_page_files;

// Returns the files of all pages.
waymark_page_files waymark_pages(void);

// The texts of all pages in a language, as JSON.
typedef struct {
  const char *language;
  const unsigned char *bytes;
  size_t count;
} waymark_page_texts;

// Returns the texts of a language, without a language behind the last one.
waymark_page_texts waymark_texts(size_t index);
