#include "CVerifiedMap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#ifdef __linux__
const bool waymark_map_protects = true;
#else
const bool waymark_map_protects = false;
#endif

// The list of mappings is read by signal handlers while it changes. Its elements are never freed, but used again; those
// in use are the ones with a length.
struct waymark_map {
  // Constant once the element is in the list.
  struct waymark_map *next;
  _Atomic uintptr_t start;
  // In whole pages; 0 while the element is not in use.
  _Atomic size_t mapped_length;
  bool is_used;
  int file;
  char *path;
  size_t offset;
  size_t length;
  size_t unit_size;
  // `NULL` if nothing is to be verified.
  uint32_t *checksums;
  // By unit.
  _Atomic bool *is_verified;
};

static _Atomic(struct waymark_map *) maps;
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction former_segv, former_bus;

// Units that are verified in no order are mappings of their own for the system, which allows a process 65,530 by default
// (vm.max_map_count). They become one again as soon as all are verified.
enum { least_unit_size = 1 << 20, most_units = 16384 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// Async-signal-safe. Several threads may verify a unit at the same time: none waits for another, which may be preempted.
const char *waymark_map_verify(struct waymark_map *map, size_t unit) {
  // A handler may run on a small stack.
  unsigned char bytes[16 << 10];
  size_t from = unit * map->unit_size, end = smaller(from + map->unit_size, map->length);
#ifdef __linux__
  posix_fadvise(map->file, (off_t)(map->offset + from), (off_t)(end - from), POSIX_FADV_WILLNEED);
#endif
  for (size_t at = from; at < end;) {
    size_t block = at / waymark_map_block_size;
    size_t block_end = smaller(at + waymark_map_block_size, end);
    uLong checksum = 0;
    while (at < block_end) {
      ssize_t count = pread(map->file, bytes, smaller(sizeof bytes, block_end - at), (off_t)(map->offset + at));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return "can't be read";
      if (count == 0) return "is shorter than when it was written";
      checksum = crc32_z(checksum, bytes, (z_size_t)count);
      at += (size_t)count;
    }
    if (checksum != map->checksums[block]) return "is damaged";
  }
  // Without a free mapping, until those of other units have become one.
  for (int attempt = 0; mprotect((char *)map->start + from, end - from, PROT_READ) != 0; attempt++) {
    if (errno != ENOMEM || attempt == 10000) return "can't be made readable";
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  map->is_verified[unit] = true;
  return NULL;
}

static void write_line(const char *path, const char *reason) {
  const char *parts[] = {
      "waymark: error: ", path, " ", reason, ": the process ends, and the next start builds the index\n"};
  struct iovec line[sizeof parts / sizeof parts[0]];
  for (size_t index = 0; index < sizeof parts / sizeof parts[0]; index++)
    line[index] = (struct iovec){(void *)parts[index], strlen(parts[index])};
  // Nothing is left to report a failure to.
  if (writev(STDERR_FILENO, line, sizeof parts / sizeof parts[0]) < 0) return;
}

static _Noreturn void end_process(const struct waymark_map *map, const char *reason) {
  unlink(map->path);
  write_line(map->path, reason);
  _exit(EXIT_FAILURE);
}

void waymark_map_verify_rest(struct waymark_map *map) {
  if (!map->checksums) return;
  for (size_t unit = 0; unit < waymark_map_unit_count(map); unit++) {
    if (map->is_verified[unit]) continue;
    const char *reason = waymark_map_verify(map, unit);
    if (reason) end_process(map, reason);
  }
}

// Returns the mapping of an address; `NULL` if there is none. That of an address which the calling thread reads does not
// change meanwhile. Others may: one whose length is the same before and after has had the start with it.
static struct waymark_map *map_of(uintptr_t address) {
  for (struct waymark_map *map = maps; map; map = map->next) {
    size_t length = map->mapped_length;
    if (address - map->start < length && map->mapped_length == length) return map;
  }
  return NULL;
}

// Returns true for a fault at a verified unit that is a forbidden access, such as a write. One from before another thread
// has verified the unit does not recur.
static bool recurs(uintptr_t address) {
  static _Thread_local uintptr_t last;
  static _Thread_local int count;
  count = address == last ? count + 1 : 0;
  last = address;
  return count > 1000;
}

static void handle_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  int error = errno;
  uintptr_t address = (uintptr_t)info->si_addr;
  // A positive code is that of a fault, rather than of a signal that was sent.
  struct waymark_map *map = info->si_code > 0 ? map_of(address) : NULL;
  if (map && number == SIGBUS) end_process(map, "was made shorter, or can't be read");
  if (map && map->checksums) {
    size_t unit = (address - map->start) / map->unit_size;
    if (!map->is_verified[unit]) {
      const char *reason = waymark_map_verify(map, unit);
      if (reason) end_process(map, reason);
      errno = error;
      return;
    }
    if (!recurs(address)) return;
  }
  // The fault recurs, and the former handler gets it. A signal that was sent does not; it is blocked until this returns.
  sigaction(number, number == SIGBUS ? &former_bus : &former_segv, NULL);
  if (info->si_code <= 0) raise(number);
  errno = error;
}

static void install_handlers(void) {
  struct sigaction action = {.sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &former_segv);
  sigaction(SIGBUS, &action, &former_bus);
}

static struct waymark_map *unused_map(void) {
  for (struct waymark_map *map = maps; map; map = map->next)
    if (!map->is_used) return map;
  struct waymark_map *map = calloc(1, sizeof *map);
  if (!map) return NULL;
  map->next = maps;
  maps = map;
  return map;
}

static void release(struct waymark_map *map) {
  free(map->path);
  free(map->checksums);
  free((void *)map->is_verified);
  map->is_used = false;
}

static bool fill(struct waymark_map *map, int file, const char *path, size_t offset, size_t length,
                 const uint32_t *checksums) {
  map->file = file;
  map->path = strdup(path);
  map->offset = offset;
  map->length = length;
  map->unit_size = least_unit_size;
  while ((length - 1) / map->unit_size >= most_units) map->unit_size *= 2;
  map->checksums = NULL;
  map->is_verified = calloc(waymark_map_unit_count(map), sizeof *map->is_verified);
  if (!map->path || !map->is_verified) return false;
  if (checksums) {
    size_t size = ((length - 1) / waymark_map_block_size + 1) * sizeof *checksums;
    if (!(map->checksums = malloc(size))) return false;
    memcpy(map->checksums, checksums, size);
  }
  int protection = checksums && waymark_map_protects ? PROT_NONE : PROT_READ;
  void *start = mmap(NULL, length, protection, MAP_SHARED, file, (off_t)offset);
  if (start == MAP_FAILED) return false;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  map->start = (uintptr_t)start;
  map->mapped_length = (length + page - 1) / page * page;
  return true;
}

struct waymark_map *waymark_map_create(
    int file, const char *path, size_t offset, size_t length, const uint32_t *checksums) {
  static bool has_handlers;
  pthread_mutex_lock(&changes);
  if (!has_handlers) install_handlers();
  has_handlers = true;
  struct waymark_map *map = unused_map();
  if (map) {
    map->is_used = true;
    if (!fill(map, file, path, offset, length, checksums)) {
      int error = errno;
      release(map);
      map = NULL;
      errno = error;
    }
  }
  pthread_mutex_unlock(&changes);
  return map;
}

void waymark_map_destroy(struct waymark_map *map) {
  void *start = (void *)map->start;
  size_t length = map->mapped_length;
  pthread_mutex_lock(&changes);
  // Not after the addresses are free for other mappings.
  map->mapped_length = 0;
  munmap(start, length);
  release(map);
  pthread_mutex_unlock(&changes);
}

const void *waymark_map_start(const struct waymark_map *map) { return (const void *)map->start; }

size_t waymark_map_unit_count(const struct waymark_map *map) { return (map->length - 1) / map->unit_size + 1; }
