// Counts the memory allocations of a program, loaded before the C library:
//
//   ALLOCATION_COUNT=FILE LD_PRELOAD=liballocations.so PROGRAM
//
// The count is in the first eight bytes of FILE, where other processes can read it while the program runs; the program
// itself can call allocation_count(). A realloc counts as one allocation; free is not counted. All threads are counted,
// so the count includes background work: measure over many requests.

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

// Maps the counter into the file before the constructors of the program run.
__attribute__((constructor(101))) static void share(void) {
  const char *path = getenv("ALLOCATION_COUNT");
  if (!path) return;
  // Child processes are not counted.
  unsetenv("LD_PRELOAD");
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(uint64_t)) != 0) _exit(126);
  void *bytes = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) _exit(126);
  close(file);
  counter = bytes;
}

// Returns the number of allocations since the program started.
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
