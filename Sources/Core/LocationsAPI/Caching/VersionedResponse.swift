package import HTTPServer
package import NIOHTTP1
package import PointFormats

extension HTTPRequest {
  /// Returns the response with a resource that has a version: 304 if the client has it in any content coding, since a
  /// client that has it in one does not need it in another; else the response of a closure, compressed if the client
  /// prefers that.
  ///
  /// - Parameters:
  ///   - program: what the response depends on beside the version.
  ///   - isWeak: a Boolean value that indicates whether the entity tag is weak, and that of all codings.
  ///   - isIdentified: a Boolean value that indicates whether the entity tag identifies the response; `false` for one
  ///     with other data, which is always made anew.
  /// - Throws: `Problem` of the closure, or 406.
  package func response(
    version: Int64, in format: PointFormat, _ program: ProgramTag = .none, isWeak: Bool = false,
    isIdentified: Bool = true, caching policy: CachePolicy, _ make: () async throws(Problem) -> HTTPResponse
  ) async throws(Problem) -> HTTPResponse {
    var response = HTTPResponse(status: .notModified)
    var coding = isIdentified ? knownCoding(version: version, in: format, program) : nil
    if coding == nil {
      response = try await make()
      if ContentCoding.isAsked(by: self) { try await ContentCoding.apply(to: &response, of: self) }
      if !isWeak, response.headers.contains(name: "content-encoding") { coding = .gzip }
    }
    let tag = EntityTag.of(version: version, format: format, coding: coding ?? .identity, program: program)
    response.addCaching(by: policy, etag: (isWeak ? "W/" : "") + tag)
    return response
  }

  /// Returns the response as ``response(version:in:_:isWeak:isIdentified:caching:_:)`` does, for one that depends on
  /// the version alone and is not compressed.
  func uncompressedResponse(
    version: Int64, in format: PointFormat, caching policy: CachePolicy, _ make: () -> HTTPResponse
  ) -> HTTPResponse {
    let coding = knownCoding(version: version, in: format)
    var response = coding == nil ? make() : HTTPResponse(status: .notModified)
    let tag = EntityTag.of(version: version, format: format, coding: coding ?? .identity, program: .none)
    response.addCaching(by: policy, etag: tag)
    return response
  }

  /// Returns the coding in which the client has the resource, as `If-None-Match` says; `nil` for none.
  private func knownCoding(
    version: Int64, in format: PointFormat, _ program: ProgramTag = .none
  ) -> ContentCoding? {
    guard headers.contains(name: "if-none-match") else { return nil }
    let known = headers.entityTags("if-none-match")
    return [.identity, .gzip].first { coding in
      let tag = EntityTag.of(version: version, format: format, coding: coding, program: program)
      return known.matches(tag)
    }
  }

  /// Returns 304 with fields if `If-None-Match` has an entity tag; else `nil`.
  package func notModified(_ tag: String, _ fields: HTTPHeaders = [:]) -> HTTPResponse? {
    headers.entityTags("if-none-match").matches(tag) ? HTTPResponse(status: .notModified, headers: fields) : nil
  }
}

extension HTTPResponse {
  /// Adds the entity tag to the response to a write and, for a resource that was created, status 201 and its address.
  ///
  /// - Parameters:
  ///   - etag: the entity tag; `nil` if the resource has none.
  ///   - location: the value of `Location`; `nil` if the resource was there before.
  package mutating func addWritten(etag: String? = nil, createdAt location: String?) {
    if let etag { headers.add(name: "etag", value: etag) }
    guard let location else { return }
    status = .created
    headers.add(name: "location", value: location)
  }

  /// Adds `Link` to the next page.
  package mutating func addLink(toNext next: String) {
    var link = ""
    link.reserveCapacity(next.utf8.count + 16)
    link += "<"
    link += next
    link += ">; rel=\"next\""
    headers.add(name: "link", value: link)
  }
}

extension PublicAddress {
  /// Returns the target of the page of a list that begins at a cursor.
  package func nextPage(of path: String, cursor: String, for request: HTTPRequest) -> String {
    let query = NextLink.query(request.query, cursor: cursor)
    return target(path: path + query, relative: query, for: request)
  }
}
