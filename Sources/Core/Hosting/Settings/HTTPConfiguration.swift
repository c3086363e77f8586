import AccessControl
import Basics
import Glibc
package import HTTPServer
import LocationsAPI
package import ServerFeatures

extension HTTPServerConfiguration {
  /// Creates the configuration of the listening address and of the limits of clients.
  init(_ settings: Settings) throws(ConfigurationError) {
    self.init()
    host = settings.text(Setting.listening.host)
    port = try settings.integer(Setting.listening.port)
    threads = try settings.integer(Setting.limits.threads)
    if threads == 0 { threads = nil }
    problemTypePrefix = Problem.serviceTypePrefix
    limits.bodyBytes = try settings.integer(Setting.limits.bodyBytes)
    limits.connections = try settings.integer(Setting.limits.connections)
    limits.requestsInFlight = limits.connections
    limits.bufferedBytes = try settings.integer(
      Setting.limits.bufferedBytes, default: AvailableMemory.ofProcess.defaultBufferedBytes)
    timeouts.body = try settings.duration(Setting.limits.readTimeout)
    timeouts.header = timeouts.body / 2
    timeouts.write = try settings.duration(Setting.limits.writeTimeout)
  }
}

extension CORSPolicy {
  /// Creates the policy of the origins that browsers may call from.
  ///
  /// - Throws: ``ConfigurationError`` for a text that no browser sends as an origin, so that it would never match.
  init(_ settings: Settings) throws(ConfigurationError) {
    let key = Setting.responses.origins
    let texts = try settings.list(key)
    if texts.contains("*"), texts.count > 1 { throw settings.error(key, "must be * alone or a list without it") }
    var origins: Set<ExactText> = []
    for text in texts where text != "*" {
      guard let origin = Self.origin(text) else {
        throw ConfigurationError(
          key, value: text,
          expectation: "must be * or origins separated by commas: a scheme and a host, and a port where it is not the "
            + "scheme's, without a path, such as https://example.com or http://localhost:3000")
      }
      origins.insert(ExactText(origin))
    }
    self.init(origins: origins.isEmpty ? .any : .list(origins))
  }

  /// Returns the origin as browsers serialise it (RFC 6454, section 6.2): in lower case, without the scheme's own port;
  /// `nil` where the text is no origin.
  private static func origin(_ text: String) -> String? {
    let text = text.lowercased()
    let pattern = /([a-z][a-z0-9+.\-]*):\/\/([a-z0-9_.\-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?/
    guard let match = text.wholeMatch(of: pattern) else { return nil }
    guard let digits = match.3 else { return text }
    guard let port = Int(digits), 1...65_535 ~= port else { return nil }
    let isSchemesOwn = (match.1 == "http" && port == 80) || (match.1 == "https" && port == 443)
    return "\(match.1)://\(match.2)\(isSchemesOwn ? "" : ":\(port)")"
  }
}

/// The rate limit of each client, and the trusted proxies, whose header fields identify the client.
struct RateLimitConfiguration {
  /// The limit; `nil` where there is none.
  let limit: RateLimit?

  let proxies: TrustedProxies

  init(_ settings: Settings) throws(ConfigurationError) {
    let perSecond = try settings.number(Setting.limits.requestsPerSecond)
    // Two seconds' worth let a page load what it needs at once.
    let burst = min(1_000_000, max(10, Int((2 * perSecond).rounded(.up))))
    limit = perSecond == 0 ? nil : RateLimit(requestsPerSecond: perSecond, burst: burst)
    proxies = TrustedProxies(try settings.networks(Setting.listening.trustedProxies))
  }
}

/// The memory that the process may use: the limit of its control group, else the machine's memory.
struct AvailableMemory: Hashable {
  let bytes: Int

  /// The default of `HTTP_MAX_BUFFERED_BYTES`: a quarter of the memory. The rest is for the places, for results that
  /// are being encoded, and for what the C library keeps.
  var defaultBufferedBytes: Int { quarter }

  /// The maximum number of bytes that imports hold before they are applied, whatever responses may take.
  var importBytes: Int { quarter }

  private var quarter: Int { max(bytes / 4, 16 << 20) }

  /// Creates the least of all limits.
  ///
  /// - Parameters:
  ///   - physicalBytes: the machine's memory.
  ///   - text: returns the text of a file, or `nil` where it can't be read.
  init(physicalBytes: Int, text: (String) -> String?) {
    var least = physicalBytes
    func note(_ path: String) {
      // "max" is no limit; version 1 has a number beyond all memory instead.
      let value = text(path)?.split(whereSeparator: \.isWhitespace).first
      if let limit = value.flatMap({ Int($0) }), limit > 0 { least = min(least, limit) }
    }
    // In a container the process's own group is usually mounted as the root of the file system.
    note("/sys/fs/cgroup/memory.max")
    note("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    for line in text("/proc/self/cgroup")?.split(separator: "\n") ?? [] {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      let isUnified = fields[1].isEmpty
      guard isUnified || fields[1].split(separator: ",").contains("memory") else { continue }
      // The limits of the groups above apply too.
      var path = fields[2]
      while !path.isEmpty, path != "/" {
        note(
          isUnified ? "/sys/fs/cgroup\(path)/memory.max" : "/sys/fs/cgroup/memory\(path)/memory.limit_in_bytes")
        path = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
      }
    }
    bytes = least
  }

  /// The memory that this process may use.
  static var ofProcess: AvailableMemory {
    AvailableMemory(
      physicalBytes: sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)), text: ProcFile.text)
  }
}

/// The files of the server's TLS identity.
package struct TLSFiles: Hashable {
  /// The server's certificate and its chain up to a root.
  package let certificate: String

  let privateKey: String

  /// Creates the files of the settings; `nil` where there is no TLS.
  ///
  /// - Throws: ``ConfigurationError`` where one file is named without the other.
  init?(_ settings: Settings) throws(ConfigurationError) {
    switch (settings[Setting.listening.certificateFile], settings[Setting.listening.privateKeyFile]) {
    case (nil, nil): return nil
    case (let certificate?, let privateKey?):
      self.certificate = certificate
      self.privateKey = privateKey
    case (_?, nil): throw .conflict(Setting.listening.certificateFile, "needs TLS_PRIVATE_KEY_FILE")
    case (nil, _?): throw .conflict(Setting.listening.privateKeyFile, "needs TLS_CERTIFICATE_FILE")
    }
  }
}

extension TLSIdentity {
  /// Creates the identity from the configured files.
  ///
  /// - Throws: ``ConfigurationError`` that names the variable and the file.
  package convenience init(_ files: TLSFiles) throws(ConfigurationError) {
    do {
      try self.init(certificateFile: files.certificate, privateKeyFile: files.privateKey)
    } catch {
      throw ConfigurationError(error)
    }
  }
}

extension ConfigurationError {
  /// Creates the error of unusable TLS files.
  init(_ error: TLSIdentityError) {
    switch error {
    case .certificateUnusable(let file):
      self.init(Setting.listening.certificateFile, value: file, expectation: "must be a file of certificates in PEM")
    case .privateKeyUnusable(let file):
      self.init(
        Setting.listening.privateKeyFile, value: file,
        expectation: "must be a file with a private key in PEM, without a passphrase")
    case .mismatch(let certificateFile, let privateKeyFile):
      self.init(
        Setting.listening.privateKeyFile, value: privateKeyFile,
        expectation: "must hold the key of the first certificate in '\(certificateFile)'")
    }
  }
}

extension ReloadablePart {
  static func certificate(_ identity: TLSIdentity) -> Self {
    Self(name: "the certificate") {
      do throws(TLSIdentityError) {
        try identity.reload()
      } catch {
        throw ConfigurationError(error)
      }
      return [:]
    }
  }
}
