#ifndef WAYMARK_TCP_INFO_H
#define WAYMARK_TCP_INFO_H

#include <stdint.h>

/// The fields of Linux's `struct tcp_info` (linux/tcp.h) that show the progress of delivery, at their offsets. Swift's
/// Glibc module has an older, shorter declaration under the same name. CTCPInfo.c compares this one with the system's.
struct waymark_tcp_info {
  uint8_t before_unacked[24];
  /// The number of segments that were sent and are not acknowledged.
  uint32_t unacked;
  uint8_t before_bytes_acked[92];
  /// The number of bytes that the peer's system has acknowledged (RFC 4898, tcpEStatsAppHCThruOctetsAcked).
  uint64_t bytes_acked;
  uint8_t before_notsent_bytes[16];
  /// The number of bytes that are written to the socket and not yet sent.
  uint32_t notsent_bytes;
  uint32_t after_notsent_bytes;
};

/// The number of Linux's socket option SO_ATTACH_FILTER; 0 where the system has none.
extern const int waymark_so_attach_filter;

/// The value of Linux's socket option SO_ATTACH_FILTER (linux/filter.h): instructions that decide which segments a
/// socket receives.
struct waymark_socket_filter {
  unsigned short count;
  /// The address of the instructions.
  uintptr_t instructions;
};

/// The segments that a listening socket receives.
enum waymark_segments {
  /// All but those that begin a connection: a handshake in progress can complete.
  waymark_segments_of_begun_handshakes,
  /// None.
  waymark_segments_none,
};

/// Returns a filter, which is valid for the life of the process; one without instructions where the system has none.
struct waymark_socket_filter waymark_socket_filter(enum waymark_segments segments);

#endif
