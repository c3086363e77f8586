// Counts what a program asks of malloc, loaded before the C library:
//
//   ALLOCATION_COUNT=FILE LD_PRELOAD=liballocations.so PROGRAM
//
// The count is the first eight bytes of FILE, so that whoever has the file sees it while the program runs; the program
// itself may ask for it by allocation_count(). A realloc counts as one, and what is freed is not counted. Each thread's
// allocations count, so what else the program does meanwhile is in the figures: measure over many requests.

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Atomic uint64_t uncounted;
static _Atomic uint64_t *counter = &uncounted;

static void count(void) { atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }

// Puts the counter into the file, before the program's own constructors run.
__attribute__((constructor(101))) static void share(void) {
  const char *path = getenv("ALLOCATION_COUNT");
  if (!path) return;
  // Programs that this one starts are not what is measured.
  unsetenv("LD_PRELOAD");
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(uint64_t)) != 0) _exit(126);
  void *bytes = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) _exit(126);
  close(file);
  counter = bytes;
}

// How many allocations there were since the program began.
uint64_t allocation_count(void) { return atomic_load_explicit(counter, memory_order_relaxed); }

void *malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

void *realloc(void *bytes, size_t size) {
  count();
  return __libc_realloc(bytes, size);
}

void *memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  count();
  void *bytes = __libc_memalign(alignment, size);
  if (!bytes) return ENOMEM;
  *result = bytes;
  return 0;
}
