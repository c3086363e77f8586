#include "CTCPInfo.h"

#ifdef __linux__
#include <linux/filter.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

#define SAME_OFFSET(field)                                                                                    \
  _Static_assert(                                                                                             \
      offsetof(struct waymark_tcp_info, field) == offsetof(struct tcp_info, tcpi_##field),                    \
      #field " has another offset in the system's struct tcp_info")

SAME_OFFSET(unacked);
SAME_OFFSET(bytes_acked);
SAME_OFFSET(notsent_bytes);

_Static_assert(
    sizeof(struct waymark_socket_filter) == sizeof(struct sock_fprog) &&
        offsetof(struct waymark_socket_filter, instructions) == offsetof(struct sock_fprog, filter),
    "the system's struct sock_fprog has another layout");

// Byte 13 of a segment has the flags, of which 2 is SYN and 16 is ACK (RFC 9293, section 3.1).
static const struct sock_filter of_begun_handshakes[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),       BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 18),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1), BPF_STMT(BPF_RET | BPF_K, 0),
    BPF_STMT(BPF_RET | BPF_K, 0xFFFFFFFF),
};

static const struct sock_filter none[] = {BPF_STMT(BPF_RET | BPF_K, 0)};

const int waymark_so_attach_filter = SO_ATTACH_FILTER;

struct waymark_socket_filter waymark_socket_filter(enum waymark_segments segments) {
  if (segments == waymark_segments_none) return (struct waymark_socket_filter){1, (uintptr_t)none};
  return (struct waymark_socket_filter){5, (uintptr_t)of_begun_handshakes};
}
#else
const int waymark_so_attach_filter = 0;

struct waymark_socket_filter waymark_socket_filter(enum waymark_segments segments) {
  return (struct waymark_socket_filter){0, 0};
}
#endif
