import HTTPServer
import LocationsAPI

extension HTTPServerConfiguration {
  /// Reads where to listen and what clients may do; what is not set stays as the server has it.
  init(_ settings: Settings) throws(ConfigurationError) {
    self.init()
    host = settings["HTTP_HOST"] ?? "127.0.0.1"
    port = try settings.integer("HTTP_PORT", in: 0...65_535, default: 8080)
    threads = try settings.integer("HTTP_THREADS", in: 0...1024, default: 0)
    if threads == 0 { threads = nil }
    problemTypePrefix = LocationsAPI.problemTypePrefix
    limits.uriBytes = try settings.integer("HTTP_MAX_URI_BYTES", in: 64...65_536, default: limits.uriBytes)
    limits.headerBytes = try settings.integer("HTTP_MAX_HEADER_BYTES", in: 256...65_536, default: limits.headerBytes)
    limits.bodyBytes = try settings.integer("HTTP_MAX_BODY_BYTES", in: 0...1 << 40, default: 1 << 20)
    limits.connections = try settings.integer("HTTP_MAX_CONNECTIONS", in: 1...1_000_000, default: limits.connections)
    limits.requestsInFlight = try settings.integer(
      "HTTP_MAX_REQUESTS_IN_FLIGHT", in: 1...1_000_000, default: limits.requestsInFlight)
    limits.bufferedBytes = try settings.integer(
      "HTTP_MAX_BUFFERED_BYTES", in: 16 << 20...1 << 40, default: AvailableMemory.ofProcess.defaultBufferedBytes)
    timeouts.header = try settings.milliseconds("HTTP_HEADER_TIMEOUT_MS", default: 10_000)
    timeouts.body = try settings.milliseconds("HTTP_BODY_TIMEOUT_MS", default: 20_000)
    timeouts.idle = try settings.milliseconds("HTTP_IDLE_TIMEOUT_MS", default: 60_000)
    timeouts.write = try settings.milliseconds("HTTP_WRITE_TIMEOUT_MS", default: 20_000)
  }
}
