import APIDescription
import HTTPServer
package import LocationsAPI
import NIOCore
import NIOHTTP1
package import Points
import Synchronization
import TextFiles

/// The call that copies the file in which places are kept.
package struct BackupCalls: Sendable {
  private let route: BackupRoute

  /// Creates the call.
  ///
  /// - Parameter backup: the function that copies the store's file; `nil` if there is none, so that the call is 501.
  package init(_ backup: BackupAction?) { route = BackupRoute(backup: backup) }

  package var endpoints: [Endpoint] { [route.endpoint] }
}

/// `POST /backup`: a copy of the file of the memory store, streamed. One backup runs at a time.
final class BackupRoute: CallHandler {
  static let call = Call(
    .POST, "/backup", scope: .admin, id: "backUp", group: .operations, link: "backup",
    summary: "Download a copy of the store's file", caching: .forbidden,
    responses: [
      .init(
        200, "An SQLite file.", headers: [.contentDisposition.required],
        media: [.init("application/vnd.sqlite3", Schema(.string, nil, ["format": "binary"]))])
    ],
    problems: [.init(409, .conflict), .init(501, .notImplemented)])

  private let backup: BackupAction?
  private let isBusy = Atomic(false)

  init(backup: BackupAction?) {
    self.backup = backup
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    _ = try ParameterValues(request, allowing: []).check()
    guard let backup else {
      throw Problem(
        .notImplemented, code: "not-implemented",
        detail: "this server has no file to back up, because MEMORY_STORE_PATH is not set")
    }
    guard !isBusy.exchange(true, ordering: .acquiringAndReleasing) else {
      throw Problem(
        .conflict, code: "conflict", detail: "another backup is in progress", headers: ["retry-after": "10"])
    }
    let turn = Turn { [self] in isBusy.store(false, ordering: .releasing) }
    let (path, byteCount) = try await request.result(of: turn.keep(await backup()))
    let headers: HTTPHeaders = [
      "content-type": "application/vnd.sqlite3", "cache-control": "no-store",
      "content-disposition": "attachment; filename=\"places.db\"",
    ]
    return HTTPResponse(
      headers: headers,
      body: .stream(length: byteCount) { writer in
        for try await chunk in FileChunks(path: path) { try await writer.write(ByteBuffer(bytes: chunk)) }
        withExtendedLifetime(turn) {}
      })
  }

  /// The permit to create a backup, returned with the last reference to it.
  private final class Turn: Sendable {
    private let file = Mutex<BackupFile?>(nil)
    private let giveBack: @Sendable () -> Void

    init(giveBack: @escaping @Sendable () -> Void) {
      self.giveBack = giveBack
    }

    deinit {
      // The next one may be of the same name.
      file.withLock { $0 = nil }
      giveBack()
    }

    func keep(_ file: BackupFile) -> (path: String, byteCount: Int) {
      self.file.withLock { $0 = file }
      return (file.path, file.byteCount)
    }
  }
}
