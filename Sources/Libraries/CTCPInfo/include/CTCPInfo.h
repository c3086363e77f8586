#ifndef LINUX_TCP_INFO_H
#define LINUX_TCP_INFO_H

#include <stdint.h>

/// The fields of Linux's `struct tcp_info` (linux/tcp.h) that show the progress of delivery, at their offsets. Swift's
/// Glibc module has an older, shorter declaration under the same name. CTCPInfo.c compares this one with the system's.
struct linux_tcp_info {
  uint8_t before_unacked[24];
  /// The number of segments that were sent and are not acknowledged; of a listening socket, the length of its accept
  /// queue.
  uint32_t unacked;
  uint8_t before_bytes_acked[92];
  /// The number of bytes that the peer's system has acknowledged (RFC 4898, tcpEStatsAppHCThruOctetsAcked).
  uint64_t bytes_acked;
  uint8_t before_notsent_bytes[16];
  /// The number of bytes that are written to the socket and not yet sent.
  uint32_t notsent_bytes;
  uint32_t after_notsent_bytes;
};

#endif
