import NIOHTTP1

/// What a method is called in metrics and logs: one of a few names, whatever clients send.
enum MethodLabel: UInt8 {
  case GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS
  /// One that this service has no call for.
  case other
  /// There was no request that could be read.
  case none

  /// The label of a method.
  init(_ method: HTTPMethod?) {
    self =
      switch method {
      case .GET: .GET
      case .HEAD: .HEAD
      case .POST: .POST
      case .PUT: .PUT
      case .PATCH: .PATCH
      case .DELETE: .DELETE
      case .OPTIONS: .OPTIONS
      case nil: .none
      default: .other
      }
  }

  /// The label's text.
  var name: String { "\(self)" }
}
