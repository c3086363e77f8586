import CTCPInfo

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The socket filters with which a server refuses new connections while it accepts those in the backlog.
package enum SocketFilters {
  /// A Boolean value that indicates whether the system lets a program filter a socket's segments. A container's sandbox
  /// may forbid it.
  package static let arePermitted: Bool = {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var filter = waymark_socket_filter(waymark_segments_none)
    let length = socklen_t(MemoryLayout.size(ofValue: filter))
    return setsockopt(descriptor, SOL_SOCKET, waymark_so_attach_filter, &filter, length) == 0
  }()
}
