// A library to preload under callgrind, which makes a program some hundred times slower: the monotonic clock runs slower
// still, so that no limit of time is reached which is not reached without callgrind.

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { slowdown = 5000 };

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int64_t first;
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result != 0 || clock != CLOCK_MONOTONIC) return result;
  int64_t now = time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
  if (first == 0) first = now;
  now = first + (now - first) / slowdown;
  *time = (struct timespec){.tv_sec = now / 1000000000, .tv_nsec = now % 1000000000};
  return 0;
}
