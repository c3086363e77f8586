// Moves the time of day of a program that is started with this library in LD_PRELOAD by the seconds in the file that
// CLOCK_OFFSET_FILE names. The monotonic clock, by which programs wait, stays.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long offset(void) {
  const char *path = getenv("CLOCK_OFFSET_FILE");
  FILE *file = path ? fopen(path, "r") : NULL;
  long seconds = 0;
  if (!file) return 0;
  if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
  fclose(file);
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*system)(clockid_t, struct timespec *);
  if (!system) system = dlsym(RTLD_NEXT, "clock_gettime");
  int result = system(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  static int (*system)(struct timeval *, void *);
  if (!system) system = dlsym(RTLD_NEXT, "gettimeofday");
  int result = system(time, zone);
  if (result == 0) time->tv_sec += offset();
  return result;
}
