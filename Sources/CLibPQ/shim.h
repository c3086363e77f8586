#include <libpq-fe.h>
#include <sys/ioctl.h>

/// Returns the number of bytes that have arrived at a socket and were not read, or 0 if it is unknown.
static inline int socket_unread_bytes(int socket) {
  int count = 0;
  return ioctl(socket, FIONREAD, &count) == 0 ? count : 0;
}
